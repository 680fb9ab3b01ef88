/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_QUANT_H
#define TP_REPORT_REPORT_QUANT_H

#include "base/text.h"
#include "quant/quant_groups.h"

/*
 * Appends what number formats do to the dump: SQNR of each tensor name in each
 * format with the recommendation and, when `places` is set, the recommendation
 * for every place. At most `most` lines a list (0: no limit). Nothing when no
 * cast was simulated.
 */
void tp_report_quant(const struct tp_quant *quant, size_t most, bool places,
                     struct tp_text *text);

#endif
