/* SPDX-License-Identifier: MIT */
#include "report/report_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The width of a number without what is behind it. */
static int number_width(const struct tp_shown *shown)
{
    return shown->width - (shown->after ? (int)strlen(shown->after) : 0);
}

void tp_report_heads(const struct tp_shown *columns, struct tp_text *text)
{
    for (const struct tp_shown *shown = columns; shown->head; shown++)
        tp_text_add(text, " %*s", shown->width, shown->head);
}

/* A real number has fewer digits, then is a power of ten, where the column is
 * too narrow: what is behind it stays in its place. Counts are whole. */
static void add_number(const struct tp_shown *shown, double value,
                       struct tp_text *text)
{
    char digits[32];
    const int width = number_width(shown);
    int length = snprintf(digits, sizeof digits, "%.*f", shown->digits, value);
    if (length > width && shown->column.type == TP_COLUMN_REAL)
        length = snprintf(digits, sizeof digits, "%.0f", value);
    if (length > width && shown->column.type == TP_COLUMN_REAL)
        (void)snprintf(digits, sizeof digits, "%.0e", value);
    tp_text_add(text, " %*s%s", width, digits,
                shown->after ? shown->after : "");
}

static void add_cell(const struct tp_table *table, size_t row,
                     const struct tp_shown *shown, struct tp_text *text)
{
    const struct tp_column *column = &shown->column;
    if (!column->name) {
        tp_text_add(text, " %s", shown->head);
        return;
    }
    if (column->type == TP_COLUMN_TEXT) {
        tp_text_add(text, " %*s", shown->width,
                    tp_cell_text(table, row, column));
        return;
    }
    const double value = tp_cell_number(table, row, column);
    if (isnan(value) || (column->type == TP_COLUMN_INTEGER && value == -1))
        tp_text_add(text, " %*s", shown->width,
                    shown->missing ? shown->missing : "-");
    else
        add_number(shown, shown->times * value / shown->per, text);
}

void tp_report_cells(const struct tp_table *table, size_t row,
                     const struct tp_shown *columns, struct tp_text *text)
{
    for (const struct tp_shown *shown = columns; shown->head; shown++)
        add_cell(table, row, shown, text);
}
