/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_SCALED_AO_H
#define TP_TORCH_TORCH_SCALED_AO_H

#include "formats/torch/torch_scaled_parts.h"

/* Tensors of torchao; each adds the values alone, and fails as tp_torch_scaled
 * does: codes and scales are found as attributes. */

/* MXTensor: codes of 4, 6 or 8 bits, powers of two for blocks. */
enum tp_status tp_ao_mx(struct tp_maker *m, struct tp_error *err);

/* NVFP4Tensor: codes of 4 bits, scales of 8, and maybe one for all. */
enum tp_status tp_ao_nvfp4(struct tp_maker *m, struct tp_error *err);

/* Float8Tensor: scales for all, lines or blocks. */
enum tp_status tp_ao_float8(struct tp_maker *m, struct tp_error *err);

#endif
