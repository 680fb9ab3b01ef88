/* SPDX-License-Identifier: MIT */
/* What better kernels could win, each case with its absence, in steps of known
 * kernels on a device whose roofs are known. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/text.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/judged_run.h"

/* A trace of one step, in which the device is never idle unless asked to be. */
struct maker {
    struct tp_text json;
    double host, gpu;
    int correlation;
    bool ahead; /* the step ends with the host's work, long before the GPU's */
};

static void begin(struct maker *it, const char *device)
{
    *it = (struct maker){.host = 100, .gpu = 0};
    tp_text_add(&it->json,
                "{\"deviceProperties\": [{\"id\": 0, \"name\": \"%s\"}], "
                "\"traceEvents\": [\n",
                device);
}

static void event(struct maker *it, const char *category, const char *name,
                  double from, double us)
{
    const bool kernel = !strcmp(category, "kernel");
    tp_text_add(&it->json,
                "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": "
                "%d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {",
                category, name, !kernel, kernel ? 7 : 1, from, us);
}

/* An operator that starts one kernel of `us`, `gap` after the one before. */
static void op(struct maker *it, const char *name, const char *inputs,
               const char *kernel, double us, double gap)
{
    event(it, "cpu_op", name, it->host, 3);
    tp_text_add(&it->json, "%s}},\n", inputs);
    event(it, "cuda_runtime", "cudaLaunchKernel", it->host + 1, 1);
    tp_text_add(&it->json, "\"correlation\": %d}},\n", ++it->correlation);
    if (it->gpu < it->host + 2)
        it->gpu = it->host + 2;
    event(it, "kernel", kernel, it->gpu + gap, us);
    tp_text_add(&it->json,
                "\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n",
                it->correlation);
    it->gpu += gap + us;
    it->host += 4;
}

/* Judges it; the finding of the rule, or NULL. */
static const struct tp_trace_finding *end(struct maker *it,
                                          struct judged_run *run,
                                          const char *rule)
{
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    struct tp_trace *trace = calloc(1, sizeof *trace);
    event(it, "user_annotation", "ProfilerStep#1", 90,
          (it->ahead ? it->host : it->gpu + 5) - 90);
    tp_text_add(&it->json, "}}]}");
    judged_run_clear(run);
    *trace = (struct tp_trace){.path = "made.json", .worker = ""};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(it->json.data, it->json.length, pool,
                                      &trace->events, &err),
                 TP_OK, "%s", err.message);
    tp_pool_free(pool);
    cr_assert_eq(tp_trace_analyse(trace, &run->run.arena, &err), TP_OK);
    run->run.traces = trace;
    run->run.trace_count = run->run.trace_capacity = 1;
    tp_text_clear(&it->json);
    judged_run_finish(run);
    return judged_find(run, rule);
}

#define MM(m, k, n, type)                                                     \
    "\"Input Dims\": [[" #m ", " #k "], [" #k ", " #n "]], \"Input type\": "  \
    "[\"" type "\", \"" type "\"]"
#define ONE(shape, type)                                                      \
    "\"Input Dims\": [" shape ", []], \"Input type\": [\"" type               \
    "\", \"Scalar\"], \"Concrete Inputs\": [\"\", \"-1\"]"

/* 1024^3 in fp32 takes 32 us at 67 TFLOP/s of an H100; here 40. In TF32 it
 * could take 5.4. */
static const struct tp_trace_finding *products(struct judged_run *run,
                                               const char *device,
                                               const char *inputs,
                                               const char *kernel)
{
    struct maker it;
    begin(&it, device);
    for (int i = 0; i < 10; i++)
        op(&it, "aten::mm", inputs, kernel, 40, 0);
    return end(&it, run, "tf32");
}

Test(trace_rule_roof, tf32)
{
    static const char sgemm[] = "ampere_sgemm_128x128_nn";
    static const char fp32[] = MM(1024, 1024, 1024, "float");
    struct judged_run run = {0};
    const struct tp_trace_finding *finding =
        products(&run, "NVIDIA H100 80GB HBM3", fp32, sgemm);
    cr_assert_not_null(finding);
    cr_expect_float_eq(finding->value,
                       100 * 400 * (1 - 66.9 / 494.7) /
                           run.run.traces[0].idle.window_us,
                       1e-6, "%g", finding->value);
    cr_expect(strstr(finding->evidence, "aten::mm (fp32[1024, 1024]"), "%s",
              finding->evidence);
    cr_expect(strstr(run.judged.verdict.sentence,
                     "largest finding: tf32, up to 8"),
              "%s", run.judged.verdict.sentence);
    cr_expect_null(products(&run, "NVIDIA H100 80GB HBM3", fp32,
                            "cutlass_80_tensorop_s1688gemm_128x128"));
    cr_expect_null(strstr(run.judged.verdict.sentence, "largest finding"));
    cr_expect_null(products(&run, "NVIDIA H100 80GB HBM3",
                            MM(1024, 1024, 1024, "c10::BFloat16"),
                            "nvjet_bf16_128x128"));
    cr_expect_null(products(&run, "Tesla V100-SXM2-16GB", fp32, sgemm),
                   "it has no TF32");
    cr_expect_null(products(&run, "Test GPU", fp32, sgemm));
    cr_expect(judged_notes(&run, "is not known"));
    cr_expect_null(products(&run, "Test GPU", "", sgemm));
    cr_expect_not(judged_notes(&run, "is not known"), "nothing to hold");
    /* 64 times the FLOP in the same time: not what the kernels did */
    cr_expect_null(products(&run, "NVIDIA H100 80GB HBM3",
                            MM(4096, 4096, 4096, "float"), sgemm));
    cr_expect(judged_notes(&run, "1 row of /roofline, 0.40 ms, is faster than "
                                 "H100 SXM can be, most aten::mm"));
    cr_expect_not_null(products(&run, "NVIDIA H100 80GB HBM3", fp32, sgemm));
    cr_expect_not(judged_notes(&run, "faster than"));
    /* as many bytes as the memory moves in that time: nothing to win */
    cr_expect_null(products(&run, "NVIDIA H100 80GB HBM3",
                            MM(16, 16, 1000000, "float"), sgemm));
    judged_run_clear(&run);
}

/* Where the host's steps are over long before the GPU's work, shares are of the
 * latter. */
Test(trace_rule_roof, a_host_that_is_ahead)
{
    struct judged_run run = {0};
    struct maker it;
    begin(&it, "NVIDIA H100 80GB HBM3");
    it.ahead = true;
    for (int i = 0; i < 10; i++)
        op(&it, "aten::mm", MM(1024, 1024, 1024, "float"),
           "ampere_sgemm_128x128_nn", 40, 0);
    const struct tp_trace_finding *finding = end(&it, &run, "tf32");
    cr_assert_not_null(finding);
    cr_expect_lt(run.run.traces[0].idle.window_us, 60);
    cr_expect_float_eq(finding->value, 100 * (1 - 66.9 / 494.7), 1e-6, "%g",
                       finding->value);
    judged_run_clear(&run);
}

/* Two products of bf16, one with n as given. */
static const struct tp_trace_finding *sizes(struct judged_run *run,
                                            const char *inputs, double us)
{
    struct maker it;
    begin(&it, "NVIDIA H100 80GB HBM3");
    for (int i = 0; i < 10; i++) {
        op(&it, "aten::mm", MM(4096, 4096, 4096, "c10::BFloat16"), "nvjet_a",
           200, 0); /* 139 at the roof */
        op(&it, "aten::mm", inputs, "cutlass_tensorop_align1", us, 0);
    }
    return end(&it, run, "alignment");
}

Test(trace_rule_roof, alignment)
{
    struct judged_run run = {0};
    const struct tp_trace_finding *finding =
        sizes(&run, MM(4096, 4096, 4095, "c10::BFloat16"), 600);
    cr_assert_not_null(finding);
    /* at the roof 138.88 us; as near as the others 200 */
    const double roof = 2.0 * 4096 * 4096 * 4095 / 989.4e6;
    const double usual = 2.0 * 4096 * 4096 * 4096 / 989.4e6 / 200;
    cr_expect_float_eq(finding->value,
                       100 * 10 * (600 - roof / usual) /
                           run.run.traces[0].idle.window_us,
                       1e-6, "%g", finding->value);
    cr_expect(strstr(finding->evidence, "where n is 4095 and k 4096"), "%s",
              finding->evidence);
    cr_expect_null(sizes(&run, MM(4096, 4096, 4088, "c10::BFloat16"), 600),
                   "a multiple of 8");
    cr_expect_null(sizes(&run, MM(4095, 4096, 4096, "c10::BFloat16"), 600),
                   "rows need none");
    cr_expect_null(sizes(&run, MM(4096, 4096, 4095, "c10::BFloat16"), 205),
                   "no slower than others");
    cr_expect_null(sizes(&run, MM(4096, 4096, 4095, "float"), 600));
    cr_expect_null(sizes(&run, MM(4096, 0, 4095, "c10::BFloat16"), 600));
    judged_run_clear(&run);
}

#define BMM(b, m, k, n)                                                       \
    "\"Input Dims\": [[" #b ", " #m ", " #k "], [" #b ", " #k ", " #n         \
    "]], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"]"

/* bmm, scale, softmax, bmm. */
static const struct tp_trace_finding *attention(struct judged_run *run,
                                                const char *first,
                                                const char *second)
{
    struct maker it;
    begin(&it, "NVIDIA H100 80GB HBM3");
    for (int i = 0; i < 10; i++) {
        op(&it, "aten::bmm", first, "nvjet_a", 100, 0);
        op(&it, "aten::mul", ONE("[32, 1024, 1024]", "c10::BFloat16"), "mul",
           50, 0);
        op(&it, "aten::_softmax", ONE("[32, 1024, 1024]", "c10::BFloat16"),
           "softmax", 80, 0);
        op(&it, "aten::bmm", second, "nvjet_b", 100, 0);
    }
    return end(&it, run, "attention");
}

Test(trace_rule_roof, attention)
{
    struct judged_run run = {0};
    struct maker it;
    const struct tp_trace_finding *finding =
        attention(&run, BMM(32, 1024, 64, 1024), BMM(32, 1024, 1024, 64));
    cr_assert_not_null(finding);
    cr_expect_float_eq(finding->value,
                       100 * 1300 / run.run.traces[0].idle.window_us, 1e-6,
                       "%g", finding->value);
    cr_expect(strstr(finding->evidence, "1.30 ms"), "%s", finding->evidence);
    cr_expect_null(attention(&run, BMM(32, 1024, 64, 1024),
                             BMM(32, 1024, 512, 64)), "not of the scores");
    cr_expect_null(attention(&run, BMM(32, 1024, 2048, 1024),
                             BMM(32, 1024, 1024, 2048)),
                   "scores smaller than what they are made from");
    begin(&it, "NVIDIA H100 80GB HBM3"); /* a classifier */
    for (int i = 0; i < 10; i++) {
        op(&it, "aten::mm", MM(4096, 512, 1024, "c10::BFloat16"), "nvjet", 50,
           0);
        op(&it, "aten::_softmax", ONE("[4096, 1024]", "c10::BFloat16"),
           "softmax", 80, 0);
    }
    cr_expect_null(end(&it, &run, "attention"));
    judged_run_clear(&run);
}

/* Products of odd sizes that a fused attention does without are told with the
 * attention alone; without a softmax between them they are told as odd. */
Test(trace_rule_roof, odd_attention)
{
    for (int softmax = 0; softmax <= 1; softmax++) {
        struct judged_run run = {0};
        struct maker it;
        begin(&it, "NVIDIA H100 80GB HBM3");
        for (int i = 0; i < 10; i++) {
            op(&it, "aten::bmm", BMM(32, 1023, 64, 1023), "nvjet_a", 100, 0);
            if (softmax)
                op(&it, "aten::_softmax",
                   ONE("[32, 1023, 1023]", "c10::BFloat16"), "softmax", 80, 0);
            op(&it, "aten::bmm", BMM(32, 1023, 1023, 64), "nvjet_b", 100, 0);
        }
        const struct tp_trace_finding *finding = end(&it, &run, "attention");
        cr_expect_eq(finding != NULL, softmax);
        cr_expect_eq(judged_find(&run, "alignment") != NULL, !softmax);
        judged_run_clear(&run);
    }
}

/* Scale and mask between the products of an attention are told with it; the
 * same chain without the second product is one to fuse. */
Test(trace_rule_roof, chains_of_scores)
{
    for (int whole = 0; whole <= 1; whole++) {
        struct judged_run run = {0};
        struct maker it;
        begin(&it, "NVIDIA H100 80GB HBM3");
        for (int i = 0; i < 10; i++) {
            op(&it, "aten::bmm", BMM(32, 1024, 64, 1024), "nvjet_a", 100, 0);
            op(&it, "aten::mul", ONE("[32, 1024, 1024]", "c10::BFloat16"),
               "mul", 50, 0);
            op(&it, "aten::add", ONE("[32, 1024, 1024]", "c10::BFloat16"),
               "add", 50, 0);
            op(&it, "aten::_softmax",
               ONE("[32, 1024, 1024]", "c10::BFloat16"), "softmax", 80, 0);
            if (whole)
                op(&it, "aten::bmm", BMM(32, 1024, 1024, 64), "nvjet_b", 100,
                   0);
        }
        const struct tp_trace_finding *finding = end(&it, &run, "attention");
        cr_expect_eq(finding != NULL, whole);
        cr_expect_eq(judged_find(&run, "fusion") != NULL, !whole);
        judged_run_clear(&run);
    }
}

/* Three light kernels one after the other, or with `between`. */
static const struct tp_trace_finding *chain(struct judged_run *run,
                                            const char *second,
                                            const char *inputs)
{
    struct maker it;
    begin(&it, "NVIDIA H100 80GB HBM3");
    for (int i = 0; i < 10; i++) {
        op(&it, "aten::mul", ONE("[1000, 1000]", "float"), "mul", 40, 0);
        op(&it, second, inputs, "second", 40, 0);
        op(&it, "aten::mm", MM(1024, 1024, 1024, "float"), "nvjet", 60, 0);
    }
    return end(&it, run, "fusion");
}

Test(trace_rule_roof, fusion)
{
    struct judged_run run = {0};
    const struct tp_trace_finding *finding =
        chain(&run, "aten::gelu", ONE("[1000, 1000]", "float"));
    cr_assert_not_null(finding);
    cr_expect_float_eq(finding->value,
                       100 * 400 / run.run.traces[0].idle.window_us, 1e-6,
                       "%g", finding->value);
    cr_expect(strstr(finding->evidence, "10 chains") &&
                  strstr(finding->evidence, "aten::mul, aten::gelu, 10 times"),
              "%s", finding->evidence);
    cr_expect_null(chain(&run, "aten::gelu", ONE("[1000, 10]", "float")),
                   "of another size");
    cr_expect_null(chain(&run, "aten::cat", ONE("[1000, 1000]", "float")),
                   "nothing is known of it");
    cr_expect_null(chain(&run, "aten::gelu", ""), "no shapes");
    judged_run_clear(&run);
}

/* A step of an optimizer that launches `kernels` with gaps between. */
static const struct tp_trace_finding *optimizer(struct judged_run *run,
                                                int kernels, double gap,
                                                const char *kernel)
{
    struct maker it;
    begin(&it, "NVIDIA H100 80GB HBM3");
    op(&it, "aten::mm", MM(1024, 1024, 1024, "float"), "nvjet", 1000, 0);
    const double from = it.host;
    for (int i = 0; i < kernels; i++)
        op(&it, "aten::mul_", ONE("[1000]", "float"), kernel, 2, i ? gap : 0);
    event(&it, "user_annotation", "Optimizer.step#AdamW.step", from,
          it.host - from);
    tp_text_add(&it.json, "}},\n");
    return end(&it, run, "optimizer");
}

Test(trace_rule_roof, optimizer)
{
    struct judged_run run = {0};
    const struct tp_trace_finding *finding =
        optimizer(&run, 200, 6, "vectorized_elementwise_kernel");
    cr_assert_not_null(finding);
    cr_expect_float_eq(finding->value,
                       100 * 199 * 6 / run.run.traces[0].idle.window_us, 1e-6,
                       "%g", finding->value);
    cr_expect(strstr(finding->evidence, "AdamW.step launches 200 kernels"),
              "%s", finding->evidence);
    const char *end_of = strstr(finding->evidence, " in 1 step");
    cr_expect(end_of && !end_of[strlen(" in 1 step")], "%s", finding->evidence);
    cr_expect_null(optimizer(&run, 200, 6, "multi_tensor_apply_kernel"));
    cr_expect_null(optimizer(&run, 200, 0, "vectorized_elementwise_kernel"),
                   "without gaps");
    cr_expect_null(optimizer(&run, 20, 60, "vectorized_elementwise_kernel"),
                   "a few");
    judged_run_clear(&run);
}
