/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_SKIPPED_H
#define TP_REPORT_REPORT_SKIPPED_H

#include "base/text.h"
#include "data/skipped.h"

/*
 * What could not be read, a line each: "FILE [PATH]: reason (byte N)"; nothing
 * where there is nothing. `most` limits the list, 0: no limit; `where` says
 * where the rest is, " in report.txt", or "".
 */
void tp_report_skipped(const struct tp_skipped *rows, size_t count, size_t most,
                       const char *where, struct tp_text *text);

/* "skipped": [...], as the table has it. */
void tp_report_skipped_json(const struct tp_skipped_list *skipped,
                            struct tp_text *text);

#endif
