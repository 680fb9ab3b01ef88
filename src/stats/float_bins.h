/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_FLOAT_BINS_H
#define TP_STATS_FLOAT_BINS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"
#include "stats/code_key.h"
#include "stats/quantize.h"

/*
 * Elementwise casts of binary32 values from one count of them.
 *
 * A bin holds the codes that agree in their leading bits: sign, exponent and 8
 * bits of fraction. The other 15, `low`, are an integer, and the value of a
 * code is the edge of its bin + low steps of the binade (away from zero). What
 * rounds to at most 8 significant bits changes at edges only, and a tie has
 * low = 0. So codes with low = 0 are one value, and all others of a bin become
 * the same: with their number, the sum of low and that of its squares, the sums
 * of x^2, xq, q^2 and (x - q)^2 follow without error; with the least and the
 * most low, the largest error. Integers merge in any order.
 *
 * The mean of |x - q| / |x| alone is an expansion about the mean of a bin, to
 * second order: bins are 2^-8 wide, so what is left is below 1e-6 of it.
 */
enum {
    TP_FLOAT_BIN_SHIFT = 15, /* bits of low                                */
    TP_FLOAT_BINS = 1 << (32 - TP_FLOAT_BIN_SHIFT),
    /* where in tp_float_bin.sum the number of values begins: 2^23 values of
     * low add up to less than 2^38 */
    TP_FLOAT_BIN_COUNT = 40
};

/* One bin of a worker, for at most 2^23 values between two flushes. All-zero
 * bytes are empty. */
struct tp_float_bin {
    uint64_t sum;     /* of low; from TP_FLOAT_BIN_COUNT on: how many > 0  */
    uint64_t squares; /* of low                                            */
    uint32_t edge;    /* how many with low = 0                             */
    uint16_t most;    /* low                                               */
    uint16_t least;   /* 2^15 - low, the most of it                        */
};

/* The same of a whole tensor, whatever its size. */
struct tp_float_bin_total {
    uint64_t edge, inner; /* with low = 0, and others                      */
    uint64_t sum;
    uint64_t squares[2]; /* low and high half                              */
    uint16_t most, least;
};

/* Whether the cast of binary32 values follows from bins: elementwise, to at
 * most 8 significant bits, by the value alone. */
bool tp_float_bins_suit(const struct tp_quant_spec *spec);

/* Adds the codes of a span of TP_FLOAT32 to bins[TP_FLOAT_BINS]. */
void tp_float_bins_add(const struct tp_span *span, enum tp_isa isa,
                       struct tp_float_bin *bins);

/* Adds n bins to as many totals and empties them. */
void tp_float_bins_flush(struct tp_float_bin *bins, size_t n,
                         struct tp_float_bin_total *totals);

/* How many codes are in a bin. */
static inline uint64_t tp_float_bin_count(
    const struct tp_float_bin_total *total)
{
    return total->edge + total->inner;
}

/*
 * Adds the error of a cast that suits to *error; `amax` is the largest finite
 * magnitude. False, and nothing is added: some values are subnormal and do not
 * become 0, where bins are too wide to tell.
 */
bool tp_float_bins_cast(const struct tp_float_bin_total *totals,
                        const struct tp_quant_spec *spec, double amax,
                        struct tp_quant_error *error);

#endif
