/* SPDX-License-Identifier: MIT */
#include "report/report_trace_collectives.h"

#include <inttypes.h>
#include <string.h>

#include "report/report_parts.h"
#include "report/report_rows.h"
#include "verdict/verdict_tables.h"

#define SIZED(member, head, width, digits, per) \
    TP_SHOWN_PER(tp_collective_size_row, member, head, width, digits, per)
static const struct tp_shown columns[] = {
    TP_SHOWN_COUNT(tp_collective_size_row, count, "count", 7),
    TP_SHOWN_COUNT(tp_collective_size_row, ranks, "ranks", 5),
    SIZED(bytes, "MB", 10, 3, 1e6),
    SIZED(latency_us, "latency", 10, 1, 1),
    SIZED(skew_us, "skew", 10, 1, 1),
    SIZED(max_skew_us, "most", 10, 1, 1),
    SIZED(algorithm_gbps, "GB/s", 8, 2, 1),
    SIZED(bus_gbps, "bus GB/s", 8, 2, 1),
    {0}};

static void add_name(const struct tp_collective_size_row *row,
                     struct tp_text *text)
{
    enum { WIDTH = 60 };
    const bool all = row->group_size < 0 || row->ranks == row->group_size;
    tp_text_add(text, "  ");
    tp_text_printable(text, row->collective);
    tp_text_add(text, "%s", *row->dtype ? " " : "");
    tp_text_printable(text, row->dtype);
    tp_text_add(text, "%s", *row->group ? " " : "");
    tp_text_printable_cut(text, row->group, WIDTH);
    if (!all)
        tp_text_add(text, " (of %" PRId64 " ranks)", row->group_size);
    tp_text_add(text, "%s\n",
                strcmp(row->matched_by, "order") ? "" : ", matched by order");
}

void tp_report_collectives(const struct tp_trace_judged *judged, size_t most,
                           struct tp_text *text)
{
    struct tp_table tables[TP_JUDGED_TABLES];
    const struct tp_table *table = &tables[TP_JUDGED_COLLECTIVE_SIZES];
    if (judged->collective_sizes.count == 0)
        return;
    tp_judged_tables_make(judged, tables);
    tp_text_add(text, "\n");
    tp_report_prose("Collectives over ranks, means in us; latency: of the "
                    "last rank to begin, which waits for nobody; skew: from "
                    "the first start to the last\n",
                    2, text);
    tp_text_add(text, " ");
    tp_report_heads(columns, text);
    tp_text_add(text, "  what\n");
    for (size_t i = 0; i < table->row_count; i++) {
        if (most && i == most) {
            tp_text_add(text, "  ... and %zu more in /collective_sizes\n",
                        table->row_count - i);
            return;
        }
        tp_text_add(text, " ");
        tp_report_cells(table, i, columns, text);
        add_name(&judged->collective_sizes.rows[i], text);
    }
}
