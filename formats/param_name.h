/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_PARAM_NAME_H
#define TP_FORMATS_PARAM_NAME_H

#include <stdbool.h>

#include "base/memory.h"
#include "data/label.h"

/*
 * What the key of a tensor in a checkpoint says:
 *
 *     model.layers.17.mlp.experts.5.down_proj.weight
 *           layer 17, type expert, expert 5, role weight (its component),
 *           tensor_name down_proj.weight,
 *           module layers.17.mlp.experts.5.down_proj
 *
 * Names are those of PyTorch's modules as the libraries of models give them
 * (transformers, timm, Megatron-LM, torchtitan). Words of wrappers
 * (formats/param_table.h) are left out. Of an optimizer's state, keys hold the
 * parameter's name (state.NAME.exp_avg, optimizer.state.exp_avg.NAME) or its
 * number (state.12.exp_avg); the tensor is then called after the
 * parameter, with the word of the state behind it: down_proj.weight.exp_avg.
 */

/*
 * Fills layer_type, layer_idx, component, tensor_name, module, expert and the
 * roles of a label by a key. `parameter`: the name of the parameter that the
 * key has a number of, or NULL. A key without a name (all of it numbers) leaves
 * the label as it is, with *named false. Texts are owned by `arena`. Fails only
 * with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_param_name_label(const char *key, const char *parameter,
                                   struct tp_arena *arena,
                                   struct tp_label *label, bool *named,
                                   struct tp_error *err);

/*
 * The number of the parameter of a key such as "optimizer.state.12.exp_avg",
 * and the length of what stands before it with its '.'; -1: it has none.
 */
int64_t tp_param_number(const char *key, size_t *prefix);

/* Whether a key is of what a model learns: neither state of an optimizer nor a
 * buffer or a scale. */
bool tp_param_is_learned(const char *key);

#endif
