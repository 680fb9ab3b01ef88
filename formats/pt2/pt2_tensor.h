/* SPDX-License-Identifier: MIT */
#ifndef TP_PT2_PT2_TENSOR_H
#define TP_PT2_PT2_TENSOR_H

#include "data/tensor.h"
#include "formats/json/json_value.h"

/*
 * What a .pt2 archive says of a tensor, its "tensor_meta": dtype and layout as
 * numbers of torch's export schema, sizes, strides and storage_offset as
 * {"as_int": n}. Sets dtype, shape, strides and offset of *tensor, which is
 * zeroed, its axes in the arena; nothing is checked against a storage yet.
 * TP_E_DAMAGED,
 * TP_E_UNSUPPORTED, TP_E_MEMORY.
 */
enum tp_status tp_pt2_tensor_read(const struct tp_json *meta,
                                  struct tp_arena *arena,
                                  struct tp_tensor *tensor,
                                  struct tp_error *err);

#endif
