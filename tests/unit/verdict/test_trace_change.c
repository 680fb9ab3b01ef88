/* SPDX-License-Identifier: MIT */
/* What got slower, of comparisons made by hand: each finding, and the same
 * without its cause. */
#include "verdict/trace_change.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { STEPS = 8, NAMES = 4 };

/* Two runs of steps of about 100 ms, and what they spend on some names. */
struct pair {
    struct tp_step_row steps[2][STEPS];
    struct tp_trace traces[2];
    struct tp_trace_run runs[2];
    struct tp_named_row names[NAMES];
    struct tp_trace_comparison compared;
    struct tp_trace_changes changes;
};

/* Steps of 100 ms before and of as much and `longer` ms after, which are off by
 * `scatter` ms in turn. */
static void fill(struct pair *pair, int64_t count, double longer,
                 double scatter)
{
    *pair = (struct pair){.compared = {.why_per = "step"}};
    for (int side = 0; side < 2; side++) {
        struct tp_trace *trace = &pair->traces[side];
        for (int64_t i = 0; i < count; i++)
            pair->steps[side][i] = (struct tp_step_row){
                .step = i,
                .typical = 1,
                .host_us = 1e3 * (100 + (side ? longer : 0) +
                                  (i % 2 ? scatter : -scatter))};
        trace->steps.rows = pair->steps[side];
        trace->steps.count = (size_t)count;
        trace->facts.device_events = 1;
        pair->runs[side].traces = trace;
        pair->runs[side].trace_count = 1;
    }
    pair->compared.why_base_us = 100e3;
    pair->compared.why_test_us = 100e3 + 1e3 * longer;
    pair->compared.why_base_count = pair->compared.why_test_count =
        (double)count;
    pair->compared.named.rows = pair->names;
}

/* A name with so many ms of a step before and after, once each. */
static void add_name(struct pair *pair, enum tp_spent what, const char *name,
                     double before, double after)
{
    const struct tp_named_row row = {.what = what,
                                     .name = name,
                                     .base_name = "",
                                     .before = "",
                                     .path = "aten::outer > aten::inner",
                                     .base_per_step = before > 0,
                                     .test_per_step = after > 0,
                                     .base_us = 1e3 * before,
                                     .test_us = 1e3 * after,
                                     .change_us = 1e3 * (after - before),
                                     .base_spread = 100,
                                     .test_spread = 100};
    pair->names[pair->compared.named.count++] = row;
}

/* What launches the last name: ms of the device, and how often it runs. */
static void add_launcher(struct pair *pair, double before, double after,
                         double runs_before, double runs_after)
{
    pair->names[pair->compared.named.count - 1].launchers =
        (struct tp_launchers){.count = 1,
                              .base_us = 1e3 * before,
                              .test_us = 1e3 * after,
                              .base_spread = 100,
                              .test_spread = 100,
                              .base_per_step = runs_before,
                              .test_per_step = runs_after};
}

static const struct tp_trace_change *judge(struct pair *pair, size_t count)
{
    cr_assert_eq(tp_trace_changes_make(&pair->runs[0], &pair->runs[1],
                                       &pair->compared, &pair->changes, NULL),
                 TP_OK);
    cr_assert_eq(pair->changes.findings.count, count, "%zu findings",
                 pair->changes.findings.count);
    return pair->changes.findings.rows;
}

static void expect(const struct tp_trace_change *finding, const char *rule,
                   enum tp_severity level, const char *words)
{
    cr_expect_str_eq(finding->rule->id, rule);
    cr_expect_eq(finding->level, level, "%s", finding->evidence);
    cr_expect(strstr(finding->evidence, words), "%s", finding->evidence);
    cr_expect(*finding->suggestion);
}

Test(trace_change, a_slower_kernel_and_its_step)
{
    struct pair pair;
    fill(&pair, STEPS, 12, 1);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 32);
    const struct tp_trace_change *found = judge(&pair, 2);
    expect(&found[0], "slower_step", TP_SEVERITY_HIGH,
           "112.000 ms of a step instead of 100.000: +12.000, 12 % of the step "
           "before; from step to step it scatters by 1.07 ms before");
    expect(&found[1], "slower_kernel", TP_SEVERITY_HIGH,
           "gemm takes 32.000 ms of a step instead of 20.000: +12.000");
    cr_expect(strstr(pair.changes.scatter, "is beyond that"));
    tp_trace_changes_clear(&pair.changes);
}

/* The same change of the step and of the kernel, of steps that scatter by as
 * much. */
Test(trace_change, within_the_spread_of_steps_nothing_is_slower)
{
    struct pair pair;
    fill(&pair, STEPS, 12, 8);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 32);
    pair.names[0].test_spread = 8e3;
    judge(&pair, 0);
    cr_expect(strstr(pair.changes.scatter, "may be chance"));
    tp_trace_changes_clear(&pair.changes);
}

/* Beyond twice their spread, but of two steps a side, which chance puts so far
 * apart once in ten times. */
Test(trace_change, two_steps_have_to_be_far_apart)
{
    struct pair pair;
    fill(&pair, 2, 12, 1);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 32);
    pair.names[0].test_spread = 2e3;
    judge(&pair, 0);
    tp_trace_changes_clear(&pair.changes);
    fill(&pair, 2, 12, 0.1);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 32);
    judge(&pair, 2);
    tp_trace_changes_clear(&pair.changes);
}

Test(trace_change, one_step_a_side_tells_nothing)
{
    struct pair pair;
    fill(&pair, 1, 50, 0);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 70);
    pair.names[0].base_spread = pair.names[0].test_spread = NAN;
    judge(&pair, 0);
    cr_expect(strstr(pair.changes.scatter, "of 1 step before and 1 after"),
              "%s", pair.changes.scatter);
    tp_trace_changes_clear(&pair.changes);
}

/* Less than a hundredth of a step, however sure. */
Test(trace_change, what_is_small_is_not_told)
{
    struct pair pair;
    fill(&pair, STEPS, 0.9, 0);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 20.9);
    judge(&pair, 0);
    tp_trace_changes_clear(&pair.changes);
}

Test(trace_change, a_longer_wait_names_what_makes_the_host_wait)
{
    struct pair pair;
    fill(&pair, STEPS, 6, 0.1);
    add_name(&pair, TP_SPENT_WAIT, "cudaStreamSynchronize", 1, 7);
    add_name(&pair, TP_SPENT_HOST, "aten::mul", 7, 7);
    const struct tp_trace_change *found = judge(&pair, 2);
    expect(&found[1], "slower_host", TP_SEVERITY_MEDIUM,
           "the host waits in cudaStreamSynchronize, with the device idle, for "
           "7.000 ms");
    cr_expect(strstr(found[1].suggestion, ".item()"));
    tp_trace_changes_clear(&pair.changes);
}

/* In a step that got faster what is slower is worth knowing, no more. */
Test(trace_change, in_a_faster_step_all_is_low)
{
    struct pair pair;
    fill(&pair, STEPS, -20, 0.1);
    add_name(&pair, TP_SPENT_GAP, "aten::mul", 1, 13);
    add_name(&pair, TP_SPENT_DEVICE, "gemm", 60, 28);
    pair.names[0].before = "aten::add";
    const struct tp_trace_change *found = judge(&pair, 1);
    expect(&found[0], "longer_gap", TP_SEVERITY_LOW,
           "nothing is recorded between aten::add and aten::mul, with the "
           "device idle, for 13.000 ms");
    cr_expect(strstr(found[0].suggestion, "with_stack"));
    tp_trace_changes_clear(&pair.changes);
}

/* Another kernel for the same product is no new work, unless it costs more. */
Test(trace_change, what_replaced_something_is_held_against_it)
{
    for (int dearer = 0; dearer < 2; dearer++) {
        struct pair pair;
        fill(&pair, STEPS, 15 * dearer, 0.1);
        add_name(&pair, TP_SPENT_DEVICE, "gemm_b", 0, 30 + 15 * dearer);
        add_name(&pair, TP_SPENT_DEVICE, "gemm_a", 30, 0);
        const struct tp_trace_change *found = judge(&pair, 2 * (size_t)dearer);
        if (dearer)
            expect(&found[1], "new_work", TP_SEVERITY_HIGH,
                   "45.000 ms of a step instead of 30.000: +15.000, 15 % of "
                   "the step before; 1 new, the largest gemm_b with 45.000 ms; "
                   "1 gone, the largest gemm_a with 30.000 ms");
        tp_trace_changes_clear(&pair.changes);
    }
}

Test(trace_change, more_calls_are_told_from_slower_ones)
{
    struct pair pair;
    fill(&pair, STEPS, 10, 0.1);
    add_name(&pair, TP_SPENT_DEVICE, "add", 10, 20);
    add_launcher(&pair, 10, 20, 1, 2);
    pair.names[0].test_per_step = 2;
    const struct tp_trace_change *found = judge(&pair, 2);
    cr_expect(strstr(found[1].evidence, "2 times a step instead of 1"));
    cr_expect(strstr(found[1].suggestion, "more often"));
    tp_trace_changes_clear(&pair.changes);
    fill(&pair, STEPS, 10, 0.1);
    add_name(&pair, TP_SPENT_DEVICE, "add", 10, 20);
    found = judge(&pair, 2);
    cr_expect(strstr(found[1].suggestion, "shapes and types"));
    tp_trace_changes_clear(&pair.changes);
}

/* A kernel that runs more often, of operators that run as often as before:
 * where the device does no more for them it took the place of another. */
Test(trace_change, another_kernel_is_told_from_more_calls)
{
    for (int dearer = 0; dearer < 2; dearer++) {
        struct pair pair;
        fill(&pair, STEPS, 10, 0.1);
        add_name(&pair, TP_SPENT_DEVICE, "split", 2, 14);
        pair.names[0].test_per_step = 12;
        add_launcher(&pair, 24, dearer ? 36 : 24.2, 53, 53);
        const struct tp_trace_change *found =
            judge(&pair, 1 + (size_t)dearer);
        if (dearer) {
            expect(&found[1], "slower_kernel", TP_SEVERITY_HIGH,
                   "the device takes 36.000 ms instead of 24.000 for what "
                   "launches it, which runs 53 times a step instead of 53");
            cr_expect(strstr(found[1].suggestion, "another kernel is chosen"));
            cr_expect(!strstr(found[1].suggestion, "calls it more often"));
        }
        tp_trace_changes_clear(&pair.changes);
    }
}

/* What launches it is not known: no more is said of that. */
Test(trace_change, more_often_of_unknown_operators)
{
    struct pair pair;
    fill(&pair, STEPS, 10, 0.1);
    add_name(&pair, TP_SPENT_DEVICE, "add", 10, 20);
    pair.names[0].test_per_step = 2;
    const struct tp_trace_change *found = judge(&pair, 2);
    cr_expect(strstr(found[1].suggestion, "where it runs"));
    tp_trace_changes_clear(&pair.changes);
}

/* A new kernel of operators for which the device does no more is no new work
 * either, beside what is. */
Test(trace_change, a_new_kernel_in_the_place_of_another)
{
    for (int dearer = 0; dearer < 2; dearer++) {
        struct pair pair;
        fill(&pair, STEPS, 10, 0.1);
        add_name(&pair, TP_SPENT_DEVICE, "other", 0, 12);
        add_launcher(&pair, 24, 24.1, 53, 53);
        add_name(&pair, TP_SPENT_DEVICE, "more", 0, 10);
        add_launcher(&pair, 0, dearer ? 10 : 0.5, 1, 1);
        const struct tp_trace_change *found =
            judge(&pair, 1 + (size_t)dearer);
        if (dearer)
            expect(&found[1], "new_work", TP_SEVERITY_HIGH,
                   "+10.000, 10 % of the step before; 1 new, the largest more "
                   "with 10.000 ms (and 1 in place of others)");
        tp_trace_changes_clear(&pair.changes);
    }
}

/* A call that did not wait before, and one that did. */
Test(trace_change, a_call_that_waits_now)
{
    for (int waited = 0; waited < 2; waited++) {
        struct pair pair;
        fill(&pair, STEPS, 20, 0.1);
        add_name(&pair, TP_SPENT_WAIT, "cudaMemcpyAsync", 1, 21);
        pair.names[0].base_waits = waited;
        pair.names[0].test_per_step = 3;
        const struct tp_trace_change *found = judge(&pair, 2);
        expect(&found[1], "slower_host", TP_SEVERITY_HIGH,
               "the host waits in cudaMemcpyAsync");
        cr_expect_eq(!waited,
                     strstr(found[1].evidence, "it waits now, before it did "
                                               "not") != NULL);
        cr_expect(strstr(found[1].suggestion,
                         waited ? "calls it more often" : "SYNCHRONISATION"));
        tp_trace_changes_clear(&pair.changes);
    }
}

/* What the other run has in another step, or as another kind, is not new. */
Test(trace_change, a_name_of_both_runs_is_not_new)
{
    for (int both = 0; both < 2; both++) {
        struct pair pair;
        struct tp_compare_row op = {
            .name = "aten::item", .base_count = both, .test_count = 1};
        fill(&pair, STEPS, 20, 0.1);
        add_name(&pair, TP_SPENT_HOST, "aten::item", 0, 20);
        pair.compared.ops.rows = &op;
        pair.compared.ops.count = 1;
        const struct tp_trace_change *found = judge(&pair, 2);
        cr_expect_str_eq(found[1].rule->id, both ? "slower_host" : "new_work");
        tp_trace_changes_clear(&pair.changes);
    }
}

/* A gap is new by both its ends, which are not new for that. */
Test(trace_change, a_new_gap_has_both_ends)
{
    struct pair pair;
    fill(&pair, STEPS, 20, 0.1);
    add_name(&pair, TP_SPENT_GAP, "aten::mul", 0, 20);
    pair.names[0].before = "aten::add";
    const struct tp_trace_change *found = judge(&pair, 2);
    expect(&found[1], "new_work", TP_SEVERITY_HIGH,
           "1 new, the largest the gap between aten::add and aten::mul with");
    tp_trace_changes_clear(&pair.changes);
}

/* Names that are judged as one are both told. */
Test(trace_change, the_old_name_is_told)
{
    for (int renamed = 0; renamed < 2; renamed++) {
        struct pair pair;
        fill(&pair, STEPS, 20, 0.1);
        add_name(&pair, TP_SPENT_HOST, "enumerate(DataLoader)#a", 1, 21);
        pair.names[0].base_name = renamed ? "enumerate(DataLoader)#b" : "";
        const struct tp_trace_change *found = judge(&pair, 2);
        cr_expect_eq(renamed, strstr(found[1].evidence,
                                     "#a (before: enumerate(DataLoader)#b), "
                                     "with") != NULL);
        tp_trace_changes_clear(&pair.changes);
    }
}

/* A severe finding, of a step that scatters so much that it may be as long as
 * before, and of one that does not. */
Test(trace_change, a_severe_finding_in_a_step_that_may_be_chance)
{
    for (int chance = 0; chance < 2; chance++) {
        struct pair pair;
        fill(&pair, STEPS, 20, chance ? 30 : 0.1);
        add_name(&pair, TP_SPENT_DEVICE, "gemm", 20, 40);
        const struct tp_trace_change *found = judge(&pair, 2 - (size_t)chance);
        expect(&found[!chance], "slower_kernel", TP_SEVERITY_HIGH, "+20.000");
        cr_expect_eq(chance, strstr(found[!chance].evidence,
                                    "the step as a whole may be chance, this "
                                    "one is beyond that") != NULL);
        tp_trace_changes_clear(&pair.changes);
    }
}
