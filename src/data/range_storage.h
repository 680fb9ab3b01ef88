/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_RANGE_STORAGE_H
#define TP_DATA_RANGE_STORAGE_H

#include "base/bytes.h"
#include "base/memory.h"
#include "data/tensor.h"

/* The plain storage: a range of an input, read where it lies. */

/* A storage that is bytes [start, start + base.size) of an input. */
struct tp_range_storage {
    struct tp_storage base;
    struct tp_bytes bytes; /* borrowed */
    uint64_t start;
};

/*
 * Makes one in `arena`; the input stays open as long as it is read. A range
 * beyond the end of the input is cut there. NULL when out of memory.
 */
struct tp_range_storage *tp_range_storage_new(struct tp_arena *arena,
                                              const struct tp_bytes *bytes,
                                              uint64_t start, uint64_t size);

/* The range that a storage is; NULL: it is another kind of storage. */
const struct tp_range_storage *
tp_range_storage_of(const struct tp_storage *storage);

#endif
