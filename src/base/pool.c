/* SPDX-License-Identifier: MIT */
/*
 * Threads that run the indices of loops. One lock guards a list of running
 * loops, newest first; an idle thread takes the next index of the first loop
 * that has one. So inner loops are served before the outer ones they hold up,
 * and whoever starts a loop works on it, too.
 *
 * Alternative: a queue for each thread, from which others steal. That pays
 * where tasks are tiny; here they are files or pieces of tensors, and one lock
 * keeps the order in which indices start the same everywhere.
 *
 * Cost: two short sections under the lock for each index; waiting threads
 * sleep.
 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* One running tp_pool_for. Lives on its caller's stack. */
struct loop {
    struct loop *outer; /* next in the list of running loops, older       */
    tp_pool_fn *fn;
    void *context;
    size_t next, count; /* next index to start                            */
    size_t running;     /* indices started and not ended                  */
};

struct worker {
    struct tp_pool *pool;
    pthread_t thread;
    unsigned number;
};

struct tp_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;  /* a loop was added, or the pool ends           */
    pthread_cond_t ended; /* the last index of some loop ended            */
    struct loop *loops;   /* newest first: inner loops are served first   */
    unsigned size;
    bool stop;
    struct worker *workers; /* [size]; [0] is the caller, no thread       */
};

/* Which worker this thread is; 0 for the thread that made the pool. */
static _Thread_local unsigned my_number;

static struct loop *loop_with_work(struct tp_pool *pool)
{
    struct loop *loop = pool->loops;
    while (loop && loop->next == loop->count)
        loop = loop->outer;
    return loop;
}

/* Runs one index of `loop`. Called and left with the lock held. */
static void run_one(struct tp_pool *pool, struct loop *loop)
{
    size_t index = loop->next++;
    loop->running++;
    pthread_mutex_unlock(&pool->lock);
    loop->fn(loop->context, index, my_number);
    pthread_mutex_lock(&pool->lock);
    if (--loop->running == 0 && loop->next == loop->count)
        pthread_cond_broadcast(&pool->ended);
}

static void *worker_main(void *argument)
{
    struct worker *self = argument;
    struct tp_pool *pool = self->pool;
    my_number = self->number;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        struct loop *loop = loop_with_work(pool);
        if (loop)
            run_one(pool, loop);
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void pool_init(struct tp_pool *pool, unsigned jobs)
{
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->ended, NULL);
    pool->size = 1;
    for (unsigned i = 0; i < jobs; i++) {
        pool->workers[i].pool = pool;
        pool->workers[i].number = i;
    }
}

enum tp_status tp_pool_new(unsigned jobs, struct tp_pool **pool,
                           struct tp_error *err)
{
    if (jobs < 1)
        jobs = 1;
    struct tp_pool *made = calloc(1, sizeof *made);
    struct worker *workers = calloc(jobs, sizeof *workers);
    if (!made || !workers) {
        free(made);
        free(workers);
        return tp_fail_memory(err);
    }
    made->workers = workers;
    pool_init(made, jobs);
    for (unsigned i = 1; i < jobs; i++) {
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]))
            break; /* fewer threads: slower, not wrong */
        made->size++;
    }
    *pool = made;
    return TP_OK;
}

void tp_pool_free(struct tp_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < pool->size; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->ended);
    free(pool->workers);
    free(pool);
}

unsigned tp_pool_size(const struct tp_pool *pool)
{
    return pool ? pool->size : 1;
}

static void remove_loop(struct tp_pool *pool, const struct loop *gone)
{
    struct loop **link = &pool->loops;
    while (*link != gone)
        link = &(*link)->outer;
    *link = gone->outer;
}

void tp_pool_for(struct tp_pool *pool, size_t count, tp_pool_fn *fn,
                 void *context)
{
    if (!pool || pool->size == 1 || count == 1) {
        /* one worker is the first, also inside a task of another pool */
        const unsigned worker = tp_pool_size(pool) > 1 ? my_number : 0;
        for (size_t i = 0; i < count; i++)
            fn(context, i, worker);
        return;
    }
    if (count == 0)
        return;
    struct loop loop = {.fn = fn, .context = context, .count = count};
    pthread_mutex_lock(&pool->lock);
    loop.outer = pool->loops;
    pool->loops = &loop;
    pthread_cond_broadcast(&pool->work);
    while (loop.next < loop.count)
        run_one(pool, &loop);
    /* Waits without helping others: a task taken here could outlast ours. */
    while (loop.running > 0)
        pthread_cond_wait(&pool->ended, &pool->lock);
    remove_loop(pool, &loop);
    pthread_mutex_unlock(&pool->lock);
}

unsigned tp_pool_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}
