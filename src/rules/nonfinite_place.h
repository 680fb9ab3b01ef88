/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_NONFINITE_PLACE_H
#define TP_RULES_NONFINITE_PLACE_H

#include <signal.h>

#include "base/pool.h"
#include "rules/findings.h"

/* Where in a tensor its NaN or Inf are. */

/*
 * Reads the tensor of each finding of the nonfinite rule once more and adds to
 * its evidence the pattern that its NaN, or else its Inf, form, and what that
 * is likely of. A tensor that can no longer be read is left as it is, with a
 * note in the run. Nonzero `*stop` gives up. TP_E_INTERRUPTED, TP_E_MEMORY.
 */
enum tp_status tp_nonfinite_place(struct tp_run *run, struct tp_pool *pool,
                                  const volatile sig_atomic_t *stop,
                                  struct tp_findings *findings,
                                  struct tp_error *err);

#endif
