/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_FINDING_SERIES_H
#define TP_RULES_FINDING_SERIES_H

#include "rules/findings.h"
#include "series/monitor.h"

/* What the number of a finding was over the iterations: /finding_series. A
 * page has it whole where it cannot have all of /series. */

enum {
    TP_FINDING_POINTS = 50000 /* what a page packs of a table              */
};

/* One point, or why a finding has none. */
struct tp_finding_point {
    uint64_t finding;   /* row number in /findings                         */
    const char *metric; /* the finding's                                   */
    int64_t rank;       /* of the series; -1: of no single one             */
    int64_t iteration;  /* -1: there are no points                         */
    double value;       /* NaN: the same                                   */
    const char *note;   /* why there are none; "": there are; constant     */
};

/* All-zero bytes are none. */
struct tp_finding_series {
    struct tp_finding_point *rows; /* by finding and iteration             */
    size_t count, capacity;
};

/*
 * Takes of each finding the series that its number is of: of the tensor that it
 * names, else of the layer, the model or what tensors share. SQNR is made from
 * the series of distortion. A finding that has none gets a row that says why,
 * as does one whose points would be more than TP_FINDING_POINTS with those of
 * the worse ones. `made` is zeroed by the caller and released with
 * tp_finding_series_clear, also after a failure (TP_E_MEMORY).
 */
enum tp_status tp_finding_series_make(const struct tp_run *run,
                                      const struct tp_monitor *monitor,
                                      const struct tp_findings *findings,
                                      struct tp_finding_series *made,
                                      struct tp_error *err);

/* Releases what it owns; it is empty afterwards. */
void tp_finding_series_clear(struct tp_finding_series *made);

#endif
