/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_TENSOR_PARTS_H
#define TP_DATA_TENSOR_PARTS_H

#include "base/file_set.h"
#include "base/memory.h"
#include "data/tensor.h"

/* Tensors that lie in several pieces, as one. */

/* A box of a tensor: its elements [offset, offset + size) of each axis, stored
 * densely in row-major order. */
struct tp_tensor_part {
    struct tp_storage *storage; /* NULL only when the box is empty         */
    const int64_t *offset;      /* [ndim]                                  */
    const int64_t *size;        /* [ndim]                                  */
};

/*
 * Gives a tensor, of which dtype, ndim and shape are set, the storage that its
 * parts are together, which lives in `arena` with what they point to; the array
 * itself is not kept. Each element has to be in exactly one part. TP_E_DAMAGED
 * names a part that lies outside, two that overlap, or how much is missing.
 * Strides, offset and numel are set; its axes are then those of the arena.
 */
enum tp_status tp_tensor_join(struct tp_arena *arena, struct tp_tensor *tensor,
                              const struct tp_tensor_part *parts, size_t count,
                              struct tp_error *err);

/* Whether a box lies inside a tensor, of which ndim and shape are set.
 * TP_E_DAMAGED names the dimension in which it does not. */
enum tp_status tp_tensor_part_inside(const struct tp_tensor *tensor,
                                     const struct tp_tensor_part *part,
                                     struct tp_error *err);

/* Of a storage that tp_tensor_join made of several parts that of part `i`;
 * NULL: it has no such part, or is another kind of storage. */
struct tp_storage *tp_joined_part(const struct tp_storage *storage, size_t i);

/* A storage that is bytes [start, start + size) of a file of the set. NULL: out
 * of memory. */
struct tp_storage *tp_member_storage_new(struct tp_arena *arena,
                                         struct tp_file_set *set,
                                         size_t number, uint64_t start,
                                         uint64_t size);

#endif
