/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_SHARE_H
#define TP_TENSORS_SHARE_H

#include "base/world.h"
#include "tensors/record.h"

/*
 * How the processes of a world read the files of a run together: rank 0 finds
 * them, each claims one after the other, the largest first, and what was read
 * goes back to rank 0 (tp_collect_gather).
 */

/* The files that rank 0 found become the list of each other rank, which is
 * empty. TP_E_MEMORY, or as the world's. */
enum tp_status tp_share_files(const struct tp_world *world,
                              struct tp_found_list *files,
                              struct tp_error *err);

/* What rank 0 knows already is `elsewhere` for the others, and done. */
enum tp_status tp_share_done(const struct tp_world *world,
                             struct tp_records *records, struct tp_error *err);

/* The order of claims: numbers of files, the largest first. NULL: no memory.
 * Released with free(). */
size_t *tp_share_order(const struct tp_found_list *files);

#endif
