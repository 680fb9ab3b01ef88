/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_SCRIPTS_H
#define TP_CLI_SCRIPTS_H

#include "check/check.h"
#include "cli/options.h"
#include "dump/dump_findings.h"
#include "rules/findings.h"
#include "verdict/judged.h"

/* --scripts DIR: the scripts of a run, beside what the run left. */

/* Checks the scripts of the option; without it `check` is empty. Fails as
 * tp_check_read does. Release with tp_check_clear, also after a failure. */
enum tp_status tp_scripts_read(const struct tp_options *options,
                               struct tp_pool *pool, struct tp_check *check,
                               struct tp_error *err);

/* Adds to the findings about calls what the check says of their lines. Fails
 * with TP_E_MEMORY. */
enum tp_status tp_scripts_explain(const struct tp_check *check,
                                  const struct tp_dump *dump,
                                  struct tp_dump_findings *findings,
                                  struct tp_error *err);

/* Whether a name is that of a frame of the scripts; `check` is a tp_check. */
bool tp_scripts_is_frame(const char *name, const void *check);

/* Adds to the findings about calls of a trace in which function of the scripts
 * most of their time is spent, where frames of Python or names of
 * record_function ("train.py(12): step") tell, and what the check says of
 * calls there that cost time. Fails with TP_E_MEMORY. */
enum tp_status tp_scripts_explain_trace(const struct tp_check *check,
                                        const struct tp_trace_run *run,
                                        struct tp_trace_judged *judged,
                                        struct tp_error *err);

/* Adds to the findings about NaN and Inf, and about what float16 loses, where
 * the scripts do what may cause it: once for each rule, at its worst finding.
 * That a file of a tensor names no line is said, too. Fails with TP_E_MEMORY.
 */
enum tp_status tp_scripts_explain_tensors(const struct tp_check *check,
                                          struct tp_findings *findings,
                                          struct tp_error *err);

#endif
