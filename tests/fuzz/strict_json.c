/* SPDX-License-Identifier: MIT */
/*
 * Goes through the text once, byte by byte, and keeps which brackets are open:
 * no recursion, so that depth costs a bit. It shares nothing with the readers
 * that it judges.
 */
#include "strict_json.h"

#include <stdbool.h>
#include <string.h>

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && memchr(" \t\r\n", *c->at, 4))
        c->at++;
}

static enum strict_json take_word(struct cursor *c, const char *word)
{
    for (; *word; word++, c->at++) {
        if (c->at == c->end)
            return STRICT_JSON_BEGUN;
        if (*c->at != *word)
            return STRICT_JSON_BROKEN;
    }
    return STRICT_JSON_WHOLE;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
           (c >= 'A' && c <= 'F');
}

/* What follows a backslash. */
static enum strict_json take_escape(struct cursor *c)
{
    if (c->at == c->end)
        return STRICT_JSON_BEGUN;
    const char kind = *c->at++;
    if (kind != 'u')
        return memchr("\"\\/bfnrt", kind, 8) ? STRICT_JSON_WHOLE
                                             : STRICT_JSON_BROKEN;
    for (int i = 0; i < 4; i++, c->at++) {
        if (c->at == c->end)
            return STRICT_JSON_BEGUN;
        if (!is_hex(*c->at))
            return STRICT_JSON_BROKEN;
    }
    return STRICT_JSON_WHOLE;
}

static enum strict_json take_string(struct cursor *c)
{
    enum strict_json state = take_word(c, "\"");
    while (state == STRICT_JSON_WHOLE) {
        if (c->at == c->end)
            return STRICT_JSON_BEGUN;
        const unsigned char byte = (unsigned char)*c->at++;
        if (byte == '"')
            return STRICT_JSON_WHOLE;
        if (byte < ' ')
            return STRICT_JSON_BROKEN;
        if (byte == '\\')
            state = take_escape(c);
    }
    return state;
}

static enum strict_json take_digits(struct cursor *c)
{
    const char *from = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > from      ? STRICT_JSON_WHOLE
           : c->at == c->end ? STRICT_JSON_BEGUN
                             : STRICT_JSON_BROKEN;
}

static bool meets(struct cursor *c, const char *any)
{
    if (c->at == c->end || !memchr(any, *c->at, strlen(any)))
        return false;
    c->at++;
    return true;
}

static enum strict_json take_number(struct cursor *c)
{
    meets(c, "-");
    enum strict_json state = meets(c, "0") ? STRICT_JSON_WHOLE : take_digits(c);
    if (state == STRICT_JSON_WHOLE && meets(c, "."))
        state = take_digits(c);
    if (state == STRICT_JSON_WHOLE && meets(c, "eE")) {
        meets(c, "+-");
        state = take_digits(c);
    }
    return state;
}

static enum strict_json take_plain(struct cursor *c)
{
    switch (*c->at) {
    case '"':
        return take_string(c);
    case 't':
        return take_word(c, "true");
    case 'f':
        return take_word(c, "false");
    case 'n':
        return take_word(c, "null");
    default:
        return take_number(c);
    }
}

/* The brackets that are open, from the outermost on. */
struct open {
    char ends[STRICT_JSON_DEEP];
    size_t count;
};

/* A key and its colon. */
static enum strict_json take_key(struct cursor *c)
{
    skip_blanks(c);
    enum strict_json state = take_string(c);
    skip_blanks(c);
    return state == STRICT_JSON_WHOLE ? take_word(c, ":") : state;
}

/* A value, or an opened bracket; `more`: a value has to follow. */
static enum strict_json take_value(struct cursor *c, struct open *open,
                                   bool *more)
{
    skip_blanks(c);
    *more = false;
    if (c->at == c->end)
        return STRICT_JSON_BEGUN;
    if (*c->at != '[' && *c->at != '{')
        return take_plain(c);
    if (open->count == STRICT_JSON_DEEP)
        return STRICT_JSON_BROKEN;
    const char end = *c->at++ == '[' ? ']' : '}';
    skip_blanks(c);
    if (meets(c, end == ']' ? "]" : "}"))
        return STRICT_JSON_WHOLE;
    open->ends[open->count++] = end;
    *more = true;
    return end == '}' ? take_key(c) : STRICT_JSON_WHOLE;
}

/* What follows a value: ends of brackets, then a comma or the end. */
static enum strict_json take_ends(struct cursor *c, struct open *open)
{
    while (open->count > 0) {
        const char end = open->ends[open->count - 1];
        skip_blanks(c);
        if (c->at == c->end)
            return STRICT_JSON_BEGUN;
        const char met = *c->at++;
        if (met == ',')
            return end == '}' ? take_key(c) : STRICT_JSON_WHOLE;
        if (met != end)
            return STRICT_JSON_BROKEN;
        open->count--;
    }
    return STRICT_JSON_WHOLE;
}

enum strict_json strict_json_of(const char *text, size_t size)
{
    struct cursor c = {text, text + size};
    struct open open = {.count = 0};
    enum strict_json state = STRICT_JSON_WHOLE;
    bool more;
    do {
        state = take_value(&c, &open, &more);
        if (state == STRICT_JSON_WHOLE && !more)
            state = take_ends(&c, &open);
    } while (state == STRICT_JSON_WHOLE && (more || open.count > 0));
    skip_blanks(&c);
    return state == STRICT_JSON_WHOLE && c.at < c.end ? STRICT_JSON_BROKEN
                                                      : state;
}
