/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_SUM_INSIDE_H
#define TP_REPLAY_SUM_INSIDE_H

#include "replay/operators.h"

/* Sums that an element is made of, without being one: of norms, softmax,
 * variances and attention. */

/* How terms are added up. */
struct tp_adder {
    double (*add)(const struct tp_adder *adder, const double *terms,
                  int64_t count);
    enum tp_dtype dtype;
    int order;
    bool back;
    bool plain; /* exponentials of what is given, its largest not taken off */
};

/* An element; what a rounding of the steps between its sums is relative to. */
struct tp_inside {
    double value, size;
};

/* Whether an operator's sums are those of exponentials. */
bool tp_sum_has_exponentials(const struct tp_operator *row);

/* Element `at` of a loaded forward call's only result, all its sums added so.
 * False: the sums are not known, or are too many. */
bool tp_sum_inside(const struct tp_replay_call *call,
                   const struct tp_operator *row, int64_t at,
                   const struct tp_adder *adder, struct tp_inside *element);

#endif
