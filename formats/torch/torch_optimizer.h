/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_OPTIMIZER_H
#define TP_TORCH_TORCH_OPTIMIZER_H

#include "data/tensor_file.h"
#include "formats/torch/pickle_value.h"

/*
 * If `dict` is the state_dict of an optimizer (it has a list "param_groups" of
 * dicts with numbers as "params"), fills *made, allocated in `arena`, but for
 * its path; NULL: it is none, or of more than *budget parameters, which is
 * lowered by what it has. Fails only with TP_E_MEMORY.
 */
enum tp_status tp_torch_optimizer(const struct tp_pickle *pickle, tp_ref dict,
                                  uint64_t *budget, struct tp_arena *arena,
                                  struct tp_optimizer **made,
                                  struct tp_error *err);

#endif
