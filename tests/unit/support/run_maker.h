/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_RUN_MAKER_H
#define TP_TESTS_RUN_MAKER_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensors/run.h"

/* A run by hand: rows with the labels and numbers a test is about. */
static inline struct tp_row *add_row(struct tp_run *run, const char *file)
{
    if ((run->row_count & (run->row_count - 1)) == 0) { /* full: double it */
        size_t room = run->row_count ? 2 * run->row_count : 1;
        run->rows = realloc(run->rows, room * sizeof *run->rows);
        cr_assert_not_null(run->rows);
    }
    struct tp_row *row = &run->rows[run->row_count++];
    *row = (struct tp_row){.file = file,
                           .path = "tensor",
                           .label = TP_LABEL_NONE,
                           .dtype = TP_BFLOAT16,
                           .target = tp_number_by_id("hif8"),
                           .shape = "[4]",
                           .batch_size = -1};
    row->label.quant_type = "hifp8";
    row->label.tensor_name = "input";
    tp_label_classify(&row->label);
    return row;
}

/* Packs `summary` into the row and derives its numbers. */
static inline void set_summary(struct tp_run *run, struct tp_row *row,
                        const struct tp_summary *summary)
{
    tp_label_classify(&row->label);
    row->packed = tp_summary_pack(summary, &run->arena);
    cr_assert_not_null(row->packed);
    row->counts = summary->counts;
    tp_summary_numbers(summary, &row->numbers);
}

#endif
