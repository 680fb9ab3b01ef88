/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_RULES_H
#define TP_RULES_RULES_H

#include <signal.h>

#include "base/pool.h"
#include "incidents/incidents.h"
#include "quant/quant_groups.h"
#include "rules/findings.h"
#include "series/monitor.h"
#include "tensors/run.h"

/* The rules: from all stages of a dump to findings. */

/* What the rules work on. A stage that was left out is zeroed, never NULL. */
struct tp_rule_input {
    const struct tp_run *run;
    const struct tp_quant *quant;
    const struct tp_monitor *monitor;
    const struct tp_incidents *incidents;
    struct tp_findings *findings; /* where they go                     */
    struct tp_pool *pool; /* for rules that read tensors again; NULL: these
                             are left out                                  */
    const volatile sig_atomic_t *stop; /* nonzero: give up; may be NULL     */
    const struct tp_row *const *rows;  /* [run->row_count], tp_series_sort; set
                                          by tp_findings_make               */
};

/* The rows of the table of rules, ended by one whose id is NULL. */
extern const struct tp_rule tp_rules[];

/*
 * Applies all rules. `input->findings` is zeroed by the caller and released
 * with tp_findings_clear, also after a failure (TP_E_MEMORY).
 */
enum tp_status tp_findings_make(const struct tp_rule_input *input,
                                struct tp_error *err);

/* For the rules: adds a finding for each incident whose origin is, or is not,
 * a NaN or an Inf. */
enum tp_status tp_rule_incidents(const struct tp_rule_input *input,
                                 const struct tp_rule *rule, bool nonfinite,
                                 struct tp_error *err);

/* The rules, as struct tp_rule describes them; rows of its table. */
enum tp_status tp_rule_alerts(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_dims(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_nonfinite(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 struct tp_error *err);
enum tp_status tp_rule_frozen(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_incomplete(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  struct tp_error *err);
enum tp_status tp_rule_near_overflow(const struct tp_rule_input *input,
                                     const struct tp_rule *rule,
                                     struct tp_error *err);
enum tp_status tp_rule_onset(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_overflow(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err);
enum tp_status tp_rule_ranks(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_sqnr(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_constant(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err);
enum tp_status tp_rule_dtype(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_lost_updates(const struct tp_rule_input *input,
                                    const struct tp_rule *rule,
                                    struct tp_error *err);
enum tp_status tp_rule_moments(const struct tp_rule_input *input,
                               const struct tp_rule *rule,
                               struct tp_error *err);
enum tp_status tp_rule_repeated(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err);
enum tp_status tp_rule_replicas(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err);
enum tp_status tp_rule_scales(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_tied(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err);
enum tp_status tp_rule_unmoved(const struct tp_rule_input *input,
                               const struct tp_rule *rule,
                               struct tp_error *err);
enum tp_status tp_rule_underflow(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 struct tp_error *err);

#endif
