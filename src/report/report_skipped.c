/* SPDX-License-Identifier: MIT */
#include "report/report_skipped.h"

#include <inttypes.h>

#include "base/text_wrap.h"
#include "report/report_table.h"

static void add_row(const struct tp_skipped *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_text_printable(text, row->file);
    if (*row->path) {
        tp_text_add(text, " [");
        tp_text_printable(text, row->path);
        tp_text_add(text, "]");
    }
    tp_text_add(text, "%s", *row->file ? ":" : "");
    const size_t from = text->length;
    tp_text_add(text, "%s", *row->file ? " " : "");
    tp_text_printable(text, row->reason);
    if (row->offset >= 0)
        tp_text_add(text, " (byte %" PRId64 ")", row->offset);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 4, NULL);
}

void tp_report_skipped(const struct tp_skipped *rows, size_t count, size_t most,
                       const char *where, struct tp_text *text)
{
    if (count)
        tp_text_add(text, "\nDamaged or skipped: %zu\n", count);
    for (size_t i = 0; i < count && (!most || i < most); i++)
        add_row(&rows[i], text);
    if (most && count > most)
        tp_text_add(text, "  ... and %zu more%s\n", count - most, where);
}

void tp_report_skipped_json(const struct tp_skipped_list *skipped,
                            struct tp_text *text)
{
    struct tp_table table;
    tp_skipped_table(skipped->rows, skipped->count, &table);
    tp_report_table_json(&table, "skipped", 0, SIZE_MAX, text);
}
