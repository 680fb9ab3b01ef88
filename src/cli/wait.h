/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_WAIT_H
#define TP_CLI_WAIT_H

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"

/*
 * --wait: returns when the run that writes into the inputs seems to be done,
 * or when the time is over, which `over` then says in a sentence; it is empty
 * otherwise. Inputs that are not there yet are waited for. At once when no
 * time is given. Fails with TP_E_INTERRUPTED or TP_E_MEMORY.
 */
enum tp_status tp_wait_for_run(const struct tp_options *options,
                               struct tp_text *over, struct tp_error *err);

#endif
