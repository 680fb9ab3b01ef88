/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_FINDINGS_H
#define TP_REPLAY_REPLAY_FINDINGS_H

#include "dump/dump_findings.h"
#include "replay/replay_run.h"

/*
 * What the replay of a dump finds, once for each rule and API: the call it is
 * worst in, and how many there are. Severities: high = a result that is wrong;
 * medium = one that a wider accumulator or dtype would have made better; low =
 * a place where rounding grows, which may be how the model is.
 */

/* Rows of the table in replay_findings.c. */
enum tp_replay_finding_id {
    TP_REPLAY_WRONG,     /* beyond what any accumulation explains          */
    TP_REPLAY_DROPOUT,   /* no mask, or one of another share               */
    TP_REPLAY_NARROW,    /* every step was rounded to the tensors' dtype   */
    TP_REPLAY_OVERFLOW,  /* finite, but not in the dtype of the result     */
    TP_REPLAY_NONFINITE, /* NaN or infinity made of numbers                */
    TP_REPLAY_REPEAT,    /* equal arguments, other results                 */
    TP_REPLAY_CONDITION, /* rounding of the arguments grows                */
    TP_REPLAY_FINDING_IDS
};

extern const struct tp_dump_rule tp_replay_rules[TP_REPLAY_FINDING_IDS];

/* `findings` is zeroed, and released with tp_dump_findings_clear also after a
 * failure: TP_E_MEMORY. Worst first; borrows from the dump. */
enum tp_status tp_replay_findings_make(const struct tp_dump *dump,
                                       const struct tp_replay_results *results,
                                       struct tp_dump_findings *findings,
                                       struct tp_error *err);

/* The table "findings". */
void tp_replay_findings_table(const struct tp_dump_findings *findings,
                              struct tp_table *table);

#endif
