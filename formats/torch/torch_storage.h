/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_STORAGE_H
#define TP_TORCH_TORCH_STORAGE_H

#include "data/range_storage.h"
#include "formats/torch/pickle.h"

/* Storages of torch files: how a pickle names them. */

/*
 * torch names a storage by the persistent id
 * ("storage", class, key, location, numel[, view of another storage]).
 */
struct tp_torch_id {
    const char *key;        /* borrowed from the pickle; NULL: a number   */
    size_t key_length;
    int64_t number;         /* the key of torch.package; -1: a text       */
    const char *class_name; /* "torch.FloatStorage"                       */
    enum tp_dtype dtype;    /* of that class; TP_DTYPE_COUNT: untyped     */
    int64_t numel;          /* of the storage; untyped: bytes             */
    tp_ref view;            /* (key, offset, numel), or TP_REF_NONE       */
    int64_t at;             /* byte of the id in the file, for messages   */
};

/*
 * Takes a persistent value apart. Fails with TP_E_DAMAGED when it is no such
 * tuple, TP_E_UNSUPPORTED for storage classes without a dtype of ours.
 */
enum tp_status tp_torch_id_read(const struct tp_pickle *pickle, tp_ref ref,
                                struct tp_torch_id *id, struct tp_error *err);

/* Bytes of an element: of the dtype, or 1 where there is none. */
uint64_t tp_torch_id_element(const struct tp_torch_id *id);

/* One storage that a pickle names. */
struct tp_torch_entry {
    struct tp_torch_id id;      /* where it is named first                */
    struct tp_storage *storage; /* NULL until the container resolves it   */
    const struct tp_error *failure; /* why it could not; NULL: not tried  */
};

/* The storages a pickle names, each key once, sorted by key. */
struct tp_torch_table {
    struct tp_torch_entry *entries;
    size_t count;
};

/*
 * Collects them, in memory of `arena`; keys are borrowed from the pickle. Ids
 * that cannot be read are left out. Fails only with TP_E_MEMORY.
 */
enum tp_status tp_torch_table_read(const struct tp_pickle *pickle,
                                   struct tp_arena *arena,
                                   struct tp_torch_table *table,
                                   struct tp_error *err);

/* The entry with the key of `id`, NULL when there is none. */
struct tp_torch_entry *tp_torch_table_find(const struct tp_torch_table *table,
                                           const struct tp_torch_id *id);

/* Bytes [start, end) of an input. */
struct tp_nested_range {
    const struct tp_bytes *bytes;
    uint64_t start, end;
};

/*
 * Reads a storage that was saved on its own inside a pickle: this is how
 * plain pickle (not torch.save) holds the storages of its tensors. *dtype is
 * TP_DTYPE_COUNT when it is untyped. The storage lives in `arena`; the input
 * stays open as long as it is read.
 */
typedef enum tp_status tp_nested_reader(const struct tp_nested_range *range,
                                        struct tp_arena *arena,
                                        struct tp_storage **storage,
                                        enum tp_dtype *dtype,
                                        struct tp_error *err);

/* How a container finds the storages its pickle names. */
struct tp_torch_source {
    /* Sets entry->storage; called at most once for an entry. */
    enum tp_status (*resolve)(struct tp_torch_source *source,
                              struct tp_torch_entry *entry,
                              struct tp_error *err);
    tp_nested_reader *nested; /* those that lie inside the pickle          */
    struct tp_torch_table table;
    struct tp_bytes bytes;    /* what the pickle was read from, borrowed   */
};

#endif
