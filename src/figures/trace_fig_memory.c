/* SPDX-License-Identifier: MIT */
/*
 * What memory is for at its peaks: a bar for each of the highest moments of a
 * device, of what is alive there. The rows of /memory_peaks are sums by
 * operator; here they are added up by kind. Linear in those rows.
 */
#include <string.h>

#include "figures/trace_fig.h"

static bool has_peaks(const struct tp_trace *trace)
{
    return trace->memory_peaks.count > 0;
}

/* The bars, as they are made. */
struct bars {
    const char *names[TP_TRACE_ROWS_MAX];
    double *values; /* [used][TP_MEMORY_KINDS] */
    size_t used;
};

/* "rank 3: cuda:0, step 5", which trace only where there are several. */
static const char *name_of(struct tp_fig *fig, const struct tp_trace_run *run,
                           size_t index, const struct tp_memory_peak_row *row)
{
    const bool several = run->trace_count > 1;
    const char *step =
        row->step < 0
            ? ""
            : tp_fig_text(fig, ", step %lld", (long long)row->step);
    return tp_fig_text(fig, "%s%s%s%s",
                       several ? tp_trace_label(fig, run, index) : "",
                       several ? ": " : "", row->device, step);
}

/* Adds the peaks of a trace. */
static void add_peaks(struct tp_fig *fig, const struct tp_trace_run *run,
                      size_t index, struct bars *bars)
{
    const struct tp_trace *trace = &run->traces[index];
    const struct tp_memory_peak_row *last = NULL;
    for (size_t i = 0; i < trace->memory_peaks.count; i++) {
        const struct tp_memory_peak_row *row = &trace->memory_peaks.rows[i];
        const bool begins = !last || last->peak != row->peak ||
                            strcmp(last->device, row->device);
        last = row;
        if (begins && bars->used == TP_TRACE_ROWS_MAX)
            break;
        if (begins)
            bars->names[bars->used++] = name_of(fig, run, index, row);
        bars->values[(bars->used - 1) * TP_MEMORY_KINDS + row->what] +=
            (double)row->bytes / (1 << 20);
    }
}

void tp_trace_fig_memory_peaks(struct tp_fig *fig,
                               const struct tp_trace_run *run)
{
    static const char *const kinds[TP_MEMORY_KINDS] = {
        "activations", "gradients",            "optimizer state",
        "backward",    "temporary",            "before the recording",
        "unknown"};
    static const enum tp_trace_colour colours[TP_MEMORY_KINDS] = {
        TP_TRACE_ACTIVATION_COLOUR, TP_TRACE_GRADIENT_COLOUR,
        TP_TRACE_STATE_COLOUR,      TP_TRACE_BACKWARD_COLOUR,
        TP_TRACE_TEMPORARY_COLOUR,  TP_TRACE_BEFORE_COLOUR,
        TP_TRACE_UNKNOWN_COLOUR};
    struct tp_trace_choice choice;
    struct bars bars = {
        .values = tp_fig_alloc(fig, (size_t)TP_TRACE_ROWS_MAX * TP_MEMORY_KINDS,
                               sizeof *bars.values)};
    tp_trace_choose(run, has_peaks, TP_TRACE_ROWS_MAX, &choice);
    for (size_t i = 0; i < choice.count && bars.values; i++)
        add_peaks(fig, run, choice.traces[i], &bars);
    const struct tp_stack stack = {
        .title = "the highest moments, of one step each",
        .rows = bars.names,
        .row_count = bars.used,
        .parts = kinds,
        .colours = colours,
        .part_count = TP_MEMORY_KINDS,
        .values = bars.values,
        .label = "memory [MiB]",
    };
    tp_trace_stack(fig, &stack);
}
