/* SPDX-License-Identifier: MIT */
/* Cells of tables as JSON: which are null, and which are numbers. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "report/report_table.h"
#include "trace/trace.h"
#include "trace/trace_lists.h"

struct row {
    const char *name;
    int64_t layer, exponent;
    double value;
};

static const struct tp_column columns[] = {
    TP_COLUMN(struct row, name, ""),
    TP_COLUMN(struct row, layer, "1"),
    TP_COLUMN_OF_SIGNED(struct row, exponent, "log2"),
    TP_COLUMN(struct row, value, "1"),
};

static void expect(const struct row *row, const char *json)
{
    const struct tp_table table = {.name = "things",
                                   .columns = columns,
                                   .column_count = 4,
                                   .rows = row,
                                   .row_count = 1,
                                   .row_size = sizeof *row};
    struct tp_text text = {0};
    tp_report_row_json(&table, 0, &text);
    cr_expect_str_eq(tp_text_get(&text), json);
    tp_text_clear(&text);
}

Test(report_table, cells)
{
    const struct row known = {"a", 3, 2, 0.5}, small = {"a", 0, -4, -1},
                     one_half = {"a", 0, -1, -1}, absent = {"", -1, 0, NAN};
    expect(&known, "\"name\": \"a\", \"layer\": 3, \"exponent\": 2, "
                   "\"value\": 0.5");
    expect(&small, "\"name\": \"a\", \"layer\": 0, \"exponent\": -4, "
                   "\"value\": -1");
    expect(&one_half, "\"name\": \"a\", \"layer\": 0, \"exponent\": -1, "
                      "\"value\": -1");
    expect(&absent, "\"name\": null, \"layer\": null, \"exponent\": 0, "
                    "\"value\": null");
}

/* The columns that hold exponents or changes of memory. */
Test(report_table, operators_that_give_memory_back)
{
    struct tp_op_row row = {.name = "aten::resize_",
                            .device_type = "CPU",
                            .cpu_mem_b = -1,
                            .self_cuda_mem_b = -512};
    const struct tp_trace trace = {.ops = {&row, 1, 1}};
    const struct tp_table table = tp_trace_list_table(&trace, TP_TRACE_OPS);
    struct tp_text text = {0};
    tp_report_table_json(&table, "ops", 0, 1, &text);
    cr_expect(strstr(tp_text_get(&text), "\"cpu_mem_b\": -1,"), "%s",
              tp_text_get(&text));
    cr_expect(strstr(tp_text_get(&text), "\"self_cuda_mem_b\": -512"), "%s",
              tp_text_get(&text));
    tp_text_clear(&text);
}
