/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_FINDINGS_H
#define TP_COMPARE_COMPARE_FINDINGS_H

#include "compare/compare_calls.h"
#include "data/severity.h"

/*
 * What a comparison finds, each kind once: the first place it is seen in the
 * order of calls, and how often in all. Severities: high = NaN or Inf in A that
 * B does not have; medium = the reverse, a difference that msprobe's rules
 * count, or of what was asked for (shapes, values of arguments); low = all
 * else, and that runs of two precisions part. Equal runs have no finding.
 */

/* The kinds: rows of the table in compare_findings.c. */
enum tp_compare_finding_id {
    TP_FINDS_DIVERGENCE,  /* the operator that adds error, by --autodiff    */
    TP_FINDS_PARTING,     /* the first call that differs                    */
    TP_FINDS_NONFINITE,   /* NaN or Inf in A, not in B                       */
    TP_FINDS_NONFINITE_B, /* the reverse                                    */
    TP_FINDS_VALUE,       /* an argument that is no tensor differs           */
    TP_FINDS_SHAPE,
    TP_FINDS_DTYPE,
    TP_FINDS_GRAD,
    TP_FINDS_GROWTH, /* results are off, arguments are not              */
    TP_FINDS_UNMATCHED,
    TP_FINDS_UNREAD,  /* a file is damaged or missing                    */
    TP_FINDS_SWAPPED, /* of content: names changed places              */
    TP_FINDS_MOVED,   /* names and content are shifted                 */
    TP_FINDS_LOST,    /* content is on one side only                   */
    TP_COMPARE_FINDING_IDS
};

struct tp_compare_rule_info {
    const char *id;
    const char *help;  /* one line                                         */
    const char *guide; /* its section of man/tprof-guide.7                 */
};
extern const struct tp_compare_rule_info
    tp_compare_rules[TP_COMPARE_FINDING_IDS];

/* Texts are the findings' or the comparison's, and never NULL. */
struct tp_compare_finding {
    enum tp_severity level;
    enum tp_compare_finding_id id;
    int64_t step, rank, order; /* -1: not known                            */
    const char *name;          /* of a call or a row of A                  */
    const char *a, *b;         /* what differs; ""                         */
    uint64_t count;            /* rows or calls in all                     */
    size_t pair, row; /* the row it is about; TP_COMPARE_NONE: none        */
    const char *evidence, *suggestion; /* sentences                        */
};

struct tp_compare_findings {
    struct tp_compare_finding *rows; /* worst first                        */
    size_t count, capacity;
    struct tp_arena arena;
};

/* `findings` is zeroed by the caller and released with
 * tp_compare_findings_clear, also after a failure: TP_E_MEMORY. */
enum tp_status tp_compare_findings_make(const struct tp_comparison *comparison,
                                        const struct tp_compare_calls *calls,
                                        struct tp_compare_findings *findings,
                                        struct tp_error *err);

/* Adds a finding about no call, texts still "". TP_E_MEMORY. */
enum tp_status tp_compare_finding_add(struct tp_compare_findings *findings,
                                      enum tp_compare_finding_id id,
                                      enum tp_severity level,
                                      struct tp_compare_finding **finding,
                                      struct tp_error *err);

/* Puts them in order: worst first, then by kind. */
void tp_compare_findings_sort(struct tp_compare_findings *findings);

/* Releases everything; empty afterwards. */
void tp_compare_findings_clear(struct tp_compare_findings *findings);

/* The worst severity; 0: there is none. */
int tp_compare_findings_worst(const struct tp_compare_findings *findings);

/* The table "findings". */
void tp_compare_findings_table(const struct tp_compare_findings *findings,
                               struct tp_table *table);

/* The first call of a pair that is not equal; NULL: all are. */
const struct tp_compare_call *tp_compare_parting(
    const struct tp_compare_calls *calls, size_t pair);

#endif
