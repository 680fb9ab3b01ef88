/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint of torch.distributed.checkpoint in safetensors, as its
 * HuggingFaceStorageWriter leaves it before the files are joined:
 *
 *     shard-00001-model-00001-of-00002.safetensors      of rank 0, and so on
 *
 * without an index. Each file's metadata has DCP_SHARDING_INFO, a JSON text
 * {"TENSOR": {"saved_offsets": [3, 0]}}: where its part begins. How large the
 * whole is follows from the parts, so that a lost last one cannot be noticed.
 * All files of one name but for the first number are one unit. Cost: their
 * headers, and a sort of the parts by name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include "data/tensor_axes.h"
#include "data/tensor_path.h"
#include "formats/distcp/unit.h"
#include "formats/json/json_value.h"
#include "formats/safetensors/safetensors.h"

/* A tensor of one file. */
struct shard {
    struct tp_tensor tensor; /* of the file alone */
    const char *name;
    size_t length;
    const int64_t *offset; /* NULL: not told */
    const int64_t *size;
    size_t member;
};

struct reading {
    struct tp_unit *unit;
    struct shard *shards;
    size_t count, room;
    struct tp_json_parser *parser;
    struct tp_arena scratch; /* of one file's sharding */
    struct tp_error *err;
};

/* ---- files -------------------------------------------------------------- */

/* Where the part of a tensor begins; NULL: not told, or not by integers. */
static const int64_t *saved_offsets(struct reading *r,
                                    const struct tp_json *sharding,
                                    const char *name, int ndim)
{
    const struct tp_json *list = tp_json_member(
        tp_json_member(sharding, name), "saved_offsets");
    int64_t *offset = tp_arena_alloc(&r->unit->file->arena,
                                     ((size_t)ndim + 1) * sizeof *offset);
    if (!offset || !list || list->kind != TP_JSON_LIST ||
        list->count != (size_t)ndim)
        return NULL;
    int i = 0;
    for (const struct tp_json *at = list->first; at; at = at->next) {
        if (at->kind != TP_JSON_INTEGER || at->integer < 0)
            return NULL;
        offset[i++] = at->integer;
    }
    return offset;
}

static enum tp_status add_shard(struct reading *r, size_t member,
                                const struct tp_safetensors_entry *entry,
                                const struct tp_json *sharding,
                                struct tp_error *why)
{
    struct tp_arena *arena = &r->unit->file->arena;
    struct shard shard = {.name = entry->name,
                          .length = entry->name_length,
                          .size = entry->shape,
                          .member = member};
    enum tp_status status = tp_safetensors_tensor(
        entry,
        tp_member_storage_new(arena, r->unit->set, member, entry->begin,
                              entry->end - entry->begin),
        arena, &shard.tensor, why);
    if (status != TP_OK)
        return status;
    if (sharding)
        shard.offset = saved_offsets(r, sharding, entry->name, entry->ndim);
    status = tp_grow(&r->shards, &r->room, r->count + 1, sizeof shard, why);
    if (status == TP_OK)
        r->shards[r->count++] = shard;
    return status;
}

static enum tp_status read_header(struct reading *r, size_t member,
                                  const struct tp_bytes *bytes,
                                  struct tp_error *why)
{
    struct tp_safetensors_header header;
    const struct tp_json *sharding = NULL;
    struct tp_error damage = {0};
    enum tp_status status = tp_safetensors_read(
        bytes, NULL, 0, &r->unit->file->arena, &header, why);
    if (status != TP_OK)
        return status;
    tp_arena_reset(&r->scratch);
    if (!header.sharding)
        tp_fail(&damage, TP_E_DAMAGED, -1,
                "it has no DCP_SHARDING_INFO, so its parts have no place");
    else if (tp_json_parse(r->parser, header.sharding, strlen(header.sharding),
                           &r->scratch, &sharding, &damage) != TP_OK)
        tp_while(&damage, "reading DCP_SHARDING_INFO, so its parts have no "
                          "place");
    for (size_t i = 0; status == TP_OK && i < header.count; i++) {
        if (header.entries[i].end <= bytes->size)
            status =
                add_shard(r, member, &header.entries[i], sharding, why);
    }
    if (status == TP_OK && damage.code == TP_OK)
        damage = header.end;
    if (status != TP_OK || damage.code == TP_OK)
        return status;
    *why = damage;
    return damage.code;
}

static enum tp_status read_files(struct reading *r)
{
    const size_t count = tp_file_set_count(r->unit->set);
    enum tp_status status = TP_OK;
    for (size_t i = 0; status == TP_OK && i < count; i++) {
        struct tp_bytes bytes;
        struct tp_error why = {0};
        enum tp_status read = tp_file_set_take(r->unit->set, i, &bytes, &why);
        if (read == TP_OK) {
            read = read_header(r, i, &bytes, &why);
            tp_file_set_give(r->unit->set, i);
        }
        if (read == TP_E_MEMORY)
            return tp_fail_memory(r->err);
        if (read == TP_OK)
            continue;
        tp_while(&why, "reading %s", tp_file_set_name(r->unit->set, i));
        status = tp_tensor_file_skip(r->unit->file, "", &why, r->err);
    }
    return status;
}

/* ---- tensors ------------------------------------------------------------ */

static int compare_shards(const void *a, const void *b)
{
    const struct shard *x = a, *y = b;
    const size_t most = x->length < y->length ? x->length : y->length;
    int order = most ? memcmp(x->name, y->name, most) : 0;
    if (!order)
        order = tp_order_uint64(x->length, y->length);
    return order ? order : tp_order_uint64(x->member, y->member);
}

static bool same_name(const struct shard *a, const struct shard *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* Parts without a place: each is a tensor of its own, named by its file. */
static enum tp_status add_apart(struct reading *r, const struct shard *shards,
                                size_t count)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_tensor tensor = shards[i].tensor;
        struct tp_text text = {0};
        tp_text_add(&text, "%s (%s)", tensor.path,
                    tp_file_set_name(r->unit->set, shards[i].member));
        tensor.path = tp_tensor_path(&r->unit->file->arena, tp_text_get(&text),
                                     text.length);
        const bool failed = text.failed || !tensor.path;
        tp_text_clear(&text);
        if (failed)
            return tp_fail_memory(r->err);
        status = tp_unit_add(r->unit, &tensor, r->err);
    }
    return status;
}

static enum tp_status add_tensor(struct reading *r, const struct shard *shards,
                                 size_t count)
{
    struct tp_tensor tensor = shards[0].tensor;
    struct tp_tensor_axes axes;
    struct tp_error why = {0};
    struct tp_tensor_part *parts = calloc(count, sizeof *parts);
    if (!parts)
        return tp_fail_memory(r->err);
    tp_tensor_open_axes(&tensor, &axes);
    for (size_t i = 0; i < count; i++) {
        const struct tp_tensor *shard = &shards[i].tensor;
        if (shard->ndim != tensor.ndim || shard->dtype != tensor.dtype)
            tp_fail(&why, TP_E_DAMAGED, -1,
                    "its parts differ in dtype or number of dimensions");
        parts[i] = (struct tp_tensor_part){shard->storage, shards[i].offset,
                                           shards[i].size};
        for (int k = 0; why.code == TP_OK && k < tensor.ndim; k++) {
            const int64_t offset = shards[i].offset[k];
            const int64_t end = offset > INT64_MAX - shard->shape[k]
                                    ? INT64_MAX
                                    : offset + shard->shape[k];
            if (i == 0 || end > axes.shape[k])
                axes.shape[k] = end;
        }
    }
    enum tp_status status =
        why.code == TP_OK
            ? tp_unit_join(r->unit, &tensor, parts, count, &why, r->err)
            : tp_tensor_file_skip(r->unit->file, tensor.path, &why, r->err);
    if (status == TP_OK && why.code != TP_OK)
        status = add_apart(r, shards, count);
    free(parts);
    return status;
}

static enum tp_status add_tensors(struct reading *r)
{
    enum tp_status status = TP_OK;
    size_t same;
    if (r->count)
        qsort(r->shards, r->count, sizeof *r->shards, compare_shards);
    for (size_t i = 0; status == TP_OK && i < r->count; i += same) {
        const struct shard *first = &r->shards[i];
        bool placed = first->offset != NULL;
        for (same = 1; i + same < r->count && same_name(first, first + same);
             same++)
            placed = placed && first[same].offset;
        status = placed ? add_tensor(r, first, same)
                        : add_apart(r, first, same);
    }
    return status;
}

/* ---- the format --------------------------------------------------------- */

/* Whether a file's pattern is the unit's name. */
static bool is_of_unit(const void *context, const char *name)
{
    char pattern[512];
    const char *own = tp_unit_pattern(name, pattern, sizeof pattern);
    return own && strcmp(own, context) == 0;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct reading r = {.unit = tp_unit_new(file),
                        .parser = tp_json_parser_new(),
                        .err = err};
    enum tp_status status = r.unit && r.parser ? TP_OK : tp_fail_memory(err);
    file->metadata_count = 0;
    if (status == TP_OK)
        status = tp_file_set_find(r.unit->set, is_of_unit,
                                  tp_file_base_name(file->path), NULL, err);
    if (status == TP_OK && tp_file_set_count(r.unit->set) == 0)
        status = tp_fail(err, TP_E_NOT_FOUND, -1,
                         "no file of the folder is named so");
    if (status == TP_OK)
        status = read_files(&r);
    if (status == TP_OK)
        status = add_tensors(&r);
    if (status == TP_OK)
        status = tp_unit_finish(r.unit, err);
    tp_json_parser_free(r.parser);
    tp_arena_clear(&r.scratch);
    free(r.shards);
    return status;
}

static enum tp_name_claim claims(const char *name)
{
    static const char head[] = "shard-*-", tail[] = ".safetensors";
    const size_t length = strlen(name), end = strlen(tail);
    return strncmp(name, head, strlen(head)) == 0 && length > end &&
                   strcmp(name + length - end, tail) == 0
               ? TP_NAME_PATTERN
               : TP_NAME_OTHER;
}

/* Known by its name. */
static int bid(const unsigned char *head, size_t length)
{
    (void)head;
    (void)length;
    return 0;
}

const struct tp_format tp_format_distcp_safetensors = {
    .name = "distcp_hf",
    .help = "torch.distributed.checkpoint in safetensors (shard-*.safetensors)",
    .suffixes = "",
    .claims = claims,
    .bid = bid,
    .open = open_file,
    .close = tp_unit_close,
    .unchanged = tp_unit_unchanged,
};
