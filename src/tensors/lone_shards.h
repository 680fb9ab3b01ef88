/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_LONE_SHARDS_H
#define TP_TENSORS_LONE_SHARDS_H

#include "base/file.h"
#include "base/text.h"

/*
 * Files of torch.distributed.checkpoint (.distcp) without what says which
 * tensors their parts belong to: .metadata, or __R.metadata of their rank.
 */

/* Sets *lone: whether a path is of such a file; the disk is asked.
 * TP_E_MEMORY. */
enum tp_status tp_lone_shards_has(const char *path, bool *lone);

/*
 * Looks at the files from number *next of a sorted list on for the next folder
 * of .distcp files and moves *next behind it. Returns the number of its first
 * such file, with a sentence in `missing` if that is one of `lone`, a flag for
 * each file; files->count: there is no more.
 */
size_t tp_lone_shards_next(const struct tp_found_list *files, const bool *lone,
                           size_t *next, struct tp_text *missing);

#endif
