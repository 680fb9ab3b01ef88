/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_FINDINGS_H
#define TP_RULES_FINDINGS_H

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

/* One finding. Absent numbers are -1 (integers) or NaN, absent texts "".
 * Texts are owned by the run's arena. */
struct tp_finding {
    enum tp_severity level;
    bool origin;          /* of an incident; sorts first              */
    double excess;        /* value over the limit of its rule; sorts  */
    const char *severity; /* name of level                            */
    const char *rule;
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
};

struct tp_findings {
    struct tp_finding *rows; /* worst first */
    size_t count, capacity;
};

/* What the rules work on; made by tp_findings_make. */
struct tp_rule_input {
    struct tp_run *run;
    const struct tp_row *const *rows; /* [run->row_count], tp_series_sort  */
    struct tp_findings *findings;
};

/* A rule: one row of the table in findings.c. */
struct tp_rule {
    const char *id;
    const char *help; /* one line: what it says and its limits  */
    enum tp_status (*apply)(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
};

/* The rows, ended by one whose id is NULL. */
extern const struct tp_rule tp_rules[];

/*
 * Applies all rules. `findings` is zeroed by the caller and released with
 * tp_findings_clear, also after a failure (TP_E_MEMORY).
 */
enum tp_status tp_findings_make(struct tp_run *run,
                                struct tp_findings *findings,
                                struct tp_error *err);
void tp_findings_clear(struct tp_findings *findings);

/* The worst severity among the findings; 0 when there are none. */
int tp_findings_worst(const struct tp_findings *findings);

/* For the rules: appends a finding about `row`, texts still "". */
enum tp_status tp_finding_add(const struct tp_rule_input *input,
                              const struct tp_rule *rule,
                              const struct tp_row *row,
                              struct tp_finding **finding,
                              struct tp_error *err);

/* For the rules: a text of the run's arena, worded as printf does; "" when
 * out of memory. */
const char *tp_finding_text(const struct tp_rule_input *input,
                            const char *format, ...) TP_PRINTF(2, 3);

/* For the rules: adds a finding for each incident whose origin is, or is not,
 * a NaN or an Inf. */
enum tp_status tp_rule_incidents(const struct tp_rule_input *input,
                                 const struct tp_rule *rule, bool nonfinite,
                                 struct tp_error *err);

/* The rules, as struct tp_rule describes them; rows of its table. */
enum tp_status tp_rule_dims(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_nonfinite(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 struct tp_error *err);
enum tp_status tp_rule_frozen(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_onset(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_overflow(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err);
enum tp_status tp_rule_ranks(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_sqnr(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_underflow(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 struct tp_error *err);

#endif
