/* SPDX-License-Identifier: MIT */
#include "data/table.h"

#include <assert.h>
#include <string.h>

static const char *cell(const struct tp_table *table, size_t row,
                        const struct tp_column *column)
{
    assert(row < table->row_count && !table->make);
    return (const char *)table->rows + row * table->row_size + column->offset;
}

const char *tp_cell_text(const struct tp_table *table, size_t row,
                         const struct tp_column *column)
{
    assert(column->type == TP_COLUMN_TEXT);
    const char *text;
    if (column->word)
        return column->word(cell(table, row, column));
    memcpy(&text, cell(table, row, column), sizeof text);
    return text;
}

double tp_cell_number(const struct tp_table *table, size_t row,
                      const struct tp_column *column)
{
    const char *bytes = cell(table, row, column);
    int64_t integer;
    uint64_t count;
    double real;
    switch (column->type) {
    case TP_COLUMN_INTEGER:
    case TP_COLUMN_SIGNED:
        memcpy(&integer, bytes, sizeof integer);
        return (double)integer;
    case TP_COLUMN_COUNT:
        memcpy(&count, bytes, sizeof count);
        return (double)count;
    case TP_COLUMN_REAL:
        memcpy(&real, bytes, sizeof real);
        return real;
    case TP_COLUMN_TEXT:
        break;
    }
    assert(!"a text has no number");
    return 0;
}

const struct tp_column *tp_table_column(const struct tp_table *table,
                                        const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (!strcmp(table->columns[i].name, name))
            return &table->columns[i];
    }
    return NULL;
}

struct tp_table tp_table_window(const struct tp_table *table, size_t first,
                                size_t count, void *room)
{
    struct tp_table window = *table;
    assert(first + count <= table->row_count);
    window.row_count = count;
    window.make = NULL;
    window.rows = room;
    if (table->make)
        table->make(table->rows, first, count, room);
    else
        window.rows = (const char *)table->rows + first * table->row_size;
    return window;
}
