/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_CONTRACT_H
#define TP_REPLAY_CONTRACT_H

#include "replay/array.h"

/* An axis of a contraction, with the steps between its indices in elements; 0
 * where one of the three does not have it, or repeats along it. */
struct tp_contract_axis {
    int64_t length;
    int64_t left, right, output;
    bool kept; /* it is an axis of the output                               */
};

enum { TP_CONTRACT_AXES = TP_LIMIT_DIMS };

/*
 * output = sum over the axes that it does not have of left * right, as
 * Einstein's convention has it: products of matrices, their stacks, and sums.
 */
struct tp_contraction {
    const struct tp_array *left, *right; /* their bounds count, if any      */
    struct tp_array *output; /* with bounds; the axes cover it once         */
    int count;
    struct tp_contract_axis axes[TP_CONTRACT_AXES];
    double unit; /* of a rounding of the device that accumulates            */
};

/* Adds an axis. TP_E_UNSUPPORTED: too many. */
enum tp_status tp_contract_add(struct tp_contraction *contraction,
                               struct tp_contract_axis axis,
                               struct tp_error *err);

/* Fills in values and bounds of the output. TP_E_MEMORY. */
enum tp_status tp_contract(const struct tp_contraction *contraction,
                           struct tp_error *err);

#endif
