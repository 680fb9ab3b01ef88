/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/pt_maker.h"

#include <math.h>

#include "replay/item_diff.h"
#include "tests/unit/support/dump_data.h"

static struct tp_dump_item shaped(int dims, const int64_t *shape)
{
    struct tp_dump_item item = tp_dump_item_none;
    item.has_shape = true;
    item.dims = dims;
    item.shape = shape;
    return item;
}

Test(item_diff, knows_parts_by_their_shapes)
{
    const int64_t whole[] = {8, 6}, half[] = {8, 3}, odd[] = {8, 4},
                  both[] = {4, 3}, empty[] = {8, 0};
    const struct tp_dump_item a = shaped(2, whole), b = shaped(2, half),
                              c = shaped(2, odd), d = shaped(2, both),
                              e = shaped(1, whole), f = shaped(2, empty);
    cr_assert_eq(tp_item_shapes(&a, &a), TP_ITEM_EQUAL);
    cr_assert_eq(tp_item_shapes(&a, &b), TP_ITEM_SHARDED);
    cr_assert_eq(tp_item_shapes(&b, &a), TP_ITEM_SHARDED);
    cr_assert_eq(tp_item_shapes(&a, &c), TP_ITEM_RESHAPED);
    cr_assert_eq(tp_item_shapes(&a, &d), TP_ITEM_RESHAPED);
    cr_assert_eq(tp_item_shapes(&a, &e), TP_ITEM_RESHAPED);
    cr_assert_eq(tp_item_shapes(&a, &f), TP_ITEM_RESHAPED);
    cr_assert_eq(tp_item_shapes(&a, &tp_dump_item_none), TP_ITEM_UNKNOWN);
}

static bool same(const struct tp_json *a, const struct tp_json *b)
{
    struct tp_dump_item x = tp_dump_item_none, y = tp_dump_item_none;
    x.kind = y.kind = TP_DUMP_VALUE;
    x.value = a;
    y.value = b;
    return tp_item_same_value(&x, &y);
}

Test(item_diff, compares_values_as_python_does)
{
    struct tp_json one = {.kind = TP_JSON_INTEGER, .integer = 1, .real = 1};
    struct tp_json real = {.kind = TP_JSON_REAL, .real = 1};
    struct tp_json nan = {.kind = TP_JSON_REAL, .real = NAN};
    struct tp_json text = {.kind = TP_JSON_STRING, .text = "a", .length = 1};
    struct tp_json other = {.kind = TP_JSON_STRING, .text = "b", .length = 1};
    struct tp_json list = {.kind = TP_JSON_LIST, .first = &one, .count = 1};
    struct tp_json reals = {.kind = TP_JSON_LIST, .first = &real, .count = 1};
    struct tp_json nans = {.kind = TP_JSON_LIST, .first = &nan, .count = 1};
    cr_assert(same(&one, &real));
    cr_assert(same(&nan, &nan));
    cr_assert(same(&text, &text));
    cr_assert(same(&list, &reals));
    cr_assert(same(NULL, NULL));
    cr_assert_not(same(&one, &nan));
    cr_assert_not(same(&text, &other));
    cr_assert_not(same(&list, &nans));
    cr_assert_not(same(&one, &text));
    cr_assert_not(same(&one, NULL));
}

/* The relation of a cast's argument and its result. */
static enum tp_item_relation relation_of(struct tp_dump *dump, const char *key)
{
    struct tp_dump_place *place = &dump->places[0];
    const struct tp_dump_call *call = tp_dump_call_of(place, key);
    struct tp_item_diff diff;
    struct tp_error err = {0};
    cr_assert_not_null(call, "%s", key);
    const struct tp_dump_item *items = &place->items[call->first];
    cr_assert_eq(
        tp_item_diff_tensors(&items[0], &items[call->count - 1], &diff, &err),
        TP_OK);
    cr_assert_neq(diff.digest_a, 0);
    if (diff.relation == TP_ITEM_EQUAL)
        cr_assert_eq(diff.digest_a, diff.digest_b);
    else
        cr_assert_gt(diff.error, 0);
    return diff.relation;
}

Test(item_diff, tells_rounding_from_other_values)
{
    char path[4096];
    struct tp_dump dump;
    testdata_path("replay/step0", path, sizeof path);
    cr_assert(dump_data_read(path, &dump));
    cr_assert_eq(relation_of(&dump, "Tensor.float.0.forward"), TP_ITEM_EQUAL);
    cr_assert_eq(relation_of(&dump, "Tensor.bfloat16.0.forward"),
                 TP_ITEM_ROUNDED);
    cr_assert_eq(relation_of(&dump, "Torch.tril.0.forward"), TP_ITEM_DIFFERS);
    tp_dump_clear(&dump);
}

/* 1 + 2^-8 of float16 is 1 in bfloat16, by a tie; 1 + 2^-4 is not.
 * What is next to nothing in float16 is rounded to whole multiples of 2^-24. */
Test(item_diff, knows_one_number_in_two_half_precisions)
{
    static const struct pt_dtype float16 = {"HalfStorage", 2};
    static const struct {
        uint16_t half, brain;
        enum tp_item_relation relation;
    } cases[] = {{0x3c04, 0x3f80, TP_ITEM_ROUNDED},
                 {0x3c40, 0x3f80, TP_ITEM_DIFFERS},
                 {0x0001, 0x33b0, TP_ITEM_ROUNDED}, /* 2^-24, 1.375 of it   */
                 {0x0001, 0x3400, TP_ITEM_DIFFERS}};
    const struct maker maker = maker_begin();
    const int64_t shape[] = {1};
    struct tp_dump_item a = shaped(1, shape), b = shaped(1, shape);
    char files[2][128];
    struct tp_item_diff diff;
    struct tp_error err = {0};
    maker_path(&maker, "a.pt", files[0], sizeof files[0]);
    maker_path(&maker, "b.pt", files[1], sizeof files[1]);
    a.kind = b.kind = TP_DUMP_TENSOR;
    struct tp_found found[2];
    a.file = &found[0];
    b.file = &found[1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        found[0] = (struct tp_found){.path = files[0]};
        found[1] = (struct tp_found){.path = files[1]};
        pt_put(&maker, "a.pt", &float16, &cases[i].half, 1);
        pt_put(&maker, "b.pt", &pt_bfloat16, &cases[i].brain, 1);
        cr_assert_eq(tp_item_diff_tensors(&a, &b, &diff, &err), TP_OK);
        cr_expect_eq(diff.relation, cases[i].relation, "%zu: %d %s", i,
                     (int)diff.relation, diff.reason);
    }
    maker_end(&maker);
}
