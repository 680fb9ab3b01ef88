/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_LONE_H
#define TP_SERIES_BASELINE_LONE_H

#include "series/baseline_mark.h"

/* A point of a series of magnitudes that lies apart, above all others; the
 * method is described in baseline_lone.c. */

struct tp_lone_rules {
    double limit;   /* logarithm of the probability that it is chance        */
    double outside; /* spreads that it is above, at least                    */
    size_t point;   /* the one that is asked; p->count: whichever is farthest */
};

/* Marks such a point in p->bad, and those next to it that are off, where noise
 * is unlikely to put it: log2 of magnitudes, with the lines as tp_mark_settle
 * left them. Uses p->room. Returns whether it did; of fewer than 80 points
 * nothing is known. */
bool tp_lone_mark(struct tp_points *p, const struct tp_lone_rules *rules);

#endif
