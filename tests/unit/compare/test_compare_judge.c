/* SPDX-License-Identifier: MIT */
/* Each rule, and its twin that is not enough: the limits are those of
 * indicator_analysis/algorithm.py of mindstudio-probe 26.2. */
#include "compare/compare_judge.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

/* A call of one argument and one result, in both, all equal. */
struct call {
    struct tp_compare_entry a[2], b[2];
    struct tp_compare_line rows[2];
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

static void make_of(struct call *call, const char *in, const char *out)
{
    const char *const names[2] = {in, out};
    memset(call, 0, sizeof *call);
    for (size_t i = 0; i < 2; i++) {
        call->a[i] = call->b[i] = entry(names[i]);
        call->rows[i] =
            (struct tp_compare_line){.a = i,
                                     .b = i,
                                     .elements = tp_compare_elements_none,
                                     .problem = ""};
        for (int k = 0; k < TP_COMPARE_METRICS; k++)
            call->rows[i].metrics[k] =
                (struct tp_compare_number){TP_COMPARE_IS_NUMBER, 1};
    }
    call->pair.a.rows = call->a;
    call->pair.b.rows = call->b;
    call->pair.a.count = call->pair.b.count = call->pair.row_count = 2;
    call->pair.rows = call->rows;
}

static void make(struct call *call)
{
    make_of(call, "Torch.add.0.forward.input.0",
            "Torch.add.0.forward.output.0");
}

/* What the rows get, as JSON, one after the other. */
static const char *judge(struct call *call, enum tp_compare_mode mode)
{
    static char words[1024];
    struct tp_text text = {0};
    tp_compare_judge(&call->pair, mode);
    for (int i = 0; i < 2; i++) {
        tp_text_add(&text, "%s", tp_compare_result_words[call->rows[i].result]);
        tp_compare_messages_text(&call->rows[i], &text);
    }
    strcpy(words, tp_text_get(&text));
    tp_text_clear(&text);
    return words;
}

#define SAYS(call, mode, words) cr_expect_str_eq(judge(call, mode), words)
#define CLEAN "pass[]pass[]"

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
    call.rows[0].metrics[TP_COMPARE_THOUSANDTH].value = 0.91;
    call.rows[1].metrics[TP_COMPARE_THOUSANDTH].value = 0.09;
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]error[\"error: The input/parameters of One Thousandth Err "
         "Ratio > 0.9 while the output < 0.6.\"]");
    call.rows[1].metrics[TP_COMPARE_THOUSANDTH].value = 0.1;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    call.rows[0].metrics[TP_COMPARE_THOUSANDTH].value = 0.9;
    call.rows[1].metrics[TP_COMPARE_THOUSANDTH].value = 0;
    SAYS(&call, TP_COMPARE_TENSOR, CLEAN);
    make(&call);
    call.rows[1].metrics[TP_COMPARE_COSINE].value = 0.89;
    SAYS(&call, TP_COMPARE_TENSOR,
         "pass[]warning[\"warning: The input/parameters of Cosine > 0.9, and "
         "input/parameters - output > 0.1\"]");
    call.rows[1].metrics[TP_COMPARE_COSINE].reason = TP_COMPARE_SHAPES;
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
