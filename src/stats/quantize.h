/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_QUANTIZE_H
#define TP_STATS_QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "data/dtype.h"
#include "data/encode.h"
#include "data/number.h"
#include "stats/blocks.h"
#include "stats/codes.h"
#include "stats/summary.h"

/*
 * What a number format would do to a tensor: counts and error sums of the
 * cast, simulated from the values as stored.
 *
 * Elementwise formats and MX blocks of 8-bit and 16-bit tensors come from
 * integer counts alone, so they are exact but for the last summation, and
 * depend neither on the number of jobs nor on the instruction set. All else
 * (binary32, binary64, NVFP4) is summed in double over fixed pieces, to be
 * merged in order.
 */

/* A scale 2^s for the whole tensor: x is cast as 2^-s * cast(2^s * x).
 * Elementwise formats only. */
enum tp_tensor_scale {
    TP_SCALED_NOT,   /* s = 0                                             */
    TP_SCALED_FIXED, /* s = exponent                                      */
    TP_SCALED_AMAX   /* s such that the tensor's largest finite magnitude,
                        scaled, lies in [2^exponent, 2^(exponent + 1))    */
};

/* One cast to simulate. Zero but for `number` is the default. */
struct tp_quant_spec {
    const struct tp_number *number;
    enum tp_rounding rounding;   /* elementwise; blocks have the default  */
    enum tp_scale_rule rule;     /* MX                                    */
    enum tp_nonfinite nonfinite; /* MX, NVFP4                             */
    enum tp_tensor_scale scaled;
    int exponent;                /* of `scaled`                           */
};

/*
 * The outcome: an accumulator. All-zero bytes are empty, merging any two of
 * the same spec is adding; pieces of a tensor merge in order. x is the value
 * as stored, q what it becomes. Sums are over elements whose x and q are both
 * finite (`summed` of them).
 */
struct tp_quant_error {
    uint64_t values;         /* real numbers in all                       */
    uint64_t nonfinite_in;   /* x is NaN or infinite                      */
    uint64_t nonfinite_out;  /* x is finite, q is not                     */
    uint64_t upper_overflow; /* as in struct tp_block_counts and          */
    uint64_t lower_overflow; /*   struct tp_counts                        */
    uint64_t underflow;
    uint64_t subnormal;      /* includes underflow                        */
    uint64_t summed;
    uint64_t nonzero;        /* of the summed: x != 0                     */
    uint64_t blocks;         /* of block formats; the last of a line may
                                be short                                  */
    uint64_t saturated_blocks; /* with at least one overflow              */
    uint64_t nonfinite_blocks; /* with a NaN or an infinity               */
    uint64_t zero_blocks;    /* whose scale no value but zeros counts for */
    double sum_xx, sum_dd;   /* x^2, (x - q)^2                            */
    double sum_xq, sum_qq;
    double sum_relative;     /* |x - q| / |x| over x != 0                 */
    double max_abs_error;
    /* Scale bytes of blocks that are not zero: E8M0, or the E4M3 of NVFP4.
     * Kept as 256 - least and largest + 1, so that 0 is "none". */
    uint16_t scale_least, scale_largest;
    /* s of spec.scaled, of a single tensor; merging keeps the first one
     * that is not 0. */
    int32_t tensor_scale;
};

/* Adds `times` times `from` (a view's repeat; else 1). Cannot fail. */
void tp_quant_merge(struct tp_quant_error *into,
                    const struct tp_quant_error *from, uint64_t times);

/*
 * What users see. NaN where a number does not exist: ratios of no values, a
 * cosine or SQNR of zeros only, MSE without a summed element, a mean relative
 * error without a nonzero one. sqnr_db is +inf where q = x everywhere.
 * Ratios are over `values`, saturated_block_ratio over `blocks` (NaN for
 * elementwise formats).
 */
struct tp_quant_metrics {
    double overflow_ratio, underflow_ratio, subnormal_ratio;
    double saturated_block_ratio;
    double sqnr_db, mse, max_abs_error, mean_rel_error, cosine;
    int scale_min, scale_max; /* bytes; -1 without blocks (not zero ones) */
};

/* Derives them. Cannot fail. */
void tp_quant_metrics_of(const struct tp_quant_error *error,
                         struct tp_quant_metrics *metrics);

/* Elements by what HiF8 keeps of them, from the binade of |2^s x|. */
enum tp_hif8_regime {
    TP_HIF8_BITS3,    /* 2^-3 .. 2^4: 3 fraction bits                     */
    TP_HIF8_BITS2,    /* 2^-7 .. 2^-3, 2^4 .. 2^8                         */
    TP_HIF8_BITS1,    /* 2^-15 .. 2^-7, 2^8 .. 2^16                       */
    TP_HIF8_DENORMAL, /* 2^-23 .. 2^-15: powers of two                    */
    TP_HIF8_BELOW,    /* nonzero, below 2^-23: becomes 0                  */
    TP_HIF8_ABOVE,    /* 2^16 and above                                   */
    TP_HIF8_REGIMES
};

/* Counts them from the exact histogram of a summary (of a tensor or of any
 * group); zeros are in no regime. s = tensor_scale, mostly 0. */
void tp_hif8_regimes(const struct tp_summary *summary, int tensor_scale,
                     uint64_t count[TP_HIF8_REGIMES]);

/* The s of spec->scaled for a tensor whose largest finite magnitude is
 * `amax`; 0 for block formats and for tensors of zeros. */
int tp_quant_tensor_scale(const struct tp_quant_spec *spec, double amax);

/* Whether `spec` can be simulated on tensors of `dtype`: floating values and
 * their parts; a HiF8 hybrid needs a source of at most 32 bits. */
bool tp_quant_applies(const struct tp_quant_spec *spec, enum tp_dtype dtype);

/* --- from the histogram of codes ---------------------------------------- */

/*
 * The error of an elementwise cast of what is in the list, whose values came
 * from `dtype` (one real number; 8 or 16 bits). Cheap (some ten microseconds
 * for 10 000 different codes), so that a sweep over scales is a loop.
 */
void tp_quant_list(const struct tp_quant_spec *spec, enum tp_dtype dtype,
                   const struct tp_code_list *list,
                   struct tp_quant_error *error);

/* --- from values --------------------------------------------------------- */

/* Values under way: `rows` rows of `row_length` codes each, contiguous, in
 * native byte order, of any alignment. */
struct tp_quant_rows {
    enum tp_dtype dtype; /* floating; of one real number                  */
    double tensor_amax;  /* largest finite magnitude of the whole tensor,
                            for TP_SCALED_AMAX and NVFP4                  */
    const void *codes;
    size_t rows, row_length;
    enum tp_isa isa; /* whose loops; unknown: the best, asked each time   */
};

/* Adds the error of an elementwise cast, for which rows mean nothing. */
void tp_quant_values(const struct tp_quant_spec *spec,
                     const struct tp_quant_rows *rows,
                     struct tp_quant_error *error);

/* Adds the error of a cast to blocks (MX, NVFP4). They begin at the begin of
 * each row, and the last of a row may be short. */
void tp_quant_blocks(const struct tp_quant_spec *spec,
                     const struct tp_quant_rows *rows,
                     struct tp_quant_error *error);

/* The block of a cast, simulated: x[n] to its scale byte and element codes;
 * n is at most the block's length. For tests against published vectors. */
unsigned tp_quant_block_codes(const struct tp_quant_spec *spec,
                              double tensor_amax, const double *x, size_t n,
                              uint8_t *codes);

#endif
