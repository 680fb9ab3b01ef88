/* SPDX-License-Identifier: MIT */
#include "tensors/run.h"

#include <criterion/criterion.h>

#include "data/number.h"

/* A row of fp16 as a masked fill leaves it. */
static struct tp_row masked_row(void)
{
    struct tp_row row = {.label = TP_LABEL_NONE, .target_max = 65504};
    row.label.layer_type = "masked_fill";
    row.label.operation = "forward";
    row.label.phase = "post";
    row.label.tensor_name = "output";
    row.counts.numel = 16;
    row.counts.neg_inf = 6;
    row.numbers.abs_max = 3;
    tp_label_classify(&row.label);
    return row;
}

Test(run, a_mask_is_minus_infinity_where_one_is_written)
{
    struct tp_row row = masked_row();
    cr_expect(tp_row_is_mask(&row));
    row.counts.pos_inf = 1;
    cr_expect_not(tp_row_is_mask(&row));
    row = masked_row();
    row.counts.nan = 1;
    cr_expect_not(tp_row_is_mask(&row));
    row = masked_row();
    row.counts.neg_inf = 0;
    cr_expect_not(tp_row_is_mask(&row));
    row = masked_row();
    row.numbers.abs_max = 65536; /* a wider dtype, beyond what it is cast to */
    cr_expect_not(tp_row_is_mask(&row));
}

/* -inf anywhere else is a fault: the logarithm of zero, an overflow. */
Test(run, other_minus_infinities_are_no_mask)
{
    static const struct {
        const char *layer_type, *phase, *name;
        bool mask;
    } rows[] = {{"log", "post", "output", false},
                {"masked_fill", "pre", "input", false},
                {"softmax", "pre", "input", true},
                {"softmax", "post", "output", false},
                {"linear", "post", "output", false},
                {"attention", "pre", "attention_mask", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_row row = masked_row();
        row.label.layer_type = rows[i].layer_type;
        row.label.phase = rows[i].phase;
        row.label.tensor_name = rows[i].name;
        tp_label_classify(&row.label);
        cr_expect_eq(tp_row_is_mask(&row), rows[i].mask, "%s %s",
                     rows[i].layer_type, rows[i].phase);
    }
}
