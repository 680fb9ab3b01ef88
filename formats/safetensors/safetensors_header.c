/* SPDX-License-Identifier: MIT */
/*
 * The header of a safetensors file: read member by member, so that the largest
 * one of 100 MB takes the memory of its tensors, and checked as the reference
 * does. A tree of the whole JSON would be shorter and take 40 times the text.
 * Cost: two looks at each byte of the header, a sort by place and one index of
 * names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"
#include "base/text_index.h"
#include "data/tensor_path.h"
#include "formats/json/json_members.h"
#include "formats/safetensors/safetensors.h"

enum {
    LENGTH_BYTES = 8,
    WINDOW = 64 << 10, /* bytes looked at together for UTF-8             */
    UNKNOWN_MAX = 1 << 20, /* bytes of an unknown field that is parsed to
                              see whether it is JSON; others are passed
                              over by brackets                           */
    SHOWN_MAX = 80 /* bytes of a name in a message                       */
};

/* MAX_HEADER_SIZE of the reference. */
static const uint64_t HEADER_MAX = 100000000;

/* In the order of the reference, which is that of alignment. */
const struct tp_safetensors_dtype tp_safetensors_dtypes[] = {
    {"BOOL", 8, TP_BOOL},
    {"F4", 4, TP_FLOAT4_E2M1FN_X2},
    {"F6_E2M3", 6, TP_FLOAT6_E2M3FN},
    {"F6_E3M2", 6, TP_FLOAT6_E3M2FN},
    {"U8", 8, TP_UINT8},
    {"I8", 8, TP_INT8},
    {"F8_E5M2", 8, TP_FLOAT8_E5M2},
    {"F8_E4M3", 8, TP_FLOAT8_E4M3FN},
    {"F8_E8M0", 8, TP_FLOAT8_E8M0FNU},
    {"F8_E4M3FNUZ", 8, TP_FLOAT8_E4M3FNUZ},
    {"F8_E5M2FNUZ", 8, TP_FLOAT8_E5M2FNUZ},
    {"I16", 16, TP_INT16},
    {"U16", 16, TP_UINT16},
    {"F16", 16, TP_FLOAT16},
    {"BF16", 16, TP_BFLOAT16},
    {"I32", 32, TP_INT32},
    {"U32", 32, TP_UINT32},
    {"F32", 32, TP_FLOAT32},
    {"C64", 64, TP_COMPLEX64},
    {"F64", 64, TP_FLOAT64},
    {"I64", 64, TP_INT64},
    {"U64", 64, TP_UINT64},
    {NULL, 0, TP_DTYPE_COUNT},
};

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

/* ---- values of the header ---------------------------------------------- */

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

/*
 * The next number of a list that begins at part->text[*at] ('[' or ','), all of
 * it digits. *more: there was one.
 */
static enum tp_status next_integer(struct reading *r,
                                   const struct tp_json_part *part, size_t *at,
                                   bool first, int64_t *value, bool *more)
{
    const char *text = part->text;
    size_t i = *at, end = part->length;
    *more = false;
    while (i < end && tp_json_is_blank(text[i]))
        i++;
    if (i < end && text[i] == ']') {
        *at = i + 1;
        return TP_OK;
    }
    if (!first && (i == end || text[i++] != ','))
        return wrong(r, part->offset, "a list of integers should stand here");
    while (i < end && tp_json_is_blank(text[i]))
        i++;
    const size_t start = i;
    while (i < end && text[i] >= '0' && text[i] <= '9')
        i++;
    *value = tp_digits_value(text + start, i - start);
    const bool zero = text[start] == '0' && i - start > 1;
    if (start < end && text[start] == '-')
        return wrong(r, part->offset + (int64_t)start, "a negative integer");
    if (i < end && i > start &&
        (text[i] == '.' || text[i] == 'e' || text[i] == 'E'))
        return wrong(r, part->offset + (int64_t)start,
                     "a number with a fraction or an exponent, where an "
                     "integer should stand");
    if (i == start || zero)
        return wrong(r, part->offset + (int64_t)start,
                     "an integer should stand here");
    if (*value < 0)
        return wrong(r, part->offset + (int64_t)start,
                     "an integer beyond 63 bits");
    *at = i;
    *more = true;
    return TP_OK;
}

/* A list of at most `room` integers. */
static enum tp_status read_integers(struct reading *r,
                                    const struct tp_json_part *part,
                                    int64_t *values, int room, int *count)
{
    size_t at = 1;
    bool more = part->text[0] == '[';
    enum tp_status status = TP_OK;
    *count = 0;
    if (!more)
        return wrong(r, part->offset, "a list of integers should stand here");
    while (more) {
        int64_t value = 0;
        status = next_integer(r, part, &at, *count == 0, &value, &more);
        if (status != TP_OK)
            return status;
        if (more && *count == room)
            return tp_fail(r->err, TP_E_DAMAGED, part->offset,
                           "a list of more than %d integers", room);
        if (more)
            values[(*count)++] = value;
    }
    return TP_OK;
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

/* Adds "while reading the tensor NAME" to a failure. */
static enum tp_status about(struct reading *r, enum tp_status status,
                            const struct tp_safetensors_entry *entry)
{
    if (status == TP_OK || status == TP_E_MEMORY)
        return status;
    struct tp_text shown = {0};
    tp_text_printable_cut(&shown, entry->name, SHOWN_MAX);
    tp_while(r->err, "reading the tensor \"%s\"", tp_text_get(&shown));
    tp_text_clear(&shown);
    r->named = true;
    return status;
}

static enum tp_status read_tensor(struct reading *r,
                                  const struct tp_json_part *key)
{
    struct tp_safetensors_header *header = r->header;
    struct tp_safetensors_entry entry = {.at = key->offset};
    enum tp_status status =
        keep_string(r, key, &entry.name, &entry.name_length);
    if (status == TP_OK)
        status = about(r, read_fields(r, &entry), &entry);
    if (status == TP_OK)
        status = tp_grow(&header->entries, &r->room, header->count + 1,
                         sizeof entry, r->err);
    if (status == TP_OK)
        header->entries[header->count++] = entry;
    return status;
}

/* ---- metadata ------------------------------------------------------------ */

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

/* ---- the whole header ---------------------------------------------------- */

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

/* ---- checks of all tensors together -------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const struct tp_safetensors_entry *x = a, *y = b;
    int order = tp_order_uint64(x->begin, y->begin);
    if (!order)
        order = tp_order_uint64(x->end, y->end);
    return order ? order : tp_order_uint64((uint64_t)x->at, (uint64_t)y->at);
}

/* That the tensors follow each other without a gap from byte 0 on. */
static enum tp_status check_places(struct reading *r)
{
    uint64_t last = 0;
    for (size_t i = 0; i < r->header->count; i++) {
        const struct tp_safetensors_entry *entry = &r->header->entries[i];
        enum tp_status status = TP_OK;
        if (entry->end < entry->begin)
            status = tp_fail(r->err, TP_E_DAMAGED, entry->at,
                             "its data ends at %" PRIu64
                             ", before it begins at %" PRIu64,
                             entry->end, entry->begin);
        else if (entry->begin != last)
            status = tp_fail(r->err, TP_E_DAMAGED, entry->at,
                             "its data begins at %" PRIu64
                             ", but the data before it ends at %" PRIu64
                             " (%s)",
                             entry->begin, last,
                             entry->begin > last ? "a gap" : "an overlap");
        if (status != TP_OK)
            return about(r, status, entry);
        last = entry->end;
    }
    return TP_OK;
}

/* That a tensor has the bytes that its shape and dtype need. */
static enum tp_status check_size(struct reading *r,
                                 const struct tp_safetensors_entry *entry)
{
    const struct tp_safetensors_dtype *dtype =
        &tp_safetensors_dtypes[entry->dtype];
    uint64_t bits = 1;
    bool overflow = false;
    for (int i = 0; i < entry->ndim; i++)
        overflow |= __builtin_mul_overflow(bits, (uint64_t)entry->shape[i],
                                           &bits);
    overflow |= __builtin_mul_overflow(bits, (uint64_t)dtype->bits, &bits);
    if (overflow)
        return tp_fail(r->err, TP_E_DAMAGED, entry->at,
                       "its shape has more than 2^64 bits");
    if (bits % 8)
        return tp_fail(r->err, TP_E_DAMAGED, entry->at,
                       "its elements of %u bits do not fill whole bytes",
                       dtype->bits);
    if (entry->end - entry->begin != bits / 8)
        return tp_fail(r->err, TP_E_DAMAGED, entry->at,
                       "shape and dtype %s need %" PRIu64
                       " bytes, its data has %" PRIu64,
                       dtype->name, bits / 8, entry->end - entry->begin);
    return TP_OK;
}

static enum tp_status check_names(struct reading *r)
{
    struct tp_text_index index = {0};
    const struct tp_safetensors_header *header = r->header;
    if (!tp_text_index_init(&index, header->count))
        return tp_fail_memory(r->err);
    enum tp_status status = TP_OK;
    for (size_t i = 0; status == TP_OK && i < header->count; i++) {
        const struct tp_safetensors_entry *entry = &header->entries[i];
        /* names with a NUL inside are told apart by what is before it: two
         * of them that agree there are refused, which no writer makes */
        size_t *number = tp_text_index_put(&index, entry->name);
        if (*number != TP_TEXT_NEW)
            status = about(r,
                           tp_fail(r->err, TP_E_DAMAGED, entry->at,
                                   "two tensors have this name"),
                           entry);
        *number = i;
    }
    tp_text_index_clear(&index);
    return status;
}

/* Notes in header->end whether the data ends where the file does. */
static void check_end(const struct reading *r, uint64_t size)
{
    struct tp_safetensors_header *header = r->header;
    const uint64_t held = size - r->data;
    const uint64_t last =
        header->count ? header->entries[header->count - 1].end : 0;
    size_t cut = 0;
    while (cut < header->count &&
           header->entries[header->count - 1 - cut].end > held)
        cut++;
    if (last > held)
        tp_fail(&header->end, TP_E_DAMAGED, (int64_t)size,
                "the file has %" PRIu64 " bytes, its header describes %" PRIu64
                ": %" PRIu64 " are missing, and with them %zu of %zu tensors "
                "(a download or a copy that was cut?)",
                size, r->data + last, last - held, cut, header->count);
    if (last < held)
        tp_fail(&header->end, TP_E_DAMAGED, (int64_t)(r->data + last),
                "%" PRIu64 " bytes follow the last tensor", held - last);
}

static enum tp_status check(struct reading *r, uint64_t size)
{
    struct tp_safetensors_header *header = r->header;
    if (header->count)
        qsort(header->entries, header->count, sizeof *header->entries,
              compare_entries);
    enum tp_status status = check_names(r);
    if (status == TP_OK)
        status = check_places(r);
    for (size_t i = 0; status == TP_OK && i < header->count; i++)
        status = about(r, check_size(r, &header->entries[i]),
                       &header->entries[i]);
    if (status == TP_OK)
        check_end(r, size);
    for (size_t i = 0; status == TP_OK && i < header->count; i++) {
        header->entries[i].begin += r->data;
        header->entries[i].end += r->data;
    }
    return status;
}

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
        status = check(&r, bytes->size);
    return keep_entries(&r, status);
}
