/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_QUANT_GROUPS_H
#define TP_QUANT_QUANT_GROUPS_H

#include "base/text.h"
#include "tensors/run.h"

/*
 * What formats do to groups of tensors, and which format to take. A group's
 * numbers come from merging its tensors' errors in row order: its SQNR is
 * that of all its elements together.
 */

/* The ways to group; see tp_quant_groupings for their names. */
enum tp_quant_grouping {
    TP_QUANT_BY_PLACE, /* quant type, layer type and index, operation, name */
    TP_QUANT_BY_NAME,  /* operation, tensor name                            */
    TP_QUANT_BY_LAYER, /* operation, layer index                            */
    TP_QUANT_GROUPINGS
};

/* "quant_type/layer_type/layer_idx/operation/tensor_name", ... */
extern const char *const tp_quant_groupings[TP_QUANT_GROUPINGS];

/* The labels of a group; those it is not grouped by are "" and -1. */
struct tp_quant_place {
    enum tp_quant_grouping grouping;
    const char *group_by; /* name of the grouping                          */
    const char *quant_type, *layer_type, *operation, *tensor_name;
    int64_t layer_idx;
    enum tp_direction direction; /* of operation                           */
};

/* One group under one cast. */
struct tp_quant_group {
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
    const char *reason;     /* one sentence with numbers                   */
};

/* How SQNR depends on a scale exponent, for one tensor. */
struct tp_quant_sweep {
    size_t row;          /* of the run                                     */
    struct tp_quant_place place;
    size_t count;        /* exponents, from `first` on                     */
    int first;
    double *sqnr[3];     /* [count]: of tp_quant_sweep_formats; NaN where
                            something overflows. sqnr[0] owns them all     */
};

extern const char *const tp_quant_sweep_formats[3];

/* All of a run. All-zero bytes: nothing was simulated. */
struct tp_quant {
    const struct tp_run *run; /* borrowed                                  */
    struct tp_arena arena;    /* owns the texts made here                  */
    struct tp_quant_group *groups; /* by grouping, place, cast             */
    size_t group_count, group_capacity;
    struct tp_recommendation *recommendations; /* by grouping, place; of
                                                  BY_PLACE and BY_NAME     */
    size_t recommendation_count, recommendation_capacity;
    size_t *first; /* [rows + 1]: rows of /quantization before each row     */
    struct tp_quant_sweep *sweeps; /* worst first                          */
    size_t sweep_count;
};

/*
 * Makes groups and recommendations of a run whose rows are there; nothing when
 * its plan is empty. `quant` is zeroed by the caller and released with
 * tp_quant_clear, also after a failure. It borrows the run, which has to stay
 * where it is. TP_E_MEMORY only.
 */
enum tp_status tp_quant_make(const struct tp_run *run, struct tp_quant *quant,
                             struct tp_error *err);

/* The place of a row. */
struct tp_quant_place tp_quant_place_of(const struct tp_row *row,
                                        enum tp_quant_grouping grouping);

/* Whether two places are the same, of the same grouping. */
bool tp_quant_same_place(const struct tp_quant_place *a,
                         const struct tp_quant_place *b);

/* Whether a row belongs to a place. */
bool tp_quant_place_has(const struct tp_quant_place *place,
                        const struct tp_row *row);

/* Releases what it owns; it is empty afterwards. */
void tp_quant_clear(struct tp_quant *quant);

/* "mxfp8 linear L2 backward weight": the labels that are there. */
void tp_quant_place_words(const struct tp_quant_place *place,
                          struct tp_text *text);

#endif
