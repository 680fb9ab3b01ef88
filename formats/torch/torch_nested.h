/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_NESTED_H
#define TP_TORCH_TORCH_NESTED_H

#include "data/tensor.h"
#include "formats/torch/pickle.h"

/* Bytes [start, end) of an input. */
struct tp_nested_range {
    const struct tp_bytes *bytes;
    uint64_t start, end;
};

/*
 * Reads a storage that was saved on its own, as a legacy stream: this is how
 * plain pickle (not torch.save) holds the storages of its tensors. *dtype is
 * TP_DTYPE_COUNT when it is untyped. The storage lives in `arena`; the input
 * stays open as long as it is read.
 */
enum tp_status tp_legacy_storage(const struct tp_nested_range *range,
                                 struct tp_arena *arena,
                                 struct tp_storage **storage,
                                 enum tp_dtype *dtype, struct tp_error *err);

#endif
