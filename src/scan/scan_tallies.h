/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_TALLIES_H
#define TP_SCAN_SCAN_TALLIES_H

#include "scan/scan_casts.h"
#include "stats/float_tally.h"
#include "stats/joint_tally.h"
#include "stats/nvfp4_tally.h"
#include "stats/tally.h"

/* The casts to MX blocks that are tallied: of narrow values TP_CAST_TALLY, of
 * binary32 TP_CAST_BIN_TALLY. */
struct tp_tallies {
    size_t count;
    size_t cast[TP_CASTS]; /* the cast of each tally                      */
    struct tp_tally_plan *plan[TP_CASTS];
    struct tp_tally *totals; /* [count]; NULL: they stay in the scratch of
                                the calling worker, of a single range     */
    struct tp_float_tally_total *bins; /* [count], of TP_CAST_BIN_TALLY    */
    bool joint; /* their counts but those of blocks with a NaN or an infinity
                   come from tp_sink_joint                                */
};

/* The state is a struct tp_tallies, the count of the use its count, and the
 * scratch as many struct tp_tally, or struct tp_float_tally. */
extern const struct tp_sink tp_sink_tallies;
extern const struct tp_sink tp_sink_bin_tallies;

/* One count for all of them, with the same state, which has totals, beside
 * tp_sink_tallies; and whether that pays for the tensor of a pass. */
extern const struct tp_sink tp_sink_joint;
bool tp_tallies_joint(const struct tp_casts *casts, const struct tp_pass *pass);

/* Provides what they need, `joint` being set: `plans`, one for each cast, which
 * a worker keeps, are made where they do not fit; and totals, if wanted. */
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

/* The same of binary32, whose bins are still there: those that tallies cannot
 * tell become casts from the values. */
void tp_tallies_finish_bins(const struct tp_tallies *tallies,
                            struct tp_casts *casts);

/* Releases the totals. */
void tp_tallies_clear(struct tp_tallies *tallies);

/* The casts to NVFP4 that are tallied, TP_CAST_NVFP4: once the largest
 * magnitude is known. */
struct tp_nvfp4_tallies {
    size_t count;
    size_t cast[TP_CASTS]; /* the cast of each tally                      */
    struct tp_nvfp4_plan *plan;   /* [count]                              */
    struct tp_nvfp4_total *total; /* [count]                              */
    struct tp_quant_error *special; /* [count]: of blocks beside them     */
};

/* The state is a struct tp_nvfp4_tallies, the count of the use its count. */
extern const struct tp_sink tp_sink_nvfp4;

/* Provides what they need, of a tensor whose largest magnitude the casts know;
 * and ends them, and releases it all. */
enum tp_status tp_nvfp4_begin(struct tp_nvfp4_tallies *tallies,
                              const struct tp_casts *casts,
                              struct tp_error *err);
void tp_nvfp4_finish(const struct tp_nvfp4_tallies *tallies,
                     struct tp_casts *casts);
void tp_nvfp4_clear(struct tp_nvfp4_tallies *tallies);

#endif
