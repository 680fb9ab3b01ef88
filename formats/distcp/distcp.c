/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint of torch.distributed.checkpoint: a folder with
 *
 *     .metadata        which tensors there are, of which chunks, and where each
 *                      chunk lies; written last
 *     __R_F.distcp     of rank R: archives of torch.save back to back, one for
 *                      each chunk or object
 *
 * or with __R.metadata of each rank instead. It is opened by its metadata. Each
 * chunk's archive is opened once, to learn where its bytes are and what dtype
 * they have, and left; the tensor is then read from all chunks as one. Megatron
 * Core (torch_dist) and torchtitan write the same. Cost: the metadata, and one
 * small pickle for each chunk.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "data/tensor_path.h"
#include "formats/distcp/distcp_metadata.h"
#include "formats/distcp/unit.h"

struct reading {
    struct tp_unit *unit;
    struct tp_distcp_metadata *metadata;
    struct tp_tensor_part *parts; /* of the tensor at hand */
    size_t part_count, part_room;
    enum tp_dtype told; /* its dtype by the metadata */
    bool alone;         /* it is one chunk, which may be any view */
    struct tp_error *err;
};

/* ---- one tensor --------------------------------------------------------- */

/* Where an archive lies. */
struct item {
    struct tp_distcp_place place;
    size_t member;
};

static enum tp_status find_item(struct reading *r,
                                const struct tp_distcp_entry *entry,
                                const int64_t *offset, int ndim,
                                struct item *item, struct tp_error *err)
{
    enum tp_status status =
        tp_distcp_find(r->metadata, entry, offset, ndim, &item->place, err);
    if (status == TP_OK)
        status = tp_file_set_add(r->unit->set, item->place.file, &item->member,
                                 err);
    if (status == TP_OK && item->place.transform)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "it is packed by %s in %s", item->place.transform,
                         item->place.file);
    return status;
}

/* Checks that what lies in the archive at hand is the chunk. */
static enum tp_status check_chunk(struct reading *r,
                                  const struct tp_tensor *tensor,
                                  const struct tp_tensor_part *part,
                                  struct tp_error *err)
{
    const struct tp_tensor_file *item = &r->unit->item;
    if (item->tensor_count != 1)
        return tp_fail(err, item->skips ? item->skips->code : TP_E_DAMAGED, -1,
                       "%s",
                       item->skips ? item->skips->reason
                                   : "its archive does not hold one tensor");
    const struct tp_tensor *chunk = &item->tensors[0];
    if (tp_dtype_info(chunk->dtype)->packed)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "chunks of %s are not read: its elements share bytes",
                       tp_dtype_info(chunk->dtype)->name);
    bool same = chunk->ndim == tensor->ndim;
    for (int i = 0; same && i < tensor->ndim; i++)
        same = chunk->shape[i] == part->size[i];
    if (!same)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "a chunk of it has another shape in its file than in "
                       "the metadata");
    return TP_OK;
}

/* Opens the archive of a chunk; *chunk: the tensor in it. */
static enum tp_status open_chunk(struct reading *r,
                                 const struct tp_distcp_entry *entry,
                                 const struct tp_tensor *tensor,
                                 const struct tp_tensor_part *part,
                                 struct tp_tensor *chunk, struct tp_error *err)
{
    struct item item = {.member = 0};
    enum tp_status status =
        find_item(r, entry, part->offset, tensor->ndim, &item, err);
    if (status != TP_OK)
        return status;
    const size_t member = item.member;
    status = tp_unit_item_open(r->unit, member, item.place.offset,
                               item.place.length, err);
    if (status == TP_OK)
        status = check_chunk(r, tensor, part, err);
    if (status == TP_OK) {
        *chunk = r->unit->item.tensors[0];
        status = r->alone ? tp_unit_keep_storage(r->unit, member, chunk, err)
                       : tp_unit_keep_dense(r->unit, member, chunk, err);
    }
    tp_unit_item_close(r->unit, member);
    return status;
}

static bool is_empty(const struct tp_tensor_part *part, int ndim)
{
    bool empty = false;
    for (int i = 0; i < ndim; i++)
        empty = empty || part->size[i] == 0;
    return empty;
}

/* Adds a part for chunk `index`. */
static enum tp_status add_part(struct reading *r,
                               const struct tp_distcp_entry *entry,
                               size_t index, int ndim, struct tp_error *err)
{
    int64_t *dims = tp_arena_alloc(&r->unit->file->arena,
                                   2 * (size_t)ndim * sizeof *dims);
    if (!dims ||
        tp_grow(&r->parts, &r->part_room, r->part_count + 1, sizeof *r->parts,
                NULL) != TP_OK)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_distcp_chunk(r->metadata, entry, index, ndim, dims, err);
    if (status == TP_OK)
        r->parts[r->part_count++] =
            (struct tp_tensor_part){NULL, dims, dims + ndim};
    return status;
}

/* Whether two entries are of one thing: of several ranks' metadata. */
static bool same_name(const struct tp_distcp_entry *a,
                      const struct tp_distcp_entry *b)
{
    return a->length == b->length && a->bytes == b->bytes &&
           memcmp(a->name, b->name, a->length) == 0;
}

/* Drops the last part if it is one of the first `count`: each rank describes
 * its copy of a replicated tensor, of which one is read. */
static void drop_copy(struct reading *r, size_t count, int ndim)
{
    const size_t bytes = (size_t)ndim * sizeof(int64_t);
    const struct tp_tensor_part *last = &r->parts[r->part_count - 1];
    for (size_t i = 0; i < count; i++) {
        const struct tp_tensor_part *part = &r->parts[i];
        if (!bytes || (memcmp(part->offset, last->offset, bytes) == 0 &&
                       memcmp(part->size, last->size, bytes) == 0)) {
            r->part_count--;
            return;
        }
    }
}

/* Whether a tensor is one chunk, which is all of it. */
static bool is_alone(const struct reading *r, const struct tp_tensor *tensor)
{
    bool whole = r->part_count == 1;
    for (int i = 0; whole && i < tensor->ndim; i++)
        whole = r->parts[0].size[i] == tensor->shape[i] &&
                r->parts[0].offset[i] == 0;
    return whole;
}

/* Opens the chunks; where one cannot be had, *missing says why, first. */
static enum tp_status open_chunks(struct reading *r,
                                  const struct tp_distcp_entry *entry,
                                  struct tp_tensor *tensor,
                                  struct tp_error *missing)
{
    const bool alone = is_alone(r, tensor);
    r->alone = alone;
    enum tp_dtype dtype = TP_DTYPE_COUNT;
    for (size_t i = 0; i < r->part_count; i++) {
        struct tp_tensor_part *part = &r->parts[i];
        struct tp_error why = {0};
        struct tp_tensor chunk;
        if (is_empty(part, tensor->ndim))
            continue;
        enum tp_status status = tp_tensor_part_inside(tensor, part, &why);
        if (status == TP_OK)
            status = open_chunk(r, entry, tensor, part, &chunk, &why);
        if (status == TP_E_MEMORY)
            return tp_fail_memory(r->err);
        if (status == TP_OK && dtype != TP_DTYPE_COUNT &&
            chunk.dtype != dtype)
            status = tp_fail(&why, TP_E_DAMAGED, -1,
                             "its chunks have the dtypes %s and %s",
                             tp_dtype_info(dtype)->name,
                             tp_dtype_info(chunk.dtype)->name);
        if (status != TP_OK) {
            *missing = missing->code == TP_OK ? why : *missing;
            continue;
        }
        dtype = chunk.dtype;
        part->storage = chunk.storage;
        if (alone) /* with its own strides */
            tensor->stride = chunk.stride;
        tensor->offset = alone ? chunk.offset : 0;
        tensor->conjugated = alone && chunk.conjugated;
        tensor->negated = alone && chunk.negated;
    }
    tensor->dtype = dtype == TP_DTYPE_COUNT ? r->told : dtype;
    return TP_OK;
}

/* Says that the metadata tells another dtype than the chunks have. */
static enum tp_status tell_dtype(struct reading *r,
                                 const struct tp_tensor *tensor)
{
    if (r->told == TP_DTYPE_COUNT || r->told == tensor->dtype)
        return TP_OK;
    struct tp_error why = {0};
    tp_fail(&why, TP_E_DAMAGED, -1,
            "the metadata says %s, its file holds %s, which is what is shown",
            tp_dtype_info(r->told)->name, tp_dtype_info(tensor->dtype)->name);
    return tp_tensor_file_skip(r->unit->file, tensor->path, &why, r->err);
}

static enum tp_status add_tensor(struct reading *r,
                                 const struct tp_distcp_entry *entry,
                                 struct tp_tensor *tensor,
                                 const struct tp_error *found)
{
    struct tp_error missing = *found;
    enum tp_status status = open_chunks(r, entry, tensor, &missing);
    if (status == TP_OK && tensor->dtype == TP_DTYPE_COUNT) {
        if (missing.code == TP_OK)
            tp_fail(&missing, TP_E_UNSUPPORTED, -1, "its dtype is not known");
        return tp_tensor_file_skip(r->unit->file, tensor->path, &missing,
                                   r->err);
    }
    if (status == TP_OK)
        status = tell_dtype(r, tensor);
    if (status != TP_OK)
        return status;
    if (missing.code == TP_OK && r->alone && r->parts[0].storage) {
        tensor->storage = r->parts[0].storage;
        return tp_tensor_check(tensor, &missing) == TP_OK
                   ? tp_unit_add(r->unit, tensor, r->err)
                   : tp_tensor_file_skip(r->unit->file, tensor->path, &missing,
                                         r->err);
    }
    return tp_unit_join(r->unit, tensor, r->parts, r->part_count, &missing,
                        r->err);
}

/* The tensor of `count` entries of one name, mostly one. */
static enum tp_status read_tensor(struct reading *r,
                                  const struct tp_distcp_entry *entries,
                                  size_t count, const char *path)
{
    struct tp_tensor tensor = {.path = path};
    struct tp_error why = {0};
    r->part_count = 0;
    enum tp_status status =
        tp_distcp_shape(r->metadata, entries, &r->unit->file->arena, &tensor,
                        &why);
    if (status != TP_OK && status != TP_E_MEMORY)
        return tp_tensor_file_skip(r->unit->file, path, &why, r->err);
    r->told = tensor.dtype;
    for (size_t i = 0; i < count; i++) {
        const size_t chunks = tp_distcp_chunks(r->metadata, &entries[i]);
        const size_t before = r->part_count;
        for (size_t k = 0; status == TP_OK && k < chunks; k++) {
            status = add_part(r, &entries[i], k, tensor.ndim, &why);
            if (status == TP_OK)
                drop_copy(r, before, tensor.ndim);
        }
    }
    if (status == TP_E_MEMORY)
        return tp_fail_memory(r->err);
    return add_tensor(r, entries, &tensor, &why);
}

/* ---- objects ------------------------------------------------------------ */

/* The path of something inside an object. Megatron wraps each of its objects,
 * whose names end in "/shard_...", into a list. */
static const char *inner_path(struct reading *r, const char *path,
                              const char *inner)
{
    struct tp_text text = {0};
    if (strstr(path, "/shard_") && strncmp(inner, "[0]", 3) == 0)
        inner += inner[3] == '.' ? 4 : 3;
    const bool joint = *inner && *inner != '[' && *path;
    tp_text_add(&text, "%s%s%s", path, joint ? "." : "", inner);
    const char *whole =
        text.failed ? NULL
                    : tp_tensor_path(&r->unit->file->arena, tp_text_get(&text),
                                     text.length);
    tp_text_clear(&text);
    return whole;
}

/* Adds what the archive at hand holds. */
static enum tp_status add_item(struct reading *r, size_t member,
                               const char *path)
{
    struct tp_tensor_file *item = &r->unit->item;
    enum tp_status status = TP_OK;
    for (size_t i = 0; status == TP_OK && i < item->tensor_count; i++) {
        struct tp_tensor tensor = item->tensors[i];
        struct tp_error why = {0};
        tensor.path = inner_path(r, path, tensor.path);
        if (!tensor.path)
            return tp_fail_memory(r->err);
        status = tp_unit_keep_storage(r->unit, member, &tensor, &why);
        if (status == TP_E_MEMORY)
            return tp_fail_memory(r->err);
        status = status == TP_OK
                     ? tp_unit_add(r->unit, &tensor, r->err)
                     : tp_tensor_file_skip(r->unit->file, tensor.path, &why,
                                           r->err);
    }
    for (const struct tp_skip *s = item->skips; status == TP_OK && s;
         s = s->next) {
        struct tp_error why = {0};
        const char *inner = inner_path(r, path, s->path);
        tp_fail(&why, s->code, s->offset, "%s", s->reason);
        status = inner ? tp_tensor_file_skip(r->unit->file, inner, &why, r->err)
                       : tp_fail_memory(r->err);
    }
    return status;
}

static enum tp_status read_object(struct reading *r,
                                  const struct tp_distcp_entry *entry,
                                  const char *path)
{
    struct item item = {.member = 0};
    struct tp_error why = {0};
    enum tp_status status = find_item(r, entry, NULL, -1, &item, &why);
    if (status == TP_OK) {
        status = tp_unit_item_open(r->unit, item.member, item.place.offset,
                                   item.place.length, &why);
        enum tp_status added =
            status == TP_OK ? add_item(r, item.member, path) : TP_OK;
        tp_unit_item_close(r->unit, item.member);
        if (added != TP_OK)
            return added;
    }
    if (status == TP_E_MEMORY)
        return tp_fail_memory(r->err);
    return status == TP_OK
               ? TP_OK
               : tp_tensor_file_skip(r->unit->file, path, &why, r->err);
}

/* ---- the format --------------------------------------------------------- */

static enum tp_status read_entries(struct reading *r)
{
    const struct tp_distcp_entry *entries;
    size_t count, same;
    enum tp_status status =
        tp_distcp_metadata_end(r->metadata, &entries, &count, r->err);
    for (size_t i = 0; status == TP_OK && i < count; i += same) {
        const char *path = tp_tensor_path(&r->unit->file->arena,
                                          entries[i].name, entries[i].length);
        same = 1;
        while (i + same < count && same_name(&entries[i], &entries[i + same]))
            same++;
        if (!path)
            return tp_fail_memory(r->err);
        status = entries[i].bytes ? read_object(r, &entries[i], path)
                                  : read_tensor(r, &entries[i], same, path);
    }
    return status;
}

/* "__3.metadata" */
static bool is_of_rank(const void *context, const char *name)
{
    char pattern[64];
    (void)context;
    return name[0] == '_' && tp_unit_pattern(name, pattern, sizeof pattern);
}

/* The metadata of all ranks. */
static enum tp_status add_of_ranks(struct reading *r)
{
    struct tp_unit *unit = r->unit;
    enum tp_status status =
        tp_file_set_find(unit->set, is_of_rank, NULL, NULL, r->err);
    const size_t count = tp_file_set_count(unit->set);
    if (status == TP_OK && count == 0)
        status = tp_fail(r->err, TP_E_NOT_FOUND, -1,
                         "no file of the folder is named so");
    for (size_t i = 0; status == TP_OK && i < count; i++) {
        struct tp_bytes bytes;
        struct tp_error why = {0};
        status = tp_file_set_take(unit->set, i, &bytes, r->err);
        if (status != TP_OK)
            return status;
        status = tp_distcp_metadata_add(r->metadata, &bytes, &why);
        tp_file_set_give(unit->set, i);
        if (status == TP_E_MEMORY)
            return tp_fail_memory(r->err);
        if (status != TP_OK) {
            tp_while(&why, "reading %s", tp_file_set_name(unit->set, i));
            status = tp_tensor_file_skip(unit->file, "", &why, r->err);
        }
    }
    return status;
}

static enum tp_status tell_call(struct reading *r)
{
    const char *name = tp_distcp_metadata_call(r->metadata);
    struct tp_error why = {0};
    if (!name[0])
        return TP_OK;
    tp_fail(&why, TP_E_DAMAGED, -1,
            "loading the metadata with torch would call %.200s, which no "
            "checkpoint needs; here nothing is called",
            name);
    return tp_tensor_file_skip(r->unit->file, "", &why, r->err);
}

static enum tp_name_claim claims(const char *name)
{
    static const char pattern[] = "__*.metadata";
    char own[64];
    if (strcmp(name, pattern) == 0)
        return TP_NAME_PATTERN;
    return strcmp(name, ".metadata") == 0 ||
                   strcmp(name, ".metadata.tmp") == 0 ||
                   (name[0] == '_' &&
                    tp_unit_pattern(name, own, sizeof own))
               ? TP_NAME_FILE
               : TP_NAME_OTHER;
}

static bool is_shard(const void *context, const char *name)
{
    static const char tail[] = ".distcp";
    (void)context;
    return strcmp(name, tail) != 0 && tp_text_ends_with(name, tail);
}

/* What is called .metadata and is no pickle: damage where parts lie beside it,
 * else another program's. */
static enum tp_status fail_foreign(struct reading *r)
{
    struct tp_error ignored = {0};
    const bool empty = r->unit->file->bytes.size == 0;
    enum tp_status status =
        tp_file_set_find(r->unit->set, is_shard, NULL, NULL, &ignored);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(r->err);
    return tp_fail(r->err,
                   tp_file_set_count(r->unit->set) ? TP_E_DAMAGED
                                                   : TP_E_UNSUPPORTED,
                   0,
                   "not the metadata of torch.distributed.checkpoint, which is "
                   "a pickle%s",
                   empty ? ": the file is empty" : "");
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    const char *name = tp_file_base_name(file->path);
    if (strcmp(name, ".metadata.tmp") == 0)
        return tp_fail(err, TP_E_NOT_FOUND, -1,
                       "an unfinished checkpoint: .metadata is written last, "
                       "and this was not renamed to it");
    struct reading r = {.unit = tp_unit_new(file),
                        .metadata = tp_distcp_metadata_new(&file->arena),
                        .err = err};
    enum tp_status status =
        r.unit && r.metadata ? TP_OK : tp_fail_memory(err);
    unsigned char first = 0;
    if (status == TP_OK && file->bytes.size > 0)
        status = tp_bytes_read(&file->bytes, 0, &first, 1, err);
    if (status == TP_OK && first != 0x80 && claims(name) == TP_NAME_FILE)
        status = fail_foreign(&r);
    file->metadata_count = 0;
    if (status == TP_OK)
        status = claims(name) == TP_NAME_PATTERN
                     ? add_of_ranks(&r)
                     : tp_distcp_metadata_add(r.metadata, &file->bytes, err);
    if (status == TP_OK)
        status = tell_call(&r);
    if (status == TP_OK)
        status = read_entries(&r);
    if (status == TP_OK)
        status = tp_unit_finish(r.unit, err);
    tp_distcp_metadata_free(r.metadata);
    free(r.parts);
    return status;
}

/* Known by its name. */
static int bid(const unsigned char *head, size_t length)
{
    (void)head;
    (void)length;
    return 0;
}

const struct tp_format tp_format_distcp = {
    .name = "distcp",
    .help = "torch.distributed.checkpoint (.metadata, .distcp)",
    .suffixes = ".distcp",
    .claims = claims,
    .bid = bid,
    .open = open_file,
    .close = tp_unit_close,
    .unchanged = tp_unit_unchanged,
};
