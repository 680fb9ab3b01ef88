/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_DIFFERENCE_SCAN_H
#define TP_SCAN_DIFFERENCE_SCAN_H

#include "scan/pair_scan.h"
#include "stats/difference.h"

/* A tensor against a reference of equal shape, in one reading of each. */
struct tp_difference_scan {
    struct tp_difference_plan plan; /* of the parts of complex dtypes       */
    struct tp_difference difference;
    int64_t totals[TP_DIFFERENCE_CELLS];
};

/*
 * Reads both sides of a view (tp_pair_view_make) once; elements of complex
 * tensors count as two, and first_at is the first in the order of the view: an
 * element in row-major order (plus 1), not a part. *scan is some 520 KiB,
 * the caller's, set as a whole; tp_difference_numbers takes its members.
 * Scratch of 1 MiB a worker. Called from a task of the pool as `worker`, or
 * by the thread that made it. Fails as a scan does: TP_E_DAMAGED, TP_E_IO,
 * TP_E_MEMORY, TP_E_INTERRUPTED. Results do not depend on the number of jobs.
 */
enum tp_status tp_difference_scan(struct tp_readers *readers, unsigned worker,
                                  const struct tp_pair_view *view,
                                  struct tp_difference_scan *scan,
                                  struct tp_error *err);

#endif
