/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_COVER_H
#define TP_TRACE_TRACE_COVER_H

#include "trace/interval.h"

/*
 * How much of each of many stretches of time a set covers, in O(log n) for
 * one, however many intervals lie inside: calls that each wait for the whole
 * trace would make walking them quadratic.
 */
struct tp_cover {
    struct tp_intervals set;
    int64_t *before; /* [set.count] length of the intervals before each, ns */
};

/* Fills cover->before from cover->set; TP_E_MEMORY only. */
enum tp_status tp_cover_make(struct tp_cover *cover, struct tp_error *err);

/* Length of the part of the set inside [from, to), ns. */
int64_t tp_cover_within(const struct tp_cover *cover, int64_t from,
                        int64_t to);

/* Releases the set, too; empty afterwards. */
void tp_cover_clear(struct tp_cover *cover);

#endif
