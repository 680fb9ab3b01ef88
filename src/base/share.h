/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_SHARE_H
#define TP_BASE_SHARE_H

#include <stdbool.h>

#include "base/file.h"
#include "base/world.h"

/*
 * How the processes of a world read the files of a run together: rank 0 finds
 * them, each claims one after the other, the largest first, and what was read
 * goes back to rank 0.
 */

/* The files that rank 0 found become the list of each other rank, which is
 * empty. TP_E_MEMORY, or as the world's. */
enum tp_status tp_share_files(const struct tp_world *world,
                              struct tp_found_list *files,
                              struct tp_error *err);

/* Rank 0 says which of so many files need not be read; the others are told.
 * Fails as the world does. */
enum tp_status tp_share_done(const struct tp_world *world, bool *done,
                             size_t count, struct tp_error *err);

/* The order of claims: numbers of files, the largest first. NULL: no memory.
 * Released with free(). */
size_t *tp_share_order(const uint64_t *sizes, size_t count);

#endif
