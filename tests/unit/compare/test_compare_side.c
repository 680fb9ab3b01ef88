/* SPDX-License-Identifier: MIT */
#include "compare/compare_side.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/support/testdata.h"

static enum tp_status open_side(const char *below, const char *steps,
                                struct tp_compare_side *side)
{
    char path[4096];
    const char *root = path;
    struct tp_pool *pool;
    struct tp_error err = {0};
    testdata_path(below, path, sizeof path);
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK);
    struct tp_dump_read_options how = {
        .wish = {.roots = &root, .root_count = 1}, .pool = pool};
    if (steps)
        cr_assert_eq(tp_number_set_parse(&how.wish.steps, steps, &err), TP_OK);
    *side = (struct tp_compare_side){.msprobe = false};
    enum tp_status status = tp_compare_side_open(&how, side, &err);
    tp_number_set_clear(&how.wish.steps);
    tp_pool_free(pool);
    return status;
}

Test(compare_side, a_dump_of_msprobe)
{
    struct tp_compare_side side;
    cr_assert_eq(open_side("msprobe", NULL, &side), TP_OK);
    cr_expect(side.msprobe);
    cr_expect_eq(side.dump.place_count, 2);
    tp_compare_side_clear(&side);
    cr_assert_eq(open_side("msprobe", "1", &side), TP_OK);
    cr_expect_eq(side.dump.place_count, 1);
    tp_compare_side_clear(&side);
    cr_expect_eq(open_side("msprobe", "9", &side), TP_E_NOT_FOUND);
    tp_compare_side_clear(&side);
}

/* Files of tensor_saver: a call is a file without phase and tensor name. */
Test(compare_side, files_with_labels)
{
    struct tp_compare_side side;
    cr_assert_eq(open_side("case_nan_inf", NULL, &side), TP_OK);
    cr_expect_not(side.msprobe);
    cr_assert_gt(side.dump.place_count, 0);
    for (size_t i = 1; i < side.dump.place_count; i++)
        cr_expect_lt(side.dump.places[i - 1].step, side.dump.places[i].step);
    const struct tp_dump_place *place = &side.dump.places[0];
    cr_assert_gt(place->call_count, 0);
    const struct tp_dump_call *call = &place->calls[0];
    const struct tp_dump_item *item = &place->items[call->first];
    cr_expect_not_null(strstr(call->key, "linear.L"), "%s", call->key);
    cr_expect_not_null(strstr(call->key, ".0.forward"), "%s", call->key);
    cr_expect_eq(item->kind, TP_DUMP_TENSOR);
    cr_expect_not_null(item->file);
    cr_expect(item->has_shape);
    tp_compare_side_clear(&side);
}

/* Statistics are those of all elements: one NaN makes all of them NaN. */
Test(compare_side, statistics_of_tensors)
{
    struct tp_compare_side side;
    size_t nans = 0, infs = 0;
    cr_assert_eq(open_side("case_nan_inf", "12", &side), TP_OK);
    for (size_t i = 0; i < side.dump.places[0].item_count; i++) {
        const struct tp_dump_item *item = &side.dump.places[0].items[i];
        const double max = item->stats[TP_DUMP_MAX].real;
        nans += isnan(max);
        infs += isinf(max) || isinf(item->stats[TP_DUMP_MIN].real);
        cr_expect_eq(isnan(max), isnan(item->stats[TP_DUMP_NORM].real));
        cr_expect_eq(item->stats[TP_DUMP_MAX].kind, TP_JSON_REAL);
    }
    cr_expect_gt(nans, 0);
    cr_expect_gt(infs, 0);
    tp_compare_side_clear(&side);
}

/* Of a file with several tensors each is called by its path in the file. */
Test(compare_side, a_checkpoint)
{
    struct tp_compare_side side;
    cr_assert_eq(open_side("torch/good-module.pt", NULL, &side), TP_OK);
    const struct tp_dump_place *place = &side.dump.places[0];
    cr_assert_gt(place->call_count, 1);
    cr_expect_eq(place->call_count, place->item_count);
    for (size_t i = 0; i < place->item_count; i++)
        cr_expect_eq(place->items[i].tensor, i);
    tp_compare_side_clear(&side);
}
