/* SPDX-License-Identifier: MIT */
#ifndef TP_MPI_WORLD_OPEN_H
#define TP_MPI_WORLD_OPEN_H

#include <signal.h>
#include <stdbool.h>

#include "base/world.h"

/*
 * Opens the world that this process was started in: MPI's in tprof-analyze-mpi
 * (world_open_mpi.c); none in tprof-analyze (world_open_none.c), nor where it
 * is of one process. `stop` becomes nonzero when the process is to end. Call it
 * once, before there are threads, and tp_world_close after it in any case.
 */
enum tp_status tp_world_open(const volatile sig_atomic_t *stop,
                             const struct tp_world **world,
                             struct tp_error *err);

/* Whether this process talks to others, also where it is the only one. */
bool tp_world_talks(void);

/* Whether rank 0 is done, or is within half a second: then what failed here
 * failed there, too, or does not matter. */
bool tp_world_is_over(const struct tp_world *world);

/*
 * Ends the world with an exit status, which it returns for main. Rank 0 is done
 * with this. Another rank waits for it; where it failed, all end at once, and
 * nothing returns, nor where `stop` is set.
 */
int tp_world_close(const struct tp_world *world, int result);

#endif
