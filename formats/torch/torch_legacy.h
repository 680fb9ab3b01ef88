/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_LEGACY_H
#define TP_TORCH_TORCH_LEGACY_H

#include "formats/torch/torch_storage.h"

/* Reads a storage saved on its own, as a legacy stream: tp_nested_reader. */
enum tp_status tp_legacy_storage(const struct tp_nested_range *range,
                                 struct tp_arena *arena,
                                 struct tp_storage **storage,
                                 enum tp_dtype *dtype, struct tp_error *err);

#endif
