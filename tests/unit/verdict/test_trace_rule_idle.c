/* SPDX-License-Identifier: MIT */
/* What is said of a host that the GPU waits for, and of what advice is given,
 * on traces that are made so that it is known. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/support/made_run.h"
#include "verdict/trace_rule_costs.h"

enum { STEPS = 6 };

/* Results that are read through pageable memory: the advice is about reading,
 * and it is given once. */
Test(trace_rule_idle, copies_to_the_host)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < 10; k++) {
            trace_maker_op(&maker, "aten::mm", 20, 300);
            trace_maker_copy_out(&maker, 10, 200);
        }
        trace_maker_step_end(&maker);
    }
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "synchronisation");
    cr_expect(it.run.traces[0].facts.to_host.copies == 10 * STEPS);
    cr_expect_eq(it.run.traces[0].facts.to_device.copies, 0);
    cr_expect(strstr(judged_find(&it, "sync")->suggestion, "less often"));
    cr_expect_null(judged_find(&it, "copies"));
    for (size_t i = 0; i < it.judged.findings.count; i++)
        cr_expect(!strstr(it.judged.findings.rows[i].suggestion, "pin_memory"),
                  "%s", it.judged.findings.rows[i].suggestion);
    judged_run_clear(&it);
}

/* The same copies where the trace does not say which way they go: the advice
 * is for either way, and nobody is told that this happens once. */
Test(trace_rule_idle, copies_that_go_nobody_knows_where)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < 10; k++) {
            trace_maker_op(&maker, "aten::mm", 20, 300);
            trace_maker_copy_out(&maker, 10, 200);
        }
        trace_maker_step_end(&maker);
    }
    char *at = maker.json.data;
    while ((at = strstr(at, "DtoH (Device")))
        memcpy(at, "PtoP (", 6);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    const struct tp_trace_finding *finding = judged_find(&it, "sync");
    cr_assert_not_null(finding);
    cr_expect_eq(tp_trace_worst_sync(&it.run.traces[0])->why, TP_SYNC_COPY);
    cr_expect(strstr(finding->evidence, "copies not known"), "%s",
              finding->evidence);
    cr_expect(strstr(finding->suggestion, "if they read"), "%s",
              finding->suggestion);
    cr_expect(!strstr(finding->evidence, "profiler"), "%s", finding->evidence);
    /* and of no direction they count */
    cr_expect_eq(it.run.traces[0].facts.to_device.copies, 0);
    cr_expect_eq(it.run.traces[0].facts.to_host.copies, 0);
    judged_run_clear(&it);
}
