/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_ONSET_WORDS_H
#define TP_RULES_ONSET_WORDS_H

#include "rules/onset_change.h"

/* What the onset rule says of an incident, for people. */

/* What happened, where, and what followed; `row` is the one the finding is
 * about. A text of the findings. */
const char *tp_onset_evidence(const struct tp_onset *onset,
                              const struct tp_row *row);

/* What to look at. A text of the findings, or constant. */
const char *tp_onset_suggestion(const struct tp_onset *onset);

#endif
