/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_SUM_TERMS_H
#define TP_REPLAY_SUM_TERMS_H

#include "replay/addends.h"
#include "replay/operators.h"

/* What an element of a result is the sum of. */

/* The terms of element `at` of a result that was computed. */
struct tp_addend_list tp_sum_terms(const struct tp_replay_call *call,
                                   const struct tp_operator *row,
                                   const struct tp_array *result, int64_t at);

/* A result that was computed, and as it was dumped. */
struct tp_sum {
    const struct tp_replay_call *call;
    const struct tp_operator *row;
    const struct tp_array *computed, *dumped;
};

/*
 * Whether it is what sums give whose steps are rounded to `dtype`: in one of
 * the usual orders, and no further off than the order matters, or `exactly` so.
 * `known`: that each element is such a sum, so that nothing else is off; not of
 * sums inside of elements (sum_inside.h).
 */
bool tp_sum_fits(const struct tp_sum *sum, enum tp_dtype dtype, bool exactly,
                 bool *known);

/* How many of the elements that are not marked would be beyond their limits,
 * had all sums been rounded to `dtype`: in that of the orders that explain the
 * marked ones which spares most; INT64_MAX: none does. 0: the sums are not
 * known. */
int64_t tp_sum_spared(const struct tp_sum *sum, enum tp_dtype dtype,
                      const uint8_t *marks);

/* The error of sampled elements over that of sums in float32 whose steps are
 * cut off toward zero, by norms: no accumulator of float32 is worse. 0: the
 * terms are not known. */
double tp_sum_excess(const struct tp_sum *sum);

/* How many of the last terms of `count` each element is without; 0: that is
 * not what it is. Of at least four elements. */
int64_t tp_sum_lost(const struct tp_sum *sum, int64_t *count);

#endif
