/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FINDINGS_H
#define TP_CHECK_CHECK_FINDINGS_H

#include "check/check_facts.h"
#include "check/check_rules.h"

/* One finding in a script. */
struct tp_check_finding {
    uint32_t line, column; /* from 1; the column in bytes                 */
    uint32_t offset;       /* byte of the source                          */
    enum tp_check_rule_id rule;
    enum tp_severity severity;
    char what[64]; /* what was found, for the '%' of the rule's texts     */
};

/* Findings; all-zero bytes are none. */
struct tp_check_findings {
    struct tp_check_finding *at;
    size_t count, capacity;
    bool failed; /* memory ran out                                        */
};

/* Adds a finding at a node, with the severity of its rule. `what` may be
 * longer than is kept. */
void tp_check_add(struct tp_check_findings *findings,
                  const struct tp_script *script, uint32_t node,
                  enum tp_check_rule_id rule, const char *what);

/* The same with another severity, for evidence that lowers it. */
void tp_check_add_as(struct tp_check_findings *findings,
                     const struct tp_script *script, uint32_t node,
                     struct tp_check_finding as);

/* Puts them in the order of the lines. */
void tp_check_sort(struct tp_check_findings *findings);

#endif
