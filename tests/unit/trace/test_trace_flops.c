/* SPDX-License-Identifier: MIT */
/* FLOP and bytes of operators, against torch.utils.flop_counter of torch 2.15
 * (said where) and by hand; what is not known stays so. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "data/events.h"
#include "trace/trace_flops.h"

#define END TP_INPUT_END
#define F "\"float\""
#define B "\"c10::BFloat16\""
#define S "\"Scalar\""

static struct tp_work work_of(const char *op, const char *inputs)
{
    struct tp_op_args args;
    tp_op_args_read(inputs, &args);
    return tp_work_of(tp_work_find(op), &args);
}

struct expected {
    const char *op, *inputs;
    double flops, bytes; /* below 0: not known */
};

static void check(const struct expected *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct expected *row = &rows[i];
        const struct tp_work work = work_of(row->op, row->inputs);
        if (row->flops < 0)
            cr_expect(isnan(work.flops), "%s: %g FLOP", row->op, work.flops);
        else
            cr_expect_eq(work.flops, row->flops, "%s: %.17g FLOP", row->op,
                         work.flops);
        if (row->bytes < 0)
            cr_expect(isnan(work.bytes), "%s: %g bytes", row->op, work.bytes);
        else
            cr_expect_eq(work.bytes, row->bytes, "%s: %.17g bytes", row->op,
                         work.bytes);
    }
}
#define CHECK(rows) check(rows, sizeof rows / sizeof *rows)

Test(trace_flops, products)
{
    static const struct expected rows[] = {
        {"aten::mm", "[[3, 4], [4, 5]]" END "[" F ", " F "]", 120,
         4 * (12 + 20 + 15)},
        {"aten::addmm",
         "[[5], [3, 4], [4, 5], [], []]" END "[" F ", " F ", " F ", " S ", " S
         "]",
         120 + 15, 4 * (12 + 20 + 15 + 5)},
        {"aten::bmm", "[[2, 3, 4], [2, 4, 5]]" END "[" B ", " B "]", 240,
         2 * 2 * (12 + 20 + 15)},
        {"aten::baddbmm",
         "[[2, 3, 5], [2, 3, 4], [2, 4, 5]]" END "[" F ", " F ", " F "]",
         240 + 30, 4 * 2 * (12 + 20 + 15 + 15)},
        {"aten::linear", "[[2, 3, 4], [5, 4], [5]]" END "[" F ", " F ", " F "]",
         240, 4 * (24 + 20 + 30)},
        {"aten::matmul", "[[2, 3, 4], [2, 4, 5]]" END "[" F ", " F "]", 240,
         4 * 2 * (12 + 20 + 15)},
        {"aten::matmul", "[[2, 3, 4], [4, 5]]" END "[" F ", " F "]", 240,
         4 * (24 + 20 + 30)},
        {"aten::_scaled_mm",
         "[[16, 32], [32, 64], [], [], [], [], [], []]" END
         "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", " F ", " F
         ", \"\", \"\", \"Scalar\", \"Scalar\"]" END END
         "[\"\", \"\", \"\", \"\", \"\", \"\", \"15\", \"False\"]",
         2 * 16 * 32 * 64, 16 * 32 + 32 * 64 + 2 * 16 * 64},
        {"aten::_grouped_mm",
         "[[6, 4], [3, 4, 5], [3]]" END "[" B ", " B ", \"int\"]",
         2 * 6 * 4 * 5, 2 * (6 * 4 + 3 * 4 * 5 + 6 * 5)},
        /* not the axes that the operator takes, or nothing said */
        {"aten::mm", "[[3, 4]]" END "[" F "]", -1, -1},
        {"aten::mm", "", -1, -1},
        /* inner axes that differ */
        {"aten::mm", "[[3, 4], [5, 4]]" END "[" F ", " F "]", -1, -1},
        {"aten::addmm",
         "[[5], [3, 4], [5, 5], [], []]" END "[" F ", " F ", " F ", " S ", " S
         "]",
         -1, -1},
        {"aten::linear", "[[2, 3, 4], [5, 3]]" END "[" F ", " F "]", -1, -1},
        {"aten::matmul", "[[2, 3, 4], [5, 5]]" END "[" F ", " F "]", -1, -1},
        {"aten::_grouped_mm",
         "[[6, 4], [3, 5, 5], [3]]" END "[" B ", " B ", \"int\"]", -1, -1},
        {"aten::mm", "[[3, 4], [4, 5]]" END END END, 120, -1},
    };
    CHECK(rows);
    const struct tp_work work =
        work_of("aten::bmm", "[[2, 3, 4], [2, 4, 5]]" END "[" B ", " B "]");
    cr_expect(work.kind == TP_WORK_GEMM && work.matrix && work.batch == 2 &&
              work.m == 3 && work.n == 5 && work.k == 4 &&
              work.precision == TP_PRECISION_BF16 && work.result == 30);
}

#define CONV_TYPES "[" F ", " F ", \"\", \"ScalarList\"]"

/* FLOP: conv_flop_count and conv_backward_flop; of the latter with one group,
 * as torch counts gradients of grouped weights once for each group. */
Test(trace_flops, convolutions)
{
    static const struct expected rows[] = {
        {"aten::convolution",
         "[[2, 16, 30, 30], [32, 8, 3, 3], [], [], [], [], [], [], []]" END
             CONV_TYPES END END "[\"\", \"\", \"\", \"[2, 2]\", \"[1, 1]\", "
         "\"[1, 1]\", \"False\", \"[0, 0]\", \"2\"]",
         2073600, 4 * (28800 + 2304 + 14400)},
        {"aten::convolution", /* transposed, two groups */
         "[[2, 16, 7, 7], [16, 4, 3, 3], [], [], [], [], [], [], []]" END
             CONV_TYPES END END "[\"\", \"\", \"\", \"[2]\", \"[0]\", \"[1]\", "
         "\"True\", \"[0, 0]\", \"2\"]",
         112896, 4 * (1568 + 576 + 2 * 8 * 15 * 15)},
        {"aten::convolution_backward",
         "[[2, 32, 15, 15], [2, 16, 30, 30], [32, 16, 3, 3], [0], [], [], [], "
         "[], [], [], []]" END "[" F ", " F ", " F "]" END END
         "[\"\", \"\", \"\", \"[0]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", "
         "\"False\", \"[0, 0]\", \"1\", \"[True, True, False]\"]",
         8294400, 2 * 4 * (28800 + 4608 + 14400)},
        {"aten::convolution_backward", /* of the first layer */
         "[[2, 32, 15, 15], [2, 16, 30, 30], [32, 16, 3, 3], [0], [], [], [], "
         "[], [], [], []]" END "[" F ", " F ", " F "]" END END
         "[\"\", \"\", \"\", \"[0]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", "
         "\"False\", \"[0, 0]\", \"1\", \"[False, True, False]\"]",
         4147200, 4 * (28800 + 4608 + 14400)},
        {"aten::convolution", "[[30, 30], [3, 3]]" END "[" F "]", -1,
         -1},
        /* values were not recorded: the stride may be 2 */
        {"aten::convolution",
         "[[2, 16, 30, 30], [32, 8, 3, 3], [], [], [], [], [], [], []]" END
             CONV_TYPES, -1, -1},
    };
    CHECK(rows);
}

#define QKV "[2, 8, 100, 64], [2, 8, 120, 64], [2, 8, 120, 32]"
#define SQUARE "[2, 8, 100, 64], [2, 8, 100, 64], [2, 8, 100, 64]"
#define THREE B ", " B ", " B

/* FLOP: sdpa_flop_count and sdpa_backward_flop_count; a causal mask leaves
 * half. */
Test(trace_flops, attention)
{
    static const struct expected rows[] = {
        {"aten::_scaled_dot_product_flash_attention",
         "[" QKV ", [], []]" END "[" THREE "]" END END
         "[\"\", \"\", \"\", \"0.\", \"False\"]",
         36864000, 2 * (102400 + 122880 + 61440 + 51200)},
        {"aten::_scaled_dot_product_flash_attention",
         "[" SQUARE ", [], []]" END "[" THREE "]" END END
         "[\"\", \"\", \"\", \"0.\", \"True\"]",
         2. * 2 * 8 * 100 * 100 * 64, 2 * 4 * 102400},
        {"aten::_scaled_dot_product_efficient_attention",
         "[" SQUARE ", [], [], [], []]" END "[" THREE "]" END END
         "[\"\", \"\", \"\", \"\", \"False\", \"0.\", \"True\"]",
         2. * 2 * 8 * 100 * 100 * 64, 2 * 4 * 102400},
        {"aten::_scaled_dot_product_flash_attention_backward",
         "[[2, 8, 100, 32], " QKV "]" END "[" B ", " THREE "]", 98304000,
         2 * (2 * (102400 + 122880 + 61440) + 51200)},
        {"flash_attn::_flash_attn_forward", /* heads after the sequence */
         "[[2, 100, 8, 64], [2, 100, 8, 64], [2, 100, 8, 64], [], [], []]" END
         "[" THREE "]" END END
         "[\"\", \"\", \"\", \"0.\", \"0.125\", \"False\"]",
         4. * 2 * 8 * 100 * 100 * 64, 2 * 4 * 102400},
        {"aten::_scaled_dot_product_flash_attention", "[[2, 8, 100]]" END, -1,
         -1},
    };
    CHECK(rows);
}

Test(trace_flops, others)
{
    static const struct expected rows[] = {
        {"aten::add", "[[8, 1, 4], [3, 1], []]" END "[" B ", " B ", " S "]", 96,
         2 * (32 + 3 + 96)},
        {"aten::mul", "[[8], []]" END "[" B ", \"double\"]", 8, 16 + 8 + 16},
        /* out= is written only, also by add, whose third is alpha */
        {"aten::mul", "[[8], [], [8]]" END "[" F ", " F ", " F "]", 8,
         32 + 4 + 32},
        {"aten::add", "[[8], [8], [], [8]]" END "[" F ", " F ", " S ", " F "]",
         8, 32 + 32 + 32},
        {"aten::addcmul", "[[8], [8], [8]]" END "[" F ", " F ", " F "]", 8,
         4 * 32},
        {"aten::mul", "[[0, 1], [3]]" END "[" F ", " F "]", 0, 12},
        {"aten::relu", "[[1, 1, 1, 1, 1, 1, 1, 2, 3]]" END "[" F "]", 6, 48},
        {"aten::add_", "[[8], [8], []]" END "[" B ", " F ", " S "]", 8,
         16 + 32 + 16},
        {"aten::gt", "[[8], []]" END "[" F ", " S "]", 8, 32 + 8},
        {"aten::zero_", "[[8]]" END "[" F "]", 0, 32},
        {"aten::copy_", "[[8], [8], []]" END "[" B ", " F ", " S "]", 8,
         16 + 32},
        {"aten::sum", "[[6, 5], [], []]" END "[" F "]", 30, 4 * 31},
        {"aten::cumsum", "[[6, 5], [], []]" END "[" F "]", 30, 4 * 60},
        {"aten::_softmax", "[[6, 5], [], []]" END "[" B "]", 90, 2 * 60},
        {"aten::_softmax_backward_data",
         "[[6, 5], [6, 5], [], []]" END "[" B ", " B "]", 120, 2 * 90},
        {"aten::native_layer_norm",
         "[[6, 5], [], [5], [5], []]" END "[" B ", \"ScalarList\", " B ", " B
         "]",
         5 * 30 + 30, 2 * (60 + 30)},
        {"aten::native_layer_norm", /* without a weight */
         "[[6, 5], [], [], [], []]" END "[" B ", \"ScalarList\", \"\"]" END END
         "[\"\", \"[5]\", \"\"]",
         5 * 30 + 30, 2 * (60 + 30)},
        {"aten::cudnn_batch_norm", "[[4, 3, 5], [3], [3]]" END "[" F ", " F
                                   ", " F "]",
         5 * 60 + 18, 4 * (120 + 18)},
        {"aten::index_select",
         "[[100, 16], [], [7]]" END "[" B ", " S ", \"long int\"]" END END
         "[\"\", \"0\", \"\"]",
         0, 2 * 2 * 7 * 16 + 8 * 7},
        {"aten::embedding",
         "[[100, 16], [2, 7]]" END "[" B ", \"long int\"]", 0,
         2 * 2 * 14 * 16 + 8 * 14},
        {"aten::cat", "[[[1, 2], [3, 2]], []]" END "[\"TensorList\"]", -1, -1},
        {"my::op", "[[8]]" END "[" F "]", -1, -1},
        {"add", "[[8], [8]]" END "[" F ", " F "]", -1, -1}, /* not torch's */
    };
    CHECK(rows);
    cr_expect_eq(work_of("my::op", "").kind, TP_WORK_OTHER);
}

/* A list that does not hold what it should, or is cut, is absent. */
Test(trace_flops, inputs)
{
    static const char *const bad[] = {
        "[[3, 4", "[[3, 4], [4", "[[3, \"x\"], [4, 5]]", "[[-3, 4], [4, 5]]",
        "[", "", "]", "[,]", "[[]]", "[[99999999999999999999, 4], [4, 5]]",
        "[[[3]], [[4]]]", "\"", "[\"\\", END END END END END};
    struct tp_op_args args;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct tp_work work = work_of("aten::mm", bad[i]);
        cr_expect(isnan(work.flops), "%s", bad[i]);
    }
    tp_op_args_read("[[2, 3], [[4], [5, 6]], [], []]" END
                    "[\"long int\", \"TensorList\", \"float\", \"Scalar\"]" END
                    END "[\"a,]\", \"\", \"\", \"[7, 8]\"]", &args);
    cr_expect_eq(args.count, 4);
    cr_expect(args.args[0].axes == 2 && args.args[0].elements == 6 &&
              args.args[0].bytes == 8);
    cr_expect(args.args[1].axes == -1 && args.args[1].elements == 34);
    cr_expect(args.args[2].axes == 0 && args.args[2].elements == 1);
    cr_expect(args.args[3].axes == -1);
    cr_expect(tp_op_is(&args.args[0].value, "a,]"));
    int64_t numbers[4];
    cr_expect_eq(tp_op_integers(&args.args[3].value, numbers, 4), 2);
    cr_expect(numbers[0] == 7 && numbers[1] == 8);
    struct tp_text text = {0};
    tp_op_args_write(&args, &text);
    cr_expect_str_eq(text.data, "int64[2, 3], [[4], [5, 6]], fp32[], [7, 8]");
    text.length = 0;
    tp_op_args_read("[[2,3], [2, 3], [1, 3], []]" END
                    "[\"c10::Half\", \"c10::Float8_e4m3fn\", \"bool\"]" END
                    "[[3, 1], [1, 2], [9, 1]]", &args);
    tp_op_args_write(&args, &text);
    cr_expect_str_eq(text.data,
                     "fp16[2, 3], fp8[2, 3]/[1, 2], bool[1, 3], -");
    tp_text_clear(&text);
}
