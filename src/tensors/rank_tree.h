/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_RANK_TREE_H
#define TP_TENSORS_RANK_TREE_H

#include "base/file.h"
#include "base/text.h"

/*
 * Folders of Megatron's ranks: iter_0000010/mp_rank_TT[_PPP][_EEE]/ of tensor,
 * pipeline and expert parallel rank. Together they make a grid.
 *
 * Looks at the files from number *next of a sorted list on for the next such
 * tree and moves *next behind it. Returns its first file's number, with a
 * sentence about the ranks that are missing of the grid in `missing`, which
 * stays empty where none is, or memory is short, which sets its `failed`;
 * files->count: there is no more. The last rank of an axis is not missed.
 */
size_t tp_rank_tree_next(const struct tp_found_list *files, size_t *next,
                         struct tp_text *missing);

#endif
