/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_TALLIES_H
#define TP_SCAN_SCAN_TALLIES_H

#include "scan/scan_casts.h"
#include "stats/tally.h"

/* The casts of narrow values to MX blocks: those of TP_CAST_TALLY. */
struct tp_tallies {
    size_t count;
    size_t cast[TP_CASTS]; /* the cast of each tally                      */
    struct tp_tally_plan *plan[TP_CASTS];
    struct tp_tally *totals; /* [count]; NULL: they stay in the scratch of
                                the calling worker, of a single range     */
};

/* The state is a struct tp_tallies, the count of the use its count, and the
 * scratch as many struct tp_tally. */
extern const struct tp_sink tp_sink_tallies;

/* Provides what they need: `plans`, one for each cast, which a worker keeps,
 * are made where they do not fit; and totals, if wanted. */
enum tp_status tp_tallies_begin(struct tp_tallies *tallies,
                                const struct tp_casts *casts,
                                struct tp_tally_plan *plans[TP_CASTS],
                                bool totals, struct tp_error *err);

/* Ends their casts, given the list of all codes, not yet repeated, and, unless
 * there are totals, their scratch. `room` has TP_CODES entries. */
void tp_tallies_finish(const struct tp_tallies *tallies,
                       struct tp_casts *casts,
                       const struct tp_code_list *list,
                       struct tp_tally *scratch, uint64_t *room);

/* Releases the totals. */
void tp_tallies_clear(struct tp_tallies *tallies);

#endif
