/* SPDX-License-Identifier: MIT */
/* Collectives over ranks: by hand, and by the definitions of TraceLens's
 * NcclAnalyser, worked out with pandas from the traces of eight ranks. */
#include <math.h>

#include "tests/unit/support/comm_traces.h"

#define BOTH "[0, 1]"

/* 250 000 floats are 1 MB; in 10 us that is 100 GB/s. The second rank begins
 * 40 us later, both end together. */
Test(trace_collectives, latency_is_that_of_the_last)
{
    struct judged_run it = {0};
    const struct comm_call early[] = {
        {"allreduce", BOTH, 3, 250000, 100, 50},
        {"_allgather_base", BOTH, 4, 250000, 200, 20}};
    const struct comm_call late[] = {
        {"allreduce", BOTH, 3, 250000, 140, 10},
        {"_allgather_base", BOTH, 4, 250000, 200, 20}};
    comm_add_rank(&it, 0, 0, 1000, early, 2);
    comm_add_rank(&it, 1, 0, 1000, late, 2);
    judged_run_finish(&it);
    cr_assert_eq(it.judged.collectives.count, 2);
    cr_assert_eq(it.judged.collective_sizes.count, 2);
    const struct tp_collective_row *row = &it.judged.collectives.rows[1];
    cr_expect_str_eq(row->collective, "allreduce");
    cr_expect_str_eq(row->matched_by, "Seq");
    cr_expect_str_eq(row->group, BOTH);
    cr_expect_eq(row->ranks, 2);
    cr_expect_eq(row->group_size, 2);
    cr_expect_eq(row->bytes, 1000000);
    cr_expect_float_eq(row->start_us, 100, 1e-9);
    cr_expect_float_eq(row->latency_us, 10, 1e-9);
    cr_expect_float_eq(row->skew_us, 40, 1e-9);
    cr_expect_float_eq(row->end_skew_us, 0, 1e-9);
    cr_expect_float_eq(row->wait_us, 40, 1e-9);
    cr_expect_float_eq(row->held_us, 40, 1e-9);
    cr_expect_eq(row->first_rank, 0);
    cr_expect_eq(row->last_rank, 1);
    cr_expect_float_eq(row->algorithm_gbps, 100, 1e-9);
    cr_expect_float_eq(row->bus_gbps, 100, 1e-9, "2 (n - 1) / n of two is 1");
    row = &it.judged.collectives.rows[0];
    cr_expect_str_eq(row->collective, "allgather");
    cr_expect_float_eq(row->algorithm_gbps, 50, 1e-9);
    cr_expect_float_eq(row->bus_gbps, 25, 1e-9, "(n - 1) / n");
    cr_expect_float_eq(it.judged.ranks.rows[0].wait_us, 40, 1e-9);
    cr_expect_float_eq(it.judged.ranks.rows[1].wait_us, 0, 1e-9);
    cr_expect_float_eq(it.judged.ranks.rows[1].last, 0.5, 1e-9);
    cr_expect_float_eq(it.judged.ranks.rows[1].held_us, 40, 1e-9);
    judged_run_clear(&it);
}

/* One rank's recording begins a collective later: sequence numbers say so,
 * where order does not. */
Test(trace_collectives, sequence_numbers_come_before_order)
{
    for (int said = 0; said < 2; said++) {
        struct judged_run it = {0};
        struct comm_call all[] = {{"allreduce", BOTH, 7, 1000, 100, 20},
                                  {"allreduce", BOTH, 8, 1000, 200, 20},
                                  {"allreduce", BOTH, 9, 1000, 300, 20}};
        for (int i = 0; i < 3 && !said; i++)
            all[i].sequence = -1;
        comm_add_rank(&it, 0, 0, 0, all, 3);
        comm_add_rank(&it, 1, 0, 0, all + 1, 2);
        judged_run_finish(&it);
        if (said) {
            cr_assert_eq(it.judged.collectives.count, 2);
            cr_expect_eq(it.judged.collectives.rows[0].sequence, 8);
            cr_expect_float_eq(it.judged.collectives.rows[0].skew_us, 0, 1e-9);
        } else {
            cr_expect_eq(it.judged.collectives.count, 0);
            cr_expect(judged_notes(&it, "2 collectives (allreduce) are left "
                                        "out"));
        }
        judged_run_clear(&it);
    }
}

/* By order, within a step, without arguments. */
Test(trace_collectives, without_arguments_order_is_said)
{
    struct judged_run it = {0};
    const struct comm_call calls[] = {{NULL, "", -1, 0, 100, 20},
                                      {NULL, "", -1, 0, 200, 20}};
    comm_add_rank(&it, 0, 0, 1000, calls, 2);
    comm_add_rank(&it, 1, 0, 1000, calls, 2);
    judged_run_finish(&it);
    cr_assert_eq(it.judged.collectives.count, 2);
    const struct tp_collective_row *row = &it.judged.collectives.rows[0];
    cr_expect_str_eq(row->collective, "allreduce");
    cr_expect_str_eq(row->matched_by, "order");
    cr_expect_eq(row->bytes, -1);
    cr_expect(isnan(row->bus_gbps));
    cr_expect_float_eq(row->latency_us, 20, 1e-9);
    judged_run_clear(&it);
}

/* Groups of one name but other members are apart; so are sizes. */
Test(trace_collectives, groups_and_sizes_are_apart)
{
    struct judged_run it = {0};
    for (int rank = 0; rank < 4; rank++) {
        const struct comm_call calls[] = {
            {"allreduce", rank < 2 ? "[0, 1]" : "[2, 3]", 1, 1000, 100, 20},
            {"allreduce", rank < 2 ? "[0, 1]" : "[2, 3]", 2, 2000, 200, 20}};
        comm_add_rank(&it, rank, 0, 1000, calls, 2);
    }
    judged_run_finish(&it);
    cr_expect_eq(it.judged.collectives.count, 4);
    cr_expect_eq(it.judged.collective_sizes.count, 4);
    for (size_t i = 0; i < it.judged.collectives.count; i++)
        cr_expect_eq(it.judged.collectives.rows[i].ranks, 2);
    judged_run_clear(&it);
}

/* Four ranks have a collective of a group of two, whose members are not said:
 * nobody can tell which two. */
Test(trace_collectives, more_ranks_than_members_are_left_out)
{
    struct judged_run it = {0};
    for (int rank = 0; rank < 3; rank++) {
        const struct comm_call call = {"allreduce", "[0, 1]", 1, 1000, 100,
                                       20};
        comm_add_rank(&it, rank, 0, 1000, &call, 1);
    }
    judged_run_finish(&it);
    cr_expect_eq(it.judged.collectives.count, 0);
    cr_expect(judged_notes(&it, "more ranks have one of that name"));
    judged_run_clear(&it);
}

/* A broadcast's root need not wait for the others. */
Test(trace_collectives, kinds_that_do_not_wait_have_no_latency)
{
    struct judged_run it = {0};
    const struct comm_call root = {"broadcast", BOTH, 1, 1000, 100, 5},
                           other = {"broadcast", BOTH, 1, 1000, 150, 5};
    comm_add_rank(&it, 0, 0, 1000, &root, 1);
    comm_add_rank(&it, 1, 0, 1000, &other, 1);
    judged_run_finish(&it);
    cr_assert_eq(it.judged.collectives.count, 1);
    cr_expect(isnan(it.judged.collectives.rows[0].latency_us));
    cr_expect(isnan(it.judged.collectives.rows[0].bus_gbps));
    cr_expect_float_eq(it.judged.collectives.rows[0].skew_us, 50, 1e-9);
    cr_expect(isnan(it.judged.ranks.rows[0].wait_us));
    judged_run_clear(&it);
}

/* Eight ranks of others: what NcclAnalyser's definitions give, in the order of
 * their starts. */
Test(trace_collectives, dlrm_is_as_tracelens_has_it)
{
    static const struct {
        const char *kind;
        double latency, skew, end_skew, wait;
        int64_t first, last;
    } expected[] = {
        {"allreduce", 86, 223, 5, 854, 1, 7},
        {"allreduce", 20, 584, 5, 3379, 3, 5},
        {"allreduce", 69, 885, 7, 5009, 0, 4},
        {"alltoall", 10, 7624, 2, 26435, 1, 7},
        {"alltoall", 8, 1101, 2, 6231, 4, 7},
        {"alltoall", 7, 168, 1, 1161, 0, 7},
        {"alltoall", 7, 125, 2, 871, 3, 7},
        {"alltoall", 10, 534, 3, 2903, 1, 5}};
    static const double waits[] = {5580, 11125, 3280, 9571,
                                   6370, 6041,  3342, 1534};
    struct judged_run it = {0};
    char path[4096];
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    fclose(trace_file_open("expected/hta_23_dlrm_8rank.txt"));
    trace_data_path("23_dlrm_8rank", path, sizeof path);
    const char *roots[] = {path};
    const struct tp_trace_options options = {.roots = roots, .root_count = 1};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_trace_collect(pool, &options, &it.run, &err), TP_OK, "%s",
                 err.message);
    judged_run_finish(&it);
    cr_assert_eq(it.judged.collectives.count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct tp_collective_row *row = &it.judged.collectives.rows[i];
        cr_expect_str_eq(row->collective, expected[i].kind);
        cr_expect_eq(row->ranks, 8);
        cr_expect_float_eq(row->latency_us, expected[i].latency, 1e-6);
        cr_expect_float_eq(row->skew_us, expected[i].skew, 1e-6);
        cr_expect_float_eq(row->end_skew_us, expected[i].end_skew, 1e-6);
        cr_expect_float_eq(row->wait_us, expected[i].wait, 1e-6);
        cr_expect_eq(row->first_rank, expected[i].first);
        cr_expect_eq(row->last_rank, expected[i].last);
        cr_expect_float_eq(it.judged.ranks.rows[i].wait_us, waits[i], 1e-6);
    }
    tp_pool_free(pool);
    judged_run_clear(&it);
}
