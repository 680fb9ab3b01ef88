/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_ONSET_WORDS_H
#define TP_RULES_ONSET_WORDS_H

#include "rules/onset_change.h"

/* What the onset rule says of an incident, for people. */

/* Gives a finding its evidence, what happened, where, and what followed, and
 * its suggestion, what to look at; `row` is the one it is about. */
void tp_onset_tell(const struct tp_onset *onset, const struct tp_row *row,
                   struct tp_finding *finding);

#endif
