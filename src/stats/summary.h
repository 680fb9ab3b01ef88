/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_SUMMARY_H
#define TP_STATS_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"

/*
 * What is kept of a tensor, or of any set of tensors, once its values are
 * gone: counts, extrema, moments and a histogram of 8 bins per binade.
 *
 * The laws of every accumulator of this program hold: all-zero bytes are the
 * empty state; no pointers; merge(empty, x) = merge(x, empty) = x bit for
 * bit; merge is associative, exactly for integers and extrema, within
 * rounding for moments. Merging in a fixed order is therefore reproducible.
 */

/* Sign (1 bit), biased binary32 exponent (8), top of the fraction (3): the
 * upper 12 bits of the value truncated to binary32. Values outside the range
 * of binary32 go to its outermost bins. */
enum { TP_SUMMARY_BINS = 4096 };

/* Order of the quantiles everywhere: q01 q05 q25 q50 q75 q95 q99. */
enum { TP_QUANTILES = 7 };
extern const double tp_quantile_levels[TP_QUANTILES];

struct tp_counts {
    uint64_t numel;     /* all elements; complex: number of complex ones  */
    uint64_t values;    /* real numbers: 2 * numel for complex            */
    uint64_t nan, pos_inf, neg_inf;
    uint64_t zero;      /* of either sign                                 */
    uint64_t negative;  /* finite and < 0                                 */
    uint64_t judged;    /* values the four counts below were taken over;
                           0 when there is no target format (integers)    */
    uint64_t upper_overflow, lower_overflow, underflow, subnormal;
};

/*
 * Over the finite values. Central moments are sums, not divided by n. All
 * are those of the values times 2^-scale, since the fourth powers of float64
 * values do not fit a double: tp_scalars_of gives the true numbers.
 */
struct tp_moments {
    uint64_t n;
    double mean, m2, m3, m4;
    double sum_abs, sum_squares;
    int64_t scale; /* tp_moments_scale of the largest magnitude           */
};

/*
 * The scale of moments of values up to `abs_max`, finite: a multiple of 400
 * that brings it into [2^-200, 2^200), so 0 for every dtype but float64 and
 * for all zeros. Fourth powers of what matters are normal then: they are
 * below 2^804, and of the last place of abs_max still 2^-1008.
 */
int64_t tp_moments_scale(double abs_max);

/* Over the finite values; meaningless while moments.n is 0. */
struct tp_extrema {
    double min, max;
    double abs_min_nonzero; /* 0: there was no nonzero value              */
};

/* Infinite values of either sign, and with the NaN all that are not finite. */
uint64_t tp_counts_infinite(const struct tp_counts *counts);
uint64_t tp_counts_nonfinite(const struct tp_counts *counts);

struct tp_summary {
    struct tp_counts counts;
    struct tp_moments moments;
    struct tp_extrema extrema;
    uint64_t bins[TP_SUMMARY_BINS]; /* finite nonzero values              */
};

/* Adds `from` to `into`. Cannot fail; any two states. */
void tp_summary_merge(struct tp_summary *into, const struct tp_summary *from);
void tp_counts_merge(struct tp_counts *into, const struct tp_counts *from);

/* Both go to the greater scale, exactly but for what underflows there: less
 * than 2^-200 of the rounding errors of the other. */
void tp_moments_merge(struct tp_moments *into,
                      const struct tp_moments *from);

/* The same for extrema of into_n and from_n finite values. */
void tp_extrema_merge(struct tp_extrema *into, uint64_t into_n,
                      const struct tp_extrema *from, uint64_t from_n);

/*
 * The numbers users see. Over finite values; NaN, of positive sign, where a
 * number does not exist (n = 0; std, skewness, kurtosis of n = 1; ratios when
 * nothing was judged); infinite where a double cannot hold it. std divides
 * by n - 1, skewness = m3/n / (m2/n)^1.5, kurtosis is excess. Every ratio is
 * over counts.numel (counts.values for complex).
 */
struct tp_numbers {
    double min, max, mean, std, abs_max, abs_min_nonzero, l1_norm, l2_norm;
    double skewness, kurtosis;
    double quantile[TP_QUANTILES]; /* see tp_summary_numbers              */
    double upper_overflow_ratio, lower_overflow_ratio, total_overflow_ratio;
    double underflow_ratio, subnormal_ratio;
};

/*
 * Derives the numbers. Quantiles here are interpolated inside the bins of the
 * histogram (within 2^-3 relative); a tensor's exact ones replace them.
 */
void tp_summary_numbers(const struct tp_summary *summary,
                        struct tp_numbers *numbers);

/* As tp_summary_numbers, but the quantiles are NaN: for who has exact ones,
 * or needs none. */
void tp_summary_scalars(const struct tp_summary *summary,
                        struct tp_numbers *numbers);

/* The same for who keeps no histogram. */
void tp_scalars_of(const struct tp_counts *counts,
                   const struct tp_moments *moments,
                   const struct tp_extrema *extrema,
                   struct tp_numbers *numbers);

/* Bin of a finite nonzero value, and the bin's edges: the values v of a bin
 * satisfy inner <= |v| < outer. sign is +1 or -1. */
unsigned tp_summary_bin(double value);
void tp_summary_bin_edges(unsigned bin, double *inner, double *outer,
                          int *sign);

/*
 * Gives each occupied bin, zeros too (with lower = upper = 0), to `take` in the
 * order of values; the edge nearer 0 belongs to a bin. Stops at the first
 * status that is not TP_OK, and returns it.
 */
enum tp_status tp_summary_bins(const struct tp_summary *summary,
                               enum tp_status (*take)(void *context,
                                                      double lower,
                                                      double upper,
                                                      uint64_t count),
                               void *context);

/*
 * A summary in a few hundred bytes: counts, moments and extrema as they are,
 * the occupied bins as variable-length integers. Owned by the arena.
 */
struct tp_packed {
    struct tp_counts counts;
    struct tp_moments moments;
    struct tp_extrema extrema;
    uint32_t bin_bytes;
    uint8_t bins[];
};

/* Packs into the arena; NULL when out of memory. */
const struct tp_packed *tp_summary_pack(const struct tp_summary *summary,
                                        struct tp_arena *arena);

/* Bytes of a packed summary that stands in memory of `room` bytes, aligned to
 * 8; 0: they hold none that the next function could take. */
size_t tp_packed_bytes(const void *memory, size_t room);

/* Bins of one sign and binade, and with it eight, as one. */
enum { TP_SUMMARY_BINADES = TP_SUMMARY_BINS / 8 };

/* Adds the bins of a packed summary to those of their binades. */
void tp_packed_binades(const struct tp_packed *packed,
                       uint64_t binades[TP_SUMMARY_BINADES]);

/* Adds a packed summary to `into`, as tp_summary_merge does. */
void tp_summary_merge_packed(struct tp_summary *into,
                             const struct tp_packed *packed);

#endif
