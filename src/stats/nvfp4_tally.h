/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_NVFP4_TALLY_H
#define TP_STATS_NVFP4_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/quantize.h"

/*
 * NVFP4 on tensors of 8-bit and 16-bit codes. What an element becomes depends
 * on its magnitude and the E4M3 scale of its block alone, and there are 127 of
 * these: so elements are counted by both, and each pair that occurs is rounded
 * once. Counts are integers, and merge exactly in any order.
 */
enum {
    TP_NVFP4_SCALES = 127,
    TP_NVFP4_MAGNITUDES = 32768, /* of 16 bits; 8-bit codes as bfloat16    */
    TP_NVFP4_LINE = 64,          /* counts of a total, marked together     */
    TP_NVFP4_LINES = TP_NVFP4_MAGNITUDES / TP_NVFP4_LINE
};

/* About 17 MB, of which little is touched. All-zero bytes are empty; at most
 * 2^32 - 1 values between two flushes. */
struct tp_nvfp4_tally {
    struct tp_quant_error counts; /* of blocks, scales, overflow           */
    bool used[TP_NVFP4_SCALES]; /* some count of the scale is not 0        */
    uint8_t scale[TP_NVFP4_MAGNITUDES]; /* 1 + that of a largest magnitude, of
                                           those there were                */
    uint32_t count[TP_NVFP4_SCALES][TP_NVFP4_MAGNITUDES];
};

/* The same of a whole tensor. */
struct tp_nvfp4_total {
    struct tp_quant_error counts;
    uint64_t count[TP_NVFP4_SCALES][TP_NVFP4_MAGNITUDES];
    uint8_t used[TP_NVFP4_SCALES][TP_NVFP4_LINES];
};

/* What tallying needs; read-only then. */
struct tp_nvfp4_plan {
    struct tp_quant_spec spec;
    double tensor_amax; /* largest finite magnitude                        */
    struct tp_block_plan blocks;
};

/* Whether a cast of tensors of this dtype can be tallied. */
bool tp_nvfp4_tally_applies(const struct tp_quant_spec *spec,
                            enum tp_dtype dtype);

/* Makes a plan, for one tensor; a few microseconds. */
void tp_nvfp4_plan_init(struct tp_nvfp4_plan *plan,
                        const struct tp_quant_spec *spec, enum tp_dtype dtype,
                        double tensor_amax);

/*
 * Tallies rows of blocks, which are not columns. Blocks with a
 * NaN or an infinity are added to *special instead, whose sums round: it is to
 * be merged in order.
 */
void tp_nvfp4_tally_rows(const struct tp_nvfp4_plan *plan,
                         const struct tp_block_rows *rows,
                         struct tp_nvfp4_tally *tally,
                         struct tp_quant_error *special);

/* Adds `from` to `into` and empties it. */
void tp_nvfp4_tally_flush(struct tp_nvfp4_tally *from,
                          struct tp_nvfp4_total *into);

/* Adds the outcome of what was tallied. */
void tp_nvfp4_tally_finish(const struct tp_nvfp4_plan *plan,
                           const struct tp_nvfp4_total *total,
                           struct tp_quant_error *error);

#endif
