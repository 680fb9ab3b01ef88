/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DIFFERENCE_H
#define TP_STATS_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"
#include "stats/code_key.h"

/*
 * How far the values of one tensor, x, are from those of a reference, y,
 * element by element: errors, units in the last place, and the distance of the
 * two distributions.
 *
 * Relative errors are |x - y| / |y|, computed in binary32 where both dtypes are
 * floating of at most 32 bits and in binary64 otherwise; where y is 0, the
 * machine epsilon of that format is added to both. This is what msprobe's
 * MaxRelativeErr is. All other arithmetic is binary64.
 *
 * Elements that are NaN or infinite in x or y are counted and in no error, sum,
 * distance in units of the last place, or distribution.
 *
 * A unit in the last place (ULP) is that of the coarser dtype: a distance is
 * the number of its values from one to the other, each rounded to it (nearest,
 * ties to even) as if its exponent had no upper end. The coarser of two is the
 * one of fewer significant bits; a floating dtype is coarser than an integer;
 * between integers a unit is 1.
 */

enum {
    /* Distances 0 to 15 each have a bin, then 8 bins an octave up to 2^64. */
    TP_DIFFERENCE_ULP_BINS = 1 + 64 * 8,
    /* Cells of the distributions: 16 bits of key. */
    TP_DIFFERENCE_CELLS = 65536
};

/* What comparing two dtypes takes; plain memory, made once. */
struct tp_difference_plan {
    enum tp_dtype x, y; /* of real numbers                                 */
    bool same;          /* they are the same: codes can be compared        */
    bool single;        /* computed in binary32                            */
    bool raw_cells;     /* cells are codes: the same dtype of 16 bits      */
    bool joint;         /* both have 8 bits: cells are pairs of codes      */
    int fraction;       /* significant bits of the coarser, less the first;
                           -1: integers                                    */
    int least;          /* exponent of its smallest normal number          */
    enum tp_isa isa;
    float value_x[256], value_y[256]; /* of 8-bit codes                    */
};

/* Makes the plan for two dtypes of real numbers (not complex). */
void tp_difference_plan_make(enum tp_dtype x, enum tp_dtype y, enum tp_isa isa,
                             struct tp_difference_plan *plan);

/* What is kept of a piece of two tensors. All-zero bytes are empty. */
struct tp_difference {
    uint64_t values;
    uint64_t finite; /* both are                                           */
    uint64_t nan_x, nan_y, inf_x, inf_y;
    uint64_t both_nan, same_inf, opposite_inf;
    uint64_t differ; /* in value: two NaN are equal, and so are -0 and 0   */
    uint64_t below_1e_3, below_5e_3; /* relative errors, of finite ones    */
    double xx, yy, xy, dd; /* sums of squares and products; d = x - y      */
    double abs_d;
    double max_abs, max_relative;
    uint64_t ulp_max;
    int64_t first_at; /* first element that differs, plus 1; 0: none       */
    uint64_t ulp[TP_DIFFERENCE_ULP_BINS]; /* elements by distance          */
};

/* What is counted in large tables, several in turn, so that equal neighbours do
 * not wait for each other's store. All-zero bytes are empty. Not more than 2^30
 * elements between two flushes. */
struct tp_difference_cells {
    /* elements of x less those of y by cell, modulo 2^32; if plan->joint, by
     * pair of codes: x << 8 | y                                           */
    uint32_t cell[2][TP_DIFFERENCE_CELLS];
    uint32_t ulp[4][TP_DIFFERENCE_ULP_BINS]; /* by distance                */
};

/* Elements to add: n codes of each dtype of the plan, native byte order, any
 * alignment; borrowed. */
struct tp_difference_spans {
    const void *x, *y;
    size_t n;
    int64_t first; /* element with which they begin                        */
};

/*
 * Adds elements. Cannot fail. The same values in the same calls give the same
 * bytes, whatever the instruction set.
 */
void tp_difference_add(const struct tp_difference_plan *plan,
                       const struct tp_difference_spans *spans,
                       struct tp_difference *difference,
                       struct tp_difference_cells *cells);

/* Adds `from` to `into`; merge pieces in the order of the tensors. */
void tp_difference_merge(struct tp_difference *into,
                         const struct tp_difference *from);

/* As if every element occurred `repeat` times (stride-0 axes); closed ones. */
void tp_difference_repeat(struct tp_difference *difference, uint64_t repeat);

/* Adds the tables to *difference and to totals[TP_DIFFERENCE_CELLS], and
 * empties them. Integers: in any order. */
void tp_difference_flush(struct tp_difference_cells *cells,
                         struct tp_difference *difference, int64_t *totals);

/* Ends the sums: of a plan that is joint they are made here, and the totals
 * become those of other plans. Once, after all is merged and flushed. */
void tp_difference_close(const struct tp_difference_plan *plan,
                         struct tp_difference *difference, int64_t *totals);

/* What the sums give; NaN where a number does not exist, and everywhere but in
 * counts without an element that is finite in both. */
struct tp_difference_numbers {
    uint64_t values, finite;
    uint64_t nan_x, nan_y, inf_x, inf_y;
    uint64_t nonfinite_apart; /* elements where one is NaN or infinite and the
                                 other is not the same (sign not looked at) */
    uint64_t differ;          /* in value                                     */
    double differ_share;      /* of all values, 0 to 1                        */
    int64_t first_at; /* first element that differs in value; -1: none */
    double cosine;    /* -1 to 1; NaN: x or y is zero                 */
    double one_minus_cosine;
    double l2;             /* Euclidean distance                           */
    double norm_x, norm_y; /* L2                                           */
    double mean_abs;       /* mean |x - y|                                 */
    double max_abs;
    double max_relative;
    double below_1e_3, below_5e_3; /* shares of finite ones, 0 to 1         */
    double sqnr_db; /* 10 log10(sum y^2 / sum (x - y)^2); infinity: no error */
    double ulp_p50, ulp_p99; /* least distance that so many are within: exact
                                to 15, beyond at most 1/8 too large        */
    double ulp_max;          /* exact below 2^53                           */
    double ks; /* largest distance of the distribution functions, 0 to 1; exact
                  where both dtypes have at most 8 significant bits or are the
                  same of 16 bits, else of values cut to 8 bits             */
};

/* Sets *numbers; sums and totals are closed; `totals` may be NULL: ks is NaN
 * then. */
void tp_difference_numbers(const struct tp_difference_plan *plan,
                           const struct tp_difference *difference,
                           const int64_t *totals,
                           struct tp_difference_numbers *numbers);

#endif
