/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_SUM_H
#define TP_COMPARE_CONTENT_SUM_H

#include "compare/content_digest.h"

/* Which two or three parts make a whole, by their digests. */

/* Candidates that are tried in all threes; of more, threes are looked for among
 * neighbours (so many) only, as projections of one layer are. */
enum {
    TP_CONTENT_THREES = 128,
    TP_CONTENT_NEIGHBOURS = 32,
    TP_CONTENT_PARTS = 3
};

struct tp_content_part {
    struct tp_content_digest digest;
    int64_t numel;
    size_t number; /* whatever the caller calls it                         */
};

/* Sorts parts by digest, as the search needs them; keeps their neighbourhood in
 * `order`[count]: what is place i of the array as given is order[i] now. */
void tp_content_parts_sort(struct tp_content_part *parts, size_t count,
                           size_t *order);

/*
 * Finds two or three different parts whose digests and numbers of elements sum
 * up to those of `whole`: places in `parts`, in found[], ascending as given;
 * returns how many, 0: none. Cost: the square of the number of parts, or that
 * many times TP_CONTENT_NEIGHBOURS, times its logarithm.
 */
size_t tp_content_sum_find(const struct tp_content_part *whole,
                           const struct tp_content_part *parts, size_t count,
                           const size_t *order, size_t found[TP_CONTENT_PARTS]);

#endif
