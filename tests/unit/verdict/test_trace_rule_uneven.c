/* SPDX-License-Identifier: MIT */
/* Steps that take longer than most, of known causes, and steps that do not. */
#include <criterion/criterion.h>

#include "tests/unit/support/made_run.h"

enum { STEPS = 12 };

/* What makes a step longer. */
enum extra { NOTHING, KERNELS, PYTHON, OPERATOR, LOADER };

static void add_extra(struct trace_maker *maker, enum extra extra, double us)
{
    if (extra == KERNELS)
        trace_maker_op(maker, "aten::mm", 20, us);
    if (extra == PYTHON)
        trace_maker_python(maker, us);
    if (extra == OPERATOR)
        trace_maker_op(maker, "aten::unique", us, 10);
    if (extra == LOADER)
        trace_maker_loader(maker, us, true);
}

/* Steps of 4 ms, those of `slow` (a bit each) longer by `us`. */
static const struct tp_trace_finding *judge(struct judged_run *it,
                                            unsigned slow, enum extra extra,
                                            double us)
{
    struct trace_maker maker;
    judged_run_clear(it);
    trace_maker_begin(&maker, -1, 0);
    for (unsigned i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        if (slow >> i & 1)
            add_extra(&maker, extra, us);
        for (int k = 0; k < 10; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400);
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    made_run_add(it, &maker, "made.json");
    judged_run_finish(it);
    return judged_find(it, "uneven_steps");
}

Test(trace_rule_uneven, causes)
{
    static const struct {
        enum extra extra;
        const char *part, *advice;
    } cases[] = {
        {KERNELS, "is in kernels", "other shapes"},
        {PYTHON, "nothing recorded", "garbage collection"},
        {OPERATOR, "operators on the host", "evaluation"},
        {LOADER, "the DataLoader", "num_workers"},
    };
    struct judged_run it = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tp_trace_finding *finding =
            judge(&it, 1u << 5, cases[i].extra, 8000);
        cr_assert_not_null(finding, "%zu", i);
        cr_expect_eq(finding->step, 5);
        cr_expect_float_eq(finding->value, 100 * 8.0 / (11 * 4 + 8), 0.5, "%g",
                           finding->value);
        cr_expect(strstr(finding->evidence, "1 of 11 steps (step 5) takes"),
                  "%s", finding->evidence);
        cr_expect(strstr(finding->evidence, cases[i].part), "%s",
                  finding->evidence);
        cr_expect(strstr(finding->suggestion, cases[i].advice), "%s",
                  finding->suggestion);
        cr_expect_null(strstr(finding->suggestion, "accumulation"));
    }
    judged_run_clear(&it);
}

/* The mean of all steps shows them, that of the typical ones does not. */
Test(trace_rule_uneven, means)
{
    struct judged_run it = {0};
    cr_assert_not_null(judge(&it, 1u << 5, PYTHON, 8000));
    const struct tp_trace_means means = tp_trace_step_means(it.run.traces, 1);
    cr_expect_eq(means.steps, 11);
    cr_expect_eq(means.all_steps, 12);
    cr_expect_float_eq(means.all_steps_s * 12 - means.step_s * 11, 0.012,
                       1e-4, "%g %g", means.all_steps_s, means.step_s);
    judged_run_clear(&it);
}

/* Every fourth step is that of the optimizer, perhaps; others are none. */
Test(trace_rule_uneven, regular_ones)
{
    struct judged_run it = {0};
    const struct tp_trace_finding *finding = judge(&it, 0x888, KERNELS, 4000);
    cr_assert_not_null(finding);
    cr_expect(strstr(finding->evidence, "from step 3 on every 4 steps"), "%s",
              finding->evidence);
    cr_expect(strstr(finding->suggestion, "gradient accumulation"), "%s",
              finding->suggestion);
    cr_expect_eq(finding->step, -1);
    finding = judge(&it, 0x848, KERNELS, 4000);
    cr_assert_not_null(finding);
    cr_expect(strstr(finding->evidence, "the first is 3, the last 11"), "%s",
              finding->evidence);
    cr_expect_null(strstr(finding->suggestion, "gradient accumulation"));
    judged_run_clear(&it);
}

/* A slow first step warms up; 1.3 medians are little; one step of a little
 * more than 1.5 medians costs little. */
Test(trace_rule_uneven, healthy_ones)
{
    struct judged_run it = {0};
    cr_expect_null(judge(&it, 0, NOTHING, 0));
    cr_expect_null(judge(&it, 1, KERNELS, 3000));
    cr_expect_null(judge(&it, 0x888, PYTHON, 1300));
    cr_expect_null(judge(&it, 1u << 5, PYTHON, 2500));
    judged_run_clear(&it);
}

/* Steps that wait for Python, a quarter of them for much longer: that is the
 * headline, and the finding that is first. Where a quarter computes for longer
 * that is beside the headline, as less is lost by it; a quarter that is a
 * little longer is not named, nor is it where all wait as long. */
Test(trace_rule_uneven, headline)
{
    static const struct {
        double python, kernels, others;
        const char *verdict;
        bool found, beside;
    } cases[] = {
        {30000, 0, 0, "uneven steps", true, false},
        {0, 9000, 0, "host-bound", true, true},
        {3000, 0, 0, "host-bound", false, false},
        {30000, 0, 30000, "host-bound", false, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 900);
            if (i % 4 == 3)
                trace_maker_op(&maker, "aten::mm", 20, cases[k].kernels);
            trace_maker_synchronize(&maker);
            trace_maker_python(&maker, 3000);
            trace_maker_python(&maker, i % 4 == 3 ? cases[k].python
                                                  : cases[k].others);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *uneven =
            judged_find(&it, "uneven_steps");
        const char *sentence = it.judged.verdict.sentence;
        cr_expect_str_eq(judged_verdict(&it), cases[k].verdict, "%s", sentence);
        cr_expect_eq(uneven && uneven->level == TP_SEVERITY_HIGH,
                     cases[k].found);
        cr_expect_eq(strstr(sentence, "steps take much longer") != NULL,
                     cases[k].beside, "%s", sentence);
        cr_expect_eq(uneven == &it.judged.findings.rows[0],
                     cases[k].found && !cases[k].beside);
        cr_expect_eq(strstr(sentence, "over all steps (host-bound): the GPU") !=
                         NULL,
                     cases[k].found && !cases[k].beside, "%s", sentence);
        judged_run_clear(&it);
    }
}

/* Python of slow steps is named where it is most of what is lost, and frames
 * were recorded; not where another function takes more in all steps. */
Test(trace_rule_uneven, python_by_name)
{
    static const struct {
        bool frames;
        double others;
        const char *named, *advice;
    } cases[] = {
        {true, 0, "idle in gc.py(3): collect (3 calls)", NULL},
        {false, 0, NULL, "with_stack=True"},
        {true, 9000, NULL, NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 3000);
            trace_maker_synchronize(&maker);
            double begun = trace_maker_frame_begin(&maker);
            trace_maker_python(&maker, cases[k].others);
            if (cases[k].frames && cases[k].others > 0)
                trace_maker_frame_end(&maker, "train.py(7): log", begun);
            begun = trace_maker_frame_begin(&maker);
            trace_maker_python(&maker, i % 4 == 3 ? 12000 : 0);
            if (cases[k].frames && i % 4 == 3)
                trace_maker_frame_end(&maker, "gc.py(3): collect", begun);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *found = judged_find(&it, "uneven_steps");
        cr_assert_not_null(found, "%zu", k);
        cr_expect_eq(strstr(found->evidence, ".py(") != NULL,
                     cases[k].named != NULL, "%s", found->evidence);
        if (cases[k].named)
            cr_expect(strstr(found->evidence, cases[k].named), "%s",
                      found->evidence);
        cr_expect_eq(strstr(found->suggestion, "with_stack=True") != NULL,
                     cases[k].advice != NULL, "%s", found->suggestion);
        judged_run_clear(&it);
    }
}
