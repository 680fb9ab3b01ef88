/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_CHANGE_H
#define TP_VERDICT_TRACE_CHANGE_H

#include "base/notes.h"
#include "data/severity.h"
#include "data/table.h"
#include "trace/trace_compare.h"

/*
 * What got slower from one run of traces to another, as findings. A change
 * counts where it is a hundredth of a step or more and beyond what the steps
 * of both runs scatter by: what one step a side says can be chance, so it is
 * none. Severity: high = a tenth of the step before or more, medium = a
 * twentieth; low = anything less, and whatever got slower in a step that as a
 * whole takes no longer.
 */

/* Rules about two runs of traces: rows of tp_trace_change_rules. */
enum tp_trace_change_id {
    TP_SLOWER_STEP,   /* the whole step                                   */
    TP_SLOWER_DEVICE, /* device work that both runs have                  */
    TP_SLOWER_HOST,   /* what the host is in while the device idles       */
    TP_SLOWER_GAP,    /* gaps between operators                           */
    TP_SLOWER_NEW,    /* work that only the second run has                */
    TP_TRACE_CHANGE_IDS
};

struct tp_trace_change_rule {
    const char *id;
    const char *help;  /* one line                                         */
    const char *guide; /* its section of man/tprof-guide.7                 */
};

extern const struct tp_trace_change_rule
    tp_trace_change_rules[TP_TRACE_CHANGE_IDS];

struct tp_trace_change {
    enum tp_severity level;
    const struct tp_trace_change_rule *rule;
    const char *name;           /* of what got slower; "": the step        */
    const char *path;           /* where most of it is; "": nowhere        */
    const char *metric;         /* "us a step"                             */
    double value, baseline;     /* after and before                        */
    double spread;              /* the larger of both runs' from step to step */
    const char *evidence, *suggestion;
};

/* All-zero bytes are none. */
struct tp_trace_changes {
    TP_ROWS(tp_trace_change) findings; /* worst first: the step, then by time */
    struct tp_arena arena;             /* owns the texts                    */
    const char *scatter; /* whether the step's change is beyond what steps
                            scatter by, in words; "": nothing is compared  */
    bool longer;         /* the mean of the steps is                        */
};

/*
 * Judges a comparison of which all is made; `changes` is zeroed by the caller
 * and released with tp_trace_changes_clear, also after a failure. It borrows
 * the texts of both runs. TP_E_MEMORY only.
 */
enum tp_status tp_trace_changes_make(const struct tp_trace_run *base,
                                     const struct tp_trace_run *test,
                                     const struct tp_trace_comparison *compared,
                                     struct tp_trace_changes *changes,
                                     struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_trace_changes_clear(struct tp_trace_changes *changes);

/* The worst severity; 0: there are no findings. */
int tp_trace_changes_worst(const struct tp_trace_changes *changes);

/* The table "findings"; borrows them. */
struct tp_table tp_trace_changes_table(const struct tp_trace_changes *changes);

#endif
