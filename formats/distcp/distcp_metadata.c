/* SPDX-License-Identifier: MIT */
/*
 * The tables of a checkpoint from its pickle. Entries are noted in one array;
 * the places of chunks, which the pickle holds under a key of name and offset,
 * in another that is sorted by a hash of both, where bisection finds them. A
 * walk through the dict for each chunk would take the square of their number.
 * Cost: a look at each value, a sort of 24 bytes for each chunk.
 */
#include "formats/distcp/distcp_metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "base/search.h"
#include "data/tensor_axes.h"
#include "formats/torch/torch_rebuild.h"

/* A member of storage_data. */
struct stored {
    uint64_t hash;
    uint32_t pickle;
    tp_ref index, info;
};

struct tp_distcp_metadata {
    struct tp_arena *arena;
    struct tp_pickle *pickles;
    size_t pickle_count, pickle_room;
    struct tp_distcp_entry *entries;
    size_t entry_count, entry_room;
    struct stored *stored;
    size_t stored_count, stored_room;
    const char *call;
};

struct tp_distcp_metadata *tp_distcp_metadata_new(struct tp_arena *arena)
{
    struct tp_distcp_metadata *m = calloc(1, sizeof *m);
    if (m) {
        m->arena = arena;
        m->call = "";
    }
    return m;
}

void tp_distcp_metadata_free(struct tp_distcp_metadata *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->pickle_count; i++)
        tp_pickle_clear(&m->pickles[i]);
    free(m->pickles);
    free(m->entries);
    free(m->stored);
    free(m);
}

const char *tp_distcp_metadata_call(const struct tp_distcp_metadata *m)
{
    return m->call;
}

/* ---- objects ------------------------------------------------------------ */

/* An attribute of an object: its state is a dict, or a pair of the usual one
 * and that of __slots__. */
static tp_ref attribute(const struct tp_pickle *pickle, tp_ref object,
                        const char *name)
{
    if (tp_pickle_kind(pickle, object) != TP_VALUE_CALL)
        return TP_REF_NONE;
    const tp_ref state = pickle->values[object].u.call.state;
    tp_ref found = tp_pickle_lookup(pickle, state, name);
    for (size_t i = 0; found == TP_REF_NONE && i < 2; i++)
        found = tp_pickle_lookup(pickle, tp_pickle_item(pickle, state, i),
                                 name);
    return found;
}

/* Whether an object is of the class, in whatever module. */
static bool is_of_class(const struct tp_pickle *pickle, tp_ref object,
                        const char *name)
{
    const char *full = tp_pickle_kind(pickle, object) == TP_VALUE_CALL
                           ? tp_pickle_callable(pickle, object)
                           : NULL;
    const char *last = full ? strrchr(full, '.') : NULL;
    return last && strcmp(last + 1, name) == 0;
}

/* The function of a call that makes no plain object; NULL: an honest one. */
static const char *odd_call(const struct tp_pickle *pickle, tp_ref ref)
{
    static const char *const known[] = {"torch.",       "megatron.",
                                        "pathlib.",     "collections.",
                                        "_codecs.",     "copyreg.",
                                        "builtins.set", "builtins.frozenset"};
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (value->kind != TP_VALUE_CALL || value->made)
        return NULL;
    const char *name = tp_pickle_callable(pickle, ref);
    if (!name)
        return "something without a name";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            return NULL;
    }
    return name;
}

static enum tp_status note_calls(struct tp_distcp_metadata *m,
                                 const struct tp_pickle *pickle,
                                 struct tp_error *err)
{
    for (size_t i = 0; !m->call[0] && i < pickle->count; i++) {
        const char *name = odd_call(pickle, (tp_ref)i);
        if (name)
            m->call = tp_arena_text(m->arena, name, strlen(name));
        if (!m->call)
            return tp_fail_memory(err);
    }
    return TP_OK;
}

/* ---- reading ------------------------------------------------------------ */

static uint64_t key_hash(const char *name, size_t length, const int64_t *offset,
                         int ndim)
{
    uint64_t h = tp_hash_next(tp_hash_bytes(name, length), (uint64_t)ndim);
    for (int i = 0; i < ndim; i++)
        h = tp_hash_next(h, (uint64_t)offset[i]);
    return tp_hash_end(h);
}

/* The key of a place. */
struct key {
    const char *name;
    size_t length;
    int ndim; /* -1: of an object */
    int64_t offset[TP_LIMIT_DIMS];
};

static bool read_key(const struct tp_pickle *pickle, tp_ref index,
                     struct key *key)
{
    const tp_ref at = attribute(pickle, index, "offset");
    key->ndim = -1;
    if (!tp_pickle_text(pickle, attribute(pickle, index, "fqn"), &key->name,
                        &key->length))
        return false;
    return tp_pickle_kind(pickle, at) == TP_VALUE_NONE ||
           tp_torch_dims(pickle, at, key->offset, &key->ndim, NULL) == TP_OK;
}

static enum tp_status note_stored(struct tp_distcp_metadata *m, tp_ref dict,
                                  struct tp_error *err)
{
    const size_t number = m->pickle_count - 1;
    const struct tp_pickle *pickle = &m->pickles[number];
    tp_ref index, info;
    for (size_t i = 0; tp_pickle_pair(pickle, dict, i, &index, &info); i++) {
        struct key key;
        if (!read_key(pickle, index, &key))
            continue; /* whoever looks for it finds nothing */
        if (tp_grow(&m->stored, &m->stored_room, m->stored_count + 1,
                    sizeof *m->stored, err) != TP_OK)
            return TP_E_MEMORY;
        m->stored[m->stored_count++] =
            (struct stored){key_hash(key.name, key.length, key.offset,
                                     key.ndim),
                            (uint32_t)number, index, info};
    }
    return TP_OK;
}

static enum tp_status note_entries(struct tp_distcp_metadata *m, tp_ref dict,
                                   struct tp_error *err)
{
    const size_t number = m->pickle_count - 1;
    const struct tp_pickle *pickle = &m->pickles[number];
    tp_ref key, value;
    for (size_t i = 0; tp_pickle_pair(pickle, dict, i, &key, &value); i++) {
        struct tp_distcp_entry entry = {.pickle = number, .value = value};
        if (!tp_pickle_text(pickle, key, &entry.name, &entry.length))
            return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, key),
                           "a key of state_dict_metadata is no text");
        entry.bytes = is_of_class(pickle, value, "BytesStorageMetadata");
        if (tp_grow(&m->entries, &m->entry_room, m->entry_count + 1,
                    sizeof entry, err) != TP_OK)
            return TP_E_MEMORY;
        m->entries[m->entry_count++] = entry;
    }
    return TP_OK;
}

enum tp_status tp_distcp_metadata_add(struct tp_distcp_metadata *m,
                                      const struct tp_bytes *bytes,
                                      struct tp_error *err)
{
    uint64_t position = 0;
    enum tp_status status =
        tp_grow(&m->pickles, &m->pickle_room, m->pickle_count + 1,
                sizeof *m->pickles, err);
    if (status != TP_OK)
        return status;
    struct tp_pickle *pickle = &m->pickles[m->pickle_count++];
    status = tp_pickle_read(bytes, &position, bytes->size, pickle, err);
    if (status != TP_OK)
        return status;
    const tp_ref entries =
        attribute(pickle, pickle->root, "state_dict_metadata");
    const tp_ref stored = attribute(pickle, pickle->root, "storage_data");
    if (entries == TP_REF_NONE || stored == TP_REF_NONE)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "not the metadata of torch.distributed.checkpoint: it "
                       "has no %s",
                       entries == TP_REF_NONE ? "state_dict_metadata"
                                              : "storage_data");
    status = note_calls(m, pickle, err);
    if (status == TP_OK)
        status = note_entries(m, entries, err);
    return status == TP_OK ? note_stored(m, stored, err) : status;
}

static int compare_entries(const void *a, const void *b)
{
    const struct tp_distcp_entry *x = a, *y = b;
    const size_t most = x->length < y->length ? x->length : y->length;
    int order = most ? memcmp(x->name, y->name, most) : 0;
    if (!order)
        order = tp_order_uint64(x->length, y->length);
    return order ? order : tp_order_uint64(x->pickle, y->pickle);
}

static int compare_stored(const void *a, const void *b)
{
    const struct stored *x = a, *y = b;
    int order = tp_order_uint64(x->hash, y->hash);
    if (!order)
        order = tp_order_uint64(x->pickle, y->pickle);
    return order ? order : tp_order_uint64(x->index, y->index);
}

enum tp_status tp_distcp_metadata_end(struct tp_distcp_metadata *m,
                                      const struct tp_distcp_entry **entries,
                                      size_t *count, struct tp_error *err)
{
    (void)err;
    /* a single file stays in its order */
    if (m->pickle_count > 1 && m->entry_count)
        qsort(m->entries, m->entry_count, sizeof *m->entries, compare_entries);
    if (m->stored_count)
        qsort(m->stored, m->stored_count, sizeof *m->stored, compare_stored);
    *entries = m->entries;
    *count = m->entry_count;
    return TP_OK;
}

/* ---- tensors ------------------------------------------------------------ */

/* The dtype that the properties tell: the first of a tuple. */
static enum tp_dtype told_dtype(const struct tp_pickle *pickle,
                                tp_ref properties)
{
    static const char prefix[] = "torch.";
    tp_ref dtype = attribute(pickle, properties, "dtype");
    if (dtype == TP_REF_NONE &&
        tp_pickle_kind(pickle, properties) == TP_VALUE_CALL)
        dtype = tp_pickle_item(pickle, pickle->values[properties].u.call.state,
                               0);
    const struct tp_value *value = tp_pickle_value(pickle, dtype);
    if (!value || value->kind != TP_VALUE_GLOBAL ||
        strncmp(value->u.text.data, prefix, strlen(prefix)) != 0)
        return TP_DTYPE_COUNT;
    return tp_dtype_by_name(value->u.text.data + strlen(prefix));
}

enum tp_status tp_distcp_shape(const struct tp_distcp_metadata *m,
                               const struct tp_distcp_entry *entry,
                               struct tp_arena *arena, struct tp_tensor *tensor,
                               struct tp_error *err)
{
    const struct tp_pickle *pickle = &m->pickles[entry->pickle];
    int64_t shape[TP_LIMIT_DIMS];
    int ndim;
    if (!is_of_class(pickle, entry->value, "TensorStorageMetadata"))
        return tp_fail(err, TP_E_UNSUPPORTED,
                       tp_pickle_offset(pickle, entry->value),
                       "it is neither a tensor nor an object");
    tensor->dtype =
        told_dtype(pickle, attribute(pickle, entry->value, "properties"));
    enum tp_status status = tp_torch_dims(
        pickle, attribute(pickle, entry->value, "size"), shape, &ndim, err);
    int64_t *axes =
        status == TP_OK ? tp_tensor_new_axes(tensor, ndim, arena) : NULL;
    if (status == TP_OK && !axes)
        return tp_fail_memory(err);
    for (int i = 0; status == TP_OK && i < ndim; i++)
        axes[i] = axes[ndim + i] = shape[i];
    return status;
}

size_t tp_distcp_chunks(const struct tp_distcp_metadata *m,
                        const struct tp_distcp_entry *entry)
{
    const struct tp_pickle *pickle = &m->pickles[entry->pickle];
    return tp_pickle_length(pickle, attribute(pickle, entry->value, "chunks"));
}

static enum tp_status read_place(const struct tp_pickle *pickle, tp_ref ref,
                                 int ndim, int64_t *to, struct tp_error *err)
{
    int64_t dims[TP_LIMIT_DIMS];
    int count;
    enum tp_status status = tp_torch_dims(pickle, ref, dims, &count, err);
    if (status == TP_OK && count != ndim)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                       "a chunk has %d dimensions, the tensor %d", count,
                       ndim);
    if (status == TP_OK && count)
        memcpy(to, dims, (size_t)count * sizeof *dims);
    return status;
}

enum tp_status tp_distcp_chunk(const struct tp_distcp_metadata *m,
                               const struct tp_distcp_entry *entry,
                               size_t index, int ndim, int64_t *place,
                               struct tp_error *err)
{
    const struct tp_pickle *pickle = &m->pickles[entry->pickle];
    const tp_ref chunk = tp_pickle_item(
        pickle, attribute(pickle, entry->value, "chunks"), index);
    enum tp_status status = read_place(
        pickle, attribute(pickle, chunk, "offsets"), ndim, place, err);
    return status == TP_OK ? read_place(pickle,
                                        attribute(pickle, chunk, "sizes"),
                                        ndim, place + ndim, err)
                           : status;
}

/* ---- places ------------------------------------------------------------- */

static bool is_key(const struct tp_distcp_metadata *m,
                   const struct stored *stored,
                   const struct tp_distcp_entry *entry, const int64_t *offset,
                   int ndim)
{
    struct key key;
    return read_key(&m->pickles[stored->pickle], stored->index, &key) &&
           key.ndim == ndim && key.length == entry->length &&
           memcmp(key.name, entry->name, key.length) == 0 &&
           (ndim <= 0 ||
            memcmp(key.offset, offset, (size_t)ndim * sizeof *offset) == 0);
}

static enum tp_status read_info(const struct tp_distcp_metadata *m,
                                const struct stored *stored,
                                struct tp_distcp_place *place,
                                struct tp_error *err)
{
    const struct tp_pickle *pickle = &m->pickles[stored->pickle];
    const int64_t at = tp_pickle_offset(pickle, stored->info);
    const tp_ref transforms =
        attribute(pickle, stored->info, "transform_descriptors");
    const char *name, *how = NULL;
    size_t length;
    int64_t offset, bytes;
    if (!tp_pickle_text(pickle,
                        attribute(pickle, stored->info, "relative_path"),
                        &name, &length) ||
        !tp_pickle_int(pickle, attribute(pickle, stored->info, "offset"),
                       &offset) ||
        !tp_pickle_int(pickle, attribute(pickle, stored->info, "length"),
                       &bytes) ||
        offset < 0 || bytes < 0)
        return tp_fail(err, TP_E_DAMAGED, at,
                       "its place is not told by a file, an offset and a "
                       "length");
    place->file = tp_arena_text(m->arena, name, length);
    place->offset = (uint64_t)offset;
    place->length = (uint64_t)bytes;
    place->transform = NULL;
    if (tp_pickle_length(pickle, transforms) > 0)
        place->transform = "something";
    if (tp_pickle_text(pickle, tp_pickle_item(pickle, transforms, 0), &how,
                       &length))
        place->transform = tp_arena_text(m->arena, how, length);
    return place->file && (!how || place->transform) ? TP_OK
                                                     : tp_fail_memory(err);
}

enum tp_status tp_distcp_find(const struct tp_distcp_metadata *m,
                              const struct tp_distcp_entry *entry,
                              const int64_t *offset, int ndim,
                              struct tp_distcp_place *place,
                              struct tp_error *err)
{
    const uint64_t hash = key_hash(entry->name, entry->length, offset, ndim);
    size_t i;
    TP_PARTITION_POINT(i, m->stored_count, m->stored[i].hash < hash);
    for (; i < m->stored_count && m->stored[i].hash == hash; i++) {
        if (is_key(m, &m->stored[i], entry, offset, ndim))
            return read_info(m, &m->stored[i], place, err);
    }
    return tp_fail(err, TP_E_DAMAGED, -1,
                   "the metadata does not tell in which file %s lies",
                   ndim < 0 ? "it" : "a chunk of it");
}
