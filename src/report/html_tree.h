/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_TREE_H
#define TP_REPORT_HTML_TREE_H

#include "base/text.h"
#include "data/table.h"

/*
 * Trees in a page, of lists that open and close without a script: /tree of each
 * trace, and what a comparison of traces found at each place. What is small is
 * folded into one line that has its sums, so that the lines of a place always
 * add up to it.
 */

/* Whether a table is one that tp_html_tree_add takes. */
bool tp_html_is_tree(const struct tp_table *table);

/* Appends a part of the page with the tree of the rows; `full` is the file that
 * has all of them. TP_E_MEMORY. */
enum tp_status tp_html_tree_add(struct tp_text *html,
                                const struct tp_table *table, const char *full,
                                struct tp_error *err);

#endif
