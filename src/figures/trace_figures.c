/* SPDX-License-Identifier: MIT */
/*
 * The table of trace figures, and building them, one after the other, without
 * the pool that figures of dumps use: the rows were made before (src/trace),
 * and what is left is to choose, sort and add up some of them. Each figure has
 * an arena of its own, as those of dumps do, and its panels are copied once,
 * when their number is known.
 */
#include "figures/trace_figures.h"

#include "figures/trace_fig.h"

const struct tp_trace_figure_info tp_trace_figure_table[] = {
    {"step_cost",
     "Where the time of a step goes: each moment once, "
     "to the first of these that covers it",
     "a recorded step", tp_trace_fig_step_cost},
    {"idle_causes",
     "What the device waits for, by what the host does meanwhile",
     "device events", tp_trace_fig_idle},
    {"top_operators", "Operators that take most time", "an operator",
     tp_trace_fig_operators},
    {"top_kernels", "Device work that takes most time", "device events",
     tp_trace_fig_top_kernels},
    {"kernel_durations", "How long kernels last: by number and by time",
     "kernels", tp_trace_fig_kernels},
    {"roofline",
     "Operators against the machine, by FLOP and bytes of their inputs "
     "(points: 98 % of the known time)",
     "kernels, shapes (record_shapes=True) and a device whose roofs are known "
     "(--gpu, --peak)",
     tp_trace_fig_roofline},
    {"utilisation", "The device over time", "device events",
     tp_trace_fig_utilisation},
    {"memory", "Memory of the allocator over time",
     "[memory] events with totals (profile_memory=True, torch 1.11 or later)",
     tp_trace_fig_memory},
    {"memory_peaks", "What is alive when most memory is taken",
     "[memory] events with addresses (profile_memory=True, torch 1.10 or "
     "later)",
     tp_trace_fig_memory_peaks},
    {"communication_overlap",
     "Communication under and beside computation",
     "communication kernels", tp_trace_fig_overlap},
    {"step_by_rank", "Duration of each step of each trace (grey: not recorded)",
     "steps of two traces", tp_trace_fig_ranks},
    {"what_if",
     "What if this took no time: so much shorter would a step be (estimates by "
     "replay)",
     "device events", tp_trace_fig_what_if},
    {NULL, NULL, NULL, NULL},
};

static size_t table_rows(void)
{
    size_t n = 0;
    while (tp_trace_figure_table[n].id)
        n++;
    return n;
}

static bool build_one(const struct tp_trace_run *run, size_t index,
                      struct tp_figure_set *set)
{
    const struct tp_trace_figure_info *info = &tp_trace_figure_table[index];
    struct tp_fig fig = {.arena = &set->arenas[index]};
    info->build(&fig, run);
    struct tp_figure *figure = &set->figures[index];
    *figure = tp_fig_finish(&fig, info->needs);
    figure->id = info->id;
    figure->category = TP_TRACE_FIGURE_CATEGORY;
    figure->caption = info->caption;
    return !fig.failed;
}

enum tp_status tp_trace_figures_build(const struct tp_trace_run *run,
                                      struct tp_figure_set *set,
                                      struct tp_error *err)
{
    size_t count = table_rows();
    enum tp_status status = tp_figure_set_init(set, count, err);
    for (size_t i = 0; status == TP_OK && i < count; i++) {
        if (!build_one(run, i, set))
            status = tp_fail_memory(err);
    }
    if (status != TP_OK)
        tp_figure_set_clear(set);
    return status;
}
