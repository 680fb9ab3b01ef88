/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_PRODUCT_TERMS_H
#define TP_REPLAY_PRODUCT_TERMS_H

#include "replay/operators.h"

/*
 * The products that element `at` of a result is the sum of, in the order of
 * memory, with what is added to them last; to be freed. Their number; 0: it is
 * no such sum. Of matrix products, equations of two operands and convolutions,
 * and of the gradients of products, computed before.
 */
int64_t tp_product_terms(const struct tp_replay_call *call,
                         const struct tp_operator *row, size_t result,
                         int64_t at, double **terms);

/* Whether the last term is none of the products. */
bool tp_product_adds(const struct tp_replay_call *call,
                     const struct tp_operator *row);

#endif
