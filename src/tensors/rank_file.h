/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_RANK_FILE_H
#define TP_TENSORS_RANK_FILE_H

#include "base/intern.h"
#include "data/tensor_file.h"

/* What a unit tells of files that are read by themselves, too, once it is
 * closed. */

/* A copy but for the name, in the arena; NULL: out of memory. */
const struct tp_rank_file *tp_rank_file_keep(const struct tp_rank_file *told,
                                             struct tp_intern *texts,
                                             struct tp_arena *arena);

/* Whether the tensor of a number is a part of one that the unit has; `told`
 * may be NULL. */
bool tp_rank_file_joined(const struct tp_rank_file *told, size_t place);

#endif
