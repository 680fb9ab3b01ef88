/* SPDX-License-Identifier: MIT */
/*
 * Where the array of events begins: a walk over the first bytes by quotes and
 * brackets, for the key "traceEvents" at the first level.
 *
 * A parser for whole documents would have to read the file to its end first.
 * Where damage hides the level, the key is taken wherever it stands, but only
 * when the whole file has been seen without it. O(bytes looked at).
 */
#include "formats/trace/trace_head.h"

#include <string.h>

#include "formats/trace/trace_cut.h"

static const char events_key[] = "\"traceEvents\"";

/* The '[' of the array when text[at] begins its key; 0 otherwise. */
static size_t array_of_key(const char *text, size_t at, size_t length)
{
    size_t size = sizeof events_key - 1;
    if (length - at < size || memcmp(text + at, events_key, size) != 0)
        return 0;
    at = tp_trace_skip(text, at + size, length);
    if (at == length || text[at] != ':')
        return 0;
    at = tp_trace_skip(text, at + 1, length);
    return at < length && text[at] == '[' ? at : 0;
}

/* Goes through an object for the key at its first level. */
static void search_object(const char *text, size_t length,
                          struct tp_trace_head *head)
{
    size_t depth = 0, at = head->start;
    while (at < length) {
        char c = text[at];
        if (c == '"') {
            head->array = depth == 1 ? array_of_key(text, at, length) : 0;
            head->key = at;
            if (head->array) {
                head->root = TP_TRACE_ROOT_OBJECT;
                return;
            }
            at = tp_trace_string_end(text, at, length);
            if (at == 0)
                return;
            continue;
        }
        at++;
        if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            head->root = TP_TRACE_ROOT_OTHER;
            return;
        }
    }
}

static void search_anywhere(const char *text, size_t length,
                            struct tp_trace_head *head)
{
    for (size_t at = head->start; at < length; at++) {
        const char *quote = memchr(text + at, '"', length - at);
        if (!quote)
            return;
        at = (size_t)(quote - text);
        head->array = array_of_key(text, at, length);
        if (head->array) {
            head->key = at;
            head->root = TP_TRACE_ROOT_OBJECT;
            return;
        }
    }
}

struct tp_trace_head tp_trace_find_array(const char *text, size_t length,
                                         bool all)
{
    struct tp_trace_head head = {.root = TP_TRACE_ROOT_UNKNOWN};
    if (length < 3 && !all)
        return head;
    /* A byte order mark, as some editors put it. */
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        head.start = 3;
    head.start = tp_trace_skip(text, head.start, length);
    if (head.start == length)
        return head;
    if (text[head.start] == '[') {
        head.root = TP_TRACE_ROOT_LIST;
        head.array = head.start;
    } else if (text[head.start] != '{') {
        head.root = TP_TRACE_ROOT_NONE;
    } else {
        search_object(text, length, &head);
        if (all && head.root != TP_TRACE_ROOT_OBJECT)
            search_anywhere(text, length, &head);
    }
    return head;
}
