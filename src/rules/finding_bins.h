/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_FINDING_BINS_H
#define TP_RULES_FINDING_BINS_H

#include "rules/findings.h"
#include "series/monitor.h"

/* How the elements of a finding's tensor are distributed, and how they were
 * before, or how those of a tensor like it are: /histograms/findings. */

enum {
    TP_BINNED_FINDINGS = 100 /* the worst: who opens more reads the table  */
};

/* One occupied bin; zeros have lower = upper = 0, NaN have NaN and infinite
 * elements their value in both. "range" is no bin but the least and the largest
 * magnitude of the format, and how many elements of the tensor it loses. */
struct tp_finding_bin {
    uint64_t finding;    /* row number in /findings                        */
    const char *when;    /* "before", "sibling", "at", "range": constant   */
    int64_t tensor;      /* row number in /tensors, of several the first   */
    int64_t iteration;   /* -1: unknown                                    */
    double lower, upper; /* of the values; the edge nearer 0 belongs to it */
    uint64_t count;
};

/* All-zero bytes are none. */
struct tp_finding_bins {
    struct tp_finding_bin *rows; /* by finding, time and value, NaN last    */
    size_t count, capacity;
};

/*
 * Takes the bins of the tensors that the first findings name, and of what these
 * are held against (tp_finding_before); rows of one iteration that make one
 * point of a series are taken together. `bins` is zeroed by the caller and
 * released with tp_finding_bins_clear, also after a failure (TP_E_MEMORY).
 */
enum tp_status tp_finding_bins_make(const struct tp_run *run,
                                    const struct tp_monitor *monitor,
                                    const struct tp_findings *findings,
                                    struct tp_finding_bins *bins,
                                    struct tp_error *err);

/* Releases what it owns; it is empty afterwards. */
void tp_finding_bins_clear(struct tp_finding_bins *bins);

#endif
