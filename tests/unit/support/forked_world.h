/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_FORKED_WORLD_H
#define TP_TESTS_FORKED_WORLD_H

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/world.h"

/* A world of processes that fork from a test: MPI's without MPI. */
enum { FORKED_MOST = 8 };

struct forked_world {
    struct tp_world world;
    int sockets[FORKED_MOST][2]; /* of rank 0, and of each other           */
    _Atomic uint64_t *next;      /* shared                                 */
};

static uint64_t forked_claim(void *context)
{
    const struct forked_world *w = context;
    return atomic_fetch_add(w->next, 1);
}

static enum tp_status forked_send(void *context, unsigned to, const void *bytes,
                                  size_t size, struct tp_error *err)
{
    const struct forked_world *w = context;
    const int fd = w->world.rank == 0 ? w->sockets[to][0]
                                      : w->sockets[w->world.rank][1];
    for (size_t at = 0; at < size;) {
        const ssize_t sent =
            send(fd, (const char *)bytes + at, size - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return tp_fail_errno(err, "cannot send");
        at += (size_t)sent;
    }
    return TP_OK;
}

static enum tp_status forked_receive(void *context, unsigned from, void *bytes,
                                     size_t size, struct tp_error *err)
{
    const struct forked_world *w = context;
    const int fd = w->world.rank == 0 ? w->sockets[from][0]
                                      : w->sockets[w->world.rank][1];
    for (size_t at = 0; at < size;) {
        const ssize_t got = read(fd, (char *)bytes + at, size - at);
        if (got <= 0)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "the peer is gone");
        at += (size_t)got;
    }
    return TP_OK;
}

/* Zeros that forked processes share. */
static inline void *shared_zeros(size_t size)
{
    FILE *file = tmpfile();
    cr_assert(file && ftruncate(fileno(file), (off_t)size) == 0);
    void *zeros = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                       fileno(file), 0);
    cr_assert(zeros != MAP_FAILED);
    fclose(file);
    return zeros;
}

/* Calls `work` once in each of `size` processes: rank 0 is the caller. Whether
 * it returned true in all of them. */
static inline bool run_world(unsigned size,
                             bool (*work)(const struct tp_world *world,
                                          void *context),
                             void *context)
{
    struct forked_world w = {.world = {0, size, &w, forked_claim, forked_send,
                                       forked_receive}};
    w.next = shared_zeros(sizeof *w.next);
    cr_assert_leq(size, FORKED_MOST);
    for (unsigned i = 1; i < size; i++)
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, w.sockets[i]), 0);
    for (unsigned i = 1; i < size; i++) {
        if (fork() == 0) {
            w.world.rank = i;
            for (unsigned k = 1; k < size; k++) { /* whoever goes is seen to */
                close(w.sockets[k][0]);
                if (k > i)
                    close(w.sockets[k][1]);
            }
            _exit(work(&w.world, context) ? 0 : 1);
        }
        close(w.sockets[i][1]);
    }
    bool good = work(&w.world, context);
    for (unsigned i = 1; i < size; i++)
        close(w.sockets[i][0]);
    for (unsigned i = 1; i < size; i++) {
        int status;
        wait(&status);
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    munmap(w.next, sizeof *w.next);
    return good;
}

#endif
