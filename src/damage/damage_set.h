/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_SET_H
#define TP_DAMAGE_DAMAGE_SET_H

#include "damage/damage.h"

/* Which indices of an axis are damaged, and how much a pattern explains. */

enum tp_damage_extent {
    TP_DAMAGE_FULL,  /* all                                                */
    TP_DAMAGE_RANGE, /* [first, end)                                       */
    TP_DAMAGE_STEPS, /* `width` of each `step`, three times at least       */
    TP_DAMAGE_SOME
};

enum { TP_DAMAGE_LISTED = 6 };

struct tp_damage_set {
    enum tp_damage_extent extent;
    int64_t count;      /* indices                                         */
    int64_t first, end; /* the first, and behind the last                  */
    int64_t step, width;
    int64_t listed[TP_DAMAGE_LISTED]; /* the first ones                    */
    uint64_t inside; /* damaged elements at these indices                  */
    bool rough;      /* counted in cells of more than one index            */
};

/*
 * The indices of an axis of the plan that hold most of the `damaged` elements,
 * once all were added to `cells`. In a range there may be holes; 99 % of the
 * damage is inside.
 */
void tp_damage_set_find(const struct tp_damage_axis *axis, const int64_t *cells,
                        uint64_t damaged, struct tp_damage_set *set);

/* A pattern that may explain damage. */
struct tp_damage_claim {
    uint64_t elements; /* of the pattern                                   */
    uint64_t inside;   /* damaged ones of them, at least                   */
    double bits;       /* what it takes to say which pattern it is         */
};

/* Bits to say which indices of an axis a set has. */
double tp_damage_set_bits(const struct tp_damage_axis *axis,
                          const struct tp_damage_set *set);

/* log2 of the ways to choose `n` of `all`; to some 10^-9 of it. */
double tp_damage_choose_bits(uint64_t all, uint64_t n);

/*
 * Bits that a pattern saves in telling which of `all` elements are damaged; 0:
 * it is not to be named. It is if 99 % of the `damaged` elements are inside,
 * 90 % of what is inside is damaged, and damage at random is like that less
 * than once in 16 000 times (damage_set.c).
 */
double tp_damage_claim_saves(const struct tp_damage_claim *claim,
                             uint64_t damaged, uint64_t all);

#endif
