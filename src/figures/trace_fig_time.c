/* SPDX-License-Identifier: MIT */
/*
 * Where time goes: costs of steps, causes of idle time, communication under
 * computation, ranks by steps. The rows of steps and of idle time already count
 * each moment once, so that the parts of a bar add up; here they are averaged
 * over typical steps and stacked. A few traces are shown step by step, many by
 * the means of each. Ranks are a map of steps by traces; steps that a trace did
 * not record stay grey instead of being guessed from their neighbours. Linear
 * in the steps, but for the map: each of its cells searches the steps of its
 * trace.
 */
#include "base/order.h"
#include "figures/trace_fig.h"
#include "trace/trace_facts.h"

enum { STEP_ROWS_MAX = 24, STEP_PANELS = 4 };

/* --- costs of steps ---------------------------------------------------- */

enum { COSTS = 7 };
static const enum tp_trace_colour cost_parts[COSTS] = {
    TP_TRACE_KERNEL_COLOUR,   TP_TRACE_COPY_COLOUR,
    TP_TRACE_COMM_COLOUR,     TP_TRACE_CALL_COLOUR,
    TP_TRACE_LOADER_COLOUR,   TP_TRACE_OPERATOR_COLOUR,
    TP_TRACE_NOTHING_COLOUR};

static void add_costs(const struct tp_step_row *step, double costs[COSTS])
{
    costs[0] += step->kernel_us / 1e3;
    costs[1] += (step->memcpy_us + step->memset_us) / 1e3;
    costs[2] += step->communication_us / 1e3;
    costs[3] += step->runtime_us / 1e3;
    costs[4] += step->dataloader_us / 1e3;
    costs[5] += step->cpu_exec_us / 1e3;
    costs[6] += step->other_us / 1e3;
}

static bool has_steps(const struct tp_trace *trace)
{
    return trace->steps.count > 0;
}

/* The mean of the steps that count for averages. */
static void mean_costs(const struct tp_trace *trace, double costs[COSTS])
{
    size_t used = 0;
    for (size_t i = 0; i < trace->steps.count; i++) {
        if (!trace->steps.rows[i].typical)
            continue;
        add_costs(&trace->steps.rows[i], costs);
        used++;
    }
    for (int k = 0; k < COSTS && used > 0; k++)
        costs[k] /= (double)used;
}

/* A bar for each chosen trace, whose parts `fill` writes into zeros. */
static void stack_traces(struct tp_fig *fig, const struct tp_trace_run *run,
                         const struct tp_trace_choice *choice,
                         struct tp_stack stack,
                         void (*fill)(const struct tp_trace *trace,
                                      double *parts))
{
    const char *names[TP_TRACE_ROWS_MAX];
    double *values = tp_fig_alloc(fig, choice->count * stack.part_count + 1,
                                  sizeof *values);
    for (size_t i = 0; values && i < choice->count; i++) {
        names[i] = tp_trace_label(fig, run, choice->traces[i]);
        fill(&run->traces[choice->traces[i]], values + i * stack.part_count);
    }
    stack.rows = names;
    stack.row_count = values ? choice->count : 0;
    stack.values = values;
    tp_trace_stack(fig, &stack);
}

/* Steps of a trace, on an axis that ends at `most` ms. */
static void costs_of_steps(struct tp_fig *fig, const struct tp_trace_run *run,
                           size_t index, double most)
{
    const struct tp_trace *trace = &run->traces[index];
    const char *names[STEP_ROWS_MAX];
    size_t all = trace->steps.count;
    size_t shown = all < STEP_ROWS_MAX ? all : STEP_ROWS_MAX;
    double *values = tp_fig_alloc(fig, shown * COSTS + 1, sizeof *values);
    for (size_t i = 0; values && i < shown; i++) {
        size_t at = shown > 1 ? i * (all - 1) / (shown - 1) : 0;
        const struct tp_step_row *step = &trace->steps.rows[at];
        names[i] = step->step < 0
                       ? "no steps recorded"
                       : tp_fig_text(fig, "step %lld%s",
                                     (long long)step->step,
                                     step->typical ? "" : " (not typical)");
        add_costs(step, values + i * COSTS);
    }
    const struct tp_stack stack = {
        .title = tp_fig_text(fig, "%s%s", tp_trace_label(fig, run, index),
                             shown < all ? ", evenly spaced steps" : ""),
        .rows = names,
        .row_count = values ? shown : 0,
        .parts = cost_parts,
        .part_count = COSTS,
        .values = values,
        .label = "time [ms]",
        .most = most,
    };
    tp_trace_stack(fig, &stack);
}

/* The longest step of the chosen traces with some air, ms: their panels have
 * one axis. */
static double longest_step(const struct tp_trace_run *run,
                           const struct tp_trace_choice *choice)
{
    double most = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct tp_trace *trace = &run->traces[choice->traces[i]];
        for (size_t k = 0; k < trace->steps.count; k++) {
            const double us = trace->steps.rows[k].window_us;
            most = us > most ? us : most;
        }
    }
    return 1.04 * most / 1e3;
}

void tp_trace_fig_step_cost(struct tp_fig *fig, const struct tp_trace_run *run)
{
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_steps, TP_TRACE_ROWS_MAX, &choice);
    if (choice.count > STEP_PANELS) {
        const struct tp_stack stack = {
            .title = "mean of the typical steps, by trace",
            .parts = cost_parts,
            .part_count = COSTS,
            .label = "time per step [ms]",
        };
        stack_traces(fig, run, &choice, stack, mean_costs);
        return;
    }
    const double most = longest_step(run, &choice);
    for (size_t i = 0; i < choice.count; i++)
        costs_of_steps(fig, run, choice.traces[i], most);
}

/* --- idle time --------------------------------------------------------- */

static bool has_device(const struct tp_trace *trace)
{
    return trace->facts.device_events > 0 && trace->idle.window_us > 0;
}

enum { CAUSES = 1 + TP_IDLE_CAUSES };

static void idle_shares(const struct tp_trace *trace, double *parts)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double shares[CAUSES] = {
        idle->busy,     idle->queued, idle->alloc,  idle->dataloader,
        idle->blocking, idle->launch, idle->cpu_op, idle->none};
    for (int k = 0; k < CAUSES; k++)
        parts[k] = 100 * shares[k];
}

void tp_trace_fig_idle(struct tp_fig *fig, const struct tp_trace_run *run)
{
    enum tp_trace_colour causes[CAUSES] = {TP_TRACE_DEVICE_COLOUR};
    struct tp_trace_choice choice;
    for (int k = 0; k < TP_IDLE_CAUSES; k++)
        causes[1 + k] = tp_trace_idle_colour(k);
    tp_trace_choose(run, has_device, TP_TRACE_ROWS_MAX, &choice);
    const struct tp_stack stack = {
        .title = tp_fig_text(fig, "each idle moment once, for the first cause "
                                  "from the left; window: %s",
                             run->traces[0].facts.window),
        .parts = causes,
        .part_count = CAUSES,
        .label = "share of the window [%]",
    };
    stack_traces(fig, run, &choice, stack, idle_shares);
}

/* --- communication ----------------------------------------------------- */

static bool has_communication(const struct tp_trace *trace)
{
    const struct tp_busy_row *row = tp_trace_busy_window(trace);
    return row && row->communication_us > 0;
}

enum { PARTS = 5 };

static void busy_parts(const struct tp_trace *trace, double *parts)
{
    const struct tp_busy_row *row = tp_trace_busy_window(trace);
    const double us[PARTS] = {
        row->compute_us - row->overlap_us, row->overlap_us,
        row->exposed_memory_us, row->exposed_communication_us, row->idle_us};
    for (int k = 0; k < PARTS; k++)
        parts[k] = us[k] / 1e3;
}

void tp_trace_fig_overlap(struct tp_fig *fig, const struct tp_trace_run *run)
{
    static const enum tp_trace_colour parts[PARTS] = {
        TP_TRACE_KERNEL_COLOUR, TP_TRACE_HIDDEN_COLOUR, TP_TRACE_COPY_COLOUR,
        TP_TRACE_COMM_COLOUR, TP_TRACE_IDLE_COLOUR};
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_communication, TP_TRACE_ROWS_MAX, &choice);
    const struct tp_stack stack = {
        .title = tp_fig_text(fig, "device time, %s",
                             run->traces[0].facts.window),
        .parts = parts,
        .part_count = PARTS,
        .label = "time [ms]",
    };
    stack_traces(fig, run, &choice, stack, busy_parts);
}

/* --- ranks by steps ---------------------------------------------------- */

/* The steps of all chosen traces, by number; evenly spaced if too many. */
struct step_numbers {
    int64_t *numbers;
    size_t count;
};

static struct step_numbers all_steps(struct tp_fig *fig,
                                     const struct tp_trace_run *run,
                                     const struct tp_trace_choice *choice)
{
    enum { COLUMNS_MAX = 80 }; /* times 24 rows: below 2 000 cells */
    size_t total = 0, n = 0, kept = 0;
    for (size_t i = 0; i < choice->count; i++)
        total += run->traces[choice->traces[i]].steps.count;
    struct step_numbers steps = {
        tp_fig_alloc(fig, total + 1, sizeof *steps.numbers), 0};
    for (size_t i = 0; i < choice->count && steps.numbers; i++) {
        const struct tp_trace *trace = &run->traces[choice->traces[i]];
        for (size_t k = 0; k < trace->steps.count; k++)
            steps.numbers[n++] = trace->steps.rows[k].step;
    }
    tp_sort_int64(steps.numbers, n);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || steps.numbers[i] != steps.numbers[kept - 1])
            steps.numbers[kept++] = steps.numbers[i];
    }
    steps.count = kept < COLUMNS_MAX ? kept : COLUMNS_MAX;
    for (size_t i = 1; i < steps.count; i++)
        steps.numbers[i] =
            steps.numbers[i * (kept - 1) / (steps.count - 1)];
    return steps;
}

static const struct tp_step_row *find_step(const struct tp_trace *trace,
                                           int64_t number)
{
    for (size_t k = 0; k < trace->steps.count; k++) {
        if (trace->steps.rows[k].step == number)
            return &trace->steps.rows[k];
    }
    return NULL;
}

static bool has_numbered_steps(const struct tp_trace *trace)
{
    return trace->steps.count > 0 && trace->steps.rows[0].step >= 0;
}

void tp_trace_fig_ranks(struct tp_fig *fig, const struct tp_trace_run *run)
{
    struct tp_trace_choice choice;
    const char *names[TP_TRACE_ROWS_MAX];
    tp_trace_choose(run, has_numbered_steps, TP_TRACE_ROWS_MAX, &choice);
    if (choice.count < 2)
        return;
    struct step_numbers steps = all_steps(fig, run, &choice);
    double *cells =
        tp_fig_alloc(fig, 3 * choice.count * steps.count + 1, sizeof *cells);
    struct tp_tic *tics = tp_fig_alloc(fig, steps.count + 1, sizeof *tics);
    size_t n = 0;
    for (size_t r = 0; cells && tics && r < choice.count; r++) {
        names[r] = tp_trace_label(fig, run, choice.traces[r]);
        for (size_t c = 0; c < steps.count; c++) {
            const struct tp_step_row *step = find_step(
                &run->traces[choice.traces[r]], steps.numbers[c]);
            tics[c] = (struct tp_tic){
                (double)c,
                tp_fig_text(fig, "%lld", (long long)steps.numbers[c])};
            if (!step)
                continue;
            cells[3 * n] = (double)c;
            cells[3 * n + 1] = (double)r;
            cells[3 * n++ + 2] = step->host_us / 1e3;
        }
    }
    const struct tp_panel_series series = {
        .name = "", .values = cells, .rows = n};
    struct tp_panel_series *kept = tp_fig_alloc(fig, 1, sizeof *kept);
    if (fig->failed)
        return;
    *kept = series;
    const struct tp_panel panel = {
        .kind = TP_PANEL_HEAT,
        .title = "duration of ProfilerStep on the host",
        .x = {.label = "step",
              .limited = true,
              .min = -0.5,
              .max = (double)steps.count - 0.5,
              .tics = tics,
              .tic_count = steps.count},
        .y = tp_fig_named_rows(fig, names, choice.count),
        .z = {.label = "time [ms]"},
        .palette = TP_PALETTE_VALUE,
        .series = kept,
        .series_count = 1,
        .cell_width = 1,
        .cell_height = 1,
    };
    tp_fig_add(fig, &panel);
}
