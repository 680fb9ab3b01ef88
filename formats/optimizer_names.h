/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_OPTIMIZER_NAMES_H
#define TP_FORMATS_OPTIMIZER_NAMES_H

#include "data/tensor_file.h"

/*
 * Sets file->parameters by file->optimizers: which parameter each tensor
 * "state.N.exp_avg" is of. That is what param_names say; without them the
 * parameters of the same payload, in their order, if those and the states agree
 * in number and shape in only one way. What cannot be known stays NULL. Fails
 * only with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_optimizer_names(struct tp_tensor_file *file,
                                  struct tp_error *err);

#endif
