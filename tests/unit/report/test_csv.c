/* SPDX-License-Identifier: MIT */
#include "report/csv.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

struct row {
    const char *name;
    int64_t integer, exponent;
    uint64_t count;
    double real;
};

static const char *parity(const void *row)
{
    return ((const struct row *)row)->count % 2 ? "odd, or so" : "even";
}

static const struct tp_column columns[] = {
    TP_COLUMN(struct row, name, ""),
    TP_COLUMN(struct row, integer, "1"),
    TP_COLUMN_OF_SIGNED(struct row, exponent, "1"),
    TP_COLUMN(struct row, count, "1"),
    TP_COLUMN(struct row, real, "1"),
    TP_COLUMN_WORD("a,b", parity),
};

static void expect(const struct tp_table *table, const char *csv)
{
    struct tp_text text = {0};
    tp_csv_table(table, &text);
    cr_expect_str_eq(tp_text_get(&text), csv);
    tp_text_clear(&text);
}

static struct tp_table table_of(const void *rows, size_t count)
{
    return (struct tp_table){.name = "t",
                             .columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .rows = rows,
                             .row_count = count,
                             .row_size = sizeof(struct row)};
}

Test(csv, cells)
{
    static const struct row rows[] = {
        {"plain", 7, -3, 1, 0.1},
        {"", -1, 0, UINT64_MAX, NAN},
        {"a,\"b\"\nc", 0, 1, 2, INFINITY},
        {"end\"", 1, 2, 4, 1e300},
        {" spaces ", INT64_MAX, INT64_MIN, 0, -0.0},
    };
    const struct tp_table table = table_of(rows, 5);
    expect(&table, "name,integer,exponent,count,real,\"a,b\"\n"
                   "plain,7,-3,1,0.1,\"odd, or so\"\n"
                   ",,0,18446744073709551615,,\"odd, or so\"\n"
                   "\"a,\"\"b\"\"\nc\",0,1,2,inf,even\n"
                   "\"end\"\"\",1,2,4,1e+300,even\n"
                   " spaces ,9223372036854775807,-9223372036854775808,0,-0.0,"
                   "even\n");
}

/* Spreadsheets compute what begins so, terminals obey control characters. */
Test(csv, no_cell_does_anything)
{
    static const struct {
        const char *name, *cell;
    } cases[] = {{"=1+1", "'=1+1"},
                 {"+a", "'+a"},
                 {"@SUM(A1)", "'@SUM(A1)"},
                 {"-2+3", "'-2+3"},
                 {"-", "'-"},
                 {"-2.5", "-2.5"},
                 {"-inf", "-inf"},
                 {"+1e3", "+1e3"},
                 {"a=1", "a=1"},
                 {"\tx", "'\\x09x"},
                 {"=\"a\"", "\"'=\"\"a\"\"\""},
                 {"\033[31m", "\\x1b[31m"},
                 {"a\rb", "a\\x0db"},
                 {"\342\200\256", "\\xe2\\x80\\xae"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct row row = {.name = cases[i].name};
        struct tp_table table = table_of(&row, 1);
        struct tp_text text = {0};
        table.column_count = 1;
        tp_text_add(&text, "name\n%s\n", cases[i].cell);
        expect(&table, tp_text_get(&text));
        tp_text_clear(&text);
    }
}

Test(csv, no_rows)
{
    const struct tp_table table = table_of(NULL, 0);
    expect(&table, "name,integer,exponent,count,real,\"a,b\"\n");
}

static void make(const void *rows, size_t first, size_t count, void *made)
{
    struct row *into = made;
    (void)rows;
    for (size_t i = 0; i < count; i++)
        into[i] = (struct row){"x", (int64_t)(first + i), 0, 0, NAN};
}

Test(csv, rows_that_are_made)
{
    enum { ROWS = 1000 };
    struct tp_table table = table_of(NULL, ROWS);
    struct tp_text text = {0}, wanted = {0};
    table.make = make;
    tp_csv_table(&table, &text);
    tp_text_add(&wanted, "name,integer,exponent,count,real,\"a,b\"\n");
    for (int i = 0; i < ROWS; i++)
        tp_text_add(&wanted, "x,%d,0,0,,even\n", i);
    cr_expect_str_eq(tp_text_get(&text), tp_text_get(&wanted));
    tp_text_clear(&text);
    tp_text_clear(&wanted);
}

Test(csv, line_ends_of_python)
{
    static const struct row rows[] = {{"a\nb", 1, 2, 2, 0.5}};
    const struct tp_table table = table_of(rows, 1);
    struct tp_text text = {0};
    tp_csv_table_crlf(&table, &text);
    cr_expect_str_eq(tp_text_get(&text),
                     "name,integer,exponent,count,real,\"a,b\"\r\n"
                     "\"a\nb\",1,2,2,0.5,even\r\n");
    tp_text_clear(&text);
}
