/* SPDX-License-Identifier: MIT */
#include "compare/content_unit.h"

#include <criterion/criterion.h>

Test(content_unit, natural_order)
{
    cr_expect_lt(tp_content_natural("rank2", "rank10"), 0);
    cr_expect_gt(tp_content_natural("rank10.b", "rank10.a"), 0);
    cr_expect_eq(tp_content_natural("a01", "a1"), 0);
    cr_expect_lt(tp_content_natural("a", "ab"), 0);
    cr_expect_lt(tp_content_natural("99999999999999999999998",
                                    "99999999999999999999999"),
                 0);
}

Test(content_unit, names_that_are_alike)
{
    const double same = tp_content_alike("layers.3.q_proj.weight",
                                         "decoder.layers.3.linear_q.weight");
    const double other = tp_content_alike("layers.3.q_proj.weight",
                                          "decoder.layers.4.linear_q.weight");
    cr_expect_gt(same, other);
    cr_expect_eq(tp_content_alike("a.b", "a.b"), 2);
    cr_expect_eq(tp_content_alike("a.b", "c.d"), 0);
    cr_expect_eq(tp_content_alike("", "..."), 0);
}

static void expect_families(struct tp_content_tensor *tensors, size_t count,
                            size_t expected)
{
    struct tp_content_side side = {.tensors = tensors, .count = count};
    struct tp_content_units units = {0};
    struct tp_error err = {0};
    cr_assert_eq(tp_content_units_make(&side, &units, &err), TP_OK);
    cr_expect_eq(units.count - count, expected);
    for (size_t i = count; i < units.count; i++) /* shards in their order */
        for (size_t k = 1; k < units.units[i].count; k++)
            cr_expect_lt(
                tp_content_natural(tensors[units.units[i].items[k - 1]].full,
                                   tensors[units.units[i].items[k]].full),
                0);
    tp_content_units_clear(&units);
}

#define TENSOR(its_full, its_key, its_shape, its_dtype)         \
    {                                                           \
        .full = its_full, .key = its_key, .name = its_full,     \
        .shape_text = its_shape, .dtype = its_dtype, .numel = 4 \
    }

Test(content_unit, families)
{
    struct tp_content_tensor tensors[] = {
        TENSOR("r10.pt:w", "w", "[4]", TP_FLOAT32),
        TENSOR("r2.pt:w", "w", "[4]", TP_FLOAT32)};
    expect_families(tensors, 2, 2); /* of the key, and of the number */
    tensors[1].dtype = TP_BFLOAT16;
    expect_families(tensors, 2, 0);
    tensors[1].dtype = TP_FLOAT32;
    tensors[1].shape_text = "[2, 2]"; /* shards may be of several sizes */
    expect_families(tensors, 2, 1);
    tensors[0].name = tensors[0].key = "x"; /* alone of its key */
    tensors[1].name = tensors[1].key;
    expect_families(tensors, 2, 0);
}
