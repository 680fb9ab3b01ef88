/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_OBJECT_H
#define TP_TORCH_TORCH_OBJECT_H

#include "data/tensor_file.h"
#include "formats/torch/torch_storage.h"

/*
 * From a pickle's values to the tensors of a file: what every container of
 * torch (zip, legacy stream, plain pickle) has in common.
 */

/*
 * Walks the values from the root and fills in file->tensors and file->skips,
 * in payload order, and file->metadata. Understood are lists, tuples, dicts,
 * sets, what Python's and torch's standard containers pickle to, attributes of
 * any object, and the calls in the table of torch_rebuild.c. A tensor that
 * depends on another call is a skip that names it. Each container is visited
 * once on each path that leads to it; cycles end where they close. Fails only
 * with TP_E_MEMORY. `pickle` is not used after the call.
 */
enum tp_status tp_torch_collect(struct tp_tensor_file *file,
                                const struct tp_pickle *pickle,
                                struct tp_torch_source *source,
                                struct tp_error *err);

/*
 * Answers `count` questions from the dicts "metadata" and, beside a "value",
 * "meta" of the payload, or from the payload itself: texts,
 * Python's and numpy's integers. Texts are copied into `arena`. Fails only
 * with TP_E_MEMORY.
 */
enum tp_status tp_torch_metadata(const struct tp_pickle *pickle,
                                 struct tp_metadata *metadata, size_t count,
                                 struct tp_arena *arena, struct tp_error *err);

#endif
