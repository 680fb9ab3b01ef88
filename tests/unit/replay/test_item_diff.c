/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
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
