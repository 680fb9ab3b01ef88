/* SPDX-License-Identifier: MIT */
/* Numbers in lines of text: columns stay in place whatever comes. */
#include <criterion/criterion.h>
#include <math.h>

#include "report/report_rows.h"

struct thing {
    double rate, share;
    int64_t count;
};

static const struct tp_shown columns[] = {
    TP_SHOWN_PER(thing, rate, "rate", 8, 1, 1),
    {"share", TP_COLUMN(struct thing, share, ""), 7, 0, 100, 1, " %", NULL},
    TP_SHOWN_COUNT(thing, count, "count", 6),
    {0}};

Test(report_rows, columns_stay_in_place)
{
    static const struct {
        struct thing row;
        const char *line;
    } cases[] = {
        {{98.72, 0.04, 17}, "     98.7     4 %     17"},
        {{123456.78, 1.27, 17}, " 123456.8   127 %     17"},
        {{1234567.89, 123.456, 17}, "  1234568 12346 %     17"},
        {{12345678901., 123456., 17}, "    1e+10 1e+07 %     17"},
        {{NAN, NAN, -1}, "        -       -      -"},
        {{0, 0, 12345678}, "      0.0     0 % 12345678"}, /* counts are whole */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tp_table table = {.rows = &cases[i].row,
                                       .row_count = 1,
                                       .row_size = sizeof cases[i].row};
        struct tp_text text = {0};
        tp_report_cells(&table, 0, columns, &text);
        cr_expect_str_eq(tp_text_get(&text), cases[i].line, "\"%s\"",
                         tp_text_get(&text));
        tp_text_clear(&text);
    }
}
