/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_CODES_H
#define TP_STATS_CODES_H

#include <stdbool.h>
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
    /* Codes that share a cache line of a table, and are marked together. */
    TP_CODE_LINE = 16,
    TP_CODE_LINES = TP_CODES / TP_CODE_LINE,
    /* Up to so many codes, lines in use are marked, so that few codes do not
     * pay for scanning and clearing 65 536 counters. */
    TP_CODES_FEW = 65536
};

/*
 * Counting tables of one worker, 1 MiB. All-zero bytes are empty. A table
 * entry holds at most 2^32 - 1, so not more than that many codes may be
 * added between two flushes.
 */
struct tp_code_tables {
    uint32_t count[TP_CODE_TABLES][TP_CODES];
    uint8_t used[TP_CODE_LINES]; /* 1: some code of the line was counted   */
    bool all_used;               /* nothing is known about lines           */
    int depth;                   /* tables in use: the first so many       */
};

/*
 * Counts n codes of 16 bits (native order, any alignment) or of 8 bits.
 * Cannot fail. One thread per object.
 */
void tp_codes_count16(struct tp_code_tables *tables, const void *codes,
                      size_t n);
void tp_codes_count8(struct tp_code_tables *tables, const void *codes,
                     size_t n);

/* Adds the tables to totals[TP_CODES] and empties them. */
void tp_codes_flush(struct tp_code_tables *tables, uint64_t *totals);

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

/* The same list of what was counted since the last flush; empties the
 * tables. Costs little when few codes were counted. */
void tp_codes_list_flush(enum tp_dtype dtype, struct tp_code_tables *tables,
                         struct tp_code_list *list);

/*
 * The same list of n entries, ascending by code: each is a code that occurs,
 * 1 to 65536 times: code << 16 | (times - 1).
 */
void tp_codes_list_entries(enum tp_dtype dtype, const uint32_t *entries,
                           size_t n, struct tp_code_list *list);

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
