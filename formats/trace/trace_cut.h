/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_CUT_H
#define TP_TRACE_TRACE_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/*
 * Where one event of an array ends and the next begins, found from the bytes
 * around that place alone:
 *
 *     } , { "KEY"        with any white space between
 *
 * with KEY a key that events begin with. In JSON without damage these bytes
 * can only be tokens, because a quote inside a string is escaped. They need
 * not lie between two events, though: objects may hold arrays of objects. Who
 * cuts there finds out when the pieces are parsed.
 */

enum { TP_TRACE_KEY_MAX = 64 };

/* The first key of the first event, quotes removed; "" when not known. Keys
 * that events of the profiler begin with need not be named. */
struct tp_trace_key {
    char text[TP_TRACE_KEY_MAX];
    size_t length;
};

/* Takes the key from the text after the '[' of the array. */
struct tp_trace_key tp_trace_first_key(const char *text, size_t length);

/* A place to cut; `next` is 0 when there is none. */
struct tp_trace_cut {
    size_t end;   /* after the '}'   */
    size_t comma; /* the ','         */
    size_t next;  /* the '{'         */
};

/* The last place whose '{' is in text[from, length). */
struct tp_trace_cut tp_trace_cut_last(const char *text, size_t from,
                                      size_t length,
                                      const struct tp_trace_key *key);

/* The first place whose '{' is in text[from, length). */
struct tp_trace_cut tp_trace_cut_next(const char *text, size_t from,
                                      size_t length,
                                      const struct tp_trace_key *key);

/* The first byte at or after `at` that is not white space; `length` if none. */
static inline size_t tp_trace_skip(const char *text, size_t at, size_t length)
{
    while (at < length && tp_json_is_blank(text[at]))
        at++;
    return at;
}

/*
 * The end of the string whose opening quote is text[at]: after its closing
 * quote; 0 when it does not end before `length`.
 */
size_t tp_trace_string_end(const char *text, size_t at, size_t length);

/*
 * The end of the value that begins at text[at], by quotes and brackets alone:
 * after its last byte; 0 when it does not end before `length`. Brackets are
 * not matched by kind. No recursion.
 */
size_t tp_trace_value_end(const char *text, size_t at, size_t length);

#endif
