/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_LOOKUP_H
#define TP_CHECK_CHECK_LOOKUP_H

#include "base/text.h"
#include "check/check.h"

/* What a check says of a line that a stack of a run names. */

/*
 * Adds " At FILE:LINE check says: ..." for each finding on the statement of
 * that line, " At FILE:LINE." where there is none, and nothing where the line
 * is of no script that was checked: `stack` has "File PATH, line N" in it, and
 * the script is the one whose path has the most folders in common with PATH,
 * from its end on; of two that have as many it is unknown which.
 */
void tp_check_say(const struct tp_check *check, const char *stack,
                  struct tp_text *text);

#endif
