/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FINDINGS_H
#define TP_CHECK_CHECK_FINDINGS_H

#include "check/check_rules.h"
#include "check/check_script.h"

/* One finding in a script. */
struct tp_check_finding {
    uint32_t line, column; /* from 1; the column in bytes                 */
    uint32_t offset;       /* byte of the source                          */
    uint32_t character;    /* the column in characters; 0: not UTF-8      */
    uint64_t print;        /* of the text of its line, without blanks     */
    const struct tp_check_rule *rule;
    enum tp_severity severity;
    char what[64]; /* what was found, for the '%' of the rule's texts     */
};

/* Findings; all-zero bytes are none. */
struct tp_check_findings {
    struct tp_check_finding *at;
    size_t count, capacity;
    bool failed; /* memory ran out                                        */
};

/* Adds a finding; one that is out of memory is noted. */
void tp_check_add(struct tp_check_findings *findings,
                  const struct tp_check_finding *finding);

/* Puts them in the order of the source; at one place, the worst first. */
void tp_check_sort(struct tp_check_findings *findings);

#endif
