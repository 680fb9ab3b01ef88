/* SPDX-License-Identifier: MIT */
#include "report/report_trace_label.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"

void tp_report_trace_label(const struct tp_trace_run *run, size_t i, int width,
                           struct tp_text *text)
{
    const struct tp_trace *trace = &run->traces[i];
    struct tp_text label = {0};
    const bool same_rank =
        (i > 0 && run->traces[i - 1].rank == trace->rank) ||
        (i + 1 < run->trace_count && run->traces[i + 1].rank == trace->rank);
    if (trace->rank >= 0 && !same_rank)
        tp_text_add(&label, "rank %" PRId64, trace->rank);
    else if (!same_rank && *trace->worker)
        tp_text_printable(&label, trace->worker);
    else
        tp_text_printable(&label, tp_file_base_name(trace->path));
    const char *shown = tp_text_get(&label);
    const size_t length = strlen(shown);
    if (width && length > (size_t)width) /* the end tells files apart */
        tp_text_add(text, "..%s", shown + length - (size_t)width + 2);
    else
        tp_text_add(text, "%-*s", width, shown);
    text->failed |= label.failed;
    tp_text_clear(&label);
}
