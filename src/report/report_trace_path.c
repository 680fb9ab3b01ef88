/* SPDX-License-Identifier: MIT */
#include "report/report_trace_path.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/report_parts.h"
#include "report/report_trace_label.h"

/* Bytes of a name that are shown. */
enum { WIDTH = 100 };

static int by_time(const void *left, const void *right)
{
    const struct tp_path_row *a = left, *b = right;
    return (a->total_us < b->total_us) - (a->total_us > b->total_us);
}

static void add_line(const struct tp_path_row *row, double all_us,
                     const char *name, struct tp_text *text)
{
    tp_text_add(text, "  %6.1f %% %12.1f %10" PRId64 "  ",
                all_us > 0 ? 100 * row->total_us / all_us : 0, row->total_us,
                row->count);
    tp_text_printable(text, row->kind);
    if (*name) {
        tp_text_add(text, ": ");
        tp_text_printable_cut(text, name, WIDTH);
    }
    tp_text_add(text, "\n");
}

static void add_path(const struct tp_trace *trace, size_t top,
                     struct tp_text *text)
{
    struct tp_path_row kinds[TP_PATH_KINDS] = {{0}};
    double all_us = 0;
    for (size_t i = 0; i < trace->paths.count; i++) {
        const struct tp_path_row *row = &trace->paths.rows[i];
        if (row->step < 0 || *row->name)
            continue;
        kinds[row->spent_on].kind = row->kind;
        kinds[row->spent_on].count += row->count;
        kinds[row->spent_on].total_us += row->total_us;
        all_us += row->total_us;
    }
    qsort(kinds, TP_PATH_KINDS, sizeof *kinds, by_time);
    tp_text_add(text, "  %8s %12s %10s  what\n", "share", "time", "pieces");
    for (int i = 0; i < TP_PATH_KINDS; i++) {
        if (kinds[i].count > 0)
            add_line(&kinds[i], all_us, "", text);
    }
    tp_report_prose("  device gap: between events of a stream, waiting for "
                    "other streams included\n",
                    4, text);
    for (size_t i = 0, shown = 0; i < trace->paths.count && shown < top; i++) {
        const struct tp_path_row *row = &trace->paths.rows[i];
        if (row->step >= 0 || !*row->name)
            continue;
        if (shown++ == 0)
            tp_text_add(text, "  of these\n");
        add_line(row, all_us, row->name, text);
    }
}

void tp_report_paths(const struct tp_trace_run *run, size_t top,
                     struct tp_text *text)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        if (trace->paths.count == 0)
            continue;
        tp_text_add(text, "\nCritical path of ");
        tp_report_trace_label(run, i, 0, text);
        tp_text_add(text,
                    ": the longest chain of what %s starts, until it is done; "
                    "us\n",
                    trace->steps.count && trace->steps.rows[0].step >= 0
                        ? "each step"
                        : "the trace");
        add_path(trace, top, text);
    }
}
