/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_ITEM_H
#define TP_TORCH_TORCH_ITEM_H

#include "data/tensor_file.h"

/*
 * Reads bytes [start, end) of file->bytes, which have to be one archive of
 * torch.save: fills in tensors, skips and metadata as tp_format_torch_zip does
 * for a file; close it with that format's close.
 */
enum tp_status tp_torch_item_open(struct tp_tensor_file *file, uint64_t start,
                                  uint64_t end, struct tp_error *err);

#endif
