/* SPDX-License-Identifier: MIT */
#ifndef TP_ANALYZE_FIG_BUILDERS_H
#define TP_ANALYZE_FIG_BUILDERS_H

#include "analyze/figures.h"

/*
 * The builders of the figure table, one per figure, by the file they are in.
 * Each adds the panels its name tells of; none fails, except by running out
 * of memory, which fig->failed says.
 */

/* fig_distributions.c */
void tp_fig_density_by_quant_type(struct tp_fig *fig);
void tp_fig_density_by_tensor_name(struct tp_fig *fig);

/* fig_heatmaps.c */
void tp_fig_amax_by_layer_iteration(struct tp_fig *fig);
void tp_fig_overflow_by_layer_iteration(struct tp_fig *fig);
void tp_fig_underflow_by_layer_iteration(struct tp_fig *fig);
void tp_fig_mean_std_by_layer_sample(struct tp_fig *fig);
void tp_fig_std_by_layer_tensor_name(struct tp_fig *fig);

#endif
