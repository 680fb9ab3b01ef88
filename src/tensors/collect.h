/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_COLLECT_H
#define TP_TENSORS_COLLECT_H

#include "base/pool.h"
#include "tensors/collect_options.h"

/*
 * From directories to a run: finds the files, reads them, scans every tensor
 * and assembles the rows. One damaged file is a skipped row, never the end.
 */

/*
 * Fills `run` (zeroed by the caller; release with tp_run_clear, also after a
 * failure). The rows do not depend on the size of the pool. Fails with
 * TP_E_NOT_FOUND when a root is not there, TP_E_INTERRUPTED, TP_E_MEMORY.
 * A run without a single row is not a failure here. In a team only rank 0 has
 * a run afterwards; it fails as its world does, too.
 */
enum tp_status tp_collect(struct tp_pool *pool,
                          const struct tp_collect_options *options,
                          struct tp_run *run, struct tp_error *err);

#endif
