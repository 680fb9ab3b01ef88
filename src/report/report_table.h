/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TABLE_H
#define TP_REPORT_REPORT_TABLE_H

#include "base/text.h"
#include "data/table.h"

/* Tables as JSON: one object per row. Absent texts ("") and integers (negative
 * ones, but for TP_COLUMN_SIGNED) and NaN are null. */

/* "column": cell, ...: the members of a row, without braces. */
void tp_report_row_json(const struct tp_table *table, size_t row,
                        struct tp_text *text);

/* "name": [rows], at most `most` of them from `first` on. */
void tp_report_table_json(const struct tp_table *table, const char *name,
                          size_t first, size_t most, struct tp_text *text);

#endif
