/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_COMPARE_FIGURES_H
#define TP_FIGURES_COMPARE_FIGURES_H

#include "figures/compare_figure_input.h"
#include "figures/figures.h"

/* The figures of comparisons of two runs, all in the folder comparisons. */

/* One row of the table. */
struct tp_compare_figure_info {
    const char *id;      /* file name without ending                      */
    const char *caption; /* one line, the figure's heading                */
    const char *needs;   /* completes "needs ...", when nothing is drawn  */
    void (*build)(struct tp_fig *fig,
                  const struct tp_compare_figure_input *input);
};

/* The rows, ended by one whose id is NULL. */
extern const struct tp_compare_figure_info tp_compare_figure_table[];

/* The folder. */
#define TP_COMPARE_FIGURE_CATEGORY "comparisons"

/*
 * Builds every figure of the table; one without data has no panels and says
 * what it needs. The set keeps pointers to texts of the input, which has to
 * outlive it. Clear it with tp_figure_set_clear, also after a failure
 * (TP_E_MEMORY only).
 */
enum tp_status tp_compare_figures_build(
    const struct tp_compare_figure_input *input, struct tp_figure_set *set,
    struct tp_error *err);

#endif
