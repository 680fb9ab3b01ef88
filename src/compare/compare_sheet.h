/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_SHEET_H
#define TP_COMPARE_COMPARE_SHEET_H

#include "compare/compare_row.h"
#include "data/table.h"

/*
 * The rows of a step of a rank as msprobe's compare_result_*.csv has them: its
 * columns in its order, of one mode, with its texts.
 */

enum { TP_SHEET_COLUMNS_MAX = 32 };

struct tp_compare_sheet {
    struct tp_table table; /* named "compare_result"                       */
    struct tp_column columns[TP_SHEET_COLUMNS_MAX];
    const char **cells; /* [rows][columns]                                 */
    struct tp_arena arena;
};

/* Words a pair; *sheet is set, and points to the pair and into itself: it must
 * stay where it is. Release with tp_compare_sheet_clear, also after a failure:
 * TP_E_MEMORY. */
enum tp_status tp_compare_sheet_make(const struct tp_compare_pair *pair,
                                     enum tp_compare_mode mode,
                                     struct tp_compare_sheet *sheet,
                                     struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_compare_sheet_clear(struct tp_compare_sheet *sheet);

#endif
