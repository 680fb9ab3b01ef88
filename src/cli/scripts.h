/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_SCRIPTS_H
#define TP_CLI_SCRIPTS_H

#include "check/check.h"
#include "cli/options.h"
#include "dump/dump_findings.h"

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

#endif
