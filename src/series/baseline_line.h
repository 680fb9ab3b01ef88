/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_LINE_H
#define TP_SERIES_BASELINE_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Robust predictions of the next points of a series from the last ones. */

enum {
    TP_LINE_WINDOW = 16, /* healthy points of a prediction                */
    TP_LINE_HALF = TP_LINE_WINDOW / 2,
    TP_LINE_FIRM = 6     /* fewer have no slope                           */
};

/* A series as it is judged: valid points only; arrays of `count`. */
struct tp_points {
    size_t count;
    double *at, *y, *floor;
    double *index;               /* in the series                         */
    double *bad;                 /* 1: beyond the limit                   */
    double *level, *slope, *mid; /* of the line before each point         */
    double *even;                /* of the level before each point        */
    double *room, *marks;
    double matters;              /* smaller differences are none          */
    bool flat;                   /* predicted by levels, not by lines     */
};

/* A prediction: level + slope * (at - mid), for at - mid <= reach. */
struct tp_line {
    size_t used;      /* healthy points                                   */
    double mid, level, slope, reach;
    double even; /* the level of all of them                              */
};

/* The last healthy points before one, and the order of their values. All
 * zero is empty. */
struct tp_history {
    size_t of[TP_LINE_WINDOW]; /* oldest first                            */
    size_t count;
    double older[TP_LINE_HALF], newer[TP_LINE_HALF]; /* sorted, once the
                                                        window is full    */
};

/* Appends a point; of a full history the oldest goes. */
void tp_line_remember(const struct tp_points *p, struct tp_history *history,
                      size_t point);

/* The line through the medians of the older and the newer half of a history,
 * or its level, the mean of both, where p->flat or of fewer than TP_LINE_FIRM
 * points. The history may not be empty. */
struct tp_line tp_line_fit(const struct tp_points *p,
                           const struct tp_history *history);

/* Its value at a time. */
double tp_line_predict(const struct tp_line *line, double at);

/* Robust standard deviation of a history around its line. */
double tp_line_spread(const struct tp_points *p,
                      const struct tp_history *history,
                      const struct tp_line *line);

/* Median of a few values, n > 0; sorts them. */
double tp_line_median(double *values, size_t n);

#endif
