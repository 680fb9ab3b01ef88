/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_SHIFT_H
#define TP_COMPARE_COMPARE_SHIFT_H

#include "compare/compare_row.h"

/*
 * Sets how far a statistic of A is from that of B (NULL: there is none), as
 * msprobe has it: 0 where both have one text; of numbers A - B and |A - B| /
 * |B| in percent, "inf" where B is 0; else a word for what they are. Texts are
 * the arena's. TP_E_MEMORY.
 */
enum tp_status tp_compare_shift_make(const struct tp_compare_value *a,
                                     const struct tp_compare_value *b,
                                     struct tp_arena *arena,
                                     struct tp_compare_shift *shift,
                                     struct tp_error *err);

#endif
