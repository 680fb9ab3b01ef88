/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_OBJECT_H
#define TP_TORCH_TORCH_OBJECT_H

#include "formats/reader.h"
#include "formats/torch/torch_storage.h"

/*
 * From a pickle's values to the tensors of a file: what every container of
 * torch (zip, legacy stream, plain pickle) has in common.
 */

/* How a container finds the storages its pickle names. */
struct tp_torch_source {
    /* Sets entry->storage; called at most once for an entry. */
    enum tp_status (*resolve)(struct tp_torch_source *source,
                              struct tp_torch_entry *entry,
                              struct tp_error *err);
    struct tp_torch_table table;
    struct tp_bytes bytes;    /* what the pickle was read from, borrowed   */
};

/*
 * Walks the values from the root and fills in file->tensors and file->skips,
 * in payload order. Understood are lists, tuples, dicts, sets, what Python's
 * and torch's standard containers pickle to, attributes of any object, and
 * the calls in the table of torch_rebuild.c. A tensor that depends on another
 * call is a skip that names it. Each container is visited once on each path
 * that leads to it; cycles end where they close. Fails only with
 * TP_E_MEMORY. `pickle` is not used after the call.
 */
enum tp_status tp_torch_collect(struct tp_tensor_file *file,
                                const struct tp_pickle *pickle,
                                struct tp_torch_source *source,
                                struct tp_error *err);

/* Adds a skip about the whole file, behind those there are. */
enum tp_status tp_torch_skip_file(struct tp_tensor_file *file,
                                  const struct tp_error *why,
                                  struct tp_error *err);

#endif
