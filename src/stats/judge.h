/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_JUDGE_H
#define TP_STATS_JUDGE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/number.h"
#include "stats/summary.h"

/*
 * Overflow and underflow of finite values against an elementwise format, as
 * comparisons that need no case for thresholds that belong to a class.
 */
struct tp_judge {
    double overflow;  /* |x| >= this overflows                            */
    double zero;      /* 0 < |x| <= this rounds to zero                   */
    double subnormal; /* 0 < |x| < this rounds below the smallest normal  */
};

/* The judge of a format. Without one (NULL) nothing is ever counted. */
static inline struct tp_judge tp_judge_of(const struct tp_number *target)
{
    struct tp_judge judge = {INFINITY, 0, 0};
    if (!target)
        return judge;
    struct tp_thresholds at;
    tp_number_thresholds(target, &at);
    judge.overflow =
        at.overflow_at ? at.overflow : nextafter(at.overflow, INFINITY);
    judge.zero = at.zero_at ? at.zero : nextafter(at.zero, 0);
    judge.subnormal = at.subnormal;
    return judge;
}

/*
 * Ends the judging of a tensor: infinities overflow, and all values of
 * `counts` count as judged. Does nothing without a target.
 */
static inline void tp_judge_close(const struct tp_number *target,
                                  struct tp_counts *counts)
{
    if (!target)
        return;
    counts->judged = counts->values;
    counts->upper_overflow += counts->pos_inf;
    counts->lower_overflow += counts->neg_inf;
}

#endif
