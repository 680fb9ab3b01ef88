/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_EXPECTED_TENSOR_H
#define TP_TESTS_EXPECTED_TENSOR_H

#include "data/tensor.h"
#include "tests/unit/support/json.h"

/*
 * Checks a tensor against what another program said of it: dtype (with or
 * without "torch."), shape, stride, numel, the first values in row-major order,
 * counts of NaN, Inf and zeros, min, max, sum and l2 of the finite values. What
 * is not said is not checked. `name` is for messages.
 */
void expected_tensor_check(const struct json *want,
                           const struct tp_tensor *tensor, const char *name);

#endif
