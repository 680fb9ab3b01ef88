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

/* Whether a frame as profilers name it, "PATH(N): FUNCTION", is of a script
 * that was checked, as above. */
bool tp_check_knows_frame(const struct tp_check *check, const char *frame);

/*
 * Adds " In FUNCTION at FILE:N check says: line M: ..." for each finding of
 * one of some rules, which NULL ends, in the function that begins at line N
 * of its script, " In FUNCTION at FILE:N." where there is none, and nothing
 * for a frame of no script. `named`: the text has the frame, which is not said
 * again.
 */
void tp_check_say_frame(const struct tp_check *check, const char *frame,
                        bool named, const char *const *rules,
                        struct tp_text *text);

/* Adds where scripts have findings of some rules, which NULL ends: "FILE:LINE
 * (RULE), ..." of the first three, by file and line, and how many more there
 * are; nothing where there is none. Cells of notebooks are left out. */
void tp_check_say_places(const struct tp_check *check, const char *const *rules,
                         struct tp_text *text);

#endif
