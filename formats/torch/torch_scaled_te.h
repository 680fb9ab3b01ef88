/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_SCALED_TE_H
#define TP_TORCH_TORCH_SCALED_TE_H

#include "formats/torch/torch_scaled_parts.h"

/* Tensors of TransformerEngine; each adds codes, scales and values, and fails
 * as tp_torch_scaled does. */

/* Float8Tensor: one scale for all. */
enum tp_status tp_te_float8(struct tp_maker *m, struct tp_error *err);

/* MXFP8Tensor: a power of two for 32 codes of a line, or of a column. */
enum tp_status tp_te_mxfp8(struct tp_maker *m, struct tp_error *err);

/* Float8BlockwiseQTensor: a scale for 128 by 128 codes, or 128 of a line. */
enum tp_status tp_te_blockwise(struct tp_maker *m, struct tp_error *err);

/* NVFP4Tensor: a scale for 16 codes of a line, and an amax for all or for a
 * line. */
enum tp_status tp_te_nvfp4(struct tp_maker *m, struct tp_error *err);

#endif
