/* SPDX-License-Identifier: MIT */
/*
 * The header of a safetensors file: read member by member, so that the largest
 * one of 100 MB takes the memory of its tensors, and checked as the reference
 * does. A tree of the whole JSON would be shorter and take 40 times the text.
 * Cost: two looks at each byte of the header, a sort by place and one index of
 * names.
 */
#include "formats/safetensors/safetensors_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/json/json_members.h"
#include "formats/safetensors/safetensors_check.h"

enum {
    LENGTH_BYTES = 8,
    WINDOW = 64 << 10, /* bytes looked at together for UTF-8             */
    UNKNOWN_MAX = 1 << 20, /* bytes of an unknown field that is parsed to
                              see whether it is JSON; others are passed
                              over by brackets                           */
    SHOWN_MAX = 80 /* bytes of a dtype in a message                      */
};

/* MAX_HEADER_SIZE of the reference. */
static const uint64_t HEADER_MAX = 100000000;

struct reading {
    struct tp_json_stream stream;
    struct tp_json_walk walk;
    struct tp_arena *arena;
    struct tp_metadata *metadata;
    size_t metadata_count;
    struct tp_safetensors_header *header;
    size_t room;
    uint64_t data; /* byte where tensors begin */
    bool named;    /* the failure names its tensor */
    struct tp_error *err;
};

/* ---- values of the header ----------------------------------------------- */

/* The text of a JSON string, in the arena of the walk. */
static enum tp_status string_of(struct reading *r,
                                const struct tp_json_part *part,
                                const struct tp_json **value)
{
    tp_arena_reset(&r->walk.arena);
    if (!r->walk.parser && !(r->walk.parser = tp_json_parser_new()))
        return tp_fail_memory(r->err);
    enum tp_status status =
        tp_json_parse(r->walk.parser, part->text, part->length,
                      &r->walk.arena, value, r->err);
    if (status == TP_E_DAMAGED && r->err)
        r->err->offset = part->offset;
    return status;
}

/* Whether a part is a string without escapes, which is its own text. */
static bool is_plain(const struct tp_json_part *part)
{
    bool plain = true;
    for (size_t i = 1; i + 1 < part->length; i++)
        plain &= part->text[i] >= ' ' && part->text[i] <= '~' &&
                 part->text[i] != '\\';
    return plain;
}

/* Keeps the text of a string that was read. */
static enum tp_status keep_string(struct reading *r,
                                  const struct tp_json_part *part,
                                  const char **text, size_t *length)
{
    const struct tp_json *value;
    if (is_plain(part)) {
        *length = part->length - 2;
        *text = tp_arena_text(r->arena, part->text + 1, *length);
        return *text ? TP_OK : tp_fail_memory(r->err);
    }
    enum tp_status status = string_of(r, part, &value);
    if (status != TP_OK)
        return status;
    *length = value->length;
    *text = tp_arena_text(r->arena, value->text, value->length);
    return *text ? TP_OK : tp_fail_memory(r->err);
}

static enum tp_status wrong(struct reading *r, int64_t at, const char *what)
{
    return tp_fail(r->err, TP_E_DAMAGED, at, "%s", what);
}

/* A list of integers while it is read. */
struct list {
    const struct tp_json_part *part;
    size_t at; /* in it: behind '[' or the last integer */
    bool first, more;
};

static void pass_blanks(struct list *list)
{
    while (list->at < list->part->length &&
           tp_json_is_blank(list->part->text[list->at]))
        list->at++;
}

/* The digits of an integer; JSON's other numbers are refused. */
static enum tp_status read_digits(struct reading *r, struct list *list,
                                  int64_t *value)
{
    const char *text = list->part->text;
    const size_t start = list->at, end = list->part->length;
    const int64_t offset = list->part->offset + (int64_t)start;
    size_t i = start;
    while (i < end && text[i] >= '0' && text[i] <= '9')
        i++;
    list->at = i;
    *value = tp_digits_value(text + start, i - start);
    if (start < end && text[start] == '-')
        return wrong(r, offset, "a negative integer");
    if (i < end && i > start &&
        (text[i] == '.' || text[i] == 'e' || text[i] == 'E'))
        return wrong(r, offset,
                     "a number with a fraction or an exponent, where an "
                     "integer should stand");
    if (i == start || (text[start] == '0' && i - start > 1))
        return wrong(r, offset, "an integer should stand here");
    return *value < 0 ? wrong(r, offset, "an integer beyond 63 bits") : TP_OK;
}

/* The next integer, if list->more is set by that. */
static enum tp_status next_integer(struct reading *r, struct list *list,
                                   int64_t *value)
{
    const struct tp_json_part *part = list->part;
    pass_blanks(list);
    list->more = list->at == part->length || part->text[list->at] != ']';
    if (!list->more)
        return TP_OK;
    if (!list->first &&
        (list->at == part->length || part->text[list->at++] != ','))
        return wrong(r, part->offset, "a list of integers should stand here");
    pass_blanks(list);
    list->first = false;
    return read_digits(r, list, value);
}

/* A list of at most `room` integers. */
static enum tp_status read_integers(struct reading *r,
                                    const struct tp_json_part *part,
                                    int64_t *values, int room, int *count)
{
    struct list list = {.part = part, .at = 1, .first = true};
    int64_t value = 0;
    *count = 0;
    if (part->text[0] != '[')
        return wrong(r, part->offset, "a list of integers should stand here");
    for (;;) {
        enum tp_status status = next_integer(r, &list, &value);
        if (status != TP_OK || !list.more)
            return status;
        if (*count == room)
            return tp_fail(r->err, TP_E_DAMAGED, part->offset,
                           "a list of more than %d integers", room);
        values[(*count)++] = value;
    }
}

/* ---- one tensor --------------------------------------------------------- */

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4 };

static enum tp_status read_dtype(struct reading *r,
                                 const struct tp_json_part *part,
                                 struct tp_safetensors_entry *entry)
{
    if (part->text[0] != '"')
        return wrong(r, part->offset, "the dtype is no string");
    for (int i = 0; tp_safetensors_dtypes[i].name; i++) {
        if (tp_json_key_is(part, tp_safetensors_dtypes[i].name)) {
            entry->dtype = i;
            return TP_OK;
        }
    }
    int shown = part->length < SHOWN_MAX ? (int)part->length : SHOWN_MAX;
    return tp_fail(r->err, TP_E_DAMAGED, part->offset,
                   "the dtype %.*s is none of safetensors", shown, part->text);
}

static enum tp_status read_shape(struct reading *r,
                                 const struct tp_json_part *part,
                                 struct tp_safetensors_entry *entry)
{
    int64_t dims[TP_LIMIT_DIMS];
    enum tp_status status =
        read_integers(r, part, dims, TP_LIMIT_DIMS, &entry->ndim);
    if (status != TP_OK)
        return status;
    const size_t bytes = (size_t)entry->ndim * sizeof *dims;
    int64_t *kept = tp_arena_alloc(r->arena, bytes);
    if (!kept)
        return tp_fail_memory(r->err);
    if (bytes)
        memcpy(kept, dims, bytes);
    entry->shape = kept;
    return TP_OK;
}

static enum tp_status read_offsets(struct reading *r,
                                   const struct tp_json_part *part,
                                   struct tp_safetensors_entry *entry)
{
    int64_t ends[2];
    int count;
    enum tp_status status = read_integers(r, part, ends, 2, &count);
    if (status == TP_OK && count != 2)
        status = tp_fail(r->err, TP_E_DAMAGED, part->offset,
                         "%d offset%s instead of 2", count,
                         count == 1 ? "" : "s");
    if (status != TP_OK)
        return status;
    entry->begin = (uint64_t)ends[0];
    entry->end = (uint64_t)ends[1];
    return TP_OK;
}

/* A field that the format does not have: JSON, and no more is asked of it. */
static enum tp_status read_unknown(struct reading *r,
                                   const struct tp_json_part *part)
{
    const struct tp_json *value;
    return part->length > UNKNOWN_MAX ? TP_OK : string_of(r, part, &value);
}

static enum tp_status read_field(struct reading *r,
                                 struct tp_safetensors_entry *entry,
                                 const struct tp_json_part *key, unsigned *has)
{
    static const struct {
        const char *name;
        unsigned bit;
        enum tp_status (*read)(struct reading *r,
                               const struct tp_json_part *part,
                               struct tp_safetensors_entry *entry);
    } fields[] = {{"dtype", HAS_DTYPE, read_dtype},
                  {"shape", HAS_SHAPE, read_shape},
                  {"data_offsets", HAS_OFFSETS, read_offsets}};
    size_t i = 0;
    while (i < 3 && !tp_json_key_is(key, fields[i].name))
        i++;
    const int64_t at = key->offset; /* the key goes with the next part */
    struct tp_json_part part;
    enum tp_status status = tp_json_stream_value(&r->stream, &part, r->err);
    if (status != TP_OK)
        return status;
    if (i == 3)
        return read_unknown(r, &part);
    if (*has & fields[i].bit)
        return tp_fail(r->err, TP_E_DAMAGED, at, "the field %s is there twice",
                       fields[i].name);
    *has |= fields[i].bit;
    status = fields[i].read(r, &part, entry);
    tp_while(status == TP_OK ? NULL : r->err, "reading its %s",
             fields[i].name);
    return status;
}

static enum tp_status read_fields(struct reading *r,
                                  struct tp_safetensors_entry *entry)
{
    unsigned has = 0;
    struct tp_json_part key;
    enum tp_status status = tp_json_stream_enter(&r->stream, r->err);
    while (status == TP_OK) {
        status = tp_json_stream_key(&r->stream, &key, r->err);
        if (status != TP_OK || !key.text)
            break;
        status = read_field(r, entry, &key, &has);
    }
    if (status == TP_OK && has != (HAS_DTYPE | HAS_SHAPE | HAS_OFFSETS))
        status = tp_fail(r->err, TP_E_DAMAGED, entry->at,
                         "it has no %s",
                         !(has & HAS_DTYPE)   ? "dtype"
                         : !(has & HAS_SHAPE) ? "shape"
                                              : "data_offsets");
    return status;
}

static enum tp_status read_tensor(struct reading *r,
                                  const struct tp_json_part *key)
{
    struct tp_safetensors_header *header = r->header;
    struct tp_safetensors_entry entry = {.at = key->offset};
    enum tp_status status =
        keep_string(r, key, &entry.name, &entry.name_length);
    if (status == TP_OK) {
        status =
            tp_safetensors_about(read_fields(r, &entry), &entry, r->err);
        r->named = status != TP_OK;
    }
    if (status == TP_OK)
        status = tp_grow(&header->entries, &r->room, header->count + 1,
                         sizeof entry, r->err);
    if (status == TP_OK)
        header->entries[header->count++] = entry;
    return status;
}

/* ---- metadata ----------------------------------------------------------- */

static void answer(struct reading *r, const char *key,
                   const struct tp_json *value)
{
    for (size_t i = 0; i < r->metadata_count; i++) {
        struct tp_metadata *m = &r->metadata[i];
        if (strcmp(m->name, key) != 0 ||
            value->length > TP_LIMIT_LABEL_BYTES)
            continue;
        m->text = tp_arena_text(r->arena, value->text, value->length);
        m->length = m->text ? value->length : 0;
        m->number = tp_digits_value(value->text, value->length);
    }
}

/* One member of the metadata: a string. */
static enum tp_status read_note(struct reading *r,
                                const struct tp_json_part *key)
{
    const char *name;
    size_t length;
    enum tp_status status = keep_string(r, key, &name, &length);
    struct tp_json_part part;
    const struct tp_json *value = NULL;
    if (status == TP_OK)
        status = tp_json_stream_value(&r->stream, &part, r->err);
    if (status == TP_OK && part.text[0] != '"')
        status = wrong(r, part.offset, "a value of __metadata__ is no string");
    if (status == TP_OK)
        status = string_of(r, &part, &value);
    if (status != TP_OK)
        return status;
    answer(r, name, value);
    if (strcmp(name, "DCP_SHARDING_INFO") != 0)
        return TP_OK;
    r->header->sharding =
        tp_arena_text(r->arena, value->text, value->length);
    return r->header->sharding ? TP_OK : tp_fail_memory(r->err);
}

static enum tp_status read_metadata(struct reading *r)
{
    struct tp_json_part part;
    enum tp_status status;
    if (tp_json_stream_at_other(&r->stream)) {
        status = tp_json_stream_value(&r->stream, &part, r->err);
        if (status == TP_OK &&
            (part.length != 4 || memcmp(part.text, "null", 4) != 0))
            status = wrong(r, part.offset, "__metadata__ is no object");
        return status;
    }
    status = tp_json_stream_enter(&r->stream, r->err);
    while (status == TP_OK) {
        status = tp_json_stream_key(&r->stream, &part, r->err);
        if (status != TP_OK || !part.text)
            break;
        status = read_note(r, &part);
    }
    return status;
}

/* ---- the whole header --------------------------------------------------- */

static enum tp_status read_members(struct reading *r)
{
    struct tp_json_part key;
    enum tp_status status = tp_json_stream_enter(&r->stream, r->err);
    while (status == TP_OK) {
        status = tp_json_stream_key(&r->stream, &key, r->err);
        if (status != TP_OK || !key.text)
            break;
        status = tp_json_key_is(&key, "__metadata__") ? read_metadata(r)
                                                      : read_tensor(r, &key);
    }
    if (status == TP_OK)
        status = tp_json_stream_end(&r->stream, r->err);
    if (status == TP_E_DAMAGED && !r->named)
        tp_while(r->err, "reading the header");
    return status;
}

/* That bytes [start, end) are UTF-8. */
static enum tp_status check_utf8(const struct tp_bytes *bytes, uint64_t start,
                                 uint64_t end, struct tp_error *err)
{
    char window[WINDOW];
    for (uint64_t at = start; at < end;) {
        const size_t length =
            end - at < sizeof window ? (size_t)(end - at) : sizeof window;
        enum tp_status status = tp_bytes_read(bytes, at, window, length, err);
        if (status != TP_OK)
            return status;
        size_t i = 0;
        while (i < length) {
            const size_t n = tp_utf8_step(window + i, length - i);
            /* one that is cut off here is whole in the next window */
            if (n == 0 && length - i < 4 && at + length < end && i > 0)
                break;
            if (n == 0)
                return tp_fail(err, TP_E_DAMAGED, (int64_t)(at + i),
                               "the header is not UTF-8");
            i += n;
        }
        at += i;
    }
    return TP_OK;
}

/* Finds where the header ends. */
static enum tp_status find_header(const struct tp_bytes *bytes, uint64_t *end,
                                  struct tp_error *err)
{
    unsigned char head[LENGTH_BYTES];
    if (bytes->size < LENGTH_BYTES)
        return tp_fail(err, TP_E_DAMAGED, 0,
                       "no safetensors: %" PRIu64 " bytes, and the length of "
                       "the header alone takes 8",
                       bytes->size);
    enum tp_status status =
        tp_bytes_read(bytes, 0, head, sizeof head, err);
    if (status != TP_OK)
        return status;
    uint64_t length = 0;
    for (size_t i = sizeof head; i-- > 0;)
        length = length << 8 | head[i];
    if (length > HEADER_MAX)
        return tp_fail(err, TP_E_DAMAGED, 0,
                       "no safetensors: the header would have %" PRIu64
                       " bytes; at most %" PRIu64 " are allowed",
                       length, HEADER_MAX);
    *end = LENGTH_BYTES + length;
    if (*end > bytes->size)
        return tp_fail(err, TP_E_DAMAGED, 0,
                       "the header ends at byte %" PRIu64 ", the file at byte "
                       "%" PRIu64 "; it was cut, or is no safetensors",
                       *end, bytes->size);
    return TP_OK;
}

/* ---- all of it -------------------------------------------------- */

/* Moves the entries into the arena. */
static enum tp_status keep_entries(struct reading *r, enum tp_status status)
{
    struct tp_safetensors_header *header = r->header;
    struct tp_safetensors_entry *grown = header->entries;
    const size_t bytes = header->count * sizeof *grown;
    header->entries = status == TP_OK ? tp_arena_alloc(r->arena, bytes) : NULL;
    if (header->entries && bytes)
        memcpy(header->entries, grown, bytes);
    free(grown);
    return status == TP_OK && !header->entries ? tp_fail_memory(r->err)
                                               : status;
}

enum tp_status tp_safetensors_read(const struct tp_bytes *bytes,
                                   struct tp_metadata *metadata, size_t count,
                                   struct tp_arena *arena,
                                   struct tp_safetensors_header *header,
                                   struct tp_error *err)
{
    struct reading r = {.arena = arena,
                        .metadata = metadata,
                        .metadata_count = count,
                        .header = header,
                        .err = err};
    memset(header, 0, sizeof *header);
    enum tp_status status = find_header(bytes, &r.data, err);
    if (status == TP_OK)
        status = check_utf8(bytes, LENGTH_BYTES, r.data, err);
    if (status != TP_OK)
        return status;
    tp_json_stream_range(&r.stream, bytes, LENGTH_BYTES, r.data);
    status = read_members(&r);
    tp_json_stream_close(&r.stream);
    tp_json_walk_clear(&r.walk);
    if (status == TP_OK)
        status = tp_safetensors_check(header, r.data, bytes->size, err);
    return keep_entries(&r, status);
}
