/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_DAMAGE_H
#define TP_COMPARE_COMPARE_DAMAGE_H

#include <signal.h>

#include "base/pool.h"
#include "compare/compare_findings.h"
#include "compare/compare_table.h"

/*
 * Which elements of a tensor of A are not those of B: what pattern they form
 * (src/damage), and what that is likely of.
 */

/* So many of the worst rows are looked at, beside those of findings. */
enum { TP_COMPARE_LOOKED_AT = 8 };

/*
 * Of a comparison of tensors, reads those of the findings about the first
 * difference, NaN and Inf, and growing errors once more, and those of the worst
 * records; sets their damage, and adds it to the evidence of the findings.
 * Texts are the comparison's. A tensor that can no longer be read is left as it
 * is. Nonzero `*stop` gives up: TP_E_INTERRUPTED; TP_E_MEMORY.
 */
enum tp_status tp_compare_damage_find(struct tp_comparison *comparison,
                                      struct tp_compare_records *records,
                                      struct tp_dump_findings *findings,
                                      struct tp_pool *pool,
                                      const volatile sig_atomic_t *stop,
                                      struct tp_error *err);

#endif
