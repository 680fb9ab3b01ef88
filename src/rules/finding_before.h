/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_FINDING_BEFORE_H
#define TP_RULES_FINDING_BEFORE_H

#include "rules/findings.h"
#include "series/series.h"

/* What a finding's tensor was before, or what else it is held against. */

/* A point of a series, or else a row alone. */
struct tp_finding_place {
    const struct tp_run_series *series; /* NULL: of no series              */
    size_t point;
    const struct tp_row *row; /* the first of the point; NULL: no tensor   */
};

/* Whether a finding is about a place in all iterations and names the worst
 * tensor of it: its iteration is the first that is bad. */
bool tp_finding_of_place(const struct tp_finding *finding);

/*
 * What the tensor of a finding, which is `at`, is held against; `row` NULL:
 * nothing. *when says what that is: "before", the last iteration before the
 * finding's, of a place also of another rank or ordinal; or where all of these
 * are bad "sibling", a tensor of its place or of the same in another layer that
 * loses no more than the finding's limit. A finding about one tensor has one
 * before if it left a baseline.
 */
struct tp_finding_place tp_finding_before(const struct tp_run *run,
                                          const struct tp_series_set *set,
                                          const struct tp_finding *finding,
                                          const struct tp_finding_place *at,
                                          const char **when);

#endif
