/* SPDX-License-Identifier: MIT */
/*
 * Places where events part, and ends of values, from bytes alone.
 *
 * Only the bytes around a '{' are looked at, so a piece of a large file can be
 * cut without reading what is before it, and threads need not wait for each
 * other. Counting brackets from the start is certain but sequential. What is
 * found may lie inside an event; the parser finds that out. O(distance to the
 * next place).
 */
#include "formats/trace/trace_cut.h"

#include <string.h>

/* The key that begins at text[at], after its quote; NULL when no quote
 * follows in time. */
static bool is_event_key(const char *text, size_t at, size_t length,
                         const struct tp_trace_key *first)
{
    static const char *const keys[] = {"ph",  "name", "cat", "pid", "tid", "ts",
                                       "dur", "args", "id",  "s",   "bp"};
    size_t room = length - at;
    if (first->length && room > first->length &&
        memcmp(text + at, first->text, first->length) == 0 &&
        text[at + first->length] == '"')
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t size = strlen(keys[i]);
        if (room > size && memcmp(text + at, keys[i], size) == 0 &&
            text[at + size] == '"')
            return true;
    }
    return false;
}

/* Whether events part at the '{' at text[at]. */
static struct tp_trace_cut look(const char *text, size_t at, size_t length,
                                const struct tp_trace_key *key)
{
    struct tp_trace_cut none = {0}, cut = {.next = at};
    size_t quote = tp_trace_skip(text, at + 1, length), back = at;
    if (quote == length || text[quote] != '"' ||
        !is_event_key(text, quote + 1, length, key))
        return none;
    while (back > 0 && tp_json_is_blank(text[back - 1]))
        back--;
    if (back == 0 || text[back - 1] != ',')
        return none;
    cut.comma = --back;
    while (back > 0 && tp_json_is_blank(text[back - 1]))
        back--;
    cut.end = back;
    return back > 0 && text[back - 1] == '}' ? cut : none;
}

struct tp_trace_cut tp_trace_cut_last(const char *text, size_t from,
                                      size_t length,
                                      const struct tp_trace_key *key)
{
    for (size_t at = length; at > from; at--) {
        if (text[at - 1] != '{')
            continue;
        struct tp_trace_cut cut = look(text, at - 1, length, key);
        if (cut.next)
            return cut;
    }
    return (struct tp_trace_cut){0};
}

struct tp_trace_cut tp_trace_cut_next(const char *text, size_t from,
                                      size_t length,
                                      const struct tp_trace_key *key)
{
    while (from < length) {
        const char *brace = memchr(text + from, '{', length - from);
        if (!brace)
            break;
        struct tp_trace_cut cut =
            look(text, (size_t)(brace - text), length, key);
        if (cut.next)
            return cut;
        from = (size_t)(brace - text) + 1;
    }
    return (struct tp_trace_cut){0};
}

struct tp_trace_key tp_trace_first_key(const char *text, size_t length)
{
    struct tp_trace_key key = {.length = 0};
    size_t at = tp_trace_skip(text, 0, length);
    if (at == length || text[at] != '{')
        return key;
    at = tp_trace_skip(text, at + 1, length);
    size_t end =
        at < length && text[at] == '"' ? tp_trace_string_end(text, at, length)
                                       : 0;
    if (end == 0 || end - at - 2 >= TP_TRACE_KEY_MAX)
        return key;
    key.length = end - at - 2;
    memcpy(key.text, text + at + 1, key.length);
    return key;
}

size_t tp_trace_string_end(const char *text, size_t at, size_t length)
{
    for (at++; at < length; at++) {
        const char *quote = memchr(text + at, '"', length - at);
        if (!quote)
            return 0;
        at = (size_t)(quote - text);
        size_t slashes = 0;
        while (text[at - slashes - 1] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return at + 1;
    }
    return 0;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == ']' || c == '}' || c == '[' || c == '{' ||
           c == '"' || c == ':' || tp_json_is_blank(c);
}

static size_t container_end(const char *text, size_t at, size_t length)
{
    size_t depth = 0;
    while (at < length) {
        char c = text[at];
        if (c == '"') {
            at = tp_trace_string_end(text, at, length);
            if (at == 0)
                return 0;
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return 0;
}

size_t tp_trace_value_end(const char *text, size_t at, size_t length)
{
    if (at >= length)
        return 0;
    if (text[at] == '"')
        return tp_trace_string_end(text, at, length);
    if (text[at] == '{' || text[at] == '[')
        return container_end(text, at, length);
    size_t end = at;
    while (end < length && !ends_scalar(text[end]))
        end++;
    return end > at && end < length ? end : 0;
}
