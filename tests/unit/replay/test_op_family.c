/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "replay/op_family.h"

static const char *family(const char *name)
{
    const struct tp_msprobe_part part = {name, strlen(name)};
    const struct tp_operator *row = tp_operator_of(part);
    cr_assert_not_null(row, "%s", name);
    return tp_op_family_words[tp_op_family_of(row)];
}

Test(op_family, is_that_of_the_kernel)
{
    cr_expect_str_eq(family("add"), "elementwise");
    cr_expect_str_eq(family("gelu"), "elementwise");
    cr_expect_str_eq(family("matmul"), "products");
    cr_expect_str_eq(family("conv2d"), "products");
    cr_expect_str_eq(family("scaled_dot_product_attention"), "attention");
    cr_expect_str_eq(family("layer_norm"), "norms");
    cr_expect_str_eq(family("cross_entropy"), "softmax");
    cr_expect_str_eq(family("mean"), "reductions");
    cr_expect_str_eq(family("max_pool2d"), "pooling");
    cr_expect_str_eq(family("transpose"), "movement");
}
