/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_FINDINGS_H
#define TP_REPLAY_REPLAY_FINDINGS_H

#include "data/severity.h"
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
    TP_REPLAY_CONDITION, /* rounding of the arguments grows                */
    TP_REPLAY_FINDING_IDS
};

struct tp_replay_rule_info {
    const char *id;
    const char *help;  /* one line                                         */
    const char *guide; /* its section of man/tprof-guide.7                 */
};
extern const struct tp_replay_rule_info tp_replay_rules[TP_REPLAY_FINDING_IDS];

/* Texts are the findings' or the dump's, and never NULL. */
struct tp_replay_finding {
    enum tp_severity level;
    enum tp_replay_finding_id id;
    int64_t step, rank, order; /* of the worst call; -1: not known         */
    const char *name;          /* its key                                  */
    uint64_t count;            /* calls of the API that have it            */
    const char *evidence, *suggestion; /* sentences                        */
    double badness; /* by which calls of a rule are compared    */
};

/* All-zero bytes are none. */
struct tp_replay_findings {
    struct tp_replay_finding *rows; /* worst severity first                */
    size_t count, capacity;
    struct tp_arena arena;
};

/* `findings` is zeroed, and released with tp_replay_findings_clear also after
 * a failure: TP_E_MEMORY. Borrows from the dump. */
enum tp_status tp_replay_findings_make(const struct tp_dump *dump,
                                       const struct tp_replay_results *results,
                                       struct tp_replay_findings *findings,
                                       struct tp_error *err);

/* The worst severity; 0: there is none. */
int tp_replay_findings_worst(const struct tp_replay_findings *findings);

/* The table "findings". */
void tp_replay_findings_table(const struct tp_replay_findings *findings,
                              struct tp_table *table);

/* Releases everything; empty afterwards. */
void tp_replay_findings_clear(struct tp_replay_findings *findings);

#endif
