/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_TABLE_H
#define TP_REPORT_HTML_TABLE_H

#include "base/error.h"
#include "base/text.h"
#include "data/table.h"

/* Tables in a page: the first rows to be read without scripts, and all rows
 * packed for those of html/report.js. */

enum {
    TP_HTML_ROWS = 50000, /* packed of a table                             */
    TP_HTML_STATIC = 200, /* that stand in the page, of the main table     */
    TP_HTML_FEW = 20      /* of any other                                  */
};

/* Appends the head and rows [0, count) as markup. */
void tp_html_table_rows(struct tp_text *html, const struct tp_table *table,
                        size_t count);

/* The first rows of a table, packed: deflated JSON {name, columns: [{name,
 * unit, number}], total, rows: [[...]]}, with numbers of seven digits, null
 * where there is none; `total` rows are in the table. All-zero: nothing yet. */
struct tp_html_packed {
    void *bytes; /* owned                                                  */
    size_t length, rows;
};

/* Packs TP_HTML_ROWS of a table at most; TP_E_MEMORY. Any thread: what makes
 * rows only reads. */
enum tp_status tp_html_table_deflate(const struct tp_table *table,
                                     struct tp_html_packed *packed,
                                     struct tp_error *err);
void tp_html_packed_clear(struct tp_html_packed *packed);

/*
 * Appends the rows as an inert script element with data-rows="NAME": base64 of
 * them packed, as many as `room` characters take: *packed then has them, which
 * had what tp_html_table_deflate left there, or nothing. TP_E_MEMORY.
 */
enum tp_status tp_html_table_pack(struct tp_text *html,
                                  const struct tp_table *table, size_t room,
                                  struct tp_html_packed *packed,
                                  struct tp_error *err);

/* Appends a cell as its text; "" where a number does not exist. */
void tp_html_cell(struct tp_text *html, const struct tp_table *table,
                  size_t row, const struct tp_column *column);

#endif
