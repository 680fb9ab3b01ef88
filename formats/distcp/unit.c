/* SPDX-License-Identifier: MIT */
#include "formats/distcp/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/text.h"
#include "data/range_storage.h"
#include "data/tensor_axes.h"
#include "formats/torch/torch_formats.h"
#include "formats/torch/torch_item.h"

struct tp_unit *tp_unit_new(struct tp_tensor_file *file)
{
    struct tp_unit *unit = calloc(1, sizeof *unit);
    if (!unit)
        return NULL;
    unit->file = file;
    unit->set = tp_file_set_new(file->path);
    if (!unit->set) {
        free(unit);
        return NULL;
    }
    file->state = unit;
    return unit;
}

void tp_unit_close(struct tp_tensor_file *file)
{
    struct tp_unit *unit = file->state;
    if (!unit)
        return;
    tp_arena_clear(&unit->item.arena);
    tp_file_set_free(unit->set);
    free(unit->tensors);
    free(unit);
    file->state = NULL;
}

enum tp_status tp_unit_unchanged(const struct tp_tensor_file *file,
                                 struct tp_error *err)
{
    const struct tp_unit *unit = file->state;
    return unit ? tp_file_set_unchanged(unit->set, err) : TP_OK;
}

enum tp_status tp_unit_add(struct tp_unit *unit, const struct tp_tensor *tensor,
                           struct tp_error *err)
{
    enum tp_status status = tp_grow(&unit->tensors, &unit->room,
                                    unit->count + 1, sizeof *tensor, err);
    if (status == TP_OK)
        unit->tensors[unit->count++] = *tensor;
    return status;
}

/* ---- tensors of parts --------------------------------------------------- */

/* The path of a part: "w[0:3,0:12]". */
static const char *part_path(struct tp_unit *unit,
                             const struct tp_tensor *tensor,
                             const struct tp_tensor_part *part)
{
    struct tp_text text = {0};
    tp_text_add(&text, "%s[", tensor->path);
    for (int i = 0; i < tensor->ndim; i++)
        tp_text_add(&text, "%s%" PRId64 ":%" PRId64, i ? "," : "",
                    part->offset[i], part->offset[i] + part->size[i]);
    tp_text_add(&text, "]");
    return tp_arena_take(&unit->file->arena, &text);
}

static enum tp_status add_parts(struct tp_unit *unit,
                                const struct tp_tensor *whole,
                                const struct tp_tensor_part *parts,
                                size_t count, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct tp_tensor tensor = *whole;
        if (!parts[i].storage)
            continue;
        int64_t *shape =
            tp_tensor_new_axes(&tensor, whole->ndim, &unit->file->arena);
        tensor.path = part_path(unit, whole, &parts[i]);
        if (!shape || !tensor.path)
            return tp_fail_memory(err);
        for (int k = 0; k < tensor.ndim; k++)
            shape[k] = parts[i].size[k];
        tp_dense_strides(tensor.ndim, shape, shape + tensor.ndim);
        tensor.offset = 0;
        tensor.storage = parts[i].storage;
        if (tp_tensor_check(&tensor, NULL) == TP_OK)
            status = tp_unit_add(unit, &tensor, err);
    }
    return status;
}

enum tp_status tp_unit_join(struct tp_unit *unit, struct tp_tensor *tensor,
                            const struct tp_tensor_part *parts, size_t count,
                            const struct tp_error *missing,
                            struct tp_error *err)
{
    struct tp_error why = *missing;
    enum tp_status status = missing->code;
    if (status == TP_OK)
        status =
            tp_tensor_join(&unit->file->arena, tensor, parts, count, &why);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    const bool whole = status == TP_OK;
    status = whole ? tp_unit_add(unit, tensor, err)
                   : tp_tensor_file_skip(unit->file, tensor->path, &why, err);
    if (status == TP_OK && (!whole || (unit->file->parts && count > 1)))
        status = add_parts(unit, tensor, parts, count, err);
    return status;
}

enum tp_status tp_unit_finish(struct tp_unit *unit, struct tp_error *err)
{
    const size_t count = tp_file_set_count(unit->set);
    const char **members =
        tp_arena_alloc(&unit->file->arena, (count + 1) * sizeof *members);
    if (!members)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        members[i] = tp_file_set_name(unit->set, i);
    unit->file->members = members;
    unit->file->member_count = count;
    unit->file->tensors = unit->tensors;
    unit->file->tensor_count = unit->count;
    return TP_OK;
}

/* ---- archives ----------------------------------------------------------- */

enum tp_status tp_unit_item_open(struct tp_unit *unit, size_t member,
                                 uint64_t start, uint64_t length,
                                 struct tp_error *err)
{
    struct tp_tensor_file *item = &unit->item;
    struct tp_arena arena = item->arena;
    tp_arena_reset(&arena);
    memset(item, 0, sizeof *item);
    item->arena = arena;
    item->path = item->saved_as = item->label_conflict = "";
    enum tp_status status =
        tp_file_set_take(unit->set, member, &item->bytes, err);
    if (status == TP_E_NOT_FOUND)
        return tp_fail(err, TP_E_NOT_FOUND, -1, "its file %s is not there",
                       tp_file_set_name(unit->set, member));
    if (status != TP_OK)
        return status;
    item->format = &tp_format_torch_zip; /* it is taken: give it back */
    if (length == UINT64_MAX)
        length = item->bytes.size;
    status = length > UINT64_MAX - start
                 ? tp_fail(err, TP_E_DAMAGED, -1, "its place is beyond 2^64")
                 : tp_torch_item_open(item, start, start + length, err);
    tp_while(status == TP_OK ? NULL : err, "reading %s",
             tp_file_set_name(unit->set, member));
    return status;
}

void tp_unit_item_close(struct tp_unit *unit, size_t member)
{
    struct tp_tensor_file *item = &unit->item;
    if (!item->format)
        return;
    item->format->close(item);
    item->format = NULL;
    tp_file_set_give(unit->set, member);
}

enum tp_status tp_unit_keep_storage(struct tp_unit *unit, size_t member,
                                    struct tp_tensor *tensor,
                                    struct tp_error *err)
{
    if (tp_tensor_keep_axes(tensor, &unit->file->arena, err) != TP_OK)
        return TP_E_MEMORY;
    if (!tensor->storage)
        return TP_OK;
    const struct tp_range_storage *range =
        tp_range_storage_of(tensor->storage);
    if (!range)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its bytes are packed in an archive of %s",
                       tp_file_set_name(unit->set, member));
    struct tp_storage *kept =
        tp_member_storage_new(&unit->file->arena, unit->set, member,
                              range->start, range->base.size);
    if (!kept)
        return tp_fail_memory(err);
    kept->crc32 = range->base.crc32;
    kept->has_crc32 = range->base.has_crc32;
    kept->big_endian = range->base.big_endian;
    tensor->storage = kept;
    return TP_OK;
}

enum tp_status tp_unit_keep_dense(struct tp_unit *unit, size_t member,
                                  struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    int64_t dense[TP_LIMIT_DIMS];
    tp_dense_strides(tensor->ndim, tensor->shape, dense);
    bool same = tensor->offset == 0 && !tensor->conjugated && !tensor->negated;
    for (int i = 0; i < tensor->ndim; i++)
        same = same && (tensor->shape[i] < 2 ||
                        tensor->stride[i] == dense[i]);
    if (!same && tensor->numel > 0)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a part of it is not stored densely");
    return tp_unit_keep_storage(unit, member, tensor, err);
}

/* ---- names -------------------------------------------------------------- */

/* Whether a text is `head`, then digits, then something that ends in `tail`. */
static bool is_numbered(const char *name, const char *head, const char *tail,
                        const char **rest)
{
    const size_t first = strlen(head), last = strlen(tail);
    if (strncmp(name, head, first) != 0)
        return false;
    *rest = name + first + strspn(name + first, "0123456789");
    const size_t left = strlen(*rest);
    return *rest > name + first && left >= last &&
           strcmp(*rest + left - last, tail) == 0;
}

const char *tp_unit_pattern(const char *name, char *pattern, size_t room)
{
    const char *rest, *head = NULL;
    if (is_numbered(name, "__", ".metadata", &rest) &&
        strcmp(rest, ".metadata") == 0)
        head = "__";
    else if (is_numbered(name, "shard-", ".safetensors", &rest) &&
             rest[0] == '-')
        head = "shard-";
    const int length =
        head ? snprintf(pattern, room, "%s*%s", head, rest) : -1;
    return length > 0 && (size_t)length < room ? pattern : NULL;
}
