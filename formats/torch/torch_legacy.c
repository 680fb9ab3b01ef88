/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "data/range_storage.h"
#include "formats/torch/torch_formats.h"
#include "formats/torch/torch_legacy.h"
#include "formats/torch/torch_object.h"

/*
 * The stream that torch.save writes without zip:
 *
 *     pickle   the number 0x1950a86a20f9469cfc6c
 *     pickle   the protocol, 1001
 *     pickle   {"protocol_version", "little_endian", "type_sizes"}
 *     pickle   the object; storages are persistent ids
 *     pickle   the list of the storages' keys
 *     for each key, in the order of the list:
 *         int64    number of elements
 *         bytes    the elements
 *
 * Nothing says how large an element is but the class in the persistent id.
 * The elements are little-endian whatever "little_endian" says: torch swaps
 * them on big-endian machines, and its reader does not look at the field. The
 * count was written in the machine's order before torch swapped it too; the
 * count in the persistent id tells which it is. So the place of a storage is
 * known only from the lengths of those before it: one whose lengths disagree
 * makes the rest doubtful, and is reported. Cost: four pickles and eight bytes
 * for each storage; the elements are passed over.
 */

static const unsigned char MAGIC[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                      0x20, 0x6a, 0xa8, 0x50, 0x19};
enum { PROTOCOL = 1001, COUNT_BYTES = 8 };

/*
 * The first pickle starts with PROTO n and LONG1 of ten bytes; from protocol
 * 4 on a FRAME of nine bytes may stand between them.
 */
enum { OP_PROTO = 0x80, OP_FRAME = 0x95, FRAME_BYTES = 9 };
static const unsigned char LONG1[] = {0x8a, 0x0a};

struct stream {
    struct tp_torch_source source;
    struct tp_pickle object;
    struct tp_arena *arena;
    uint64_t position, end;
    int64_t stop_at;         /* where the storages could not be followed   */
    const char *stop_reason; /* NULL: all were                             */
    bool doubtful;           /* the length of a storage was               */
    bool complete;           /* position is behind the last storage        */
};

static enum tp_status read_number(struct stream *s, struct tp_pickle *pickle,
                                  int64_t *number, struct tp_error *err)
{
    enum tp_status status =
        tp_pickle_read(&s->source.bytes, &s->position, s->end, pickle, err);
    if (status == TP_OK && !tp_pickle_int(pickle, pickle->root, number))
        *number = -1;
    return status;
}

static enum tp_status read_head(struct stream *s, struct tp_pickle *pickle,
                                struct tp_error *err)
{
    int64_t number;
    enum tp_status status = read_number(s, pickle, &number, err);
    if (status != TP_OK)
        return status;
    const struct tp_value *magic = tp_pickle_value(pickle, pickle->root);
    if (magic->kind != TP_VALUE_BIG_INT || !magic->u.text.data ||
        magic->u.text.length != sizeof MAGIC ||
        memcmp(magic->u.text.data, MAGIC, sizeof MAGIC) != 0)
        return tp_fail(err, TP_E_DAMAGED, 0, "no legacy torch stream");
    int64_t at = (int64_t)s->position;
    status = read_number(s, pickle, &number, err);
    if (status != TP_OK)
        return status;
    if (number != PROTOCOL)
        return tp_fail(err, TP_E_UNSUPPORTED, at,
                       "legacy stream with protocol %" PRId64 " instead of %d",
                       number, PROTOCOL);
    return read_number(s, pickle, &number, err); /* sizes of C types */
}

/* The number of elements in front of a storage. */
static enum tp_status read_count(struct stream *s,
                                 const struct tp_torch_entry *entry,
                                 uint64_t *count, struct tp_error *err)
{
    unsigned char head[COUNT_BYTES];
    uint64_t little = 0, big = 0;
    enum tp_status status =
        tp_bytes_read(&s->source.bytes, s->position, head, sizeof head, err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < sizeof head; i++) {
        little |= (uint64_t)head[i] << (8 * i);
        big = big << 8 | head[i];
    }
    uint64_t numel = (uint64_t)entry->id.numel;
    *count = big == numel && little != numel ? big : little;
    s->position += sizeof head;
    return TP_OK;
}

/* A storage whose two lengths disagree; torch refuses it, too. */
static enum tp_status mismatch(struct stream *s, struct tp_torch_entry *entry,
                               uint64_t count, struct tp_error *err)
{
    struct tp_error *why = tp_arena_alloc(s->arena, sizeof *why);
    if (!why)
        return tp_fail_memory(err);
    tp_fail(why, TP_E_DAMAGED, s->stop_at,
            "its storage has %" PRIu64 " elements, but the object says "
            "%" PRId64,
            count, entry->id.numel);
    entry->failure = why;
    s->doubtful = true;
    return TP_OK;
}

/*
 * Finds the next storage at s->position. Sets s->stop_reason when it, and
 * with it all that follow, cannot be found.
 */
static enum tp_status next_storage(struct stream *s,
                                   struct tp_torch_entry *entry,
                                   struct tp_error *err)
{
    uint64_t count;
    s->stop_at = (int64_t)s->position;
    if (!entry) {
        s->stop_reason =
            "a storage that the object does not name stands before "
            "the storage";
        return TP_OK;
    }
    if (s->end - s->position < COUNT_BYTES) {
        s->stop_reason = "the file ends before the storage";
        return TP_OK;
    }
    enum tp_status status = read_count(s, entry, &count, err);
    if (status != TP_OK)
        return status;
    uint64_t element = tp_torch_id_element(&entry->id);
    if (count > (s->end - s->position) / element) {
        s->stop_reason = "the file ends inside the storage";
        return TP_OK;
    }
    uint64_t start = s->position;
    s->position += count * element;
    if (count != (uint64_t)entry->id.numel)
        return mismatch(s, entry, count, err);
    struct tp_range_storage *storage = tp_range_storage_new(
        s->arena, &s->source.bytes, start, count * element);
    if (!storage)
        return tp_fail_memory(err);
    entry->storage = &storage->base;
    return TP_OK;
}

/* The storages follow one another from s->position on, in order of keys. */
static enum tp_status follow_storages(struct stream *s,
                                      const struct tp_pickle *keys,
                                      struct tp_error *err)
{
    enum tp_status status = TP_OK;
    size_t count = tp_pickle_length(keys, keys->root);
    for (size_t i = 0; status == TP_OK && !s->stop_reason && i < count; i++) {
        struct tp_torch_id id = {.number = -1};
        struct tp_torch_entry *entry = NULL;
        if (tp_pickle_text(keys, tp_pickle_item(keys, keys->root, i), &id.key,
                           &id.key_length))
            entry = tp_torch_table_find(&s->source.table, &id);
        status = next_storage(s, entry, err);
    }
    if (!s->stop_reason) {
        s->complete = status == TP_OK && !s->doubtful;
        s->stop_reason = "the stream does not hold the storage";
        s->stop_at = (int64_t)s->position;
    }
    return status;
}

/* Called for storages that follow_storages did not reach. */
static enum tp_status unresolved(struct tp_torch_source *source,
                                 struct tp_torch_entry *entry,
                                 struct tp_error *err)
{
    const struct stream *s = (const struct stream *)source;
    return tp_fail(err, TP_E_DAMAGED, s->stop_at, "%s with key %.*s",
                   s->stop_reason, (int)entry->id.key_length, entry->id.key);
}

/* Reads everything but the tensors. s->object is to be cleared always. */
static enum tp_status read_stream(struct stream *s, struct tp_error *err)
{
    struct tp_pickle scratch = {0};
    s->source.resolve = unresolved;
    s->source.nested = tp_legacy_storage;
    enum tp_status status = read_head(s, &scratch, err);
    if (status == TP_OK)
        status = tp_pickle_read(&s->source.bytes, &s->position, s->end,
                                &s->object, err);
    if (status == TP_OK)
        status =
            tp_torch_table_read(&s->object, s->arena, &s->source.table, err);
    if (status == TP_OK && s->source.table.count > 0) {
        /* a file cut here still tells what it should have held */
        struct tp_error keys_err = {0};
        if (tp_pickle_read(&s->source.bytes, &s->position, s->end, &scratch,
                           &keys_err) == TP_OK) {
            status = follow_storages(s, &scratch, err);
        } else {
            s->stop_at = (int64_t)s->position;
            s->stop_reason =
                "the list of storages cannot be read; it should hold the "
                "storage";
        }
    }
    tp_pickle_clear(&scratch);
    return status;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct stream s = {.arena = &file->arena, .end = file->bytes.size};
    s.source.bytes = file->bytes;
    enum tp_status status = read_stream(&s, err);
    if (status == TP_OK)
        status = tp_torch_collect(file, &s.object, &s.source, err);
    if (status == TP_OK && s.complete && s.position < s.end) {
        struct tp_error why = {0};
        tp_fail(&why, TP_E_UNSUPPORTED, (int64_t)s.position,
                "%" PRIu64 " bytes follow the stream; they are not read",
                s.end - s.position);
        status = tp_tensor_file_skip(file, "", &why, err);
    }
    tp_pickle_clear(&s.object);
    return status;
}

enum tp_status tp_legacy_storage(const struct tp_nested_range *range,
                                 struct tp_arena *arena,
                                 struct tp_storage **storage,
                                 enum tp_dtype *dtype, struct tp_error *err)
{
    struct stream s = {
        .arena = arena, .position = range->start, .end = range->end};
    s.source.bytes = *range->bytes;
    enum tp_status status = read_stream(&s, err);
    struct tp_torch_id id;
    if (status == TP_OK)
        status = tp_torch_id_read(&s.object, s.object.root, &id, err);
    if (status == TP_OK && id.view != TP_REF_NONE)
        status = tp_fail(err, TP_E_UNSUPPORTED, id.at,
                         "a view of a storage inside a pickle");
    if (status == TP_OK) {
        struct tp_torch_entry *entry =
            tp_torch_table_find(&s.source.table, &id);
        if (!entry->storage)
            status = unresolved(&s.source, entry, err);
        *storage = entry->storage;
        *dtype = id.dtype;
    }
    tp_pickle_clear(&s.object);
    tp_while(status == TP_OK ? NULL : err, "reading a nested storage");
    return status;
}

static int bid(const unsigned char *head, size_t length)
{
    if (length < 3 || head[0] != OP_PROTO || head[1] < 2 || head[1] > 5)
        return 0;
    size_t at = head[1] >= 4 && head[2] == OP_FRAME ? 2 + FRAME_BYTES : 2;
    size_t need = sizeof LONG1 + sizeof MAGIC;
    if (length < at + need || memcmp(head + at, LONG1, sizeof LONG1) != 0 ||
        memcmp(head + at + sizeof LONG1, MAGIC, sizeof MAGIC) != 0)
        return 0;
    return 8 * (int)(2 + need);
}

const struct tp_format tp_format_torch_legacy = {
    .name = "torch_legacy",
    .help = "torch.save with _use_new_zipfile_serialization=False",
    .suffixes = TP_TORCH_SUFFIXES,
    .word = "legacy stream",
    .bid = bid,
    .open = open_file,
};
