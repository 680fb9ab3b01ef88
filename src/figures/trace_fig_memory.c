/* SPDX-License-Identifier: MIT */
/*
 * What memory is for at its peaks: a bar for each of the highest moments of a
 * device, of what is alive there. The rows of /memory_peaks are sums by
 * operator; here they are added up by kind. Linear in those rows.
 */
#include <string.h>

#include "figures/trace_fig.h"

static bool is_host(const struct tp_memory_peak_row *row)
{
    return !strcmp(row->device, "cpu");
}

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

/* Adds the peaks of a trace, of the host or of its devices. */
static void add_peaks(struct tp_fig *fig, const struct tp_trace_run *run,
                      size_t index, bool host, struct bars *bars)
{
    const struct tp_trace *trace = &run->traces[index];
    const struct tp_memory_peak_row *last = NULL;
    for (size_t i = 0; i < trace->memory_peaks.count; i++) {
        const struct tp_memory_peak_row *row = &trace->memory_peaks.rows[i];
        if (is_host(row) != host)
            continue;
        const bool begins = !last || last->peak != row->peak ||
                            strcmp(last->device, row->device);
        last = row;
        if (begins && bars->used == TP_TRACE_ROWS_MAX)
            break;
        if (begins)
            bars->names[bars->used++] = name_of(fig, run, index, row);
        bars->values[(bars->used - 1) * TP_MEMORY_KINDS + row->what] +=
            (double)row->bytes;
    }
}

/* A panel of the peaks of the host or of devices, as one would not show beside
 * the other; of less than `least` bytes none. */
static void add_panel(struct tp_fig *fig, const struct tp_trace_run *run,
                      const struct tp_trace_choice *choice, bool host,
                      double least)
{
    static const enum tp_trace_colour kinds[TP_MEMORY_KINDS] = {
        TP_TRACE_ACTIVATION_COLOUR, TP_TRACE_GRADIENT_COLOUR,
        TP_TRACE_STATE_COLOUR,      TP_TRACE_BACKWARD_COLOUR,
        TP_TRACE_TEMPORARY_COLOUR,  TP_TRACE_BEFORE_COLOUR,
        TP_TRACE_UNKNOWN_COLOUR};
    struct bars bars = {
        .values = tp_fig_alloc(fig, (size_t)TP_TRACE_ROWS_MAX * TP_MEMORY_KINDS,
                               sizeof *bars.values)};
    for (size_t i = 0; i < choice->count && bars.values; i++)
        add_peaks(fig, run, choice->traces[i], host, &bars);
    double most = 0;
    for (size_t i = 0; i < bars.used; i++) {
        double sum = 0;
        for (size_t k = 0; k < TP_MEMORY_KINDS; k++)
            sum += bars.values[i * TP_MEMORY_KINDS + k];
        most = sum > most ? sum : most;
    }
    if (most < least)
        return;
    const struct tp_trace_amount unit = tp_trace_amount_for(most);
    for (size_t i = 0; i < bars.used * TP_MEMORY_KINDS; i++)
        bars.values[i] /= unit.bytes;
    const struct tp_stack stack = {
        .title = host ? "memory of the host, the highest moment of a step"
                      : "memory of devices, the highest moment of a step",
        .rows = bars.names,
        .row_count = bars.used,
        .parts = kinds,
        .part_count = TP_MEMORY_KINDS,
        .values = bars.values,
        .label = unit.label,
    };
    tp_trace_stack(fig, &stack);
}

void tp_trace_fig_memory_peaks(struct tp_fig *fig,
                               const struct tp_trace_run *run)
{
    struct tp_trace_choice choice;
    tp_trace_choose(run, has_peaks, TP_TRACE_ROWS_MAX, &choice);
    add_panel(fig, run, &choice, false, 0);
    add_panel(fig, run, &choice, true, fig->count ? 1 << 20 : 0);
}
