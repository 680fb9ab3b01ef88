/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_SHELL_H
#define TP_CHECK_SHELL_H

#include "check/shell_names.h"

/* Commands of a script for sh or bash, with what their variables hold. */

/*
 * Reads a script. Nothing is run, and what only running it would tell (output
 * of commands, parameters, the environment) is unknown. What is no shell makes
 * odd words, never a failure. TP_E_MEMORY.
 */
enum tp_status tp_shell_read(const char *text, size_t length,
                             const struct tp_shell_visitor *visitor,
                             struct tp_error *err);

#endif
