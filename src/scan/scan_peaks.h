/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_PEAKS_H
#define TP_SCAN_SCAN_PEAKS_H

#include "scan/dim_rank.h"
#include "scan/dim_slab.h"
#include "scan/pass.h"
#include "stats/peaks.h"

/* Rows and columns of a tensor. */
struct tp_peak_slices {
    struct tp_peaks row, column;
};

/*
 * The peaks of every index of every axis, along with the first reading: what
 * decides whether something is to be said of an axis. Who has something to say
 * of one reads again for its means (scan_dims.h).
 */
struct tp_peak_sum {
    struct tp_slab_plan plan; /* of the axes; [inner, count) are columns   */
    size_t size; /* of a code                                              */
    int64_t columns, rows;
    int64_t held;          /* rows of a scratch: those of a range          */
    unsigned char *memory; /* of the totals; NULL: none are wanted         */
    struct tp_peak_slices total;
};

/* Its state is a struct tp_peak_sum, the count of the use tp_peak_units. */
extern const struct tp_sink tp_sink_peaks;

/* Begins with what fits the tensor of a pass, where that is worth while, and
 * else with memory NULL; `small`: it is in memory. To be cleared. TP_E_MEMORY:
 * not begun. */
enum tp_status tp_peaks_begin(struct tp_peak_sum *sum,
                              const struct tp_pass *pass, bool small);
void tp_peaks_clear(struct tp_peak_sum *sum);

/* Units of a scratch; 0 without memory. */
size_t tp_peak_units(const struct tp_peak_sum *sum);

/* Shows a ranker the indices of an axis of the plan, of a tensor whose values
 * are all finite: cells with extrema alone, of which `max` is at least 0 and
 * `min` at most. */
enum tp_status tp_peaks_rank(const struct tp_peak_sum *sum,
                             const struct tp_pass *pass, int axis,
                             struct tp_dim_ranker *ranker);

/* Such a cell of all there is. */
struct tp_dim_cell tp_peaks_all(const struct tp_peak_sum *sum,
                                const struct tp_pass *pass);

#endif
