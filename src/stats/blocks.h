/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_BLOCKS_H
#define TP_STATS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "data/dtype.h"
#include "data/number.h"

/*
 * Overflow, underflow and subnormals under block formats (MX, NVFP4), whose
 * scale depends on the largest of 32 (16) neighbours along one axis.
 *
 * Everything is counted on the codes as stored: for one scale, the limits of
 * the element format are integer limits on the magnitude bits of the code,
 * and those of all scales are one small table, the plan. Counts are exact.
 */

/* How the shared exponent of an MX block follows from its largest magnitude
 * amax = m * 2^e, 1 <= m < 2; E is the exponent of the element's largest
 * value. All are clamped to -127 .. 127; a block of zeros has -127. */
enum tp_scale_rule {
    TP_SCALE_FLOOR, /* e - E (OCP)                                        */
    TP_SCALE_CEIL,  /* e - E, and one more unless m = 1                   */
    TP_SCALE_EVEN,  /* as floor, of amax rounded to the element's precision
                       (halves up)                                        */
    TP_SCALE_RCEIL, /* least k with amax <= max * 2^k                     */
    TP_SCALE_RCEIL_F32, /* the same computed as amax * (1 / max) in binary32:
                       differs for one binary32 amax per format. The plans
                       below, which only count, take it as TP_SCALE_RCEIL */
    TP_SCALE_COUNT
};

/*
 * What a NaN or an infinity does to its block. Only MX has the last: NVFP4
 * takes it as the first. There the scale of a block with an infinity is that of
 * 2^128, rounded as the rule says, in which the infinity comes out as one in
 * binary32, and what is not among the largest of binary32 is 0.
 */
enum tp_nonfinite {
    TP_NONFINITE_BLOCK, /* all of the block becomes NaN (OCP libraries)    */
    TP_NONFINITE_ELEMENT, /* the scale is that of the finite values        */
    TP_NONFINITE_TORCHAO, /* a NaN as the first; the scale covers infinities */
    TP_NONFINITE_COUNT
};

/* "block", "elem", "torchao", then NULL. */
extern const char *const tp_nonfinite_words[];

/* The word of one policy. */
const char *tp_nonfinite_name(enum tp_nonfinite policy);

/* What the scale of an MX block follows from. */
struct tp_block_rules {
    enum tp_scale_rule scale;
    enum tp_nonfinite nonfinite; /* of NVFP4 no matter to what is counted */
};

/* "floor", "ceil", "even", "rceil", "rceil_f32", then NULL. */
extern const char *const tp_scale_rule_words[];

/* The word of one rule. */
const char *tp_scale_rule_name(enum tp_scale_rule rule);

/* The shared exponent of an MX block of `number`; amax >= 0. Of an infinite
 * one as TP_NONFINITE_TORCHAO has it. */
int tp_scale_exponent(const struct tp_number *number, enum tp_scale_rule rule,
                      double amax);

/*
 * NVFP4 scales, with the binary32 operations and their order as Transformer
 * Engine has them: encode = 2688 / tensor_amax (FLT_MAX at most, 1 for 0);
 * the block's scale is E4M3(block_amax * (encode * (1 / 6))), saturating.
 * Returns the scale's value (448 at most; 0 when it rounds to 0).
 */
float tp_nvfp4_encode(double tensor_amax);
float tp_nvfp4_scale(float encode, float block_amax);

/* Counts; all-zero is empty, and adding is the merge. */
struct tp_block_counts {
    uint64_t blocks;
    uint64_t saturated;      /* blocks with at least one overflow         */
    uint64_t upper_overflow; /* scaled x > max before rounding, or +Inf   */
    uint64_t lower_overflow; /* scaled x < -max, or -Inf                  */
    uint64_t underflow;      /* nonzero, rounds to 0                      */
    uint64_t subnormal;      /* nonzero, rounds below the smallest normal,
                                what rounds to 0 included                 */
};

/* Adds `times` times `from` (a view's repeat; else 1). */
void tp_block_counts_merge(struct tp_block_counts *into,
                           const struct tp_block_counts *from,
                           uint64_t times);

/* Largest magnitudes (as codes) that still belong to a class. */
struct tp_block_limits {
    uint64_t finite; /* above: overflows              */
    uint64_t zero;   /* 1 .. this: rounds to 0        */
    uint64_t small;  /* 1 .. this: rounds below min_normal */
    uint64_t fewer;  /* 1 .. this: below min_normal   */
};

enum { TP_BLOCK_SLOTS = 255 };

/*
 * What counting needs, about 7 KB of plain values; read-only while counting,
 * so any number of threads may share one. MX plans depend on (number, rule,
 * dtype) only, take a few microseconds, and are worth keeping from tensor to
 * tensor; an NVFP4 plan also depends on the tensor's amax.
 */
struct tp_block_plan {
    const struct tp_number *number;
    struct tp_block_rules rules;
    enum tp_dtype dtype;   /* of one code; a real floating dtype          */
    int code_size;         /* bytes of one code in memory                 */
    int block;             /* elements in a whole block                   */
    enum tp_isa isa;       /* whose loops count; plan_init takes the best */
    /* The rest is private to blocks.c. */
    int width;             /* bytes of the code that is counted           */
    int fraction_bits;     /* of that code                                */
    uint64_t infinity;     /* magnitude of infinity; above it is NaN      */
    uint64_t ceiling;      /* magnitudes below count for the scale        */
    int infinite_slot;     /* MX: of a block whose largest is infinite    */
    uint64_t carry;        /* MX rule: exponent field of (code + carry)   */
    int slot_bias;         /*   plus this is the slot, clamped            */
    float encode;          /* NVFP4                                       */
    uint16_t widened[256]; /* 8-bit dtypes: the bfloat16 of equal value   */
    struct tp_block_limits limits[TP_BLOCK_SLOTS];
};

/*
 * Makes a plan to judge values of `dtype` (floating, or complex: then its
 * parts) by the block format `number`. `rules` matter for MX, `tensor_amax`
 * (largest finite magnitude of the whole tensor) for NVFP4 only.
 */
void tp_block_plan_init(struct tp_block_plan *plan,
                        const struct tp_number *number,
                        struct tp_block_rules rules, enum tp_dtype dtype,
                        double tensor_amax);

/* Rows of `row_length` codes, one after the other; or, when `columns` is not
 * 0, codes[row_length][columns], whose columns are the rows (rows: 1). Blocks
 * begin with each row. */
struct tp_block_rows {
    const void *codes;
    size_t rows, row_length, columns;
};

/*
 * Adds the counts of `rows` rows of `row_length` codes each, contiguous,
 * native byte order, aligned to the code size. Blocks begin at the begin of
 * each row; the last of a row may be short. So a long row may be given in
 * pieces, cut at multiples of plan->block.
 */
void tp_blocks_count(const struct tp_block_plan *plan, const void *codes,
                     size_t rows, size_t row_length,
                     struct tp_block_counts *counts);

/*
 * The same for blocks that run down the columns of a matrix codes[length]
 * [columns]: as tp_blocks_count of its transpose, without transposing. Long
 * columns may be given in pieces, cut at multiples of plan->block, and any
 * set of columns on its own.
 */
void tp_blocks_count_across(const struct tp_block_plan *plan,
                            const void *codes, size_t length, size_t columns,
                            struct tp_block_counts *counts);

#endif
