/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_POOL_H
#define TP_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * A pool of threads with one operation: run a function for every index of a
 * range. Loops nest: a task may itself call tp_pool_for, and threads that
 * have nothing of the outer loop left help with the inner one. So many small
 * files and one huge tensor keep all cores busy by the same means.
 *
 * Results are ordered by the caller, who gives each index its own slot; then
 * nothing depends on the number of threads. NULL is a pool of the calling
 * thread alone.
 */
struct tp_pool;

/*
 * One task. `worker` is in 0 .. tp_pool_size() - 1, and no two tasks with
 * the same worker number overlap, except that a task that waits for its own
 * inner loop is suspended, with its number in use by no other task. Scratch
 * memory may therefore be indexed by it, if an outer task does not keep
 * anything there across an inner loop.
 */
typedef void tp_pool_fn(void *context, size_t index, unsigned worker);

/*
 * Makes a pool of `jobs` threads, the caller's among them (so jobs = 1 makes
 * no thread). Released with tp_pool_free.
 */
enum tp_status tp_pool_new(unsigned jobs, struct tp_pool **pool,
                           struct tp_error *err);

/* Ends and joins the threads. Accepts NULL. No loop may be running. */
void tp_pool_free(struct tp_pool *pool);

/* Number of threads, the caller's among them; at least 1. */
unsigned tp_pool_size(const struct tp_pool *pool);

/*
 * Calls fn(context, i, worker) for i = 0 .. count - 1, started in this order,
 * on any thread, and returns when all have ended. Called either by the
 * thread that made the pool or from inside a task; without a pool by anyone.
 * `worker` is below tp_pool_size(pool).
 */
void tp_pool_for(struct tp_pool *pool, size_t count, tp_pool_fn *fn,
                 void *context);

/* The number of processors this process may run on; at least 1. */
unsigned tp_pool_processors(void);

#endif
