/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_PRODUCT_H
#define TP_REPLAY_PRODUCT_H

#include <stdint.h>

#include "base/error.h"

/* C = A B^T with how far a device may be off: [m][n] of [m][k] and [n][k], all
 * in row-major order without gaps. */
struct tp_product {
    const double *left, *right;
    double *value;
    double *bound; /* gamma sum|a b|, or at most what its lines allow       */
    int64_t m, n, k;
    double gamma; /* relative error of k + 1 roundings of the device        */
};

/* Fills in value and bound. Threads may run several at once; one product is
 * one thread's work, so that its bits do not depend on their number.
 * TP_E_MEMORY, and TP_E_UNSUPPORTED where OpenBLAS cannot be loaded. */
enum tp_status tp_product_run(const struct tp_product *product,
                              struct tp_error *err);

#endif
