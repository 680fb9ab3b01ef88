/* SPDX-License-Identifier: MIT */
/*
 * A world of MPI's processes.
 *
 * Numbers are claimed by an atomic fetch-and-add on a word of rank 0,
 * one-sided: no process serves the others. Over networks without such an
 * operation of their own MPI does it when rank 0 calls it, which a rank busy
 * with a large file does not: a thread of rank 0 calls it five thousand times a
 * second, for some two percent of a processor.
 *
 * MPI's own waiting spins, and never ends when the peer is gone. So everything
 * is started, and then asked for in growing intervals, up to a millisecond,
 * until it is done, the process is told to end, or rank 0 said that it is.
 *
 * One call at a time is made, under a lock (MPI_THREAD_SERIALIZED).
 */
#include "mpi/world_open.h"

#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Bytes of a message at most: its count is an int. */
enum { CHUNK = 1 << 30 };
enum { TAG_BYTES = 1, TAG_OVER = 2 };

/* Rank 0 is asked for what others want so often, in ns. */
enum { SERVE_EVERY = 200 * 1000, REST_LEAST = 10 * 1000, REST_MOST = 1000000 };

/* More than there can be to claim. */
static const uint64_t beyond_all = (uint64_t)1 << 62;

struct context {
    struct tp_world world;
    const volatile sig_atomic_t *stop;
    pthread_mutex_t lock; /* of MPI, and of `over`                         */
    MPI_Win window;       /* the next number, at rank 0                    */
    uint64_t *next;
    bool over;        /* rank 0 is done,                                  */
    int result;       /* with this exit status,                           */
    bool cut;         /* while something was still on its way             */
    bool serving;     /* there is a thread                                */
    bool served;      /* and it is to end                                 */
    pthread_t server; /* of rank 0                                        */
};

static void rest(long ns)
{
    const struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

/* Whether rank 0 said that it is done. Under the lock. */
static bool look_for_end(struct context *c)
{
    int there = 0;
    if (c->world.rank > 0 && !c->over)
        MPI_Iprobe(0, TAG_OVER, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there)
        MPI_Recv(&c->result, 1, MPI_INT, 0, TAG_OVER, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    c->over |= there;
    return c->over;
}

/* Until the request is done: that, or false: it is given up. */
static bool wait_for(struct context *c, MPI_Request *request)
{
    for (long ns = REST_LEAST;;) {
        int done = 0;
        pthread_mutex_lock(&c->lock);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        const bool over = !done && look_for_end(c);
        c->cut |= over;
        pthread_mutex_unlock(&c->lock);
        if (done || over || *c->stop)
            return done;
        rest(ns);
        ns = 2 * ns < REST_MOST ? 2 * ns : REST_MOST;
    }
}

static uint64_t add_to_next(struct context *c, uint64_t number)
{
    uint64_t before = beyond_all;
    MPI_Request request;
    pthread_mutex_lock(&c->lock);
    MPI_Rget_accumulate(&number, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, 0,
                        0, 1, MPI_UINT64_T, MPI_SUM, c->window, &request);
    pthread_mutex_unlock(&c->lock);
    return wait_for(c, &request) ? before : beyond_all;
}

static uint64_t claim(void *context)
{
    return add_to_next(context, 1);
}

static enum tp_status fail(struct tp_error *err, const char *what,
                           unsigned rank)
{
    return tp_fail(err, TP_E_INTERRUPTED, -1,
                   "interrupted while %s process %u", what, rank);
}

static enum tp_status send(void *context, unsigned to, const void *bytes,
                           size_t size, struct tp_error *err)
{
    struct context *c = context;
    for (size_t at = 0; at < size; at += CHUNK) {
        const size_t left = size - at;
        MPI_Request request;
        pthread_mutex_lock(&c->lock);
        MPI_Isend((const char *)bytes + at, left < CHUNK ? (int)left : CHUNK,
                  MPI_BYTE, (int)to, TAG_BYTES, MPI_COMM_WORLD, &request);
        pthread_mutex_unlock(&c->lock);
        if (!wait_for(c, &request))
            return fail(err, "sending to", to);
    }
    return TP_OK;
}

static enum tp_status receive(void *context, unsigned from, void *bytes,
                              size_t size, struct tp_error *err)
{
    struct context *c = context;
    for (size_t at = 0; at < size; at += CHUNK) {
        const size_t left = size - at;
        MPI_Request request;
        pthread_mutex_lock(&c->lock);
        MPI_Irecv((char *)bytes + at, left < CHUNK ? (int)left : CHUNK,
                  MPI_BYTE, (int)from, TAG_BYTES, MPI_COMM_WORLD, &request);
        pthread_mutex_unlock(&c->lock);
        if (!wait_for(c, &request))
            return fail(err, "waiting for", from);
    }
    return TP_OK;
}

/* Lets MPI do for others what they ask of rank 0. */
static void *serve(void *context)
{
    struct context *c = context;
    for (bool served = false; !served; rest(SERVE_EVERY)) {
        int there;
        pthread_mutex_lock(&c->lock);
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_OVER, MPI_COMM_WORLD, &there,
                   MPI_STATUS_IGNORE);
        served = c->served;
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

static void make_window(struct context *c)
{
    const MPI_Aint size = c->world.rank == 0 ? (MPI_Aint)sizeof *c->next : 0;
    MPI_Win_allocate(size, sizeof *c->next, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &c->next, &c->window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, c->window);
    if (c->world.rank == 0)
        *c->next = 0;
    MPI_Win_sync(c->window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void take_window(struct context *c)
{
    MPI_Win_unlock_all(c->window);
    MPI_Win_free(&c->window);
}

/* mpirun gives process 0 a terminal, also where its own output is a file, which
 * colours and links would be written into. */
static void leave_colors(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        setenv("NO_COLOR", "1", 1);
}

enum tp_status tp_world_open(const volatile sig_atomic_t *stop,
                             const struct tp_world **world,
                             struct tp_error *err)
{
    int rank, size, level;
    *world = NULL;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
        MPI_SUCCESS)
        return tp_fail(err, TP_E_IO, -1, "MPI does not start");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leave_colors();
    if (size == 1)
        return TP_OK;
    if (level < MPI_THREAD_SERIALIZED)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "this MPI cannot be called by more than one thread");
    struct context *c = calloc(1, sizeof *c);
    if (!c)
        return tp_fail_memory(err);
    c->world = (struct tp_world){(unsigned)rank, (unsigned)size, c, claim,
                                 send,           receive};
    c->stop = stop;
    pthread_mutex_init(&c->lock, NULL);
    make_window(c);
    *world = &c->world;
    if (rank == 0)
        c->serving = pthread_create(&c->server, NULL, serve, c) == 0;
    return rank > 0 || c->serving
               ? TP_OK
               : tp_fail(err, TP_E_IO, -1, "cannot start a thread");
}

/* Rank 0: nothing is left to claim, and nothing to wait for. */
static void end_others(struct context *c, int result)
{
    add_to_next(c, beyond_all);
    for (unsigned i = 1; i < c->world.size; i++) {
        pthread_mutex_lock(&c->lock);
        MPI_Send(&result, 1, MPI_INT, (int)i, TAG_OVER, MPI_COMM_WORLD);
        pthread_mutex_unlock(&c->lock);
    }
}

/* Another rank: until rank 0 is done, or so many times REST_MOST; false: it is
 * not, or this process was told to end before. */
static bool wait_for_end(struct context *c, unsigned long times)
{
    bool over = c->over;
    for (unsigned long i = 0; i < times && !over && !*c->stop; i++) {
        pthread_mutex_lock(&c->lock);
        over = look_for_end(c);
        pthread_mutex_unlock(&c->lock);
        if (!over)
            rest(REST_MOST);
    }
    return over;
}

bool tp_world_talks(void)
{
    return true;
}

bool tp_world_is_over(const struct tp_world *world)
{
    enum { TIMES = 500 };
    return world && world->rank > 0 && wait_for_end(world->context, TIMES);
}

static void stop_serving(struct context *c)
{
    pthread_mutex_lock(&c->lock);
    c->served = true;
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->server, NULL);
}

/* Whether this process may only end together with all others, at once. */
static bool must_abort(const struct context *c, int result)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return c ? *c->stop || c->cut || (c->world.rank > 0 && result && !c->over)
             : size > 1 && result; /* it did not open */
}

int tp_world_close(const struct tp_world *world, int result)
{
    struct context *c = world ? world->context : NULL;
    int started;
    MPI_Initialized(&started);
    if (!started)
        return result;
    if (must_abort(c, result))
        MPI_Abort(MPI_COMM_WORLD, c && c->cut ? c->result : result);
    if (c && c->world.rank == 0)
        end_others(c, result);
    else if (c && !wait_for_end(c, ULONG_MAX))
        MPI_Abort(MPI_COMM_WORLD, result);
    if (c && c->serving)
        stop_serving(c);
    if (c)
        take_window(c);
    MPI_Finalize();
    free(c);
    return result;
}
