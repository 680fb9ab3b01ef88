/* SPDX-License-Identifier: MIT */
/*
 * The table of figures, and building them. Figures are tasks of the pool: each
 * has an arena and a place in the set of its own and reads the same facts, so
 * tasks share nothing that changes, need no locks, and give the same figures
 * with any number of threads. One arena for all would save memory but need a
 * lock. What a figure is made of is copied once, its panels; tables stay where
 * the builder put them.
 */
#include "figures/figures.h"

#include <stdlib.h>

#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

const struct tp_figure_info tp_figure_table[] = {
    {"density_by_quant_type", "distributions",
     "Distribution of all elements, by quant type",
     "a tensor with a finite element", tp_fig_density_by_quant_type},
    {"density_by_tensor_name", "distributions",
     "Distribution of elements, by tensor name and quant type",
     "a tensor with a finite element", tp_fig_density_by_tensor_name},

    {"amax_by_layer_iteration", "heatmaps",
     "Largest magnitude (amax) by layer and iteration, one range of colours "
     "per pass or kind (grey: no data)",
     "tensors with layer and iteration", tp_fig_amax_by_layer_iteration},
    {"overflow_by_layer_iteration", "heatmaps",
     "Overflow by layer and iteration (white: none, grey: no data)",
     "tensors that overflow, with layer and iteration",
     tp_fig_overflow_by_layer_iteration},
    {"underflow_by_layer_iteration", "heatmaps",
     "Underflow by layer and iteration (white: none, grey: no data)",
     "tensors that underflow, with layer and iteration",
     tp_fig_underflow_by_layer_iteration},
    {"mean_std_by_layer_sample", "heatmaps",
     "Mean and std by layer and sample", "tensors with layer and sample",
     tp_fig_mean_std_by_layer_sample},
    {"std_by_layer_tensor_name", "heatmaps",
     "Std by layer and tensor name (grey: no data)", "tensors with a layer",
     tp_fig_std_by_layer_tensor_name},

    {"onset_by_layer_iteration", "heatmaps",
     "Where changes began: first bad iteration of each series, by layer "
     "(white: none, grey: no data)",
     "a tensor that left its baseline, with layer and iteration",
     tp_fig_onset_map},

    {"healthy_against_sick", "comparisons",
     "The origin of an incident before and after",
     "an incident (findings of the rule onset)", tp_fig_healthy_against_sick},
    {"same_tensor_density", "comparisons",
     "The same tensors in different quant types: distribution",
     "the same tensor under two quant types", tp_fig_same_tensor_density},
    {"same_tensor_ratio", "comparisons",
     "The same tensor in two quant types: ratio of std and of amax",
     "the same tensor under two quant types", tp_fig_same_tensor_ratio},
    {"same_tensor_drift", "comparisons",
     "The same tensor in two quant types: how the runs drift apart",
     "the same tensor under two quant types, over iterations",
     tp_fig_same_tensor_drift},
    {"same_tensor_correlation", "comparisons",
     "The same tensor in two quant types, element by element: how far from "
     "correlated (all: /pairs)",
     "elements of the same tensor under two quant types (--pairs)",
     tp_fig_same_tensor_correlation},
    {"same_tensor_scatter", "comparisons",
     "The same tensor in two quant types, element by element: least alike of "
     "each tensor name (all: /pairs)",
     "elements of the same tensor under two quant types (--pairs)",
     tp_fig_same_tensor_scatter},

    {"statistics_by_layer", "statistics",
     "Mean, std, min and max of all elements, over layers",
     "tensors of at least two layers", tp_fig_statistics_by_layer},
    {"statistics_by_tensor_name", "statistics",
     "Mean, std, min and max of each tensor, by tensor name",
     "a tensor with a finite element", tp_fig_statistics_by_tensor_name},
    {"statistics_by_iteration", "statistics",
     "Mean, std, amax and underflow of all elements, over iterations",
     "tensors of at least two iterations", tp_fig_statistics_by_iteration},

    {"baselines", "statistics",
     "Baselines of the series that left them furthest",
     "a series off its baseline, or gradients of at least three iterations",
     tp_fig_baselines},

    {"attention_density", "attention_analysis",
     "Attention tensors: distribution of elements, by layer",
     "attention tensors (query, key, value, attention_weights, output)",
     tp_fig_attention_density},
    {"attention_by_layer", "attention_analysis",
     "Attention tensors: std and amax, over layers",
     "attention tensors of at least two layers", tp_fig_attention_by_layer},
    {"attention_by_iteration", "attention_analysis",
     "Attention tensors: std of each tensor, over iterations",
     "query, key, value, probabilities or output of at least two iterations",
     tp_fig_attention_by_iteration},

    {"attention_against_linear", "layer_analysis",
     "Layer types against each other, without the backward pass",
     "tensors of at least two layer types", tp_fig_attention_against_linear},
    {"quantile_bands_by_layer", "layer_analysis",
     "Quantiles of the elements, over layers",
     "tensors of at least two layers", tp_fig_quantile_bands},
    {"by_batch_size", "layer_analysis",
     "Batch sizes against each other, without the backward pass",
     "tensors of at least two batch sizes", tp_fig_by_batch_size},
    {"index_amax", "layer_analysis",
     "Axes whose indices (channels, tokens, heads) lie furthest apart: "
     "largest and smallest abs_max",
     "tensors with an outlying index (--dims worst or all)",
     tp_fig_index_amax},
    {"by_sample", "layer_analysis",
     "Samples against each other, without the backward pass",
     "tensors of at least two samples", tp_fig_by_sample},

    {"overflow_by_quant_type", "overflow_analysis",
     "Overflow and underflow of the target format, by quant type",
     "tensors that overflow or underflow", tp_fig_overflow_by_quant_type},
    {"overflow_by_layer_type", "overflow_analysis",
     "Overflow and underflow of each tensor, by layer type and name",
     "tensors that overflow or underflow, with a layer type",
     tp_fig_overflow_by_layer_type},
    {"overflow_by_iteration", "overflow_analysis",
     "Overflow, underflow and subnormals, over iterations",
     "tensors of at least two iterations, some of which overflow or underflow",
     tp_fig_overflow_by_iteration},
    {"headroom", "overflow_analysis",
     "Headroom: binades from amax to the largest finite value of the format",
     "tensors with an elementwise target format", tp_fig_headroom},

    {"hifp8_against_mxfp8", "fp8_analysis",
     "8-bit runs: magnitudes against the ranges of the formats",
     "tensors of a hifp8, mxfp8 or fp8 run", tp_fig_hifp8_against_mxfp8},
    {"fp8_statistics", "fp8_analysis",
     "8-bit runs: mean, std, min and max of each tensor",
     "tensors of a hifp8, mxfp8 or fp8 run", tp_fig_fp8_statistics},

    {"fp8_grids", "fp8_analysis",
     "8-bit runs: magnitudes over the values that the formats have",
     "nonzero elements of a hifp8, mxfp8 or fp8 run", tp_fig_fp8_grids},
    {"fp8_errors", "fp8_analysis",
     "The same tensor in HiF8 and in MXFP8: signal to quantisation noise",
     "simulated casts (--formats) to hif8 and mxfp8_e4m3",
     tp_fig_fp8_errors},
    {"fp8_normality", "fp8_analysis",
     "8-bit runs against a normal distribution (D: Kolmogorov distance)",
     "tensors of a hifp8, mxfp8 or fp8 run", tp_fig_fp8_normality},

    {"bf16_density", "bf16_analysis", "bf16: distribution and density",
     "tensors of a bf16 run, or stored as bfloat16", tp_fig_bf16_density},
    {"bf16_shape", "bf16_analysis",
     "bf16: variance, skewness and kurtosis of each tensor",
     "tensors of a bf16 run, or stored as bfloat16", tp_fig_bf16_shape},

    {"regimes_by_format", "quantization_analysis",
     "Where the elements would fall in each format, without scaling",
     "a tensor with a finite element", tp_fig_regimes},
    {"measured_loss", "quantization_analysis",
     "Underflow, subnormals and overflow of the target format",
     "tensors with a target format", tp_fig_measured_loss},
    {"range_against_formats", "quantization_analysis",
     "Magnitudes of each tensor name against the ranges of the formats",
     "a tensor with a nonzero element", tp_fig_range_against_formats},
    {"sqnr_by_layer", "quantization_analysis",
     "Signal to quantisation noise by layer and format (white: some elements "
     "become infinite or NaN; all: /quantization_groups)",
     "simulated casts (--formats) of tensors with a layer",
     tp_fig_sqnr_by_layer},
    {"loss_by_format", "quantization_analysis",
     "Underflow and overflow of each tensor name in each format (all: "
     "/quantization_groups)",
     "simulated casts (--formats)", tp_fig_loss_by_format},
    {"scale_sweep", "quantization_analysis",
     "Signal to quantisation noise against the scale, worst tensors",
     "simulated casts (--formats) that lose something", tp_fig_scale_sweep},
    {"recommendation_map", "quantization_analysis",
     "Narrowest format within the limits, by layer and tensor",
     "simulated casts (--formats) of tensors with a layer",
     tp_fig_recommendation_map},

    {"forward_against_backward", "backward_analysis",
     "Forward against backward", "tensors of both passes",
     tp_fig_forward_against_backward},
    {"forward_backward_statistics", "backward_analysis",
     "Forward beside backward: mean, std, min and max of each tensor",
     "tensors of both passes", tp_fig_forward_backward_statistics},
    {"backward_by_layer_type", "backward_analysis",
     "Backward pass, by layer type and tensor", "tensors of a backward pass",
     tp_fig_backward_by_layer_type},
    {"backward_statistics", "backward_analysis",
     "Backward pass: mean, std, min and max of each tensor",
     "tensors of a backward pass", tp_fig_backward_statistics},
    {"gradients", "backward_analysis",
     "Gradients (grad_output, grad_input) over iterations",
     "gradients of at least two iterations", tp_fig_gradients},
    {"gradient_norm", "backward_analysis",
     "Gradient norm of each layer, and its ratio to the next layer, over "
     "iterations",
     "gradients of at least two iterations with a layer",
     tp_fig_gradient_norm},

    {"statistics_by_rank", "rank_analysis",
     "Mean, std, amax and underflow of the tensors, by rank",
     "the same tensor on at least two ranks", tp_fig_statistics_by_rank},
    {"rank_layer_deviation", "rank_analysis",
     "Deviation of each rank from the median rank, or of two from the first, "
     "by layer",
     "the same tensor on at least two ranks, with a layer",
     tp_fig_rank_layer_deviation},
    {"rank_iteration_deviation", "rank_analysis",
     "Deviation of each rank from the median rank, or of two from the first, "
     "by iteration",
     "the same tensor on at least two ranks, with an iteration",
     tp_fig_rank_iteration_deviation},

    {NULL, NULL, NULL, NULL, NULL}};

/* What the tasks of one build share. */
struct work {
    const struct tp_facts *facts;
    struct tp_figure_set *set;
    bool *failed; /* [count] */
};

static void build_one(void *context, size_t index, unsigned worker)
{
    struct work *work = context;
    const struct tp_figure_info *info = &tp_figure_table[index];
    struct tp_fig fig = {.facts = work->facts,
                         .arena = &work->set->arenas[index]};
    (void)worker;
    info->build(&fig);
    struct tp_figure *figure = &work->set->figures[index];
    *figure = tp_fig_finish(&fig, info->needs);
    figure->id = info->id;
    figure->category = info->category;
    figure->caption = info->caption;
    work->failed[index] = fig.failed;
}

static size_t table_rows(void)
{
    size_t n = 0;
    while (tp_figure_table[n].id)
        n++;
    return n;
}

static enum tp_status build_all(struct work *work, struct tp_pool *pool,
                                struct tp_error *err)
{
    size_t count = work->set->count;
    if (pool) {
        tp_pool_for(pool, count, build_one, work);
    } else {
        for (size_t i = 0; i < count; i++)
            build_one(work, i, 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (work->failed[i])
            return tp_fail_memory(err);
    }
    return TP_OK;
}

enum tp_status tp_figures_build(const struct tp_figure_input *input,
                                struct tp_pool *pool,
                                struct tp_figure_set *set,
                                struct tp_error *err)
{
    size_t count = table_rows();
    struct tp_facts facts;
    struct work work = {.facts = &facts, .set = set};
    enum tp_status status = tp_figure_set_init(set, count, err);
    work.failed = calloc(count, sizeof *work.failed);
    if (status == TP_OK && !work.failed)
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_facts_init(input, &set->names, &facts, err);
    if (status == TP_OK)
        status = build_all(&work, pool, err);
    free(work.failed);
    if (status != TP_OK)
        tp_figure_set_clear(set);
    return status;
}

enum tp_status tp_figure_set_init(struct tp_figure_set *set, size_t count,
                                  struct tp_error *err)
{
    *set = (struct tp_figure_set){
        .figures = calloc(count, sizeof *set->figures),
        .arenas = calloc(count, sizeof *set->arenas),
        .count = count,
    };
    return set->figures && set->arenas ? TP_OK : tp_fail_memory(err);
}

void tp_figure_set_clear(struct tp_figure_set *set)
{
    for (size_t i = 0; set->arenas && i < set->count; i++)
        tp_arena_clear(&set->arenas[i]);
    tp_arena_clear(&set->names);
    free(set->arenas);
    free(set->figures);
    *set = (struct tp_figure_set){0};
}
