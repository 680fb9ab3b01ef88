/* SPDX-License-Identifier: MIT */
#ifndef TP_SANDBOX_SANDBOX_H
#define TP_SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "sandbox/rights.h"

/*
 * What this process and all that it starts may still ask of the kernel, given
 * away for good before anything is read. sandbox.c says what is promised.
 */

/*
 * Gives away all rights but those of the wish, for this process, its threads
 * (of those there are already, Landlock limits only the caller) and its
 * children. What the kernel does not have or allow is left out, and *sandbox
 * says why. Fails, with TP_E_MEMORY or TP_E_IO, where a means that is there
 * could not be had: then the process should end.
 */
enum tp_status tp_sandbox_enter(const struct tp_sandbox_wish *wish,
                                struct tp_sandbox *sandbox,
                                struct tp_error *err);

/* What is in force, as in "Landlock and seccomp", or why nothing is. */
void tp_sandbox_words(const struct tp_sandbox *sandbox, struct tp_text *text);

/* What this program was built with, as in "Landlock, seccomp"; "none, ..." */
const char *tp_sandbox_built(void);

/* Whether the program has anything to give rights away with. */
bool tp_sandbox_is_built(void);

#endif
