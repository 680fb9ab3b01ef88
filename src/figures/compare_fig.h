/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_COMPARE_FIG_H
#define TP_FIGURES_COMPARE_FIG_H

#include "figures/compare_figure_input.h"
#include "figures/fig.h"

/* What the builders of figures of comparisons share, and the builders. */

/* Whether a call is of the backward pass. */
bool tp_compare_fig_is_backward(const struct tp_compare_figure_input *input,
                                const struct tp_compare_call *call);

/* What stands for infinite errors on a log axis, a power of ten above all
 * others; 0: no call has any. */
double tp_compare_fig_infinite(const struct tp_compare_calls *calls);

/* The builders; see tp_compare_figure_table. */
void tp_compare_fig_gain(struct tp_fig *fig,
                         const struct tp_compare_figure_input *input);
void tp_compare_fig_pairs(struct tp_fig *fig,
                          const struct tp_compare_figure_input *input);
void tp_compare_fig_tree(struct tp_fig *fig,
                         const struct tp_compare_figure_input *input);

#endif
