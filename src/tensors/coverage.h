/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_COVERAGE_H
#define TP_TENSORS_COVERAGE_H

#include "tensors/run.h"

/*
 * Adds notes on what the run lacks for a look at its iterations: ranks that
 * stop early or miss some, tensors without an iteration, a single one, and
 * iterations that are not complete.
 * TP_E_MEMORY only.
 */
enum tp_status tp_coverage_note(struct tp_run *run, struct tp_error *err);

#endif
