/* SPDX-License-Identifier: MIT */
#include "report/report_table.h"

#include <stdlib.h>

static void add_cell(const struct tp_table *table, size_t row,
                     const struct tp_column *column, struct tp_text *text)
{
    if (column->type == TP_COLUMN_TEXT) {
        const char *value = tp_cell_text(table, row, column);
        if (*value)
            tp_text_json(text, value);
        else
            tp_text_add(text, "null");
        return;
    }
    const double value = tp_cell_number(table, row, column);
    if (column->type == TP_COLUMN_REAL)
        tp_text_json_number(text, value);
    else if (column->type == TP_COLUMN_INTEGER && value < 0)
        tp_text_add(text, "null");
    else
        tp_text_add(text, "%.0f", value);
}

void tp_report_row_json(const struct tp_table *table, size_t row,
                        struct tp_text *text)
{
    for (size_t i = 0; i < table->column_count; i++) {
        tp_text_add(text, "%s\"%s\": ", i ? ", " : "", table->columns[i].name);
        add_cell(table, row, &table->columns[i], text);
    }
}

void tp_report_table_json(const struct tp_table *table, const char *name,
                          size_t first, size_t most, struct tp_text *text)
{
    size_t count = first < table->row_count ? table->row_count - first : 0;
    count = count < most ? count : most;
    /* one row at a time: `make` may be asked for any */
    void *room = table->make ? calloc(1, table->row_size) : NULL;
    if (table->make && !room) {
        text->failed = true;
        return;
    }
    tp_text_add(text, "\"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        const struct tp_table row = tp_table_window(table, first + i, 1, room);
        tp_text_add(text, i ? ",\n  {" : "\n  {");
        tp_report_row_json(&row, 0, text);
        tp_text_add(text, "}");
    }
    tp_text_add(text, "]");
    free(room);
}
