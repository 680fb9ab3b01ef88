/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_WORLD_H
#define TP_BASE_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Processes that run one command together, as MPI starts them and counts them:
 * rank 0 says what there is to do, takes what the others did, and writes the
 * result. A process alone has no world (NULL).
 *
 * What waits gives up with TP_E_INTERRUPTED when the process is told to end, or
 * when rank 0 is done without it.
 */
struct tp_world {
    unsigned rank, size;
    void *context;
    /* A number that no other call of any process gets: 0, 1, 2 and so on, far
     * beyond all where the world ends. Any thread. */
    uint64_t (*claim)(void *context);
    /* Sends bytes; receives as many as were sent, from ranks one by one and in
     * the order they were sent. The thread that opened the world. TP_E_IO. */
    enum tp_status (*send)(void *context, unsigned to, const void *bytes,
                           size_t size, struct tp_error *err);
    enum tp_status (*receive)(void *context, unsigned from, void *bytes,
                              size_t size, struct tp_error *err);
};

/* Bytes of rank 0 to all others. */
enum tp_status tp_world_tell(const struct tp_world *world, const void *bytes,
                             size_t size, struct tp_error *err);

#endif
