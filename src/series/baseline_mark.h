/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_MARK_H
#define TP_SERIES_BASELINE_MARK_H

#include <stdbool.h>

#include "series/baseline_chance.h"
#include "series/baseline_line.h"
#include "series/baseline_tails.h"

/* Which points of a series are beyond the limit; the method is described in
 * baseline_retro.c. */

enum {
    TP_MARK_AHEAD = 8,   /* points that are judged together               */
    TP_MARK_MEASURED = 4 /* distances whose spread is measured: 1 2 4 8   */
};

/* What is known of the spread of predictions. */
struct tp_spreads {
    double ahead[TP_MARK_MEASURED];
    double hang; /* how far neighbours hang together, 0 to 1              */
    struct tp_freedom freedom;
};

struct tp_mark_rules {
    double limit;   /* logarithm of the probability that marks a change   */
    double outside; /* spreads that each point of a change is away, at
                       least: else it would seem to begin with ordinary
                       points before it                                   */
    size_t firm;    /* healthy points that a line needs                   */
    bool flat;      /* predict by levels only                             */
    struct tp_freedom freedom; /* of errors of such series               */
};

/* Marks points in p->bad and measures the spread of the others, until nothing
 * moves. The first `kept` points keep the marks they have. p->count > 0. */
struct tp_spreads tp_mark_settle(struct tp_points *p,
                                 const struct tp_mark_rules *rules,
                                 size_t kept);

/* Counts how far errors reach that single predictions of the series make,
 * whether it is healthy or not; returns their spread. p->count > 0. */
double tp_mark_tails(struct tp_points *p, struct tp_tails *tails);

/* The error of such a prediction; NaN: the point had none. */
double tp_mark_error(const struct tp_points *p, size_t point);

/* How far the errors of neighbours, of such a spread, hang together: 0 to 1. */
double tp_mark_hang(const struct tp_points *p, double spread);

/* The spread of a point around its line, the next one after it. */
double tp_mark_spread(const struct tp_points *p,
                      const struct tp_spreads *spreads,
                      const struct tp_line *line, size_t point);

/* The last points before one that are not marked. */
struct tp_history tp_mark_history(const struct tp_points *p,
                                  const double *marks, size_t point);

#endif
