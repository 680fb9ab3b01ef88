/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_PACKED_STORAGE_H
#define TP_DATA_PACKED_STORAGE_H

#include "base/memory.h"
#include "data/tensor.h"

/*
 * Makes, in `arena`, the storage of a dtype whose elements are packed in files
 * (struct tp_dtype_info, packed) from the one that holds its bytes: a byte for
 * each element. Elements fill bytes from their lowest bit on, as torch's
 * float4_e2m1fn_x2 does; of the formats of 6 bits nobody says it, and this is
 * assumed. Read from any thread as `bytes` is, which it borrows. NULL: out of
 * memory.
 */
struct tp_storage *tp_packed_storage_new(struct tp_arena *arena,
                                         const struct tp_storage *bytes,
                                         enum tp_dtype dtype);

#endif
