/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_PAIR_H
#define TP_DAMAGE_DAMAGE_PAIR_H

#include "damage/damage_marks.h"

/* What differs between two runs of codes of one dtype. */

enum {
    /* Elements that are looked at in one go: their codes and distances stay
     * in the first level cache. */
    TP_DAMAGE_BATCH = 512,
    TP_DAMAGE_BATCH_WORDS = TP_DAMAGE_BATCH / TP_DAMAGE_WORD
};

/* Of the elements that differ: what the second of the two holds, in how many
 * one bit differs, and by their distance in units in the last place: [k] from
 * 2^(k-1) to below 2^k. All-zero bytes are empty. */
struct tp_damage_differences {
    uint64_t nan, inf, zero, huge;
    uint64_t one_bit[64], ulp[65];
};

/* Runs of `n` codes, at most TP_DAMAGE_BATCH, at any alignment; borrowed. */
struct tp_damage_sides {
    const void *x, *y;
    size_t n;
};

/*
 * Looks at two sides of the dtype of `codes`. Bit i of `words` is set where
 * element i of `y` differs from that of `x` in a bit, unless both are NaN; bits
 * from `n` on are 0. Adds to `differences`. Cannot fail; any number of threads.
 */
void tp_damage_pair_look(const struct tp_damage_codes *codes,
                         const struct tp_damage_sides *sides,
                         uint64_t words[TP_DAMAGE_BATCH_WORDS],
                         struct tp_damage_differences *differences);

#endif
