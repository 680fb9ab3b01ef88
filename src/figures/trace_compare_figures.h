/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_TRACE_COMPARE_FIGURES_H
#define TP_FIGURES_TRACE_COMPARE_FIGURES_H

#include "figures/figures.h"
#include "trace/trace_compare.h"

/* The figures of two runs of traces, beside those of one (trace_figures.h). */

/* One row of the table. */
struct tp_trace_compare_figure_info {
    const char *id;      /* file name without ending                      */
    const char *caption; /* one line, the figure's heading                */
    const char *needs;   /* completes "needs ...", when nothing is drawn  */
    void (*build)(struct tp_fig *fig,
                  const struct tp_trace_comparison *comparison);
};

/* The rows, ended by one whose id is NULL. */
extern const struct tp_trace_compare_figure_info
    tp_trace_compare_figure_table[];

/* The folder. */
#define TP_TRACE_COMPARE_CATEGORY "trace_comparison"

/*
 * Builds every figure of the table; one without data has no panels and says
 * what it needs. The set keeps pointers to texts of the comparison, which has
 * to outlive it. Clear it with tp_figure_set_clear, also after a failure
 * (TP_E_MEMORY only).
 */
enum tp_status tp_trace_compare_figures_build(
    const struct tp_trace_comparison *comparison, struct tp_figure_set *set,
    struct tp_error *err);

#endif
