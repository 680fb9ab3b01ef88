/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_OPTION_SHAPE_H
#define TP_CLI_OPTION_SHAPE_H

#include "cli/options.h"

/* Adds the options that rows of a command depend on, as lines "name=value". */
void tp_options_shape(const struct tp_options *options, unsigned command,
                      struct tp_text *lines);

/* TP_E_USAGE where an option was given that `command` does not take: it is not
 * for `what`. */
enum tp_status tp_options_only(const struct tp_options *options,
                               unsigned command, const char *what,
                               struct tp_error *err);

#endif
