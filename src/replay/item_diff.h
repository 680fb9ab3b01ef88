/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_ITEM_DIFF_H
#define TP_REPLAY_ITEM_DIFF_H

#include "replay/array.h"

/* Items of two runs that stand in the same place of a call. */

enum tp_item_relation {
    TP_ITEM_EQUAL,    /* every bit                                          */
    TP_ITEM_ROUNDED,  /* of two dtypes, and one is the other one rounded    */
    TP_ITEM_DIFFERS,  /* in values, or a number or text is another one      */
    TP_ITEM_SHARDED,  /* one is a whole part of the other along one axis    */
    TP_ITEM_RESHAPED, /* of shapes that have nothing to do with each other  */
    TP_ITEM_UNKNOWN   /* a tensor cannot be read, or is in one run only     */
};

struct tp_item_diff {
    enum tp_item_relation relation;
    double error, size; /* sums of squares of a - b and of b, finite
                           elements of floating tensors            */
    bool nan_a, nan_b;  /* it holds NaN where the other run does not         */
    bool inf_a, inf_b;  /* it holds Inf where the other run does not         */
    uint64_t digest_a, digest_b; /* of bits; 0: not read                    */
    char reason[120];            /* of what is not known                    */
};

/* Compares two tensors, both read whole; by the checksums of the dump where
 * there are no files. TP_E_MEMORY only. */
enum tp_status tp_item_diff_tensors(const struct tp_dump_item *a,
                                    const struct tp_dump_item *b,
                                    struct tp_item_diff *diff,
                                    struct tp_error *err);

/* How the shapes of two tensors are related, without reading: EQUAL, SHARDED,
 * RESHAPED; UNKNOWN where one is not said. */
enum tp_item_relation tp_item_shapes(const struct tp_dump_item *a,
                                     const struct tp_dump_item *b);

/* Whether two values that are no tensors are the same. */
bool tp_item_same_value(const struct tp_dump_item *a,
                        const struct tp_dump_item *b);

#endif
