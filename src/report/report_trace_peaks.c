/* SPDX-License-Identifier: MIT */
#include "report/report_trace_peaks.h"

#include <inttypes.h>
#include <string.h>

#include "report/report_parts.h"
#include "report/report_trace_label.h"

/* Bytes of a name that are shown. */
enum { WIDTH = 80 };

static bool same_peak(const struct tp_memory_peak_row *a,
                      const struct tp_memory_peak_row *b)
{
    return a->peak == b->peak && !strcmp(a->device, b->device);
}

/* The sums of the peak that begins at row `first`, by kind. */
static void add_kinds(const struct tp_trace *trace, size_t first,
                      struct tp_text *text)
{
    const struct tp_memory_peak_row *rows = trace->memory_peaks.rows;
    const char *kinds[TP_MEMORY_KINDS] = {NULL};
    int64_t bytes[TP_MEMORY_KINDS] = {0};
    for (size_t i = first; i < trace->memory_peaks.count &&
                           same_peak(&rows[first], &rows[i]);
         i++) {
        kinds[rows[i].what] = rows[i].kind;
        bytes[rows[i].what] += rows[i].bytes;
    }
    for (int k = 0; k < TP_MEMORY_KINDS; k++) {
        if (kinds[k])
            tp_text_add(text, "  %14.3f MB %5.1f %%  %s\n",
                        (double)bytes[k] / 1e6,
                        100 * (double)bytes[k] / (double)rows[first].total_b,
                        kinds[k]);
    }
}

static void add_operators(const struct tp_trace *trace, size_t first,
                          size_t top, struct tp_text *text)
{
    const struct tp_memory_peak_row *rows = trace->memory_peaks.rows;
    size_t shown = 0;
    tp_text_add(text, "  %17s %8s  taken by\n", "", "pieces");
    for (size_t i = first; i < trace->memory_peaks.count &&
                           same_peak(&rows[first], &rows[i]);
         i++) {
        if (rows[i].allocations < 0 || (top && shown++ == top))
            continue;
        tp_text_add(text, "  %14.3f MB %8" PRId64 "  ",
                    (double)rows[i].bytes / 1e6, rows[i].allocations);
        tp_text_printable_cut(text, *rows[i].op ? rows[i].op : "no operator",
                              WIDTH);
        tp_text_add(text, ": %s\n", rows[i].kind);
    }
}

static void add_peak(const struct tp_trace_run *run, size_t trace,
                     size_t first, size_t top, struct tp_text *text)
{
    const struct tp_memory_peak_row *row =
        &run->traces[trace].memory_peaks.rows[first];
    tp_text_add(text, "\nMost memory of %s, ", row->device);
    tp_report_trace_label(run, trace, 0, text);
    tp_text_add(text, ": %.3f MB, ", (double)row->total_b / 1e6);
    if (row->step >= 0)
        tp_text_add(text, "in step %" PRId64 ", ", row->step);
    tp_text_add(text, "%.3f ms after the window began\n", row->at_us / 1e3);
    add_kinds(&run->traces[trace], first, text);
    add_operators(&run->traces[trace], first, top, text);
}

void tp_report_memory_peaks(const struct tp_trace_run *run, size_t top,
                            struct tp_text *text)
{
    bool any = false;
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        for (size_t k = 0; k < trace->memory_peaks.count; k++) {
            const struct tp_memory_peak_row *row = &trace->memory_peaks.rows[k];
            if (row->peak != 1 || (k > 0 && same_peak(row - 1, row)))
                continue;
            add_peak(run, i, k, top, text);
            any = true;
        }
    }
    if (any)
        tp_report_prose(
            "  activation: kept for the backward pass, with a batch that the "
            "step makes; gradient: kept from there for the optimizer; before "
            "the recording: parameters, and whatever else was there; unknown: "
            "the trace has no marks for it\n",
            4, text);
}
