/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_PAIRS_H
#define TP_REPORT_REPORT_PAIRS_H

#include "base/text.h"
#include "tensors/pairs.h"

/* The same tensor in two quant types, as text: the `most` pairs that are least
 * alike; 0: the 50. Nothing when none was compared. */
void tp_report_pairs(const struct tp_pairs *pairs, size_t most,
                     struct tp_text *text);

/* "pairs": [...],: the same 50, with the columns of the table /pairs. */
void tp_report_pairs_json(const struct tp_pairs *pairs, struct tp_text *text);

#endif
