/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_ONSET_CHANGE_H
#define TP_RULES_ONSET_CHANGE_H

#include "base/text.h"
#include "rules/rules.h"

/* What changed, in numbers that need no statistics: the first part of what the
 * onset rule says. */

/* An incident with what is said of it at hand. */
struct tp_onset {
    const struct tp_rule_input *input;
    const struct tp_incident *incident;
    const struct tp_alarm *alarm; /* the origin */
    const struct tp_run_series *series;
    const struct tp_series_metric *metric; /* that showed the change best */
};

/* Whether the origin leaves its level gradually. */
bool tp_onset_drifts(const struct tp_onset *onset);

/* Whether the origin is what many tensors share, each within its own noise. */
bool tp_onset_is_shared(const struct tp_onset *onset);

/* Appends what the origin's tensor is now and what it was before, the metric
 * first that moved farthest; `row` is the one the finding is about. */
void tp_onset_add_change(const struct tp_onset *onset, const struct tp_row *row,
                         struct tp_text *text);

/* What the metric that showed the change best was before it, as is said of it:
 * mean and standard deviation of the last iterations before; NaN where there
 * were none. */
void tp_onset_usual(const struct tp_onset *onset, double *mean, double *std);

/* Appends how many elements of a row with any are NaN or Inf. */
void tp_onset_add_nonfinite(const struct tp_row *row, struct tp_text *text);

#endif
