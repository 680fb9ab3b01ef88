/* SPDX-License-Identifier: MIT */
/* What limits training without a GPU, on traces that are made so that it is
 * known: each cause, and the same without it. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/support/made_run.h"

enum { STEPS = 6 };

struct recipe {
    int tiny;              /* operators of 4 us, 2 us of Python after each */
    double large_us;       /* one operator                                 */
    double python_us, loader_us;
    int temporaries;       /* of 4 MB, 300 us each                         */
    bool kept;             /* they are given back after the step           */
};

static void make(struct judged_run *it, const struct recipe *how)
{
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    maker.memory = maker.on_host = true;
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        if (how->loader_us > 0)
            trace_maker_loader(&maker, how->loader_us, true);
        for (int k = 0; k < how->tiny; k++) {
            trace_maker_host_op(&maker, "aten::sin", 4);
            trace_maker_python(&maker, 2);
        }
        trace_maker_host_op(&maker, "aten::mm", how->large_us);
        for (int k = 0; k < how->temporaries; k++) {
            trace_maker_allocate(&maker, 4 << 20, 5, 0);
            trace_maker_host_op(&maker, "aten::fill_", 295);
            if (!how->kept)
                trace_maker_free(&maker, 4 << 20);
        }
        trace_maker_python(&maker, how->python_us);
        for (int k = 0; k < how->temporaries && how->kept; k++) {
            trace_maker_free(&maker, 4 << 20);
            maker.address--;
        }
        maker.address += how->kept ? (uint64_t)how->temporaries : 0;
        trace_maker_step_end(&maker);
    }
    made_run_add(it, &maker, "made.json");
    judged_run_finish(it);
}

/* Of 500 operators of 4 us, and of the same beside a large one or in a step
 * that is mostly Python. */
Test(trace_rule_host, tiny_operators)
{
    static const struct {
        struct recipe how;
        const char *verdict, *scenario;
    } cases[] = {
        {{.tiny = 500, .large_us = 100}, "tiny operators", "tiny_ops"},
        {{.tiny = 500, .large_us = 9000}, "CPU-bound", "cpu_bound"},
        {{.tiny = 500, .large_us = 100, .python_us = 9000},
         "host-bound", "host_bound"},
        {{.tiny = 20, .large_us = 10}, "CPU-bound", "cpu_bound"}, /* too few */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judged_run it = {0};
        make(&it, &cases[i].how);
        cr_expect_str_eq(judged_verdict(&it), cases[i].verdict, "%zu: %s", i,
                         it.judged.verdict.sentence);
        cr_expect_str_eq(it.judged.verdict.scenario, cases[i].scenario);
        const struct tp_trace_finding *finding =
            judged_find(&it, "tiny_operators");
        cr_expect_eq(finding != NULL, i == 0);
        if (finding) {
            cr_expect_eq(finding->level, TP_SEVERITY_HIGH);
            cr_expect_float_eq(finding->value, 100 * 2000. / 3102, 1);
            cr_expect(strstr(finding->evidence, "aten::sin (500 a step)"),
                      "%s", finding->evidence);
        }
        judged_run_clear(&it);
    }
}

/* Of two causes the one that takes more is the headline. */
Test(trace_rule_host, tiny_operators_or_the_loader)
{
    static const double loader_us[] = {2500, 1200};
    for (int i = 0; i < 2; i++) {
        struct judged_run it = {0};
        const struct recipe how = {
            .tiny = 500, .large_us = 100, .loader_us = 2 * loader_us[i] - 900};
        make(&it, &how);
        cr_expect_str_eq(judged_verdict(&it),
                         i == 0 ? "data loading" : "tiny operators", "%s",
                         it.judged.verdict.sentence);
        cr_expect_not_null(judged_find(&it, "tiny_operators"));
        judged_run_clear(&it);
    }
}

/* --- what the time goes to ------------------------------------------------ */

/* A step of a product, a collective on a thread of its own that begins
 * `before_us` before the product does, and Python behind both. */
struct shares {
    double product_us, collective_us, before_us, python_us;
    const char *verdict;
    double share; /* of the finding of the verdict, %                       */
};

static void make_shares(struct judged_run *it, const struct shares *how)
{
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        const double begin = maker.host;
        double end = begin;
        if (how->collective_us > 0) {
            maker.thread = 7;
            trace_maker_host_op(&maker, "gloo:all_reduce", how->collective_us);
            end = maker.host;
            maker.thread = 0;
            maker.host = begin + how->before_us;
        }
        trace_maker_host_op(&maker, "aten::addmm", how->product_us);
        if (maker.host < end)
            maker.host = end;
        trace_maker_python(&maker, how->python_us);
        trace_maker_step_end(&maker);
    }
    made_run_add(it, &maker, "made.json");
    judged_run_finish(it);
}

/* A collective beside operators costs nothing, one that nothing runs beside
 * does; products alone are CPU-bound; what no event is of is Python's; and
 * where nothing stands out, nothing is blamed. */
Test(trace_rule_host, what_takes_the_time)
{
    static const struct shares cases[] = {
        {2000, 8000, 8000, 0, "communication", 80},
        {8000, 7000, 0, 1000, "CPU-bound", 89},
        {2000, 0, 0, 8000, "host-bound", 80},
        {5500, 0, 0, 3500, "CPU-bound", 61},
        {5500, 5900, 0, 3500, "CPU only", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judged_run it = {0};
        make_shares(&it, &cases[i]);
        cr_expect_str_eq(judged_verdict(&it), cases[i].verdict, "%zu: %s", i,
                         it.judged.verdict.sentence);
        const struct tp_trace_finding *finding = judged_find(&it, "cpu_time");
        cr_expect_eq(finding != NULL, cases[i].share > 0, "%zu", i);
        if (finding) {
            cr_expect_float_eq(finding->value, cases[i].share, 1.5, "%zu: %g",
                               i, finding->value);
            cr_expect_eq(finding->level, i == 1 || i == 3 ? TP_SEVERITY_LOW
                                                          : TP_SEVERITY_HIGH);
            if (i == 0)
                cr_expect(strstr(finding->evidence,
                                 "gloo:all_reduce (6 calls, 8.00 ms each)"),
                          "%s", finding->evidence);
            if (i == 1)
                cr_expect(strstr(finding->evidence, "aten::addmm has 100.0 %"),
                          "%s", finding->evidence);
        }
        judged_run_clear(&it);
    }
}

/* An optimizer that takes 60 % of a step is named, with what to do about it;
 * not one that takes 10 %, nor the same operators elsewhere. One that is fused
 * is named without that. */
Test(trace_rule_host, optimizer)
{
    static const struct {
        double us;
        const char *range, *op;
        bool named, fused;
    } cases[] = {
        {6000, "Optimizer.step#Adam.step", "aten::mul_", true, false},
        {6000, "Optimizer.step#Adam.step", "aten::_fused_adam_", true, true},
        {400, "Optimizer.step#Adam.step", "aten::mul_", false, false},
        {6000, "validation", "aten::mul_", false, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_host_op(&maker, "aten::mm", 4000);
            const double begun = maker.host;
            trace_maker_host_op(&maker, cases[k].op, cases[k].us);
            trace_maker_range(&maker, cases[k].range, begun);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *finding = judged_find(&it, "cpu_time");
        cr_expect_str_eq(judged_verdict(&it), "CPU-bound");
        cr_expect_eq(strstr(it.judged.verdict.sentence,
                            "Optimizer.step#Adam.step takes 60.0 %") != NULL,
                     cases[k].named, "%s", it.judged.verdict.sentence);
        cr_assert_not_null(finding);
        cr_expect_eq(strstr(finding->suggestion, "fused=True") != NULL,
                     cases[k].named && !cases[k].fused, "%s",
                     finding->suggestion);
        judged_run_clear(&it);
    }
}

/* Python that takes most of a step is named where frames tell it, and none
 * where operators take as long inside of the same function. */
Test(trace_rule_host, python)
{
    for (int frames = 0; frames <= 2; frames++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            const double begun = trace_maker_frame_begin(&maker);
            if (frames < 2)
                trace_maker_python(&maker, 6000);
            else
                trace_maker_host_op(&maker, "aten::mm", 6000);
            if (frames)
                trace_maker_frame_end(&maker, "data.py(30): tokenize", begun);
            trace_maker_host_op(&maker, "aten::mm", 2000);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *finding = judged_find(&it, "cpu_time");
        cr_expect_str_eq(judged_verdict(&it),
                         frames < 2 ? "host-bound" : "CPU-bound");
        cr_assert_not_null(finding);
        cr_expect_eq(strstr(finding->evidence, "36.00 ms in data.py(30): "
                                               "tokenize (6 calls)") != NULL,
                     frames == 1, "%s", finding->evidence);
        cr_expect_eq(strstr(it.judged.verdict.sentence,
                            "within data.py(30): tokenize") != NULL,
                     frames == 1, "%s", it.judged.verdict.sentence);
        judged_run_clear(&it);
    }
}

/* Whatever gloo does is communication; a range of the program is not. */
Test(trace_rule_host, kinds_of_collectives)
{
    static const char *const names[] = {"gloo:all_to_all", "mpi:barrier",
                                        "metrics:all_to_all"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_host_op(&maker, "aten::mm", 2000);
            const double begun = maker.host;
            trace_maker_python(&maker, 6000);
            trace_maker_range(&maker, names[k], begun);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_str_eq(judged_verdict(&it),
                         k < 2 ? "communication" : "host-bound", "%s",
                         it.judged.verdict.sentence);
        judged_run_clear(&it);
    }
}

/* 30 tensors of 4 MB made one after the other, or kept as activations are, or
 * beside much else: only the first is churn, and it is no verdict. */
Test(trace_rule_host, churn)
{
    static const struct recipe cases[] = {
        {.temporaries = 30, .large_us = 1000},
        {.temporaries = 30, .large_us = 1000, .kept = true},
        {.temporaries = 30, .large_us = 400000},
    };
    for (int i = 0; i < 3; i++) {
        struct judged_run it = {0};
        make(&it, &cases[i]);
        cr_expect_str_eq(judged_verdict(&it), "CPU-bound");
        const struct tp_trace_finding *finding = judged_find(&it, "host_churn");
        cr_expect_eq(finding != NULL, i == 0, "%d", i);
        cr_expect_str_eq(it.judged.verdict.scenario,
                         i == 0 ? "memory_churn" : "cpu_bound");
        cr_expect_eq(strstr(it.judged.verdict.sentence, "part of that may be "
                                                        "memory") != NULL,
                     i == 0, "%s", it.judged.verdict.sentence);
        if (finding) {
            cr_expect(strstr(finding->evidence, "30 allocations a step"), "%s",
                      finding->evidence);
            cr_expect_float_eq(finding->value, 30 * 4.194304 / 10.007, 0.2,
                               "%g", finding->value);
        }
        judged_run_clear(&it);
    }
}

/* Ranks that compute on the host: rank `late` does other things for `us` before
 * its collective, in which the others are meanwhile; -1: none. */
static void make_ranks(struct judged_run *it, int late, double us)
{
    for (int rank = 0; rank < 3; rank++) {
        struct trace_maker maker;
        trace_maker_begin(&maker, rank, 3);
        for (int i = 0; i < 5; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_host_op(&maker, "aten::mm", 10000);
            trace_maker_python(&maker, rank == late ? us : 0);
            trace_maker_host_op(&maker, "gloo:all_reduce",
                                2000 + (rank == late ? 0 : us));
            trace_maker_step_end(&maker);
        }
        made_run_add(it, &maker, rank == 0   ? "rank0.json"
                                 : rank == 1 ? "rank1.json"
                                             : "rank2.json");
    }
    judged_run_finish(it);
}

Test(trace_rule_host, a_rank_that_the_others_wait_for)
{
    struct judged_run it = {0};
    make_ranks(&it, 1, 8000);
    const struct tp_trace_finding *finding = judged_find(&it, "straggler");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->rank, 1);
    cr_expect_eq(finding->level, TP_SEVERITY_MEDIUM);
    cr_expect_float_eq(finding->value, 40, 0.5, "%g", finding->value);
    cr_expect(strstr(finding->evidence,
                     "rank 1 spends 2.00 ms of a step in collectives, every "
                     "other rank 10.00 ms or more"),
              "%s", finding->evidence);
    judged_run_clear(&it);
    make_ranks(&it, 1, 1000); /* 7.7 % of a step */
    cr_expect_null(judged_find(&it, "straggler"));
    judged_run_clear(&it);
    make_ranks(&it, -1, 8000); /* all are as long in theirs */
    cr_expect_null(judged_find(&it, "straggler"));
    judged_run_clear(&it);
}
