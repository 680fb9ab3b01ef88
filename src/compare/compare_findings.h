/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_FINDINGS_H
#define TP_COMPARE_COMPARE_FINDINGS_H

#include "compare/compare_calls.h"
#include "dump/dump_findings.h"

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

extern const struct tp_dump_rule tp_compare_rules[TP_COMPARE_FINDING_IDS];

/* `findings` is zeroed by the caller and released with
 * tp_dump_findings_clear, also after a failure: TP_E_MEMORY. Worst first. */
enum tp_status tp_compare_findings_make(const struct tp_comparison *comparison,
                                        const struct tp_compare_calls *calls,
                                        struct tp_dump_findings *findings,
                                        struct tp_error *err);

/* The table "findings". */
void tp_compare_findings_table(const struct tp_dump_findings *findings,
                               struct tp_table *table);

/* The first call of a pair that is not equal; NULL: all are. */
const struct tp_compare_call *tp_compare_parting(
    const struct tp_compare_calls *calls, size_t pair);

#endif
