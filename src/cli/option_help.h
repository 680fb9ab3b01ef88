/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_OPTION_HELP_H
#define TP_CLI_OPTION_HELP_H

#include "cli/options.h"

/* The options a command takes, as the lines of its help. */
void tp_options_help(unsigned command, struct tp_text *text);

#endif
