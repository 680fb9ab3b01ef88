/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_GATHER_H
#define TP_STATE_STATE_GATHER_H

#include "base/world.h"
#include "state/state.h"

/* What the processes of a world read becomes the records of rank 0. All-zero
 * bytes but for the world: nothing was gathered. */
struct tp_state_gather {
    const struct tp_world *world;
    struct tp_state *states; /* [count]: own the rows of the records       */
    size_t count;
};

/*
 * Rank 0: fills in the records that others have, from these one by one, into
 * the arena of `records`, whose rows then belong to the gather. Another rank:
 * sends its own that are done. As the world fails, or TP_E_MEMORY. A function
 * of struct tp_collect_team.
 */
enum tp_status tp_state_gather(void *gather, struct tp_records *records,
                               struct tp_error *err);

/* Sends an image to rank 0; receives one there, what rows point to into the
 * arena. Clear the image in any case. As the world fails, or TP_E_MEMORY. */
enum tp_status tp_state_send_image(const struct tp_world *world,
                                   const struct tp_state_image *image,
                                   struct tp_error *err);
enum tp_status tp_state_receive_image(const struct tp_world *world,
                                      unsigned from, struct tp_arena *arena,
                                      struct tp_state_image *image,
                                      struct tp_error *err);

/* Releases what it owns, once the records are joined. */
void tp_state_gather_clear(struct tp_state_gather *gather);

#endif
