/* SPDX-License-Identifier: MIT */
/*
 * Straggling removed: each answer against the step time of ranks that were made
 * without it, by the same rules.
 */
#include <math.h>

#include "tests/unit/support/comm_traces.h"
#include "verdict/trace_straggling.h"

enum { RANKS_MAX = 4, ROUNDS = 4, STEPS = 3 };

/* Ranks that compute for `own_us` on the host, then reduce together, and wait
 * for that; four times a step. Times are in us. */
struct ranks {
    int count;
    double own_us[RANKS_MAX];
    double comm_us; /* once all are there                                  */
    bool waits;     /* for each; else for the last of a step               */
    int first_step[RANKS_MAX];
};

static void add_event(struct tp_text *json, const char *category,
                      const char *name, double from, double to)
{
    tp_text_add(json,
                ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,"
                "\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
                category, name, from, to - from);
}

struct rank {
    struct tp_text json;
    double host, gpu, launched, step_from;
    int number;
};

static void launch(struct rank *rank, double own_us)
{
    add_event(&rank->json, "cpu_op", "aten::mm", rank->host,
              rank->host + own_us);
    tp_text_add(&rank->json, "}}");
    rank->host += own_us;
    rank->launched = rank->host;
    add_event(&rank->json, "cuda_runtime", "cudaLaunchKernel", rank->host,
              rank->host + 5);
    tp_text_add(&rank->json, "\"correlation\":%d}}", ++rank->number);
    rank->host += 5;
}

static void reduce(struct rank *rank, double end)
{
    const double from = fmax(rank->launched + 10, rank->gpu);
    tp_text_add(&rank->json,
                ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                "\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\",\"pid\":0,"
                "\"tid\":7,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"stream\":7,"
                "\"device\":0,\"correlation\":%d,\"Collective name\":"
                "\"allreduce\",\"In msg nelems\":1000,\"Out msg nelems\":1000,"
                "\"Group size\":%d,\"dtype\":\"Float\",\"Process Group Name\":"
                "\"0\",\"Process Group Ranks\":\"all\",\"Seq\":%d}}",
                from, end - from, rank->number, RANKS_MAX, rank->number);
    rank->gpu = end;
}

static void wait(struct rank *rank)
{
    const double to = fmax(rank->host, rank->gpu) + 5;
    add_event(&rank->json, "cuda_runtime", "cudaStreamSynchronize", rank->host,
              to);
    tp_text_add(&rank->json, "\"correlation\":-1}}");
    rank->host = to;
}

static void play_round(const struct ranks *it, struct rank *ranks, bool last)
{
    double begins = 0;
    for (int r = 0; r < it->count; r++) {
        launch(&ranks[r], it->own_us[r]);
        begins = fmax(begins, fmax(ranks[r].launched + 10, ranks[r].gpu));
    }
    for (int r = 0; r < it->count; r++) {
        reduce(&ranks[r], begins + it->comm_us);
        if (last || it->waits)
            wait(&ranks[r]);
    }
}

static void make(const struct ranks *it, struct judged_run *run)
{
    struct rank ranks[RANKS_MAX] = {{.number = 0}};
    *run = (struct judged_run){0};
    for (int r = 0; r < it->count; r++) {
        tp_text_add(&ranks[r].json,
                    "{\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},"
                    "\"traceEvents\":[{}",
                    r, it->count);
        ranks[r].host = ranks[r].gpu = 1.7e15;
    }
    for (int step = 0; step < STEPS; step++) {
        for (int r = 0; r < it->count; r++)
            ranks[r].step_from = ranks[r].host;
        for (int i = 0; i < ROUNDS; i++)
            play_round(it, ranks, i + 1 == ROUNDS);
        for (int r = 0; r < it->count; r++) {
            char name[40];
            snprintf(name, sizeof name, "ProfilerStep#%d",
                     step + it->first_step[r]);
            add_event(&ranks[r].json, "user_annotation", name,
                      ranks[r].step_from, ranks[r].host);
            tp_text_add(&ranks[r].json, "}}");
        }
    }
    for (int r = 0; r < it->count; r++) {
        tp_text_add(&ranks[r].json, "]}");
        comm_add_json(run, &ranks[r].json);
    }
    judged_run_finish(run);
}

static const struct tp_straggling_row *find(const struct judged_run *run,
                                            int64_t rank)
{
    for (size_t i = 0; i < run->judged.straggling.count; i++) {
        if (run->judged.straggling.rows[i].rank == rank)
            return &run->judged.straggling.rows[i];
    }
    return NULL;
}

/* The step as recorded, which a replay gives back. */
static double step_of(const struct ranks *it)
{
    struct judged_run run;
    make(it, &run);
    const struct tp_straggling_row *row = find(&run, -1);
    cr_assert_not_null(row);
    cr_expect_float_eq(row->replayed_us, row->step_us, 1e-3, "%g %g",
                       row->replayed_us, row->step_us);
    const double us = row->step_us;
    judged_run_clear(&run);
    return us;
}

/* Without the straggling of `rank`, or of all (-1), steps take as long as those
 * of `after`. */
static void expect(const struct ranks *before, int64_t rank,
                   const struct ranks *after)
{
    struct judged_run run;
    const double us = step_of(after);
    make(before, &run);
    const struct tp_straggling_row *row = find(&run, rank);
    cr_assert_not_null(row);
    cr_expect_float_eq(row->new_step_us, us, 0.002 * us,
                       "rank %d: %g us of %g, not %g", (int)rank,
                       row->new_step_us, row->step_us, us);
    judged_run_clear(&run);
}

static const struct ranks equal = {
    .count = 3, .own_us = {200, 200, 200}, .comm_us = 50, .waits = true};

Test(trace_straggling, one_slow_rank)
{
    struct ranks slow = equal;
    slow.own_us[1] = 300;
    cr_expect_float_eq(step_of(&slow) - step_of(&equal), ROUNDS * 100, 1e-3);
    expect(&slow, -1, &equal);
    expect(&slow, 1, &equal);
    expect(&slow, 0, &slow);
    expect(&slow, 2, &slow);
}

Test(trace_straggling, one_of_two)
{
    struct ranks fast = equal, slow;
    fast.count = 2;
    slow = fast;
    slow.own_us[0] = 260;
    expect(&slow, -1, &fast);
    expect(&slow, 0, &fast);
    expect(&slow, 1, &slow);
}

Test(trace_straggling, equal_ranks_win_nothing)
{
    expect(&equal, -1, &equal);
    expect(&equal, 0, &equal);
}

/* Two ranks are slow: to help one of them alone wins nothing. */
Test(trace_straggling, two_slow_ranks_hide_each_other)
{
    struct ranks slow = equal, less;
    slow.count = 4;
    slow.own_us[3] = 200;
    less = slow;
    slow.own_us[0] = 300;
    slow.own_us[1] = 280;
    less.own_us[0] = 200;
    less.own_us[1] = 280;
    expect(&slow, 0, &less);
    expect(&slow, 1, &slow);
}

/* Hosts that run ahead and wait once a step: what a rank is late adds up, and
 * reductions of 250 us hide half of it. */
Test(trace_straggling, what_reductions_hide_is_not_won)
{
    struct ranks slow = equal, fast = equal;
    slow.waits = fast.waits = false;
    slow.comm_us = fast.comm_us = 250;
    slow.own_us[2] = 300;
    expect(&slow, -1, &fast);
    expect(&slow, 2, &fast);
}

Test(trace_straggling, other_steps_are_not_compared)
{
    struct ranks other = equal;
    struct judged_run run;
    other.first_step[2] = 7;
    make(&other, &run);
    cr_expect_eq(run.judged.straggling.count, 0);
    cr_expect(judged_notes(&run, "what straggling costs is not estimated"));
    judged_run_clear(&run);
}

/* Of two ranks that begin late, one may only wait for the other: that is the
 * one without which nothing is won. Where neither is enough alone both are
 * meant, where both together are not, none; without an estimate, all. */
Test(trace_straggling, whose_lateness_it_is)
{
    static const struct {
        double all, first, second; /* NaN: no row                           */
        bool estimated, first_own, second_own;
    } cases[] = {
        {0.3, 0.3, NAN, true, true, false},
        {0.3, 0.2, 0.1, true, true, true},
        {0.3, NAN, NAN, true, true, true},
        {0.016, NAN, NAN, true, false, false},
        {NAN, NAN, NAN, false, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_rank_row ranks[3] = {{.rank = 0},
                                       {.rank = 1, .straggler = 1},
                                       {.rank = 2, .straggler = 1}};
        struct tp_straggling_row rows[3] = {{.rank = -1, .won = cases[i].all}};
        size_t count = cases[i].estimated;
        if (!isnan(cases[i].first))
            rows[count++] = (struct tp_straggling_row){
                .rank = 1, .won = cases[i].first};
        if (!isnan(cases[i].second))
            rows[count++] = (struct tp_straggling_row){
                .rank = 2, .won = cases[i].second};
        struct tp_trace_judged judged = {.limits = tp_trace_limits_default()};
        judged.ranks.rows = ranks;
        judged.ranks.count = 3;
        judged.straggling.rows = rows;
        judged.straggling.count = count;
        cr_expect_not(tp_straggling_is_own(&judged, &ranks[0]), "%zu", i);
        cr_expect_eq(tp_straggling_is_own(&judged, &ranks[1]),
                     cases[i].first_own, "%zu", i);
        cr_expect_eq(tp_straggling_is_own(&judged, &ranks[2]),
                     cases[i].second_own, "%zu", i);
    }
}
