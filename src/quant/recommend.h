/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_RECOMMEND_H
#define TP_QUANT_RECOMMEND_H

#include "quant/quant_place.h"

/*
 * Which number format to take for a group of tensors: the narrowest that
 * reaches plan->min_sqnr in all tensors together and in the worst of them,
 * keeps underflow within plan->max_underflow, makes no infinity or NaN and
 * loses no infinity; among equally wide ones the one with the best SQNR.
 * Only formats narrower than what is stored are looked at; when none will
 * do, the advice is to keep that.
 */

/* A group of tensors under one cast. */
struct tp_cast_group {
    struct tp_quant_place place;
    size_t cast;        /* of the plan                                    */
    uint64_t tensors;
    const char *format, *scale_rule, *rounding;
    const char *tensor_scale;     /* "none", "amax"                        */
    int64_t tensor_scale_min;     /* exponents s over its tensors          */
    int64_t tensor_scale_max;
    int64_t scale_min, scale_max; /* bytes of block scales; -1: none       */
    double sqnr_worst_db;         /* the least of a tensor's               */
    struct tp_quant_metrics metrics;
    uint64_t nonfinite_out;       /* finite elements that became NaN, Inf  */
    uint64_t finite;              /* elements that are finite as stored    */
    uint64_t summed;              /* of them those that stay finite        */
    uint64_t infinite;            /* elements that are +-Inf as stored     */
    uint64_t nonfinite_blocks;    /* of block formats: with a NaN or Inf   */
    uint64_t zero_blocks;         /* without a finite value but zero       */
    const char *mx_nonfinite;     /* policy of block formats, else ""      */
    double regime[TP_HIF8_REGIMES]; /* shares of the nonzero elements; NaN
                                       for formats other than HiF8         */
};

/* What to do with the tensors of a place. */
struct tp_recommendation {
    struct tp_quant_place place;
    uint64_t tensors;
    enum tp_dtype dtype;    /* stored, the widest of its tensors           */
    const char *format;     /* the narrowest that meets the limits; "": none */
    int64_t bits;           /* of one element of it; -1: none              */
    double sqnr_db, underflow_ratio;
    const char *scaled_format; /* the same with a scale per tensor         */
    int64_t scaled_bits;
    double scaled_sqnr_db, scaled_underflow_ratio;
    int64_t tensor_scale_min, tensor_scale_max; /* its exponents           */
    const char *advice;     /* "hif8", "hif8 scaled", "keep bfloat16"      */
    const struct tp_number *advised; /* where that is a format alone       */
    const char *reason;     /* one sentence with numbers                   */
};

struct tp_recommend_input {
    const struct tp_quant_plan *plan;
    const struct tp_cast_group *groups; /* of one place, by cast          */
    size_t count;                        /* at least 1                     */
    enum tp_dtype dtype;                 /* stored, the widest of them     */
    struct tp_arena *arena;              /* owns the texts                 */
};

/* Fills in *made. TP_E_MEMORY only. */
enum tp_status tp_recommend(const struct tp_recommend_input *input,
                            struct tp_recommendation *made,
                            struct tp_error *err);

#endif
