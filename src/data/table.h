/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_TABLE_H
#define TP_DATA_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A table: named columns with units over an array of structs. It owns
 * nothing; it says how somebody's rows read as columns. Writers (HDF5, text,
 * JSON) take tables and know nothing else about what they write.
 */

enum tp_column_type {
    TP_COLUMN_TEXT,    /* const char *, never NULL                        */
    TP_COLUMN_INTEGER, /* int64_t; negative where a number does not exist */
    TP_COLUMN_SIGNED,  /* int64_t; every value is a number                */
    TP_COLUMN_COUNT,   /* uint64_t                                        */
    TP_COLUMN_REAL     /* double; NaN where a number does not exist       */
};

/* One column. */
struct tp_column {
    const char *name;
    const char *unit; /* "1" for pure numbers, "" for texts      */
    enum tp_column_type type;
    size_t offset; /* of the value in a row, bytes            */
    /* Texts only: not NULL where a row holds no text but something that has
     * a word, such as an enum; borrowed for as long as the row. */
    const char *(*word)(const void *row);
};

/*
 * Columns of `row`, a type, as initialisers. The type of a column is that of
 * the member, so the two cannot disagree; a member of any other type does not
 * compile. TP_COLUMN_AS is for columns that are not called like the member.
 */
#define TP_COLUMN_TYPE(row, member)     \
    _Generic(((row *)NULL)->member,     \
             const char *: TP_COLUMN_TEXT, \
             int64_t: TP_COLUMN_INTEGER, \
             uint64_t: TP_COLUMN_COUNT, \
             double: TP_COLUMN_REAL)
#define TP_COLUMN_AS(row, name, member, unit)                               \
    {                                                                       \
        name, unit, TP_COLUMN_TYPE(row, member), offsetof(row, member), NULL \
    }
#define TP_COLUMN(row, member, unit) TP_COLUMN_AS(row, #member, member, unit)

/* A column of integers that may be negative, such as exponents. */
#define TP_COLUMN_OF_SIGNED(row, member, unit)                               \
    {                                                                       \
        #member, unit,                                                      \
            _Generic(((row *)NULL)->member, int64_t: TP_COLUMN_SIGNED),     \
            offsetof(row, member), NULL                                     \
    }

/* A column of words that function(row) gives. */
#define TP_COLUMN_WORD(name, function)          \
    {                                           \
        name, "", TP_COLUMN_TEXT, 0, function   \
    }

/* A table of `row_count` rows of `row_size` bytes each. */
struct tp_table {
    const char *name; /* e.g. "tensors"                      */
    const struct tp_column *columns;
    size_t column_count;
    const void *rows;
    size_t row_count, row_size;
    /* Not NULL: rows are made when they are needed. Makes `count` of them
     * from row `first` on; `rows` is what they are made from. */
    void (*make)(const void *rows, size_t first, size_t count, void *made);
};

/* A table of an array of structs; its columns are an array, too. Both are
 * borrowed. */
#define TP_TABLE_OF(its_name, its_columns, its_rows, count)            \
    ((struct tp_table){                                                \
        .name = its_name,                                              \
        .columns = its_columns,                                        \
        .column_count = sizeof(its_columns) / sizeof *(its_columns),   \
        .rows = its_rows,                                              \
        .row_count = count,                                            \
        .row_size = sizeof *(its_rows),                                \
    })

/* The value of a cell; the column must have the type asked for, and the table
 * its rows (tp_table_window gives one such). A count is
 * read as a number, too. Borrowed from the row. */
const char *tp_cell_text(const struct tp_table *table, size_t row,
                         const struct tp_column *column);
double tp_cell_number(const struct tp_table *table, size_t row,
                      const struct tp_column *column);

/*
 * Rows [first, first + count) as a table that has its rows: those of `table`
 * or, where rows are made, new ones in `room` (count * row_size bytes, aligned
 * for any type; NULL will do otherwise). Borrows both.
 */
struct tp_table tp_table_window(const struct tp_table *table, size_t first,
                                size_t count, void *room);

/* The column of this name, or NULL. */
const struct tp_column *tp_table_column(const struct tp_table *table,
                                        const char *name);

#endif
