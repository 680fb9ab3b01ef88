/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_DIMS_H
#define TP_REPORT_REPORT_DIMS_H

#include "base/text.h"
#include "tensors/run.h"

/*
 * The axes of one tensor, those with few values an index last: dim_ratio,
 * max_ratio, risk, suggestion, and the indices with the largest and the
 * smallest abs_max. Nothing for a row without them.
 */
void tp_report_dims_text(const struct tp_row *row, struct tp_text *text);

/* The same as a JSON array of objects, [] without them, with all indices that
 * were kept: axis, indices, dim_ratio, max_ratio, risk_level, reduce_dtype,
 * risks {stored, bf16, fp16}, outliers, dead, suggestion, dim_stats {index:
 * {...}}. */
void tp_report_dims_json(const struct tp_row *row, struct tp_text *text);

#endif
