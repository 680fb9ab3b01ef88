/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_CODES_H
#define TP_STATS_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "data/dtype.h"
#include "data/number.h"
#include "stats/summary.h"

/*
 * The exact histogram of the bit patterns ("codes") of a tensor whose real
 * numbers have 8 or 16 bits. Everything we report of such a tensor follows
 * from it in one pass over at most 65 536 codes, and integer counts merge
 * exactly in any order.
 */

enum {
    TP_CODES = 65536,
    /* Four tables, one for each of four neighbours: on constant data a
     * single one would wait for its own last store each time. */
    TP_CODE_TABLES = 4,
    /* Below this a tensor sorts its codes instead: clearing and scanning the
     * tables costs more than a radix sort of so few. */
    TP_CODES_SORTED = 32768
};

/*
 * Counting tables of one worker, 1 MiB. All-zero bytes are empty. A table
 * entry holds at most 2^32 - 1, so not more than that many codes may be
 * added between two calls of tp_codes_flush.
 */
struct tp_code_tables {
    uint32_t count[TP_CODE_TABLES][TP_CODES];
};

/*
 * Counts n codes of 16 bits (native order, any alignment) or of 8 bits.
 * Cannot fail. One thread per object.
 */
void tp_codes_count16(struct tp_code_tables *tables, const void *codes,
                      size_t n);
void tp_codes_count8(struct tp_code_tables *tables, const void *codes,
                     size_t n);

/*
 * Adds the tables to totals[codes] and empties them; codes is TP_CODES, or
 * 256 when only 8-bit codes were counted.
 */
void tp_codes_flush(struct tp_code_tables *tables, size_t codes,
                    uint64_t *totals);

/*
 * A histogram as a list: the finite values that occur, ascending, with their
 * counts, and what is not finite. -0 and +0 are one value, 0. The arrays have
 * room for TP_CODES entries and are the caller's.
 */
struct tp_code_list {
    double *value;
    uint64_t *count;
    size_t length;
    uint64_t finite; /* sum of the counts */
    uint64_t nan, pos_inf, neg_inf;
};

/*
 * Makes the list of totals[TP_CODES] (256 are used for 8-bit codes). `dtype`
 * is that of one real number: not complex, 8 or 16 bits.
 */
void tp_codes_list(enum tp_dtype dtype, const uint64_t *totals,
                   struct tp_code_list *list);

/*
 * The same list from n <= TP_CODES_SORTED codes directly, by sorting.
 * `scratch` has 2 * TP_CODES_SORTED elements.
 */
void tp_codes_list_sorted(enum tp_dtype dtype, const void *codes, size_t n,
                          uint16_t *scratch, struct tp_code_list *list);

/* Every count times `repeat` (stride-0 axes). */
void tp_code_list_repeat(struct tp_code_list *list, uint64_t repeat);

/*
 * Fills in extrema, moments, bins and all counts but numel of an all-zero
 * summary, and the quantiles (NaN without finite values). `target` is an
 * elementwise format to judge by, or NULL: nothing is judged. Sums are
 * compensated: within a few units of the last place of the exact ones.
 */
void tp_code_list_summarize(const struct tp_code_list *list,
                            const struct tp_number *target,
                            struct tp_summary *summary, double *quantile);

#endif
