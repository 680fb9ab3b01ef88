/* SPDX-License-Identifier: MIT */
/*
 * The index of a model in several files, as Hugging Face writes it:
 *
 *     NAME.safetensors.index.json, NAME.bin.index.json
 *     {"metadata": {"total_size": BYTES}, "weight_map": {"TENSOR": "FILE"}}
 *
 * The index decides: a tensor is read from the file it names, and what a file
 * holds beyond that is told. total_size is often wrong, which is told, too. To
 * read the files one by one would need no index, and would not notice that one
 * is missing. Cost: the index and the headers of the files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/text_index.h"
#include "data/tensor_path.h"
#include "formats/distcp/unit.h"
#include "formats/json/json_members.h"
#include "formats/safetensors/safetensors.h"

/* One member of the weight map. */
struct entry {
    const char *name;
    size_t length;
    size_t shard; /* its file's number in the set */
    bool found;
};

struct map {
    struct tp_unit *unit;
    struct entry *entries;
    size_t count, room;
    struct tp_text_index index; /* of names */
    int64_t total_size;         /* -1: not told */
    uint64_t bytes;             /* of the tensors found */
    size_t lost;                /* tensors that were not found */
    struct tp_json_walk walk;
    struct tp_error *err;
};

static enum tp_status skip(struct map *map, const char *path,
                           const struct tp_error *why)
{
    return tp_tensor_file_skip(map->unit->file, path, why, map->err);
}

/* ---- the index ---------------------------------------------------------- */

/* A part of the text that has to be a string, in the file's arena. */
static enum tp_status keep_text(struct map *map,
                                const struct tp_json_part *part,
                                const char **text, size_t *length)
{
    const struct tp_json *value;
    struct tp_arena *arena = &map->unit->file->arena;
    tp_arena_reset(&map->walk.arena);
    if (!map->walk.parser && !(map->walk.parser = tp_json_parser_new()))
        return tp_fail_memory(map->err);
    enum tp_status status =
        tp_json_parse(map->walk.parser, part->text, part->length,
                      &map->walk.arena, &value, map->err);
    if (status == TP_E_DAMAGED && map->err)
        map->err->offset = part->offset;
    if (status == TP_OK && value->kind != TP_JSON_STRING)
        status = tp_fail(map->err, TP_E_DAMAGED, part->offset,
                         "a file of weight_map is no string");
    if (status != TP_OK)
        return status;
    *length = value->length;
    *text = tp_arena_text(arena, value->text, value->length);
    return *text ? TP_OK : tp_fail_memory(map->err);
}

static enum tp_status read_entry(struct map *map,
                                 struct tp_json_stream *stream,
                                 const struct tp_json_part *key)
{
    struct entry entry = {.shard = 0};
    struct tp_json_part part;
    const char *file;
    size_t length;
    enum tp_status status = keep_text(map, key, &entry.name, &entry.length);
    if (status == TP_OK)
        status = tp_json_stream_value(stream, &part, map->err);
    if (status == TP_OK)
        status = keep_text(map, &part, &file, &length);
    if (status != TP_OK)
        return status;
    struct tp_error why = {0};
    status = tp_file_set_add(map->unit->set, file, &entry.shard, &why);
    if (status == TP_E_DAMAGED) {
        const char *path = tp_tensor_path(&map->unit->file->arena, entry.name,
                                          entry.length);
        why.offset = part.offset;
        return path ? skip(map, path, &why) : tp_fail_memory(map->err);
    }
    if (status != TP_OK && map->err)
        *map->err = why;
    if (status == TP_OK)
        status = tp_grow(&map->entries, &map->room, map->count + 1,
                         sizeof entry, map->err);
    if (status == TP_OK)
        map->entries[map->count++] = entry;
    return status;
}

static enum tp_status read_weight_map(struct map *map,
                                      struct tp_json_stream *stream)
{
    struct tp_json_part key;
    enum tp_status status = tp_json_stream_enter(stream, map->err);
    while (status == TP_OK) {
        status = tp_json_stream_key(stream, &key, map->err);
        if (status != TP_OK || !key.text)
            break;
        status = read_entry(map, stream, &key);
    }
    return status;
}

/* "metadata": of its members only the size is asked for. */
static enum tp_status read_metadata(struct map *map,
                                    struct tp_json_stream *stream)
{
    struct tp_json_part key, part;
    if (tp_json_stream_at_other(stream))
        return tp_json_stream_skip(stream, map->err);
    enum tp_status status = tp_json_stream_enter(stream, map->err);
    while (status == TP_OK) {
        status = tp_json_stream_key(stream, &key, map->err);
        if (status != TP_OK || !key.text)
            break;
        const bool size = tp_json_key_is(&key, "total_size");
        status = size ? tp_json_stream_value(stream, &part, map->err)
                      : tp_json_stream_skip(stream, map->err);
        if (status == TP_OK && size)
            map->total_size = tp_digits_value(part.text, part.length);
    }
    return status;
}

static enum tp_status read_index(struct map *map)
{
    struct tp_json_stream stream;
    struct tp_json_part key;
    const struct tp_bytes *bytes = &map->unit->file->bytes;
    bool mapped = false;
    tp_json_stream_range(&stream, bytes, 0, bytes->size);
    enum tp_status status = tp_json_stream_enter(&stream, map->err);
    while (status == TP_OK) {
        status = tp_json_stream_key(&stream, &key, map->err);
        if (status != TP_OK || !key.text)
            break;
        if (tp_json_key_is(&key, "weight_map")) {
            mapped = true;
            status = read_weight_map(map, &stream);
        } else if (tp_json_key_is(&key, "metadata")) {
            status = read_metadata(map, &stream);
        } else {
            status = tp_json_stream_skip(&stream, map->err);
        }
    }
    if (status == TP_OK)
        status = tp_json_stream_end(&stream, map->err);
    if (status == TP_OK && !mapped)
        status = tp_fail(map->err, TP_E_DAMAGED, -1,
                         "the index has no weight_map");
    tp_json_stream_close(&stream);
    return status;
}

/* Of names that are there twice the last holds, as in Python. */
static enum tp_status index_names(struct map *map)
{
    if (!tp_text_index_init(&map->index, map->count))
        return tp_fail_memory(map->err);
    for (size_t i = 0; i < map->count; i++) {
        size_t *number = tp_text_index_put(&map->index, map->entries[i].name);
        if (*number != TP_TEXT_NEW)
            map->entries[*number].found = true; /* not asked for */
        *number = i;
    }
    return TP_OK;
}

/* ---- the files ---------------------------------------------------------- */

/* What a file holds that the index does not ask of it: tensors that it places
 * elsewhere, and those that it does not name. */
struct surplus {
    size_t elsewhere, nameless;
    const char *first_elsewhere, *first_nameless;
};

/* Bytes of a tensor in its file. */
static uint64_t stored_bytes(const struct tp_tensor *tensor)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    return info->packed ? (uint64_t)tensor->numel * info->packed / 8
                        : (uint64_t)tensor->numel * info->size;
}

static enum tp_status add_tensor(struct map *map, size_t shard,
                                 struct tp_tensor *tensor, const char *name,
                                 struct surplus *surplus)
{
    const size_t number = tp_text_index_of(&map->index, name);
    struct entry *entry = number == TP_TEXT_NEW ? NULL : &map->entries[number];
    if (entry && entry->shard != shard) {
        if (surplus->elsewhere++ == 0)
            surplus->first_elsewhere = tensor->path;
        return TP_OK;
    }
    if (entry)
        entry->found = true;
    else if (surplus->nameless++ == 0)
        surplus->first_nameless = tensor->path;
    map->bytes += stored_bytes(tensor);
    return tp_unit_add(map->unit, tensor, map->err);
}

static enum tp_status read_safetensors(struct map *map, size_t shard,
                                       const struct tp_bytes *bytes,
                                       struct surplus *surplus,
                                       struct tp_error *err)
{
    struct tp_arena *arena = &map->unit->file->arena;
    struct tp_safetensors_header header;
    enum tp_status status =
        tp_safetensors_read(bytes, NULL, 0, arena, &header, err);
    for (size_t i = 0; status == TP_OK && i < header.count; i++) {
        const struct tp_safetensors_entry *entry = &header.entries[i];
        struct tp_tensor tensor;
        if (entry->end > bytes->size)
            break;
        status = tp_safetensors_tensor(
            entry,
            tp_member_storage_new(arena, map->unit->set, shard, entry->begin,
                                  entry->end - entry->begin),
            arena, &tensor, err);
        if (status == TP_OK)
            status = add_tensor(map, shard, &tensor, entry->name, surplus);
    }
    if (status == TP_OK && header.end.code != TP_OK) {
        *err = header.end;
        return header.end.code;
    }
    return status;
}

/* A file of torch.save. */
static enum tp_status read_archive(struct map *map, size_t shard,
                                   struct surplus *surplus,
                                   struct tp_error *err)
{
    struct tp_unit *unit = map->unit;
    enum tp_status status =
        tp_unit_item_open(unit, shard, 0, UINT64_MAX, err);
    for (size_t i = 0; status == TP_OK && i < unit->item.tensor_count; i++) {
        struct tp_tensor tensor = unit->item.tensors[i];
        tensor.path = tp_arena_text(&unit->file->arena, tensor.path,
                                    strlen(tensor.path));
        if (!tensor.path)
            status = tp_fail_memory(err);
        if (status == TP_OK)
            status = tp_unit_keep_storage(unit, shard, &tensor, err);
        if (status == TP_OK)
            status = add_tensor(map, shard, &tensor, tensor.path, surplus);
    }
    for (const struct tp_skip *s = unit->item.skips; status == TP_OK && s;
         s = s->next) {
        struct tp_error why = {0};
        const char *path = tp_arena_text(&unit->file->arena, s->path,
                                         strlen(s->path));
        tp_fail(&why, s->code, s->offset, "%s", s->reason);
        status = path ? skip(map, path, &why) : tp_fail_memory(err);
    }
    tp_unit_item_close(unit, shard);
    return status;
}

static enum tp_status read_shard(struct map *map, size_t shard,
                                 struct surplus *surplus, struct tp_error *err)
{
    unsigned char head[4] = {0};
    struct tp_bytes bytes;
    enum tp_status status =
        tp_file_set_take(map->unit->set, shard, &bytes, err);
    if (status != TP_OK)
        return status;
    if (bytes.size >= sizeof head)
        status = tp_bytes_read(&bytes, 0, head, sizeof head, err);
    const bool zip = memcmp(head, "PK\3\4", sizeof head) == 0;
    if (status == TP_OK && !zip)
        status = read_safetensors(map, shard, &bytes, surplus, err);
    tp_file_set_give(map->unit->set, shard);
    if (status == TP_OK && zip)
        status = read_archive(map, shard, surplus, err);
    return status;
}

/* Says what of a file the index asks for and it did not give. */
static enum tp_status tell_lost(struct map *map, size_t shard,
                                enum tp_status read, struct tp_error *why)
{
    size_t lost = 0;
    const struct entry *first = NULL;
    for (size_t i = 0; i < map->count; i++) {
        const struct entry *entry = &map->entries[i];
        if (entry->shard != shard || entry->found)
            continue;
        first = lost++ ? first : entry;
    }
    map->lost += lost;
    if (read == TP_OK && lost == 0)
        return TP_OK;
    const char *name = tp_file_set_name(map->unit->set, shard);
    struct tp_error told = {0};
    const char *path = "";
    if (first)
        path = tp_tensor_path(&map->unit->file->arena, first->name,
                              first->length);
    if (!path)
        return tp_fail_memory(map->err);
    if (read == TP_OK)
        tp_fail(&told, TP_E_NOT_FOUND, -1,
                "the index places %zu tensor%s in %s, which has no such, "
                "first %.80s",
                lost, lost == 1 ? "" : "s", name, path);
    else if (read == TP_E_NOT_FOUND)
        tp_fail(&told, TP_E_NOT_FOUND, -1,
                "the file %s of the index is not there; it has %zu of %zu "
                "tensors, first %.80s",
                name, lost, map->count, path);
    else
        tp_fail(&told, why->code, why->offset, "%s: %s", name, why->message);
    return skip(map, "", &told);
}

static enum tp_status tell_surplus(struct map *map, size_t shard,
                                   const struct surplus *surplus)
{
    const char *file = tp_file_set_name(map->unit->set, shard);
    struct tp_error note = {0};
    enum tp_status status = TP_OK;
    if (surplus->elsewhere) {
        tp_fail(&note, TP_OK, -1,
                "%s has %zu tensor%s that the index places in another file; "
                "not read from here, first %.80s",
                file, surplus->elsewhere, surplus->elsewhere == 1 ? "" : "s",
                surplus->first_elsewhere);
        status = skip(map, "", &note);
    }
    if (status != TP_OK || !surplus->nameless)
        return status;
    tp_fail(&note, TP_OK, -1,
            "%s has %zu tensor%s that the index does not name, first %.80s",
            file, surplus->nameless, surplus->nameless == 1 ? "" : "s",
            surplus->first_nameless);
    return skip(map, "", &note);
}

static enum tp_status tell_total(struct map *map)
{
    if (map->total_size < 0 || map->lost ||
        (uint64_t)map->total_size == map->bytes)
        return TP_OK;
    struct tp_error note = {0};
    tp_fail(&note, TP_OK, -1,
            "total_size of the index is %" PRId64 ", its tensors have %" PRIu64
            " bytes",
            map->total_size, map->bytes);
    return skip(map, "", &note);
}

struct by_name {
    const struct tp_file_set *set;
    size_t number;
};

static int compare_by_name(const void *a, const void *b)
{
    const struct by_name *x = a, *y = b;
    return strcmp(tp_file_set_name(x->set, x->number),
                  tp_file_set_name(y->set, y->number));
}

static enum tp_status read_shards(struct map *map)
{
    const size_t count = tp_file_set_count(map->unit->set);
    struct by_name *order = calloc(count + 1, sizeof *order);
    if (!order)
        return tp_fail_memory(map->err);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct by_name){map->unit->set, i};
    qsort(order, count, sizeof *order, compare_by_name);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        struct surplus surplus = {0, 0, NULL, NULL};
        struct tp_error why = {0};
        enum tp_status read =
            read_shard(map, order[i].number, &surplus, &why);
        if (read == TP_E_MEMORY)
            status = tp_fail_memory(map->err);
        if (status == TP_OK)
            status = tell_lost(map, order[i].number, read, &why);
        if (status == TP_OK)
            status = tell_surplus(map, order[i].number, &surplus);
    }
    free(order);
    return status;
}

/* ---- shards of another save ---------------------------------------------- */

/* The name of an index: STEM.safetensors.index.json. */
struct family {
    const char *name;
    size_t stem;
    const char *suffix; /* ".safetensors"                                  */
    size_t suffix_length;
};

static struct family family_of(const char *path)
{
    struct family family = {.name = tp_file_base_name(path)};
    const size_t all = strlen(family.name), end = strlen(".index.json");
    const size_t length = all > end ? all - end : 0;
    size_t dot = length;
    while (dot > 0 && family.name[--dot] != '.')
        continue;
    family.stem = dot;
    family.suffix = family.name + dot;
    family.suffix_length = length - dot;
    return family;
}

/* Whether a file is named STEM-N-of-N.safetensors. */
static bool is_shard(const void *context, const char *name)
{
    static const char digits[] = "0123456789";
    const struct family *family = context;
    if (strncmp(name, family->name, family->stem) != 0 ||
        name[family->stem] != '-')
        return false;
    const char *at = name + family->stem + 1;
    size_t length = strspn(at, digits);
    if (length == 0 || strncmp(at + length, "-of-", 4) != 0)
        return false;
    at += length + 4;
    length = strspn(at, digits);
    return length > 0 && strlen(at + length) == family->suffix_length &&
           memcmp(at + length, family->suffix, family->suffix_length) == 0;
}

/* Names shards beside the index that it does not: who loads all of a folder
 * takes them for parts of this model. */
static enum tp_status tell_strangers(struct map *map, const char *path)
{
    const struct family family = family_of(path);
    const size_t named = tp_file_set_count(map->unit->set);
    struct tp_file_set *beside = tp_file_set_new(path);
    struct tp_error told = {0};
    const char *first = NULL;
    size_t strangers = 0;
    if (!beside)
        return tp_fail_memory(map->err);
    /* a folder that cannot be listed holds none that anyone would load */
    enum tp_status status =
        tp_file_set_find(beside, is_shard, &family, NULL, &told);
    for (size_t i = 0; status == TP_OK && i < tp_file_set_count(beside); i++) {
        const char *name = tp_file_set_name(beside, i);
        size_t shard = 0;
        while (shard < named &&
               strcmp(tp_file_set_name(map->unit->set, shard), name) != 0)
            shard++;
        if (shard == named && strangers++ == 0)
            first = name;
    }
    if (strangers)
        tp_fail(&told, TP_E_NOT_FOUND, -1,
                "%zu shard%s beside the index %s not of it, first %.80s: left "
                "by another save? %s read alone",
                strangers, strangers == 1 ? "" : "s",
                strangers == 1 ? "is" : "are", first,
                strangers == 1 ? "It is" : "They are");
    tp_file_set_free(beside);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(map->err);
    return strangers ? skip(map, "", &told) : TP_OK;
}

/* ---- the format --------------------------------------------------------- */

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct map map = {.unit = tp_unit_new(file), .total_size = -1, .err = err};
    if (!map.unit)
        return tp_fail_memory(err);
    enum tp_status status = read_index(&map);
    if (status == TP_OK)
        status = index_names(&map);
    if (status == TP_OK)
        status = read_shards(&map);
    if (status == TP_OK)
        status = tell_total(&map);
    if (status == TP_OK)
        status = tell_strangers(&map, file->path);
    if (status == TP_OK)
        status = tp_unit_finish(map.unit, err);
    tp_text_index_clear(&map.index);
    tp_json_walk_clear(&map.walk);
    free(map.entries);
    return status;
}

static enum tp_name_claim claims(const char *name)
{
    static const char *const ends[] = {".safetensors.index.json",
                                       ".bin.index.json"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0)
            return TP_NAME_FILE;
    }
    return TP_NAME_OTHER;
}

/* Known by its name. */
static int bid(const unsigned char *head, size_t length)
{
    (void)head;
    (void)length;
    return 0;
}

const struct tp_format tp_format_weight_map = {
    .name = "weight_map",
    .help = "index of a model in several files (.index.json)",
    .suffixes = "",
    .claims = claims,
    .bid = bid,
    .open = open_file,
    .close = tp_unit_close,
    .unchanged = tp_unit_unchanged,
};
