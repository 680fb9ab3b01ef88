/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_REPLAY_FIGURES_H
#define TP_FIGURES_REPLAY_FIGURES_H

#include "figures/fig.h"
#include "figures/figures.h"
#include "replay/replay_run.h"

/* The figures of a replay, all in the folder replay_analysis. */

/* One row of the table. */
struct tp_replay_figure_info {
    const char *id;      /* file name without ending                      */
    const char *caption; /* one line, the figure's heading                */
    const char *needs;   /* completes "needs ...", when nothing is drawn  */
    void (*build)(struct tp_fig *fig, const struct tp_replay_results *results);
};

/* The rows, ended by one whose id is NULL. */
extern const struct tp_replay_figure_info tp_replay_figure_table[];

/* The folder. */
#define TP_REPLAY_FIGURE_CATEGORY "replay_analysis"

/*
 * Builds every figure of the table; one without data has no panels and says
 * what it needs. The set keeps pointers to texts of the results, which have to
 * outlive it. Clear it with tp_figure_set_clear, also after a failure
 * (TP_E_MEMORY only).
 */
enum tp_status tp_replay_figures_build(const struct tp_replay_results *results,
                                       struct tp_figure_set *set,
                                       struct tp_error *err);

#endif
