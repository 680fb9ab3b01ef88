/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_ROW_H
#define TP_COMPARE_COMPARE_ROW_H

#include "compare/compare_entry.h"
#include "compare/compare_match.h"
#include "stats/difference_msprobe.h"

/* What is known of a row of A and its partner in B. */

/* By what two dumps are compared. */
enum tp_compare_mode {
    TP_COMPARE_AUTO,       /* by the best that both have                   */
    TP_COMPARE_TENSOR,     /* the values, element by element               */
    TP_COMPARE_STATISTICS, /* Max, Min, Mean, Norm of the json             */
    TP_COMPARE_MD5         /* the checksums of the json                    */
};

/* "auto", "tensor", "statistics", "md5", then NULL. */
extern const char *const tp_compare_mode_words[];

/* msprobe's verdict. */
enum tp_compare_result {
    TP_COMPARE_PASS,
    TP_COMPARE_WARNING,
    TP_COMPARE_ERROR,
    TP_COMPARE_RESULTS
};

/* "pass", "warning", "error". */
extern const char *const tp_compare_result_words[TP_COMPARE_RESULTS];

/* How far a statistic of A is from that of B. */
struct tp_compare_shift {
    const char *difference, *relative; /* as msprobe prints them           */
    double error; /* the relative one; Inf: B is 0; NaN: none is known     */
};

/* What the elements of two tensors say besides msprobe's metrics. NaN and -1
 * where it is not known. */
struct tp_compare_elements {
    bool compared; /* they were read, of equal shape                       */
    double values, unequal; /* elements; those not bit-equal as numbers    */
    int64_t first;          /* row-major index of the first such element   */
    double norm_a, norm_b;  /* L2, of elements that are finite in both     */
    double relative_l2;     /* |A - B| / |B|, L2 norms                     */
    double sqnr;            /* dB                                          */
    double ulp50, ulp99, ulp_max; /* quantiles of |A - B| in units of the
                                     last place of the coarser dtype       */
    double ks; /* distance of the distributions, Kolmogorov and Smirnov    */
};

/* Nothing is known. */
extern const struct tp_compare_elements tp_compare_elements_none;

/* One row. */
struct tp_compare_line {
    size_t a;    /* of the entries of A                           */
    size_t b;    /* of B; TP_COMPARE_NONE                         */
    bool dtypes; /* of tp_compare_partner                         */
    struct tp_compare_shift shifts[TP_DUMP_STATS];
    struct tp_msprobe_value metrics[TP_MSPROBE_METRICS];
    struct tp_compare_elements elements;
    const char *problem; /* why tensors were not compared; "": nothing    */
    bool damaged;        /* since a file is damaged, or not there         */
    enum tp_compare_result result;
    unsigned messages; /* bits of tp_compare_messages, compare_judge.h     */
};

/* A step of a rank of both. */
struct tp_compare_pair {
    struct tp_compare_entries a, b;
    struct tp_compare_line *rows; /* [row_count] in the order of A          */
    size_t row_count;
    bool *matched_b;       /* [b.count] rows that are a partner           */
    struct tp_arena arena; /* owns texts of the rows                      */
};

/* The row of A, and that of B; NULL: there is none. */
const struct tp_compare_entry *tp_compare_row_a(
    const struct tp_compare_pair *pair, const struct tp_compare_line *row);
const struct tp_compare_entry *tp_compare_row_b(
    const struct tp_compare_pair *pair, const struct tp_compare_line *row);

/* Whether a row of A and its partner are bit-equal as far as the mode can
 * tell; rows without a partner are not. */
bool tp_compare_is_equal(const struct tp_compare_pair *pair,
                         const struct tp_compare_line *row,
                         enum tp_compare_mode mode);

/* How far A is from B, relative to B, as one number: of tensors the L2 norm,
 * of statistics that of the norm or, without one, the largest; 0: equal; NaN:
 * not known. */
double tp_compare_error(const struct tp_compare_pair *pair,
                        const struct tp_compare_line *row,
                        enum tp_compare_mode mode);

/*
 * How far apart A and B are, whichever is the larger: as tp_compare_error but
 * over the larger norm, so that a tensor that is nearly zero in B, or zero,
 * is not further off than all others; 0 to 2. Of statistics without a norm the
 * differences of Max, Min and Mean over the largest magnitude: a mean that
 * cancels is measured by the values it is of. Inf: NaN or Inf in other places.
 */
double tp_compare_distance(const struct tp_compare_pair *pair,
                           const struct tp_compare_line *row,
                           enum tp_compare_mode mode);

/* Releases everything; empty afterwards. */
void tp_compare_pair_clear(struct tp_compare_pair *pair);

#endif
