/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DIFFERENCE_MSPROBE_H
#define TP_STATS_DIFFERENCE_MSPROBE_H

#include "stats/difference.h"

/* The metrics of msprobe's compare for two tensors of equal shape, in the order
 * of its columns. */
enum tp_msprobe_metric {
    TP_MSPROBE_COSINE,
    TP_MSPROBE_EUC_DIST,
    TP_MSPROBE_MAX_ABS_ERR,
    TP_MSPROBE_MAX_RELATIVE_ERR,
    TP_MSPROBE_ONE_THOUSANDTH,   /* share of relative errors below 0.001    */
    TP_MSPROBE_FIVE_THOUSANDTHS, /* below 0.005                            */
    TP_MSPROBE_METRICS
};

/* What msprobe has in a cell. */
struct tp_msprobe_value {
    const char *word; /* "unsupported", "N/A", "Nan"; NULL: a number */
    double number;    /* rounded as there: to 12 digits after the point, the
                         cosine to 6 above 0.9999, EucDist not at all       */
};

/*
 * Sets values[TP_MSPROBE_METRICS] as mindstudio-probe 26.2 does: "unsupported"
 * for empty tensors, "N/A" where NaN or infinities are not at the same places
 * (their signs are not looked at), and else of elements in whose place both are
 * not finite as if both were 0. `scalar`: msprobe sees a tensor without axes,
 * which is any of one element, as it drops axes of length 1. Complex tensors,
 * of which msprobe drops the imaginary parts, are taken with them.
 */
void tp_difference_msprobe(const struct tp_difference_plan *plan,
                           const struct tp_difference *difference, bool scalar,
                           struct tp_msprobe_value *values);

#endif
