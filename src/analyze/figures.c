/* SPDX-License-Identifier: MIT */
#include "analyze/figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/fig.h"
#include "analyze/fig_builders.h"

const struct tp_figure_info tp_figure_table[] = {
    {"density_by_quant_type", "distributions",
     "Distribution of all elements, by quant type",
     "a tensor with a finite element", tp_fig_density_by_quant_type},
    {"density_by_tensor_name", "distributions",
     "Distribution of elements, by tensor name and quant type",
     "a tensor with a finite element", tp_fig_density_by_tensor_name},

    {"amax_by_layer_iteration", "heatmaps",
     "Largest magnitude (amax) by layer and iteration",
     "tensors with layer and iteration", tp_fig_amax_by_layer_iteration},
    {"overflow_by_layer_iteration", "heatmaps",
     "Overflow of the target format by layer and iteration",
     "judged tensors with layer and iteration",
     tp_fig_overflow_by_layer_iteration},
    {"underflow_by_layer_iteration", "heatmaps",
     "Underflow of the target format by layer and iteration",
     "judged tensors with layer and iteration",
     tp_fig_underflow_by_layer_iteration},
    {"mean_std_by_layer_sample", "heatmaps",
     "Mean and std by layer and sample", "tensors with layer and sample",
     tp_fig_mean_std_by_layer_sample},
    {"std_by_layer_tensor_name", "heatmaps",
     "Std by layer and tensor name", "tensors with a layer",
     tp_fig_std_by_layer_tensor_name},

    {NULL, NULL, NULL, NULL, NULL}};

/* What the tasks of one build share. */
struct work {
    const struct tp_facts *facts;
    struct tp_figure_set *set;
    bool *failed; /* [count] */
};

static const char *empty_reason(struct tp_fig *fig,
                                const struct tp_figure_info *info)
{
    return fig->count ? "" : tp_fig_text(fig, "needs %s", info->needs);
}

static void build_one(void *context, size_t index, unsigned worker)
{
    struct work *work = context;
    const struct tp_figure_info *info = &tp_figure_table[index];
    struct tp_fig fig = {.facts = work->facts,
                         .arena = &work->set->arenas[index]};
    (void)worker;
    info->build(&fig);
    struct tp_panel *panels =
        tp_fig_alloc(&fig, fig.count + 1, sizeof *panels);
    if (panels)
        memcpy(panels, fig.panels, fig.count * sizeof *panels);
    work->set->figures[index] = (struct tp_figure){
        .id = info->id,
        .category = info->category,
        .caption = info->caption,
        .panels = panels,
        .panel_count = fig.count,
        .empty_reason = empty_reason(&fig, info),
    };
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

enum tp_status tp_figures_build(const struct tp_run *run, struct tp_pool *pool,
                                struct tp_figure_set *set,
                                struct tp_error *err)
{
    size_t count = table_rows();
    struct tp_arena arena = {0};
    struct tp_facts facts;
    struct work work = {.facts = &facts, .set = set};
    *set = (struct tp_figure_set){
        .figures = calloc(count, sizeof *set->figures),
        .arenas = calloc(count, sizeof *set->arenas),
        .count = count,
    };
    work.failed = calloc(count, sizeof *work.failed);
    enum tp_status status = TP_OK;
    if (!set->figures || !set->arenas || !work.failed)
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_facts_init(run, &arena, &facts, err);
    if (status == TP_OK)
        status = build_all(&work, pool, err);
    free(work.failed);
    tp_arena_clear(&arena);
    if (status != TP_OK)
        tp_figure_set_clear(set);
    return status;
}

void tp_figure_set_clear(struct tp_figure_set *set)
{
    for (size_t i = 0; set->arenas && i < set->count; i++)
        tp_arena_clear(&set->arenas[i]);
    free(set->arenas);
    free(set->figures);
    *set = (struct tp_figure_set){0};
}
