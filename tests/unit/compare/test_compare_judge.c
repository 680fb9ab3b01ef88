/* SPDX-License-Identifier: MIT */
/*
 * Each rule, and its twin that is not enough: the limits are those of
 * indicator_analysis/algorithm.py of mindstudio-probe 26.2, whose calculator
 * gave the same Result and Err_message for the rows of these tests.
 */
#include "compare/compare_judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

enum { ROWS = 4 };

/* Rows of both, all equal. */
struct call {
    struct tp_compare_entry a[ROWS], b[ROWS];
    struct tp_compare_line rows[ROWS];
    struct tp_compare_pair pair;
};

static struct tp_compare_entry entry(const char *name)
{
    struct tp_compare_entry made = {.name = name,
                                    .key = name,
                                    .dtype = "torch.float32",
                                    .shape = "[2]",
                                    .grad = "False",
                                    .md5 = "00000001",
                                    .data_name = "-1"};
    for (int i = 0; i < TP_DUMP_STATS; i++)
        made.stats[i] = (struct tp_compare_value){TP_COMPARE_NUMBER, 1, "1.0"};
    return made;
}

/* Rows of these names, of one call. */
static void make_rows(struct call *call, const char *const *names, size_t count)
{
    memset(call, 0, sizeof *call);
    for (size_t i = 0; i < count; i++) {
        call->a[i] = call->b[i] = entry(names[i]);
        call->rows[i] =
            (struct tp_compare_line){.a = i,
                                     .b = i,
                                     .elements = tp_compare_elements_none,
                                     .problem = ""};
        for (int k = 0; k < TP_MSPROBE_METRICS; k++)
            call->rows[i].metrics[k] =
                (struct tp_msprobe_value){TP_MSPROBE_NUMBER, 1};
    }
    call->pair.a.rows = call->a;
    call->pair.b.rows = call->b;
    call->pair.a.count = call->pair.b.count = call->pair.row_count = count;
    call->pair.rows = call->rows;
}

static void make_of(struct call *call, const char *in, const char *out)
{
    make_rows(call, (const char *const[]){in, out}, 2);
}

/* An argument and a result. */
static void make(struct call *call)
{
    make_of(call, "Torch.add.0.forward.input.0",
            "Torch.add.0.forward.output.0");
}

/* Two of each. */
static void make_two(struct call *call)
{
    static const char *const names[] = {
        "Torch.add.0.forward.input.0", "Torch.add.0.forward.input.1",
        "Torch.add.0.forward.output.0", "Torch.add.0.forward.output.1"};
    make_rows(call, names, ROWS);
}

/* What the rows get, as JSON, one after the other. */
static const char *judge(struct call *call, enum tp_compare_mode mode)
{
    static char words[2048];
    struct tp_text text = {0};
    tp_compare_judge(&call->pair, mode);
    for (size_t i = 0; i < call->pair.row_count; i++) {
        tp_text_add(&text, "%s", tp_compare_result_words[call->rows[i].result]);
        tp_compare_messages_text(&call->rows[i], &text);
    }
    cr_assert_lt(text.length, sizeof words);
    strcpy(words, tp_text_get(&text));
    tp_text_clear(&text);
    return words;
}

#define SAYS(call, mode, words) cr_expect_str_eq(judge(call, mode), words)
#define CLEAN "pass[]pass[]"
#define NORM "\"error: The NormRelativeErr of output is greater than 0.5.\""
#define GROWS                                                                 \
    "\"warning: The norm relative error of output is 10 times that of input." \
    "\""
#define SHAPE "\"error: The shape of NPU and Bench are inconsistent.\""

Test(compare_judge, equal_calls_pass)
{
    struct call call;
    make(&call);
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    SAYS(&call, TP_COMPARE_MD5, CLEAN);
}

Test(compare_judge, nonfinite)
{
    struct call call;
    make(&call);
    call.a[1].stats[TP_DUMP_MIN].kind = TP_COMPARE_NEGATIVE_INF;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "pass[]error[\"error: There is nan/inf/-inf in the maximum or minimum "
         "value of NPU.\"]");
    call.b[1].stats[TP_DUMP_MAX].kind = TP_COMPARE_NAN; /* B has one, too */
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    make(&call);
    call.a[1].stats[TP_DUMP_NORM].kind = TP_COMPARE_INF; /* not looked at */
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
}

Test(compare_judge, norms)
{
    struct call call;
    make(&call);
    call.rows[0].shifts[TP_DUMP_NORM].error = 0.0999;
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.51;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "pass[]error[\"error: The NormRelativeErr of output is greater than "
         "0.5.\"]");
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.5;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    call.rows[0].shifts[TP_DUMP_NORM].error = 0.1;
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.51;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    /* "inf" counts for a result, not among the arguments */
    call.rows[0].shifts[TP_DUMP_NORM].error = INFINITY;
    call.rows[1].shifts[TP_DUMP_NORM].error = INFINITY;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "pass[]error[\"error: The NormRelativeErr of output is greater than "
         "0.5.\"]");
}

Test(compare_judge, norms_that_grow)
{
    static const char warning[] =
        "pass[]warning[\"warning: The norm relative error of output is 10 "
        "times that of input.\"]";
    struct call call;
    make(&call);
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.11;
    SAYS(&call, TP_COMPARE_STATISTICS, warning);
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.1;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    call.rows[0].shifts[TP_DUMP_NORM].error = 0.0099;
    SAYS(&call, TP_COMPARE_STATISTICS, warning);
    call.rows[0].shifts[TP_DUMP_NORM].error = 0.01;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
}

Test(compare_judge, elements)
{
    struct call call;
    make(&call);
    call.rows[0].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0.91;
    call.rows[1].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0.09;
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]error[\"error: The input/parameters of One Thousandth Err "
         "Ratio > 0.9 while the output < 0.6.\"]");
    call.rows[1].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0.1;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    call.rows[0].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0.9;
    call.rows[1].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    make(&call);
    call.rows[1].metrics[TP_MSPROBE_COSINE].value = 0.89;
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]warning[\"warning: The input/parameters of Cosine > 0.9, and "
         "input/parameters - output > 0.1\"]");
    call.rows[1].metrics[TP_MSPROBE_COSINE].reason = TP_MSPROBE_SHAPES;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN); /* a word is no number */
}

Test(compare_judge, words_of_a_row)
{
    struct call call;
    make(&call);
    call.a[0].grad = "True";
    call.a[1].dtype = "torch.bfloat16";
    SAYS(&call, TP_COMPARE_TENSOR,
         "error[\"error: The Required_Grad of NPU and Bench are "
         "inconsistent\"]error[\"error: The dtype of NPU and Bench are "
         "inconsistent.\"]");
    make(&call);
    call.a[1].shape = "[3]";
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]error[\"error: The shape of NPU and Bench are "
         "inconsistent.\"]");
    make(&call);
    call.rows[1].b = TP_COMPARE_NONE; /* without a partner nothing differs */
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
}

Test(compare_judge, values)
{
    struct call call;
    make(&call);
    call.a[0].dtype = call.b[0].dtype = "<class 'float'>";
    call.a[0].shape = call.b[0].shape = "[]";
    call.a[0].stats[TP_DUMP_MAX] =
        (struct tp_compare_value){TP_COMPARE_NUMBER, 1e-5, "1e-05"};
    SAYS(&call, TP_COMPARE_STATISTICS,
         "error[\"error: The scalar parameters of NPU and Bench are "
         "inconsistent.\"]pass[]");
    call.b[0].stats[TP_DUMP_MAX] =
        (struct tp_compare_value){TP_COMPARE_NUMBER, 1e-5, "0.00001"};
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN); /* one number */
}

Test(compare_judge, checksums)
{
    struct call call;
    make(&call);
    call.a[0].md5 = "00000002";
    call.a[1].md5 = "N/A";
    SAYS(&call, TP_COMPARE_MD5,
         "error[\"error: The CRC-32 value of NPU differs from that of the "
         "bench.\"]warning[\"warning: The parameter of NPU does not match the "
         "bench.\"]");
}

Test(compare_judge, calls_that_are_not_judged)
{
    struct call call;
    make_of(&call, "Tensor.to.0.forward.input.0",
            "Tensor.to.0.forward.output.0");
    call.a[0].shape = call.a[1].shape = "[3]";
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    make_of(&call, "Distributed.all_to_all_single.0.forward.input.0",
            "Distributed.all_to_all_single.0.forward.output.0");
    call.a[0].shape = call.a[1].shape = "[3]"; /* of results only */
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]error[\"error: The shape of NPU and Bench are "
         "inconsistent.\"]");
    cr_expect_not(tp_compare_is_judged("Torch.empty_like.0.forward"));
    cr_expect(tp_compare_is_judged("Torch.top.0.forward"));
    cr_expect(tp_compare_is_judged("to"));
}

/* --- rows of several kinds ------------------------------------------------ */

/* What a row has is told in the order of the rules; the worst counts. */
Test(compare_judge, all_messages_of_a_row)
{
    struct call call;
    make(&call);
    call.a[1].stats[TP_DUMP_MAX].kind = TP_COMPARE_INF;
    call.a[1].grad = "True";
    call.a[1].dtype = "torch.float16";
    call.a[1].shape = "[1]";
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.6;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "pass[]error[\"error: There is nan/inf/-inf in the maximum or minimum "
         "value of NPU.\", " NORM
         ", \"error: The Required_Grad of NPU and Bench are inconsistent\", "
         "\"error: The dtype of NPU and Bench are inconsistent.\", " SHAPE
         ", " GROWS "]");
    make(&call);
    call.rows[1].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0;
    call.rows[1].metrics[TP_MSPROBE_COSINE].value = 0;
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]error[\"error: The input/parameters of One Thousandth Err "
         "Ratio > 0.9 while the output < 0.6.\", \"warning: The "
         "input/parameters of Cosine > 0.9, and input/parameters - output > "
         "0.1\"]");
}

Test(compare_judge, nonfinite_without_a_partner)
{
    struct call call;
    make(&call);
    call.a[0].stats[TP_DUMP_MAX].kind = TP_COMPARE_NAN;
    call.rows[0].b = TP_COMPARE_NONE;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "error[\"error: There is nan/inf/-inf in the maximum or minimum "
         "value of NPU.\"]pass[]");
}

/* Of several arguments and results the worst counts, not the last one. */
Test(compare_judge, the_worst_of_several)
{
    struct call call;
    make_two(&call);
    call.rows[2].shifts[TP_DUMP_NORM].error = 0.6;
    call.rows[3].shifts[TP_DUMP_NORM].error = 0.7;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "pass[]pass[]error[" NORM ", " GROWS "]error[" NORM "]");
    call.rows[0].shifts[TP_DUMP_NORM].error = 0.1;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN CLEAN);
    make_two(&call);
    call.rows[2].shifts[TP_DUMP_NORM].error = 0.2;
    SAYS(&call, TP_COMPARE_STATISTICS, "pass[]pass[]warning[" GROWS "]pass[]");
    make_two(&call);
    call.rows[2].metrics[TP_MSPROBE_COSINE].value = 0.8;
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]pass[]warning[\"warning: The input/parameters of Cosine > "
         "0.9, and input/parameters - output > 0.1\"]pass[]");
    call.rows[0].metrics[TP_MSPROBE_COSINE].value = 0.85;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN CLEAN);
}

Test(compare_judge, limits_of_cosines)
{
    struct call call;
    make(&call);
    call.rows[1].metrics[TP_MSPROBE_COSINE].value = 0.9; /* 1 - 0.9 < 0.1 */
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    call.rows[0].metrics[TP_MSPROBE_COSINE].value = 0.9;
    call.rows[1].metrics[TP_MSPROBE_COSINE].value = 0;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
}

/* Each mode has its numbers. */
Test(compare_judge, numbers_of_the_other_mode)
{
    struct call call;
    make(&call);
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.6;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    make(&call);
    call.rows[1].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0;
    call.rows[1].metrics[TP_MSPROBE_COSINE].value = 0;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
}

/* A value is told where both are one, of an argument, and no list. */
Test(compare_judge, values_that_are_none)
{
    static const char dtype[] =
        "\"error: The dtype of NPU and Bench are inconsistent.\"";
    const struct tp_compare_value two = {TP_COMPARE_NUMBER, 2, "2"};
    const struct tp_compare_value word = {TP_COMPARE_OTHER, NAN, "mean"};
    char words[256];
    struct call call;
    for (int side = 0; side < 2; side++) {
        make(&call);
        call.a[0].shape = call.b[0].shape = "[]";
        call.a[0].stats[TP_DUMP_MAX] = two;
        *(side ? &call.b[0].dtype : &call.a[0].dtype) = "<class 'int'>";
        snprintf(words, sizeof words, "error[%s]pass[]", dtype);
        SAYS(&call, TP_COMPARE_STATISTICS, words);
    }
    for (size_t row = 0; row < 2; row++) {
        make(&call); /* a list; a result */
        call.a[row].dtype = call.b[row].dtype = "<class 'int'>";
        call.a[row].shape = call.b[row].shape = row ? "[]" : "[2]";
        call.a[row].stats[TP_DUMP_MAX] = two;
        SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    }
    make(&call);
    call.a[0].dtype = call.b[0].dtype = "<class 'str'>";
    call.a[0].shape = call.b[0].shape = "[]";
    call.a[0].stats[TP_DUMP_MAX] = call.b[0].stats[TP_DUMP_MAX] = word;
    SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    call.a[0].stats[TP_DUMP_MAX].text = "sum";
    SAYS(&call, TP_COMPARE_STATISTICS,
         "error[\"error: The scalar parameters of NPU and Bench are "
         "inconsistent.\"]pass[]");
}

/* Layers that one run fuses may have another dtype, by the name in B. */
Test(compare_judge, fused_layers)
{
    static const char *const fused[] = {"Module.linear_qkv.0.forward.input.0",
                                        "Module.gate_up.0.forward.input.0"};
    static const char plain[] = "Module.linear.0.forward.input.0";
    struct call call;
    for (size_t i = 0; i < 2; i++) {
        make_of(&call, plain, "Module.linear.0.forward.output.0");
        call.a[0].dtype = "torch.float16";
        call.b[0].name = fused[i];
        SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
        call.a[0].name = fused[i];
        call.b[0].name = plain;
        SAYS(&call, TP_COMPARE_STATISTICS,
             "error[\"error: The dtype of NPU and Bench are "
             "inconsistent.\"]pass[]");
    }
}

Test(compare_judge, checksums_that_are_not_there)
{
    static const char warning[] =
        "warning[\"warning: The parameter of NPU does not match the "
        "bench.\"]pass[]";
    struct call call;
    make(&call);
    call.b[0].md5 = "N/A";
    SAYS(&call, TP_COMPARE_MD5, warning);
    call.a[0].md5 = "N/A";
    SAYS(&call, TP_COMPARE_MD5, CLEAN);
    make(&call);
    call.rows[0].b = TP_COMPARE_NONE;
    SAYS(&call, TP_COMPARE_MD5, warning);
}

/* --- which calls ---------------------------------------------------------- */

/* A call is judged by its own rows. */
Test(compare_judge, calls_next_to_each_other)
{
    struct call call;
    make_two(&call);
    call.a[1].call = call.a[3].call = 1;
    const struct tp_compare_entry result = call.a[2];
    call.a[2] = call.a[1]; /* the argument and the result of each */
    call.a[1] = result;
    call.a[1].call = 0;
    call.rows[1].shifts[TP_DUMP_NORM].error = 0.6;
    call.rows[2].shifts[TP_DUMP_NORM].error = 0.2;
    SAYS(&call, TP_COMPARE_STATISTICS,
         "pass[]error[" NORM ", " GROWS "]pass[]pass[]");
}

Test(compare_judge, calls_without_values)
{
    static const char *const names[] = {
        "empty",     "empty_like",        "numpy",
        "to",        "__setitem__",       "empty_with_format",
        "new_empty", "new_empty_strided", "empty_strided"};
    char in[64], out[64];
    struct call call;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(in, sizeof in, "Torch.%s.0.forward.input.0", names[i]);
        snprintf(out, sizeof out, "Torch.%s.0.forward.output.0", names[i]);
        make_of(&call, in, out);
        call.a[1].shape = "[3]";
        call.rows[1].shifts[TP_DUMP_NORM].error = 0.6;
        SAYS(&call, TP_COMPARE_STATISTICS, CLEAN);
    }
    /* a call is known by its first argument: without one it is judged */
    make_rows(&call, (const char *const[]){out}, 1);
    call.a[0].shape = "[3]";
    SAYS(&call, TP_COMPARE_STATISTICS, "error[" SHAPE "]");
}

/* What ranks bring together: results only, and not against the arguments. */
Test(compare_judge, calls_whose_arguments_do_not_count)
{
    static const char *const names[] = {"_reduce_scatter_base",
                                        "_all_gather_base", "all_to_all_single",
                                        "batch_isend_irecv"};
    char in[64], out[64];
    struct call call;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(in, sizeof in, "Distributed.%s.0.forward.input.0", names[i]);
        snprintf(out, sizeof out, "Distributed.%s.0.forward.output.0",
                 names[i]);
        make_of(&call, in, out);
        call.a[0].shape = call.a[1].shape = "[3]";
        call.rows[1].shifts[TP_DUMP_NORM].error = 0.6;
        SAYS(&call, TP_COMPARE_STATISTICS, "pass[]error[" SHAPE "]");
        call.rows[1].metrics[TP_MSPROBE_ONE_THOUSANDTH].value = 0;
        call.rows[1].metrics[TP_MSPROBE_COSINE].value = 0;
        SAYS(&call, TP_COMPARE_TENSOR, "pass[]error[" SHAPE "]");
    }
}
