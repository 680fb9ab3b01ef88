/* SPDX-License-Identifier: MIT */
/* Slow links and slow ranks: the case, and the same without it. */
#include "tests/unit/support/comm_traces.h"

/* Four groups of two ranks each reduce 4 MB four times; those of the group of
 * rank 2 take `slow` times as long, rank `late` begins its own 100 us late. */
static void make(struct judged_run *it, double slow, int late, bool steps)
{
    static const char *const groups[] = {"[0, 4]", "[1, 5]", "[2, 6]",
                                         "[3, 7]"};
    for (int rank = 0; rank < 8; rank++) {
        struct comm_call calls[4];
        const bool waits = late >= 0 && rank % 4 == late % 4;
        for (int i = 0; i < 4; i++) {
            const double us = rank % 4 == 2 ? 40 * slow : 40;
            const double from = 250 * i + 20, end = from + us + 100 * waits;
            const double at = rank == late ? from + 100 : from;
            calls[i] = (struct comm_call){"allreduce", groups[rank % 4], i,
                                          1000000, at, end - at};
        }
        comm_add_rank(it, rank, 0, steps ? 1000 : 0, calls, 4);
    }
    judged_run_finish(it);
}

Test(trace_rule_link, slow_link)
{
    struct judged_run it = {0};
    make(&it, 3, -1, true);
    const struct tp_trace_finding *found = judged_find(&it, "slow_link");
    cr_assert(found);
    cr_expect(strstr(found->evidence,
                     "allreduce of 4 MB takes 120.0 us among the ranks "
                     "[2, 6]"),
              "%s", found->evidence);
    cr_expect(strstr(found->evidence, "40.0 us in the median of the 3 other "
                                      "groups"),
              "%s", found->evidence);
    cr_expect(strstr(found->evidence, "33.3 against 100 GB/s"), "%s",
              found->evidence);
    cr_expect_float_eq(found->value, 200, 1e-6);
    judged_run_clear(&it);
}

Test(trace_rule_link, equal_links_are_no_finding)
{
    struct judged_run it = {0};
    make(&it, 1.2, -1, true);
    cr_expect_null(judged_find(&it, "slow_link"));
    cr_expect_null(judged_find(&it, "slow_rank"));
    judged_run_clear(&it);
}

/* Who waits for a late rank has long kernels and no slow link. */
Test(trace_rule_link, a_late_rank_is_no_slow_link)
{
    struct judged_run it = {0};
    make(&it, 1, 6, true);
    cr_expect_null(judged_find(&it, "slow_link"));
    judged_run_clear(&it);
}

/* Two groups cannot tell which of them is the slow one. */
Test(trace_rule_link, two_groups_say_nothing)
{
    struct judged_run it = {0};
    for (int rank = 0; rank < 4; rank++) {
        const struct comm_call call = {"allreduce",
                                       rank < 2 ? "[0, 1]" : "[2, 3]", 1,
                                       1000000, 100, rank < 2 ? 40 : 400};
        comm_add_rank(&it, rank, 0, 1000, &call, 1);
    }
    judged_run_finish(&it);
    cr_expect_null(judged_find(&it, "slow_link"));
    judged_run_clear(&it);
}

/* Groups that lie otherwise in the order of ranks may cross nodes. */
Test(trace_rule_link, other_spacing_is_not_like)
{
    static const char *const groups[] = {"[0, 1]", "[2, 3]", "[4, 5]",
                                         "[6, 7]"};
    struct judged_run it = {0};
    for (int rank = 0; rank < 8; rank++) {
        const struct comm_call calls[] = {
            {"allreduce", groups[rank / 2], 1, 1000000, 100, 40},
            {"allreduce", rank % 4 ? "[9, 10]" : "[0, 4]", 1, 1000000, 300,
             400}};
        comm_add_rank(&it, rank, 0, 1000, calls, rank % 4 ? 1 : 2);
    }
    judged_run_finish(&it);
    cr_assert_eq(it.judged.collective_sizes.count, 5);
    cr_expect_null(judged_find(&it, "slow_link"));
    judged_run_clear(&it);
}

/* Without steps nobody is a straggler; who begins last all the time is
 * named. */
Test(trace_rule_link, slow_rank)
{
    struct judged_run it = {0};
    make(&it, 1, 6, false);
    const struct tp_trace_finding *found = judged_find(&it, "slow_rank");
    cr_assert(found);
    cr_expect_eq(found->rank, 6);
    cr_expect(strstr(found->evidence, "last to begin 100 % of its "
                                      "collectives, 0.40 ms"),
              "%s", found->evidence);
    cr_expect_null(judged_find(&it, "straggler"));
    judged_run_clear(&it);
    make(&it, 1, -1, false);
    cr_expect_null(judged_find(&it, "slow_rank"));
    judged_run_clear(&it);
}

/* A clock that is ahead makes late starts and as late ends. */
Test(trace_rule_link, a_clock_is_no_slow_rank)
{
    struct judged_run it = {0};
    for (int rank = 0; rank < 4; rank++) {
        struct comm_call calls[4];
        for (int i = 0; i < 4; i++)
            calls[i] = (struct comm_call){"allreduce", "[0, 1, 2, 3]", i,
                                          1000000, 250 * i + 20, 150};
        comm_add_rank(&it, rank, rank == 3 ? 100 : 0, 0, calls, 4);
    }
    judged_run_finish(&it);
    cr_assert_eq(it.judged.collectives.count, 4);
    cr_expect_null(judged_find(&it, "slow_rank"));
    judged_run_clear(&it);
}
