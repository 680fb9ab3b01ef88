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

/* Why there is no number in a cell. */
enum tp_msprobe_reason {
    TP_MSPROBE_NUMBER,      /* there is one                                 */
    TP_MSPROBE_UNSUPPORTED, /* no tensor, no file, no elements, too few     */
    TP_MSPROBE_SHAPES,      /* they differ                                  */
    TP_MSPROBE_APART,       /* NaN or Inf in other places                   */
    TP_MSPROBE_NAN          /* one side is zero, or 0-d and not finite      */
};

/* What msprobe has in a cell. */
struct tp_msprobe_value {
    enum tp_msprobe_reason reason;
    double value; /* NaN where there is a reason; else rounded as there: to 12
                     digits after the point, the cosine to 6 above 0.9999,
                     EucDist not at all                                     */
};

/* Sets all values to a reason. */
void tp_msprobe_set_all(enum tp_msprobe_reason reason,
                        struct tp_msprobe_value *values);

/*
 * Sets values[TP_MSPROBE_METRICS] as mindstudio-probe 26.2 does: no number
 * for empty tensors, nor where NaN or infinities are not at the same places
 * (their signs are not looked at), and else of elements in whose place both are
 * not finite as if both were 0. `scalar`: a tensor without axes, of which there
 * are the two greatest errors only, as its values give them, NaN and Inf too.
 * Complex tensors, of which msprobe drops the imaginary parts, are taken with
 * them.
 */
void tp_difference_msprobe(const struct tp_difference_plan *plan,
                           const struct tp_difference *difference, bool scalar,
                           struct tp_msprobe_value *values);

#endif
