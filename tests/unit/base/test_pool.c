/* SPDX-License-Identifier: MIT */
/* The pool of workers. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/pool.h"

struct sums {
    struct tp_pool *pool;
    uint64_t inner[64][64];
    unsigned calls[64];
};

static void add_inner(void *context, size_t index, unsigned worker)
{
    uint64_t *row = context;
    (void)worker;
    row[index] = index * index;
}

static void run_inner(void *context, size_t index, unsigned worker)
{
    struct sums *sums = context;
    cr_assert_lt(worker, tp_pool_size(sums->pool));
    sums->calls[index]++;
    tp_pool_for(sums->pool, 64, add_inner, sums->inner[index]);
    for (uint64_t i = 0; i < 64; i++) { /* all ended on return */
        cr_assert_eq(sums->inner[index][i], i * i);
    }
}

Test(pool, nested_loops_visit_every_index_once)
{
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        struct sums *sums = calloc(1, sizeof *sums);
        cr_assert_eq(tp_pool_new(jobs, &sums->pool, NULL), TP_OK);
        for (int round = 0; round < 20; round++) {
            tp_pool_for(sums->pool, 64, run_inner, sums);
        }
        for (size_t i = 0; i < 64; i++) {
            cr_assert_eq(sums->calls[i], 20);
        }
        tp_pool_free(sums->pool);
        free(sums);
    }
}

Test(pool, none_is_the_calling_thread)
{
    uint64_t squares[64] = {0};
    cr_assert_eq(tp_pool_size(NULL), 1);
    tp_pool_for(NULL, 64, add_inner, squares);
    for (uint64_t i = 0; i < 64; i++) {
        cr_expect_eq(squares[i], i * i);
    }
}

static void be_first(void *context, size_t index, unsigned worker)
{
    (void)index;
    *(unsigned *)context += worker + 1;
}

static void run_without(void *context, size_t index, unsigned worker)
{
    unsigned *seen = context;
    (void)worker;
    tp_pool_for(NULL, 3, be_first, &seen[index]);
}

/* Room is made for as many workers as a pool has: for one without. */
Test(pool, none_has_one_worker_inside_the_task_of_another)
{
    struct tp_pool *pool;
    unsigned seen[256] = {0};
    cr_assert_eq(tp_pool_new(8, &pool, NULL), TP_OK);
    for (int round = 1; round <= 20; round++) {
        tp_pool_for(pool, 256, run_without, seen);
        for (size_t i = 0; i < 256; i++)
            cr_assert_eq(seen[i], 3u * (unsigned)round);
    }
    tp_pool_free(pool);
}

struct use {
    struct tp_pool *pool;
    _Atomic int busy[8];
};

static void claim(void *context, size_t index, unsigned worker)
{
    struct use *use = context;
    (void)index;
    cr_assert_eq(use->busy[worker]++, 0, "worker %u runs two tasks", worker);
    const struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
    use->busy[worker]--;
}

Test(pool, no_two_tasks_share_a_worker_number)
{
    struct use use = {0};
    cr_assert_eq(tp_pool_new(8, &use.pool, NULL), TP_OK);
    tp_pool_for(use.pool, 2000, claim, &use);
    tp_pool_free(use.pool);
}

Test(pool, no_work_is_no_work)
{
    struct tp_pool *pool;
    cr_assert_eq(tp_pool_new(3, &pool, NULL), TP_OK);
    tp_pool_for(pool, 0, run_inner, NULL);
    tp_pool_free(pool);
    tp_pool_free(NULL);
    cr_assert_geq(tp_pool_processors(), 1);
}
