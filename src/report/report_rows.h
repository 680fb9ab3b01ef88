/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_ROWS_H
#define TP_REPORT_REPORT_ROWS_H

#include "base/text.h"
#include "data/table.h"

/* Rows of a table as lines of text: which columns are shown, and how. */

/* One column of such lines, with one space before it. */
struct tp_shown {
    const char *head;
    struct tp_column column; /* no name: only `head` stands in every line  */
    int width;               /* below 0: to the left, as printf has it     */
    int digits;              /* of a number, after the point               */
    double times, per;       /* the number is shown times this, over that  */
    const char *after;       /* behind the number, " %"; NULL: nothing     */
    const char *missing;     /* for NaN and an integer of -1; NULL: "-"    */
};

/* Texts, to the left; integers as they are; numbers, shares as percent and
 * numbers in a larger unit. `row` is the type of the row. */
#define TP_SHOWN_TEXT(row, member, head, width)                      \
    {                                                                \
        head, TP_COLUMN(struct row, member, ""), -(width), 0, 1, 1, NULL, NULL \
    }
#define TP_SHOWN_COUNT(row, member, head, width)                     \
    {                                                                \
        head, TP_COLUMN(struct row, member, ""), width, 0, 1, 1, NULL, NULL \
    }
#define TP_SHOWN_PER(row, member, head, width, digits, per)          \
    {                                                                \
        head, TP_COLUMN(struct row, member, ""), width, digits, 1, per, NULL, \
            NULL                                                     \
    }
#define TP_SHOWN_PERCENT(row, member, head, width, digits)           \
    {                                                                \
        head, TP_COLUMN(struct row, member, ""), width, digits, 100, 1, NULL, \
            NULL                                                     \
    }
/* What stands between columns: "|". */
#define TP_SHOWN_BAR(text)                                           \
    {                                                                \
        text, {NULL, NULL, TP_COLUMN_TEXT, 0, NULL}, 0, 0, 1, 1, NULL, NULL \
    }

/* The heads of `columns`, ended by one whose head is NULL. */
void tp_report_heads(const struct tp_shown *columns, struct tp_text *text);

/* The cells of a row of the table, which has its rows. */
void tp_report_cells(const struct tp_table *table, size_t row,
                     const struct tp_shown *columns, struct tp_text *text);

#endif
