/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_DANGER_H
#define TP_TORCH_TORCH_DANGER_H

#include "data/tensor_file.h"
#include "formats/torch/pickle_value.h"

/*
 * Adds a skip for the whole file, with the first such name and its byte, where
 * a pickle names what starts programs or runs text as code in whoever loads
 * it. Nothing here ever calls it. Fails only with TP_E_MEMORY.
 */
enum tp_status tp_torch_danger_tell(struct tp_tensor_file *file,
                                    const struct tp_pickle *pickle,
                                    struct tp_error *err);

#endif
