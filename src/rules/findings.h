/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_FINDINGS_H
#define TP_RULES_FINDINGS_H

#include "base/text.h"
#include "data/severity.h"
#include "tensors/run.h"

/*
 * What is wrong, where it started and what to change: one table for all
 * rules. Severities: high = NaN or Inf where there was none, or the origin
 * of an incident; medium = a change against the tensor's own past, or a loss
 * beyond 10 % underflow or 1 % overflow; low = every other static property.
 * What an incident changed is counted in its origin and is no finding of its
 * own. Order: severity, origins first, first iteration, excess over the limit.
 */

struct tp_rule_input; /* of rules.h */

/* A rule: one row of the table in rules.c. */
struct tp_rule {
    const char *id;
    const char *help;  /* one line: what it says and its limits */
    const char *guide; /* its section of man/tprof-guide.7      */
    enum tp_status (*apply)(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
};

/* One finding. Absent numbers are -1 (integers) or NaN, absent texts "".
 * Texts are the run's, the findings' or constant. */
struct tp_finding {
    enum tp_severity level;
    bool origin;          /* of an incident; sorts first              */
    double excess;        /* value over the limit of its rule; sorts  */
    const struct tp_rule *rule; /* whose it is; a row of tp_rules     */
    int64_t rank, iteration; /* iteration: the first bad one             */
    int64_t layer_idx;
    const char *layer_type, *operation, *phase, *component, *quant_type;
    const char *tensor_name;
    int64_t ordinal;
    const char *metric;
    double value, baseline, spread, deviation;
    const char *evidence, *suggestion;
    int64_t consequences; /* tensors that only follow from this one   */
    const char *file, *path; /* path: inside the file                    */
    const char *module;   /* as of its label                         */
    int64_t expert;
    size_t source, place; /* as those of its row; unless file is ""      */
    size_t number;        /* which was made before it: what else is equal
                             stays in that order                         */
};

/* All-zero bytes are none. */
struct tp_findings {
    struct tp_finding *rows; /* worst first                               */
    size_t count, capacity;
    struct tp_arena arena; /* owns the texts made for them                */
};

/* Releases what it owns; it is empty afterwards. */
void tp_findings_clear(struct tp_findings *findings);

/* The worst severity among the findings; 0 when there are none. */
int tp_findings_worst(const struct tp_findings *findings);

/* Appends a finding of the rule about `row`, texts still "". */
enum tp_status tp_finding_add(struct tp_findings *findings,
                              const struct tp_rule *rule,
                              const struct tp_row *row,
                              struct tp_finding **finding,
                              struct tp_error *err);

/* The row that a finding is about, of the run it is of; NULL: it names none. */
const struct tp_row *tp_finding_row(const struct tp_run *run,
                                    const struct tp_finding *finding);

/* A text of the findings' arena, worded as printf does; "" when out of memory,
 * which that keeps. */
const char *tp_finding_text(struct tp_findings *findings, const char *format,
                            ...) TP_PRINTF(2, 3);

/* The same, of a text that it takes over, which is empty afterwards. */
const char *tp_finding_take(struct tp_findings *findings, struct tp_text *text);

/* "; N more ... are not judged": of rows that incidents explain and a rule left
 * out; "" for none. Lives as tp_finding_text. */
const char *tp_finding_explained(struct tp_findings *findings, uint64_t rows);

/* Adds " in rank R, iteration I" to the text, as far as the row has them. */
void tp_finding_where(const struct tp_row *row, struct tp_text *text);

/* Sorts the findings. */
void tp_findings_sort(struct tp_findings *findings);

#endif
