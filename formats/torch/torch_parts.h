/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_PARTS_H
#define TP_TORCH_TORCH_PARTS_H

#include "data/tensor_file.h"

/*
 * Files that hold several payloads: each is read as if it were the file, and
 * what it gave is put aside with a prefix to its paths, until all were read.
 * All-zero bytes are ready.
 */
struct tp_torch_parts {
    struct tp_tensor *tensors;
    size_t count, room;
    struct tp_skip *skips, *last;
};

/*
 * Puts aside the tensors and skips of the file, which has none afterwards.
 * Their paths become `prefix`, `joint` and the path; without the joint where
 * the path is "" or begins with an index. Fails only with TP_E_MEMORY.
 */
enum tp_status tp_torch_parts_take(struct tp_torch_parts *parts,
                                   struct tp_tensor_file *file,
                                   const char *prefix, const char *joint,
                                   struct tp_error *err);

/* Puts one more tensor aside, as it is. */
enum tp_status tp_torch_parts_add(struct tp_torch_parts *parts,
                                  const struct tp_tensor *tensor,
                                  struct tp_error *err);

/* Gives all that was put aside to the file. */
enum tp_status tp_torch_parts_give(struct tp_torch_parts *parts,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err);

/* Releases what was put aside and not given. */
void tp_torch_parts_clear(struct tp_torch_parts *parts);

#endif
