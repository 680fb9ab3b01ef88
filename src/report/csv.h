/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_CSV_H
#define TP_REPORT_CSV_H

#include "base/text.h"
#include "data/table.h"

/*
 * A table as CSV (RFC 4180, but lines end in \n): the names of its columns,
 * then its rows. Absent integers and NaN are empty cells; reals have the fewest
 * digits that give them back. Of tables whose rows are made, a few are held at
 * a time.
 */
void tp_csv_table(const struct tp_table *table, struct tp_text *text);

/* The same with lines that end in \r\n, as Python's csv module writes them. */
void tp_csv_table_crlf(const struct tp_table *table, struct tp_text *text);

#endif
