/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_RULES_LAUNCH_H
#define TP_CHECK_RULES_LAUNCH_H

#include "check/check_findings.h"
#include "check/shell.h"

/* What the command that starts a training says about precision. */

/* Looks at the options of a command; findings stand where these were written.
 * Matches tp_shell_visitor.command, with the findings as context. */
void tp_launch_judge(void *findings, const struct tp_shell_word *words,
                     size_t count);

/* The rule of that name, which must be one. */
const struct tp_check_rule *tp_launch_rule(const char *id);

#endif
