/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_QUANT_H
#define TP_REPORT_REPORT_QUANT_H

#include "base/text.h"
#include "tensors/run.h"

/*
 * Appends what number formats do to the run: SQNR of each tensor name in each
 * format with the recommendation and, when `places` is set, the recommendation
 * for every place. At most `most` lines a list (0: no limit). Nothing when no
 * cast was simulated.
 */
void tp_report_quant(const struct tp_run *run, size_t most, bool places,
                     struct tp_text *text);

#endif
