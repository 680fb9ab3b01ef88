/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FINDINGS_H
#define TP_CHECK_CHECK_FINDINGS_H

#include "check/check_rules.h"
#include "check/check_script.h"

enum { TP_EXCERPT = 120 }; /* bytes of a line, with a NUL                 */

/* How sure a finding is. */
enum tp_check_confidence {
    TP_CHECK_CERTAIN, /* imports, types and order tell                    */
    TP_CHECK_LIKELY   /* a name tells, or a call from elsewhere           */
};

/* "certain", "likely". */
extern const char *const tp_check_confidence_words[];

/* One finding in a script. */
struct tp_check_finding {
    uint32_t line, column; /* from 1; the column in bytes                 */
    uint32_t offset;       /* byte of the source                          */
    uint32_t character;    /* the column in characters; 0: not UTF-8      */
    uint64_t print;        /* of the text of its line, without blanks     */
    const struct tp_check_rule *rule;
    enum tp_severity severity;
    enum tp_check_confidence confidence;
    char what[64]; /* what was found, for the '%' of the rule's texts     */
    char excerpt[TP_EXCERPT]; /* its line without the blanks before it, as
                                 much as fits                             */
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
