/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_TAILS_H
#define TP_SERIES_BASELINE_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series/baseline_chance.h"

/*
 * How heavy the tails of noise are: errors of predictions, in spreads, are
 * counted by the part of the run they are in. All-zero bytes are empty, and
 * adding is the merge, so those of many series may be taken together.
 */

enum { TP_TAILS_PARTS = 8, TP_TAILS_LIMITS = 4 };

struct tp_tails {
    uint64_t errors[TP_TAILS_PARTS];
    /* by 2, 3, 5 and 8 spreads, below and above */
    uint64_t beyond[TP_TAILS_PARTS][2][TP_TAILS_LIMITS];
};

/* Counts an error, number `at` of `count` in the run; `spreads` has a sign. */
void tp_tails_count(struct tp_tails *tails, size_t at, size_t count,
                    double spreads);

/* Adds `from` to `into`. */
void tp_tails_merge(struct tp_tails *into, const struct tp_tails *from);

/*
 * The degrees of freedom of the lightest Student's t whose tails each side does
 * not exceed, of 30, 20, 14, 10 and 7; TP_TAILS_HEAVY if there is none or too
 * few errors to tell. The first part is asked, where a run
 * settles, and of the others the calmest four: what a fault does in the other
 * three does not count. Only `own` of the errors, 0 to 1, are told by
 * themselves, the others repeat them: less than 1 where series move together.
 */
struct tp_freedom tp_tails_freedom(const struct tp_tails *tails, double own);

/* Whether a side (0: below, 1: above) is no heavier than such a freedom has it,
 * but for chance; both together where that is the same for both. */
bool tp_tails_agree(const struct tp_tails *tails, int side,
                    struct tp_freedom freedom);

#endif
