/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_PLACE_H
#define TP_REPORT_REPORT_PLACE_H

#include "base/text.h"
#include "tensors/run.h"

/* "mxfp8 linear L2 forward pre input #2 rank 1 iteration 32": the labels that
 * are there, in this order; `path` is that inside the file. */
void tp_report_label(const struct tp_label *label, const char *path,
                     int64_t ordinal, struct tp_text *text);

/* The same of a row. */
void tp_report_place(const struct tp_row *row, struct tp_text *text);

#endif
