/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_FLOPS_H
#define TP_TRACE_TRACE_FLOPS_H

#include <stdbool.h>

#include "trace/trace_inputs.h"

/*
 * The least that an operator has to compute and to move, from what it was
 * given. Arithmetic is counted as in the tables of TraceLens, so that numbers
 * can be compared; man/tprof-guide.7 has the formulas.
 */

enum tp_work_kind {
    TP_WORK_GEMM,
    TP_WORK_CONVOLUTION,
    TP_WORK_ATTENTION,
    TP_WORK_NORM,
    TP_WORK_SOFTMAX,
    TP_WORK_POINTWISE,
    TP_WORK_REDUCTION,
    TP_WORK_GATHER,
    TP_WORK_COPY,
    TP_WORK_OTHER, /* nothing is known of it */
    TP_WORK_KINDS
};

/* "gemm", "pointwise", .. */
const char *tp_work_word(enum tp_work_kind kind);

struct tp_work {
    enum tp_work_kind kind;
    enum tp_precision precision; /* of what is multiplied                  */
    bool matrix;                 /* work that tensor cores can do          */
    double flops, bytes;         /* NaN: not known                         */
    /* Of a GEMM: [batch] m x k by k x n. Of others 0. */
    double batch, m, n, k;
    double result;               /* elements that come out; 0: not known   */
};

struct tp_work_model;

/* How the work of an operator is told, by its name; NULL: it is not known. */
const struct tp_work_model *tp_work_find(const char *op);

/* Whether the kernels of the operators inside are part of its work: it counts
 * as one, wherever its kernels are started. */
bool tp_work_is_whole(const struct tp_work_model *model);

/* What an operator has to do; `model` may be NULL. */
struct tp_work tp_work_of(const struct tp_work_model *model,
                          const struct tp_op_args *args);

#endif
