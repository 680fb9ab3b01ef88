/* SPDX-License-Identifier: MIT */
#ifndef TP_DISTCP_DISTCP_METADATA_H
#define TP_DISTCP_DISTCP_METADATA_H

#include "data/tensor_file.h"
#include "formats/torch/pickle.h"

/*
 * What .metadata of torch.distributed.checkpoint tells: a pickle of a Metadata,
 * of which each member is a plain object (torch/distributed/checkpoint/
 * metadata.py of torch 2.15),
 *
 *     state_dict_metadata  {name: TensorStorageMetadata(properties, size,
 *                          chunks=[ChunkStorageMetadata(offsets, sizes)]), or
 *                          BytesStorageMetadata}
 *     storage_data         {MetadataIndex(fqn, offset): _StorageInfo(
 *                          relative_path, offset, length)}
 *
 * or several, one of each rank (__0.metadata, ...), which together make one.
 * Nothing of it is called; names are data.
 */
struct tp_distcp_metadata;

/* One thing with a name. */
struct tp_distcp_entry {
    const char *name; /* any bytes                                          */
    size_t length;
    bool bytes;       /* an object, not a tensor                            */
    size_t pickle;    /* of which file                                      */
    tp_ref value;
};

/* Where something lies. */
struct tp_distcp_place {
    const char *file;       /* borrowed, ends in NUL                        */
    uint64_t offset, length;
    const char *transform;  /* what packed it; NULL: nothing                */
};

/* A new one, empty; NULL: out of memory. Texts live in `arena`. */
struct tp_distcp_metadata *tp_distcp_metadata_new(struct tp_arena *arena);
void tp_distcp_metadata_free(struct tp_distcp_metadata *metadata);

/* Adds a file. Its bytes stay open until the end of the reading. */
enum tp_status tp_distcp_metadata_add(struct tp_distcp_metadata *metadata,
                                      const struct tp_bytes *bytes,
                                      struct tp_error *err);

/* After the last one: the entries; those of one name stand together. */
enum tp_status tp_distcp_metadata_end(struct tp_distcp_metadata *metadata,
                                      const struct tp_distcp_entry **entries,
                                      size_t *count, struct tp_error *err);

/* The first function that one of the files would have called and that no
 * checkpoint needs; "": none. */
const char *tp_distcp_metadata_call(const struct tp_distcp_metadata *metadata);

/* Of a tensor: its shape, as axes of the arena, and the dtype it should have,
 * TP_DTYPE_COUNT when it is not told. */
enum tp_status tp_distcp_shape(const struct tp_distcp_metadata *metadata,
                               const struct tp_distcp_entry *entry,
                               struct tp_arena *arena, struct tp_tensor *tensor,
                               struct tp_error *err);

/* How many chunks it has, and one of them: where it begins in the tensor, which
 * has `ndim` dimensions, and behind that its sizes. */
size_t tp_distcp_chunks(const struct tp_distcp_metadata *metadata,
                        const struct tp_distcp_entry *entry);
enum tp_status tp_distcp_chunk(const struct tp_distcp_metadata *metadata,
                               const struct tp_distcp_entry *entry,
                               size_t index, int ndim, int64_t *place,
                               struct tp_error *err);

/* Where a chunk lies, or an object (ndim -1). TP_E_DAMAGED: no file has it. */
enum tp_status tp_distcp_find(const struct tp_distcp_metadata *metadata,
                              const struct tp_distcp_entry *entry,
                              const int64_t *offset, int ndim,
                              struct tp_distcp_place *place,
                              struct tp_error *err);

#endif
