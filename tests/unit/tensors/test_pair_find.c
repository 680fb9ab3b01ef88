/* SPDX-License-Identifier: MIT */
#include "tensors/pair_find.h"

#include <criterion/criterion.h>

#include "tests/unit/support/run_maker.h"

/* Which rows are the same tensor in two quant types. */

static struct tp_row *add(struct tp_run *run, const char *type,
                          const char *name, int64_t sample)
{
    struct tp_row *row = add_row(run, "x.pt");
    row->label.quant_type = type;
    row->label.tensor_name = name;
    row->label.sample_idx = sample;
    row->counts.numel = 4;
    tp_label_classify(&row->label);
    return row;
}

static void find(struct tp_run *run, bool all, struct tp_pairs *pairs)
{
    *pairs = (struct tp_pairs){.run = NULL};
    cr_assert_eq(tp_pairs_find(run, all, pairs, NULL), TP_OK);
}

static void expect_pair(const struct tp_pairs *pairs, size_t i, size_t x,
                        size_t y, bool based)
{
    cr_assert_gt(pairs->count, i);
    cr_expect_eq(pairs->rows[i].x, x, "%zu: x %zu", i, pairs->rows[i].x);
    cr_expect_eq(pairs->rows[i].y, y, "%zu: y %zu", i, pairs->rows[i].y);
    cr_expect_eq(pairs->rows[i].based, based, "%zu", i);
}

static void clear(struct tp_run *run, struct tp_pairs *pairs)
{
    tp_pairs_clear(pairs);
    tp_run_clear(run);
}

Test(pair_find, the_higher_precision_is_x)
{
    struct tp_run run = {.rows = NULL};
    struct tp_pairs pairs;
    add(&run, "mxfp4", "input", -1);
    add(&run, "mxfp8", "input", -1);
    add(&run, "fp32", "input", -1);
    add(&run, "bf16", "input", -1);
    find(&run, true, &pairs);
    cr_assert_eq(pairs.count, 6);
    expect_pair(&pairs, 0, 1, 0, false); /* mxfp8, mxfp4 */
    expect_pair(&pairs, 1, 2, 0, true);
    expect_pair(&pairs, 2, 2, 1, true);
    expect_pair(&pairs, 3, 2, 3, true);
    expect_pair(&pairs, 4, 3, 0, false);
    expect_pair(&pairs, 5, 3, 1, false);
    tp_pairs_clear(&pairs);
    find(&run, false, &pairs);
    cr_assert_eq(pairs.count, 3);
    expect_pair(&pairs, 0, 2, 0, true);
    clear(&run, &pairs);
}

/* Where a tensor was not saved in the best type, the next one is its base. */
Test(pair_find, each_tensor_has_its_own_base)
{
    struct tp_run run = {.rows = NULL};
    struct tp_pairs pairs;
    add(&run, "bf16", "input", -1);
    add(&run, "hifp8", "input", -1);
    add(&run, "hifp8", "query", -1);
    add(&run, "mxfp8", "query", -1);
    find(&run, false, &pairs);
    cr_assert_eq(pairs.count, 2);
    expect_pair(&pairs, 0, 0, 1, true);
    expect_pair(&pairs, 1, 2, 3, true);
    clear(&run, &pairs);
}

Test(pair_find, without_a_quant_type_it_is_the_dtype)
{
    struct tp_run run = {.rows = NULL};
    struct tp_pairs pairs;
    add(&run, "", "input", -1);
    add(&run, "", "input", -1)->dtype = TP_FLOAT32;
    find(&run, true, &pairs);
    cr_assert_eq(pairs.count, 1);
    expect_pair(&pairs, 0, 1, 0, true);
    clear(&run, &pairs);
}

/* One change for each thing that has to be equal. */
Test(pair_find, another_tensor_is_no_partner)
{
    enum { CHANGES = 11 };
    for (int i = 0; i <= CHANGES; i++) {
        struct tp_run run = {.rows = NULL};
        struct tp_pairs pairs;
        add(&run, "bf16", "input", -1);
        struct tp_row *row = add(&run, "hifp8", "input", -1);
        struct tp_label *label = &row->label;
        int64_t *const numbers[] = {&label->iteration, &label->layer_idx,
                                    &label->rank, &row->ordinal};
        const char **const texts[] = {&label->tensor_name, &label->layer_type,
                                      &label->operation,   &label->phase,
                                      &label->component,   &row->shape};
        if (i < 4)
            *numbers[i] = 5;
        else if (i < 10)
            *texts[i - 4] = "other";
        else if (i == 10)
            row->dtype = TP_COMPLEX64;
        find(&run, true, &pairs);
        cr_expect_eq(pairs.count, i == CHANGES, "change %d", i);
        clear(&run, &pairs);
    }
}

Test(pair_find, samples_go_together)
{
    struct tp_run run = {.rows = NULL};
    struct tp_pairs pairs;
    for (int64_t sample = 0; sample < 3; sample++)
        add(&run, "bf16", "input", sample);
    add(&run, "hifp8", "input", 2);
    add(&run, "hifp8", "input", 1);
    add(&run, "hifp8", "input", 7);
    find(&run, true, &pairs);
    cr_assert_eq(pairs.count, 2);
    expect_pair(&pairs, 0, 1, 4, true);
    expect_pair(&pairs, 1, 2, 3, true);
    clear(&run, &pairs);
}

/* Whose sample nobody knows may be any of several, unless it is a weight. */
Test(pair_find, an_unknown_sample_is_the_only_one)
{
    for (int samples = 1; samples < 3; samples++) {
        struct tp_run run = {.rows = NULL};
        struct tp_pairs pairs;
        for (int64_t sample = 0; sample < samples; sample++) {
            add(&run, "bf16", "input", sample);
            add(&run, "bf16", "weight", sample);
            add(&run, "bf16", "attention_weights", sample);
        }
        const size_t first = run.row_count;
        add(&run, "hifp8", "input", -1);
        add(&run, "hifp8", "weight", -1);
        add(&run, "hifp8", "attention_weights", -1);
        find(&run, true, &pairs);
        cr_assert_eq(pairs.count, samples == 1 ? 3 : 1);
        expect_pair(&pairs, samples == 1, 1, first + 1, true);
        clear(&run, &pairs);
    }
}

Test(pair_find, groups_go_together)
{
    struct tp_run run = {.rows = NULL};
    struct tp_pairs pairs;
    add(&run, "bf16", "input", 0)->label.group_idx = 0;
    add(&run, "bf16", "input", 0)->label.group_idx = 1;
    add(&run, "hifp8", "input", 0)->label.group_idx = 1;
    add(&run, "mxfp8", "input", 0);
    find(&run, false, &pairs);
    cr_assert_eq(pairs.count, 2);
    expect_pair(&pairs, 0, 0, 3, true);
    expect_pair(&pairs, 1, 1, 2, true);
    clear(&run, &pairs);
}

Test(pair_find, empty_tensors_are_left_out)
{
    struct tp_run run = {.rows = NULL};
    struct tp_pairs pairs;
    add(&run, "bf16", "input", -1)->counts.numel = 0;
    add(&run, "hifp8", "input", -1)->counts.numel = 0;
    find(&run, true, &pairs);
    cr_expect_eq(pairs.count, 0);
    clear(&run, &pairs);
}
