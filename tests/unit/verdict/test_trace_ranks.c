/* SPDX-License-Identifier: MIT */
/* Several ranks: against Holistic Trace Analysis, and worked out by hand. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/support/judged_run.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_run.h"
#include "verdict/trace_ranks.h"

/* All traces below a folder of shared/traces. */
static void collect(const char *name, struct judged_run *it)
{
    char path[4096];
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    trace_data_path(name, path, sizeof path);
    const char *roots[] = {path};
    const struct tp_trace_options options = {
        .roots = roots, .root_count = 1};
    *it = (struct judged_run){0};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_trace_collect(pool, &options, &it->run, &err), TP_OK, "%s",
                 err.message);
    judged_run_finish(it);
    tp_pool_free(pool);
}

/* HTA names the ranks 2 and 7 (expected/hta_23_dlrm_8rank.txt). */
static void stragglers_of_dlrm(void)
{
    struct judged_run it;
    FILE *file = trace_file_open("expected/hta_23_dlrm_8rank.txt");
    char line[512];
    long expected[2] = {-1, -1};
    bool next = false;
    while (fgets(line, sizeof line, file)) {
        if (next) {
            cr_assert_eq(sscanf(line, "[%ld, %ld]", &expected[0],
                                &expected[1]), 2, "%s", line);
        }
        next = !strncmp(line, "-- stragglers", 13);
    }
    fclose(file);
    collect("23_dlrm_8rank", &it);
    cr_assert_eq(it.judged.ranks.count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct tp_rank_row *row = &it.judged.ranks.rows[i];
        cr_expect_eq(row->rank, (int64_t)i);
        cr_expect_eq(row->world_size, 8);
        cr_expect_eq(row->straggler,
                     row->rank == expected[0] || row->rank == expected[1],
                     "rank %zu is %.3f of a step late", i, row->late);
        cr_expect_geq(row->start_us, 0);
    }
    /* ProfilerStep#10 of the first and the last (expected/signals.txt) */
    cr_expect_float_eq(it.judged.ranks.rows[0].step_us, 14455, 1e-6);
    cr_expect_float_eq(it.judged.ranks.rows[7].step_us, 12509, 1e-6);
    cr_expect_float_eq(it.judged.ranks.rows[7].data_wait_us, 1157, 1e-6);
    /* (19901 - 12509) over the mean of the eight of that list, 16007.75 */
    cr_expect(judged_notes(&it, "12.51 ms on rank 7 to 19.90 ms on rank 1"));
    cr_expect(judged_notes(&it, "imbalance 46.2 %"));
    cr_expect(judged_notes(&it, "the slowest collective is alltoall"));
    cr_expect(!judged_notes(&it, "missing"));
    judged_run_clear(&it);
}

/* Of our own it names rank 2, which loads for longer. */
Test(trace_ranks, stragglers_are_those_of_hta)
{
    struct judged_run it;
    FILE *file = trace_file_open("own/expected/hta.txt");
    char line[512];
    long expected = -1;
    bool next = false;
    while (fgets(line, sizeof line, file)) {
        if (next)
            cr_assert_eq(sscanf(line, "[%ld]", &expected), 1, "%s", line);
        next = !strncmp(line, "-- stragglers", 13);
    }
    fclose(file);
    collect("own/ranks", &it);
    cr_assert_eq(it.judged.ranks.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct tp_rank_row *row = &it.judged.ranks.rows[i];
        cr_expect_eq(row->rank, (int64_t)i);
        cr_expect_eq(row->world_size, 4);
        cr_expect_eq(row->straggler, row->rank == expected,
                     "rank %zu is %.3f of a step late", i, row->late);
    }
    cr_expect(!judged_notes(&it, "missing"));
    judged_run_clear(&it);
    if (trace_data_there("expected/hta_23_dlrm_8rank.txt"))
        stragglers_of_dlrm();
}

/* --- by hand ------------------------------------------------------------ */

/* Analyses a trace and adds it to the run; releases the text. */
static void add_trace(struct judged_run *it, struct tp_text *json)
{
    static const char *const files[] = {"a", "b", "c", "d", "e", "f"};
    struct tp_trace trace;
    trace_text_read(tp_text_get(json), &trace);
    tp_text_clear(json);
    tp_trace_index_clear(&trace.index);
    trace.path = files[it->run.trace_count];
    cr_assert_eq(tp_trace_analyse(&trace, &it->run.arena, NULL), TP_OK);
    cr_assert_eq(tp_grow(&it->run.traces, &it->run.trace_capacity,
                         it->run.trace_count + 1, sizeof trace, NULL),
                 TP_OK);
    it->run.traces[it->run.trace_count++] = trace;
}

/* One step of 1000 us, and an all-reduce that this rank enters at `enters`
 * and leaves with all others at 900. Starts at `start` us of the epoch. */
static void add_rank_of(struct judged_run *it, int64_t rank, int64_t world,
                        double start, double enters)
{
    struct tp_text json = {0};
    tp_text_add(&json,
                "{\"distributedInfo\":{\"rank\":%" PRId64
                ",\"world_size\":%" PRId64 "},"
                "\"traceEvents\":["
                "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
                "\"ProfilerStep#5\",\"pid\":1,\"tid\":1,\"ts\":%.0f,"
                "\"dur\":1000},"
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%.0f,"
                "\"dur\":5,\"args\":{\"correlation\":1}},"
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                "\"ncclKernel_AllReduce_RING\",\"pid\":0,\"tid\":7,"
                "\"ts\":%.0f,\"dur\":%.0f,\"args\":{\"stream\":7,"
                "\"device\":0,\"correlation\":1}}]}",
                rank, world, start, start + enters - 10, start + enters,
                900 - enters);
    add_trace(it, &json);
}

static void add_rank(struct judged_run *it, int rank, double start,
                     double enters)
{
    add_rank_of(it, rank, 4, start, enters);
}

static void finish(struct judged_run *it)
{
    judged_run_finish(it);
    cr_assert_eq(it->judged.ranks.count, it->run.trace_count);
}

static size_t stragglers(const struct judged_run *it)
{
    size_t count = 0;
    for (size_t i = 0; i < it->judged.ranks.count; i++) {
        count += it->judged.ranks.rows[i].straggler == 1;
    }
    return count;
}

static const double now = 1.7e15; /* us since the epoch */

Test(trace_ranks, one_late_rank)
{
    struct judged_run it = {0};
    add_rank(&it, 2, now, 110);
    add_rank(&it, 0, now, 100);
    add_rank(&it, 3, now, 400);
    add_rank(&it, 1, now + 20, 100);
    finish(&it);
    cr_expect_eq(stragglers(&it), 1);
    cr_expect_eq(it.judged.ranks.rows[3].straggler, 1);
    /* starts at 100, 120, 110, 400: the median is 115 */
    cr_expect_float_eq(it.judged.ranks.rows[0].late, -0.015, 1e-12);
    cr_expect_float_eq(it.judged.ranks.rows[1].late, 0.005, 1e-12);
    cr_expect_float_eq(it.judged.ranks.rows[2].late, -0.005, 1e-12);
    cr_expect_float_eq(it.judged.ranks.rows[3].late, 0.285, 1e-12);
    cr_expect_float_eq(it.judged.ranks.rows[1].start_us, 20, 1e-6);
    cr_expect(judged_notes(&it, "0.50 ms on rank 3 to 0.80 ms on rank 0"));
    cr_expect(!strstr(judged_find(&it, "straggler")->evidence, "only step"));
    judged_run_clear(&it);
}

/* What to do about communication: nobody is to be looked for where all ranks
 * are there and none waits; of two of four ranks that is not known. */
Test(trace_ranks, advice_knows_who_waits)
{
    static const struct {
        int ranks;
        double last; /* enters */
        const char *words;
    } cases[] = {{4, 120, "next to none of it is waiting"},
                 {4, 500, "waiting for the last rank: see first"},
                 {2, 120, "may be waiting for the last rank"},
                 {2, 500, "waiting for the last rank: see first"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judged_run it = {0};
        for (int rank = 0; rank < cases[i].ranks; rank++)
            add_rank(&it, rank, now,
                     rank + 1 == cases[i].ranks ? cases[i].last : 100);
        finish(&it);
        const struct tp_trace_finding *finding =
            judged_find(&it, "communication");
        cr_assert_not_null(finding);
        cr_expect_eq(finding->rank, 0, "the one that waits most");
        cr_expect(strstr(finding->suggestion, cases[i].words), "%zu: %s", i,
                  finding->suggestion);
        judged_run_clear(&it);
    }
}

/* A rank whose only step begins late is late in its collective, too: perhaps
 * the profiler began later. */
Test(trace_ranks, one_step_that_begins_late)
{
    struct judged_run it = {0};
    add_rank(&it, 2, now, 110);
    add_rank(&it, 0, now, 100);
    add_rank(&it, 3, now + 300, 100);
    add_rank(&it, 1, now + 20, 100);
    finish(&it);
    const struct tp_trace_finding *finding = judged_find(&it, "straggler");
    cr_assert_not_null(finding);
    cr_expect_eq(finding->rank, 3);
    cr_expect(strstr(finding->evidence, "its only step begins 0.30 ms after"),
              "%s", finding->evidence);
    judged_run_clear(&it);
}

/* As add_rank, of `count` all-reduces, each 100 us after the last began, that
 * this rank enters at enters[i] of its 100 us and leaves with all others at 90;
 * its clock is `ahead` us ahead. */
static void add_collectives(struct judged_run *it, int rank, double ahead,
                            const double *enters, int count)
{
    const double start = 1.7e15 + ahead;
    struct tp_text json = {0};
    tp_text_add(&json,
                "{\"distributedInfo\":{\"rank\":%d,\"world_size\":4},"
                "\"traceEvents\":[{\"ph\":\"X\",\"cat\":"
                "\"user_annotation\",\"name\":\"ProfilerStep#5\","
                "\"pid\":1,\"tid\":1,\"ts\":%.0f,\"dur\":1000}",
                rank, start);
    for (int i = 0; i < count; i++) {
        const double at = start + 100 * i;
        tp_text_add(&json,
                    ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                    "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                    "\"ts\":%.0f,\"dur\":5,\"args\":{\"correlation\":%d}},"
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                    "\"ncclKernel_AllReduce_RING\",\"pid\":0,\"tid\":7,"
                    "\"ts\":%.0f,\"dur\":%.0f,\"args\":{\"stream\":7,"
                    "\"device\":0,\"correlation\":%d}}",
                    at, i + 1, at + enters[i], 90 - enters[i], i + 1);
    }
    tp_text_add(&json, "]}");
    add_trace(it, &json);
}

/* A clock that is 3 ms, three steps, ahead makes no straggler; who is late by
 * 30 us in each of six collectives is one, whatever the clock says. */
Test(trace_ranks, clocks_that_differ_are_put_right)
{
    struct judged_run it = {0};
    const double early[] = {10, 10, 10, 10, 10, 10};
    const double late[] = {40, 40, 40, 40, 40, 40};
    add_collectives(&it, 0, 0, early, 6);
    add_collectives(&it, 1, 3000, early, 6);
    add_collectives(&it, 2, -700, late, 6);
    add_collectives(&it, 3, 0, early, 6);
    finish(&it);
    cr_expect_eq(stragglers(&it), 1);
    cr_expect_eq(it.judged.ranks.rows[2].straggler, 1);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_float_eq(it.judged.ranks.rows[i].late, i == 2 ? 0.18 : 0,
                           1e-9, "%zu: %g", i, it.judged.ranks.rows[i].late);
    }
    cr_expect(judged_notes(&it, "the clock of rank 1 is 3.000 ms ahead of"));
    cr_expect(judged_notes(&it, "the clock of rank 2 is 0.700 ms behind"));
    cr_expect(!judged_notes(&it, "the clock of rank 3"));
    judged_run_clear(&it);
}

/* Short collectives of one rank are not left out where others wait in them:
 * the k-th is compared with the k-th. */
Test(trace_ranks, the_same_collectives_are_compared)
{
    struct judged_run it = {0};
    const double first[] = {10, 10, 10, 10, 10, 85};
    const double other[] = {10, 10, 10, 10, 10, 10};
    add_collectives(&it, 0, 0, other, 6);
    add_collectives(&it, 1, 0, first, 6);
    add_collectives(&it, 2, 0, other, 6);
    finish(&it);
    cr_expect_eq(stragglers(&it), 1);
    cr_expect_float_eq(it.judged.ranks.rows[1].late, 0.075, 1e-9);
    cr_expect_float_eq(it.judged.ranks.rows[0].late, 0, 1e-9);
    judged_run_clear(&it);
}

/* Two per cent of a step are no straggler. */
Test(trace_ranks, even_ranks)
{
    struct judged_run it = {0};
    for (int i = 0; i < 4; i++) {
        add_rank(&it, i, now, 100 + 20 * (i == 2));
    }
    finish(&it);
    cr_expect_eq(stragglers(&it), 0);
    cr_expect_float_eq(it.judged.ranks.rows[2].late, 0.02, 1e-12);
    judged_run_clear(&it);
}

Test(trace_ranks, missing_ranks_are_named)
{
    struct judged_run it = {0};
    add_rank(&it, 3, now, 400);
    add_rank(&it, 1, now, 100);
    finish(&it);
    cr_expect(judged_notes(&it, "2 of 4 ranks are missing: 0, 2"));
    cr_expect_eq(it.judged.ranks.rows[1].straggler, 1);
    judged_run_clear(&it);
}

/* As many ranks as a number holds, and the last of them: nothing overflows. */
Test(trace_ranks, any_number_of_ranks_is_counted)
{
    struct judged_run it = {0};
    add_rank(&it, 0, now, 400);
    add_rank_of(&it, INT64_MAX, INT64_MAX, now, 100);
    finish(&it);
    cr_expect(judged_notes(&it, "9223372036854775806 of 9223372036854775807 "
                                "ranks are missing: 1-9223372036854775806"));
    judged_run_clear(&it);
}

/* Of a rank met twice nobody knows which is meant. */
Test(trace_ranks, duplicated_ranks_are_named)
{
    struct judged_run it = {0};
    add_rank(&it, 0, now, 100);
    add_rank(&it, 1, now, 100);
    add_rank(&it, 1, now, 500);
    finish(&it);
    cr_expect(judged_notes(&it, "rank 1 is in b and in c"));
    cr_expect_eq(stragglers(&it), 0);
    judged_run_clear(&it);
}

/* Times since some machine was started say nothing about other machines. */
Test(trace_ranks, clocks_without_a_common_zero)
{
    struct judged_run it = {0};
    add_rank(&it, 0, 1e12, 100);
    add_rank(&it, 1, 1e12, 500);
    finish(&it);
    cr_expect(judged_notes(&it, "2 of 2 traces do not tell when"));
    cr_expect(isnan(it.judged.ranks.rows[0].start_us));
    cr_expect(isnan(it.judged.ranks.rows[1].late));
    cr_expect_eq(stragglers(&it), 0);
    judged_run_clear(&it);
}

/* Four steps of 1000 us, each with an all-reduce of this group that the rank
 * enters at enters[i] and leaves with the others at `leaves`. */
static void add_steps(struct judged_run *it, int rank, const char *group,
                      const double *enters, double leaves)
{
    struct tp_text json = {0};
    tp_text_add(&json,
                "{\"distributedInfo\":{\"rank\":%d,\"world_size\":4},"
                "\"traceEvents\":[{}",
                rank);
    for (int i = 0; i < 4; i++) {
        const double at = now + 1000 * i;
        tp_text_add(&json,
                    ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
                    "\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%.0f,"
                    "\"dur\":1000},"
                    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                    "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%.0f,"
                    "\"dur\":5,\"args\":{\"correlation\":%d}},"
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                    "\"ncclDevKernel_AllReduce_RING\",\"pid\":0,\"tid\":7,"
                    "\"ts\":%.0f,\"dur\":%.0f,\"args\":{\"stream\":7,"
                    "\"device\":0,\"correlation\":%d,"
                    "\"Process Group Ranks\":\"%s\"}}",
                    i, at, at + 10, i + 1, at + enters[i], leaves - enters[i],
                    i + 1, group);
    }
    tp_text_add(&json, "]}");
    add_trace(it, &json);
}

/* Late in one step of four, as a rank whose recording begins late, or in
 * three. */
Test(trace_ranks, late_once_or_in_most_steps)
{
    static const double even[] = {100, 100, 100, 100};
    static const double once[] = {800, 100, 100, 100};
    static const double most[] = {800, 800, 100, 800};
    for (int often = 0; often <= 1; often++) {
        struct judged_run it = {0};
        for (int rank = 0; rank < 4; rank++)
            add_steps(&it, rank, "[0, 1, 2, 3]",
                      rank < 3 ? even : often ? most : once, 900);
        finish(&it);
        cr_expect_eq(stragglers(&it), (size_t)often);
        cr_expect_float_eq(it.judged.ranks.rows[3].late, often ? 0.7 : 0,
                           1e-9, "%g", it.judged.ranks.rows[3].late);
        judged_run_clear(&it);
    }
}

/* Two groups that communicate at moments of their own have nobody to wait for
 * and clocks that agree; in one group the same ranks wait. */
Test(trace_ranks, groups_of_their_own)
{
    static const double early[] = {100, 100, 100, 100};
    static const double late[] = {500, 500, 500, 500};
    for (int apart = 0; apart <= 1; apart++) {
        struct judged_run it = {0};
        add_steps(&it, 0, apart ? "[0, 1]" : "[0, 1, 2, 3]", early, 900);
        add_steps(&it, 1, apart ? "[0, 1]" : "[0, 1, 2, 3]", early, 900);
        add_steps(&it, 2, apart ? "[2, 3]" : "[0, 1, 2, 3]",
                  apart ? late : early, apart ? 980 : 900);
        add_steps(&it, 3, apart ? "[2, 3]" : "[0, 1, 2, 3]", late,
                  apart ? 980 : 900);
        finish(&it);
        cr_expect_eq(stragglers(&it), apart ? 0 : 1);
        cr_expect_not(judged_notes(&it, "the clock of"));
        judged_run_clear(&it);
    }
}
