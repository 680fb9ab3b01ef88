/* SPDX-License-Identifier: MIT */
#include "report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json_python.h"

enum { ROWS_AT_ONCE = 256 };

/* Whether spreadsheets would compute a cell: it begins as their formulas do,
 * and is no number (OWASP, "CSV Injection"). */
static bool is_formula(const char *value)
{
    char *end;
    if (!*value || !strchr("=+-@\t\r", *value))
        return false;
    strtod(value, &end);
    return end == value || *end;
}

/* With quotes where a reader would take it for more than one cell. */
static void add_quoted(const char *value, struct tp_text *text)
{
    if (!strpbrk(value, ",\"\n")) {
        tp_text_bytes(text, value, strlen(value));
        return;
    }
    tp_text_add(text, "\"");
    for (const char *quote; (quote = strchr(value, '"')); value = quote + 1) {
        tp_text_bytes(text, value, (size_t)(quote - value));
        tp_text_add(text, "\"\"");
    }
    tp_text_bytes(text, value, strlen(value));
    tp_text_add(text, "\"");
}

/* Without what a terminal would obey, and with an apostrophe where a reader
 * would take it for a formula. */
static void add_text(const char *value, struct tp_text *text)
{
    const bool formula = is_formula(value);
    if (!formula && tp_text_is_plain(value)) {
        add_quoted(value, text);
        return;
    }
    struct tp_text safe = {0};
    tp_text_bytes(&safe, "'", formula);
    tp_text_printable_lines(&safe, value);
    add_quoted(tp_text_get(&safe), text);
    text->failed |= safe.failed;
    tp_text_clear(&safe);
}

static void add_cell(const struct tp_table *table, size_t row,
                     const struct tp_column *column, struct tp_text *text)
{
    const char *at =
        (const char *)table->rows + row * table->row_size + column->offset;
    int64_t integer;
    double number;
    switch (column->type) {
    case TP_COLUMN_TEXT:
        add_text(tp_cell_text(table, row, column), text);
        break;
    case TP_COLUMN_INTEGER:
    case TP_COLUMN_SIGNED:
    case TP_COLUMN_COUNT:
        memcpy(&integer, at, sizeof integer);
        if (column->type == TP_COLUMN_COUNT)
            tp_text_add(text, "%" PRIu64, (uint64_t)integer);
        else if (integer >= 0 || column->type == TP_COLUMN_SIGNED)
            tp_text_integer(text, integer);
        break;
    case TP_COLUMN_REAL:
        number = tp_cell_number(table, row, column);
        if (!isnan(number))
            tp_python_float(number, text);
    }
}

static void add_rows(const struct tp_table *table, const char *ending,
                     struct tp_text *text)
{
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            tp_text_bytes(text, ",", i > 0);
            add_cell(table, row, &table->columns[i], text);
        }
        tp_text_bytes(text, ending, strlen(ending));
    }
}

static void add_table(const struct tp_table *table, const char *ending,
                      struct tp_text *text)
{
    void *room = table->make ? malloc(ROWS_AT_ONCE * table->row_size) : NULL;
    for (size_t i = 0; i < table->column_count; i++) {
        tp_text_add(text, i ? "," : "");
        add_text(table->columns[i].name, text);
    }
    tp_text_add(text, "%s", ending);
    text->failed |= table->make && !room;
    for (size_t at = 0; at < table->row_count && !text->failed;
         at += ROWS_AT_ONCE) {
        size_t left = table->row_count - at;
        const struct tp_table window = tp_table_window(
            table, at, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, room);
        add_rows(&window, ending, text);
    }
    free(room);
}

void tp_csv_table(const struct tp_table *table, struct tp_text *text)
{
    add_table(table, "\n", text);
}

void tp_csv_table_crlf(const struct tp_table *table, struct tp_text *text)
{
    add_table(table, "\r\n", text);
}
