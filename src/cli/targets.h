/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_TARGETS_H
#define TP_CLI_TARGETS_H

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "trace/trace.h"

/*
 * What a run writes must not take the place of what it reads, of another file
 * that it writes, or of what is no file: a renamed file would take that of a
 * device, a pipe or a link, too.
 */

/*
 * Looks at the files of --state, --output_json and --annotate and at the
 * results, whose names, each with its NUL, are `results` and lie in the output
 * directory; when the folders are there and before any of them is made.
 * TP_E_USAGE, with the option; TP_E_MEMORY.
 */
enum tp_status tp_targets_check(const struct tp_options *options,
                                const struct tp_text *results,
                                struct tp_error *err);

/* Looks whether the file of an option is one of the traces that were read;
 * `path` may be NULL. TP_E_USAGE. */
enum tp_status tp_targets_check_traces(const char *option, const char *path,
                                       const struct tp_trace_run *run,
                                       struct tp_error *err);

#endif
