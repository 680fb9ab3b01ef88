/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_REPAIR_H
#define TP_TRACE_TRACE_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "data/events.h"

/*
 * Puts one damaged JSON object right: what profilers of some age wrote, or
 * tools that edited their traces (enum tp_repair says what).
 *
 * The hard one is the quote that nobody escaped. A quote ends a string where
 * JSON can go on behind it: a key is followed by ':', a value in an object by
 * '}' or by ',' and the next key, one in a list by ']' or ',' and a value. Any
 * other quote belongs to the string.
 */

/* What was done, to be counted once the result turns out to be good. */
struct tp_trace_repairs {
    uint64_t count[TP_REPAIRS];
    int64_t first[TP_REPAIRS]; /* where count is not 0 */
};

/*
 * Writes the object that begins at text[0] to *out (replaced), as JSON, and
 * returns its end in `text`: after its '}'. 0 when it does not end before
 * `length`, or cannot be put right, or memory ran out (out->failed).
 * `offset` is where text[0] is in the file.
 */
size_t tp_trace_repair(const char *text, size_t length, int64_t offset,
                       struct tp_text *out, struct tp_trace_repairs *repairs);

/* Counts them in `events`. */
void tp_trace_repairs_count(const struct tp_trace_repairs *repairs,
                            struct tp_events *events);

#endif
