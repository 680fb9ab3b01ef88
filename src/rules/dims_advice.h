/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_DIMS_ADVICE_H
#define TP_RULES_DIMS_ADVICE_H

#include "base/text.h"
#include "scan/dim_rank.h"

/*
 * What to do about an axis, in plain words; "none needed" of one that is not
 * notable. Replaces what is in `text`.
 */
void tp_dim_advice(const struct tp_dim_axis *axis, struct tp_text *text);

#endif
