/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OP_FAMILY_H
#define TP_REPLAY_OP_FAMILY_H

#include "replay/operators.h"

/* Operators that round alike, by what their kernel does. */

enum tp_op_family {
    TP_OP_POINT,   /* elements, each by itself                            */
    TP_OP_PRODUCT, /* matrices, convolutions                              */
    TP_OP_ATTENTION,
    TP_OP_NORM,
    TP_OP_SOFTMAX,   /* and losses                                          */
    TP_OP_REDUCTION, /* sums, means, extremes                               */
    TP_OP_POOL,      /* and what lies between elements                      */
    TP_OP_MOVE, /* elements keep their values                          */
    TP_OP_FAMILIES
};

/* "elementwise", "products", ... */
extern const char *const tp_op_family_words[TP_OP_FAMILIES];

/* The family of a row with a kernel. */
enum tp_op_family tp_op_family_of(const struct tp_operator *row);

#endif
