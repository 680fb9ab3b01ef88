/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_ANNOTATED_H
#define TP_CLI_ANNOTATED_H

#include "base/error.h"
#include "cli/options.h"
#include "verdict/judged.h"

/*
 * The file of --annotate, or a file for each trace, named as that is, if it is
 * a folder: one that exists, or any that ends in a slash. All do nothing
 * without that option.
 */

/* Whether the options can be met; TP_E_USAGE. */
enum tp_status tp_annotated_check(const struct tp_options *options,
                                  struct tp_error *err);

/* Whether the traces that were read can have their files: TP_E_USAGE where one
 * file is for several, a name is met twice, or a file is one of the traces. */
enum tp_status tp_annotated_plan(const struct tp_options *options,
                                 const struct tp_trace_run *run,
                                 struct tp_error *err);

/* Writes them, in folders that are made where they are not there; each takes
 * its place when it is whole. Fails as tp_annotate. */
enum tp_status tp_annotated_write(const struct tp_options *options,
                                  const struct tp_trace_run *run,
                                  const struct tp_trace_judged *judged,
                                  struct tp_error *err);

#endif
