/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_SELECT_H
#define TP_STATS_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "data/dtype.h"
#include "stats/code_key.h"
#include "stats/quantile.h"
#include "stats/values.h"

/*
 * Exact quantiles of wide values in bounded memory: all order statistics are
 * selected at once, digit by digit of their keys (stats/code_key.h). The first
 * reading of the tensor counts the top 17 bits of every key; each further
 * one counts the next 14 to 18 bits of those keys only that share the digits
 * already known of some wanted one. As soon as few keys do, they are gathered
 * and sorted instead. The seven quantiles of a large tensor lie in seven or
 * eight groups, so 32-bit values are read twice and 64-bit values three times,
 * unless what a first reading kept stands for them (stats/candidates.h).
 */

enum {
    TP_SELECT_TOP_BITS = 17,
    TP_SELECT_TOP = 1 << TP_SELECT_TOP_BITS,
    TP_SELECT_TABLES = 2, /* as TP_CODE_TABLES, of the top digits          */
    TP_SELECT_ROOM_BITS = 18,
    TP_SELECT_ROOM = 1 << TP_SELECT_ROOM_BITS, /* entries in all: 1 MiB    */
    TP_SELECT_SMALL = 32768 /* so many or fewer are sorted instead         */
};

/* Tables of one worker. All-zero bytes are empty; an entry holds up to
 * 2^32 - 1 between two flushes. */
union tp_select_tables {
    uint32_t count[TP_SELECT_ROOM]; /* first reading: two top tables       */
    struct {
        uint64_t length;
        uint64_t key[TP_SELECT_SMALL];
    } gathered;
};

/* What the next reading is for. */
enum tp_select_step { TP_SELECT_DIGIT, TP_SELECT_GATHER, TP_SELECT_DONE };

/* Where a selection stands. Read-only while a reading is under way. */
struct tp_select {
    enum tp_dtype dtype;         /* real, 32 or 64 bits                    */
    enum tp_isa isa; /* whose loops; unknown, as a selection begins: the
                        best, asked each time                              */
    enum tp_code_order order;
    int bits;                    /* of a key                               */
    int known;                   /* bits of the keys that are known        */
    enum tp_select_step next;
    int digit;                   /* bits that TP_SELECT_DIGIT finds        */
    unsigned groups;             /* distinct prefixes of the wanted keys   */
    uint64_t prefix[TP_RANKS];   /* of each group, ascending, `known` bits */
    uint64_t size[TP_RANKS];     /* keys in each group                     */
    unsigned group[TP_RANKS];    /* of each wanted order statistic         */
    uint64_t rank[TP_RANKS];     /* inside its group                       */
    /* 1 + first group whose prefix begins with these 16 bits; 0: none */
    uint8_t first_group[65536];
};

/* Counts the top digits of the span's codes in the first reading. */
void tp_select_count_top(const struct tp_span *span,
                         union tp_select_tables *tables);

/* Adds the tables of the first reading to totals[TP_SELECT_TOP] and empties
 * them. */
void tp_select_flush_top(union tp_select_tables *tables, uint64_t *totals);

/*
 * The summary bins of TP_FLOAT32 values from the totals of the first reading:
 * a bin is the sum of 32 top digits. Other dtypes count bins one by one.
 */
void tp_select_top_bins(const uint64_t *totals,
                        const struct tp_counts *counts, uint64_t *bins);

/*
 * Starts a selection: of the values whose top digits are in `totals`,
 * `values` tells how many are finite and how many keys lie below those (-Inf
 * and negative NaN). At least one must be finite.
 */
void tp_select_begin(struct tp_select *select, enum tp_dtype dtype,
                     const struct tp_values *values,
                     const struct tp_ranks *ranks, const uint64_t *totals);

/* Until select->next is TP_SELECT_DONE: takes codes of one more reading, */
void tp_select_count(const struct tp_select *select,
                     const struct tp_span *span,
                     union tp_select_tables *tables);

/* adds the tables to totals[TP_SELECT_ROOM], zero at the start of the
 * reading, and empties them, */
void tp_select_flush(const struct tp_select *select,
                     union tp_select_tables *tables, uint64_t *totals);

/* (or the totals of others, from a reading of the same step, are added) */
void tp_select_add(const struct tp_select *select, const uint64_t *from,
                   uint64_t *totals);

/* and, at the end of the reading, learns from the totals (and may sort in
 * them). */
void tp_select_learn(struct tp_select *select, uint64_t *totals);

/* The wanted order statistics, when done. */
void tp_select_values(const struct tp_select *select,
                      double ordered[TP_RANKS]);

/*
 * The same from at most TP_SELECT_SMALL codes in memory. `scratch` has
 * 2 * TP_SELECT_SMALL elements.
 */
void tp_select_small(const struct tp_span *span,
                     const struct tp_values *values,
                     const struct tp_ranks *ranks, uint64_t *scratch,
                     double ordered[TP_RANKS]);

#endif
