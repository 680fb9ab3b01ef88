/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_TALLY_H
#define TP_STATS_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/codes.h"
#include "stats/quantize.h"

/*
 * MX formats on tensors of 8-bit and 16-bit codes, exactly, from integers.
 *
 * The scale is a power of two. So a value that neither saturates nor falls
 * below the block's smallest normal is rounded to the element's precision
 * whatever the scale: the histogram of codes knows its error. Of all others
 * a tally counts the codes by what happens to them; mostly they are few. The
 * error of the tensor then follows from the histogram and the tally. Tallies
 * are integers, and merge exactly in any order.
 */

enum tp_tally_class {
    TP_TALLY_SATURATED, /* becomes the largest value in its own binade     */
    TP_TALLY_ZERO,      /* becomes 0                                       */
    TP_TALLY_LOST,      /* becomes NaN with its block                      */
    TP_TALLY_FEWER,     /* + r - 1: rounded to r bits less, 1 <= r <= 4    */
    TP_TALLY_CLASSES = TP_TALLY_FEWER + 4
};

enum {
    TP_TALLY_CODES = 32768, /* magnitudes of 16 bits                       */
    TP_TALLY_LINE = 64,     /* codes marked together                       */
    TP_TALLY_LINES = TP_TALLY_CODES / TP_TALLY_LINE
};

/* About 1.8 MB, of which little is touched. All-zero bytes are empty. */
struct tp_tally {
    struct tp_quant_error counts; /* of blocks, scales, overflow; of lost
                                     blocks also underflow and subnormal   */
    uint64_t count[TP_TALLY_CLASSES][TP_TALLY_CODES];
    uint8_t used[TP_TALLY_CLASSES][TP_TALLY_LINES];
};

/* A block of 8-bit codes by its largest magnitude: its slot, and the limits of
 * it among the magnitudes of these codes. */
struct tp_tally_bytes {
    uint8_t slot, finite, fewer;
};

/* What tallying needs; read-only then. MX formats, dtypes of 8 or 16 bits, and
 * TP_FLOAT32 for stats/float_tally.h. */
struct tp_tally_plan {
    struct tp_block_plan blocks;
    struct tp_quant_spec spec;
    int precision;                  /* of spec.number                     */
    unsigned spoils;                /* magnitudes that make a block NaN: from
                                       here on                            */
    int16_t normal[TP_BLOCK_SLOTS]; /* exponent of the smallest normal, in
                                       binades of the code                 */
    bool bytes; /* 8-bit codes are compared as they are: sign and magnitude */
    uint8_t byte_ceiling; /* the last magnitude that counts for a scale    */
    struct tp_tally_bytes by_byte[128];
};

/* Whether a cast of tensors of this (real) dtype can be tallied. */
bool tp_tally_applies(const struct tp_quant_spec *spec, enum tp_dtype dtype);

/* Makes a plan; a few microseconds. */
void tp_tally_plan_init(struct tp_tally_plan *plan,
                        const struct tp_quant_spec *spec,
                        enum tp_dtype dtype);

/* Tallies `rows` rows of `row_length` codes; as tp_blocks_count. */
void tp_tally_rows(const struct tp_tally_plan *plan, const void *codes,
                   size_t rows, size_t row_length, struct tp_tally *tally);

/* Adds `from` to `into` and empties it. */
void tp_tally_flush(struct tp_tally *from, struct tp_tally *into);

/*
 * Adds the outcome for the values in `list`, all of which were tallied, and
 * empties the tally. `scratch` has room for TP_CODES entries.
 */
void tp_tally_finish(const struct tp_tally_plan *plan, struct tp_tally *tally,
                     const struct tp_code_list *list, uint64_t *scratch,
                     struct tp_quant_error *error);

#endif
