/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIG_BUILDERS_H
#define TP_FIGURES_FIG_BUILDERS_H

/*
 * The builders of the figure table, one per figure, by the file they are in.
 * Each adds the panels its name tells of; none fails, except by running out
 * of memory, which fig->failed says.
 */
struct tp_fig;

/* fig_distributions.c */
void tp_fig_density_by_quant_type(struct tp_fig *fig);
void tp_fig_density_by_tensor_name(struct tp_fig *fig);

/* fig_heatmaps.c */
void tp_fig_amax_by_layer_iteration(struct tp_fig *fig);
void tp_fig_overflow_by_layer_iteration(struct tp_fig *fig);
void tp_fig_underflow_by_layer_iteration(struct tp_fig *fig);
void tp_fig_mean_std_by_layer_sample(struct tp_fig *fig);
void tp_fig_std_by_layer_tensor_name(struct tp_fig *fig);

/* fig_comparisons.c */
void tp_fig_same_tensor_density(struct tp_fig *fig);
void tp_fig_same_tensor_ratio(struct tp_fig *fig);
void tp_fig_same_tensor_drift(struct tp_fig *fig);
void tp_fig_same_tensor_correlation(struct tp_fig *fig);
void tp_fig_same_tensor_scatter(struct tp_fig *fig);

/* fig_statistics.c */
void tp_fig_statistics_by_layer(struct tp_fig *fig);
void tp_fig_statistics_by_tensor_name(struct tp_fig *fig);
void tp_fig_statistics_by_iteration(struct tp_fig *fig);

/* fig_attention.c */
void tp_fig_attention_density(struct tp_fig *fig);
void tp_fig_attention_by_layer(struct tp_fig *fig);
void tp_fig_attention_by_iteration(struct tp_fig *fig);

/* fig_layers.c */
void tp_fig_attention_against_linear(struct tp_fig *fig);
void tp_fig_quantile_bands(struct tp_fig *fig);
void tp_fig_by_batch_size(struct tp_fig *fig);
void tp_fig_by_sample(struct tp_fig *fig);

/* fig_overflow.c */
void tp_fig_overflow_by_quant_type(struct tp_fig *fig);
void tp_fig_overflow_by_layer_type(struct tp_fig *fig);
void tp_fig_overflow_by_iteration(struct tp_fig *fig);
void tp_fig_headroom(struct tp_fig *fig);

/* fig_backward.c */
void tp_fig_forward_against_backward(struct tp_fig *fig);
void tp_fig_backward_by_layer_type(struct tp_fig *fig);
void tp_fig_backward_statistics(struct tp_fig *fig);
void tp_fig_forward_backward_statistics(struct tp_fig *fig);
void tp_fig_gradients(struct tp_fig *fig);

/* fig_ranks.c */
void tp_fig_statistics_by_rank(struct tp_fig *fig);
void tp_fig_rank_layer_deviation(struct tp_fig *fig);
void tp_fig_rank_iteration_deviation(struct tp_fig *fig);

/* fig_formats.c */
void tp_fig_regimes(struct tp_fig *fig);
void tp_fig_measured_loss(struct tp_fig *fig);
void tp_fig_range_against_formats(struct tp_fig *fig);
void tp_fig_hifp8_against_mxfp8(struct tp_fig *fig);
void tp_fig_fp8_statistics(struct tp_fig *fig);

/* fig_bf16.c */
void tp_fig_bf16_density(struct tp_fig *fig);
void tp_fig_bf16_shape(struct tp_fig *fig);

/* fig_fp8.c */
void tp_fig_fp8_grids(struct tp_fig *fig);
void tp_fig_fp8_errors(struct tp_fig *fig);
void tp_fig_fp8_normality(struct tp_fig *fig);

/* fig_quant.c */
void tp_fig_sqnr_by_layer(struct tp_fig *fig);
void tp_fig_loss_by_format(struct tp_fig *fig);
void tp_fig_scale_sweep(struct tp_fig *fig);
void tp_fig_recommendation_map(struct tp_fig *fig);

/* fig_dims.c */
void tp_fig_index_amax(struct tp_fig *fig);

/* fig_series.c */
void tp_fig_baselines(struct tp_fig *fig);
void tp_fig_onset_map(struct tp_fig *fig);
void tp_fig_gradient_norm(struct tp_fig *fig);
void tp_fig_healthy_against_sick(struct tp_fig *fig);

#endif
