/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "formats/torch/torch_formats.h"
#include "formats/torch/torch_item.h"
#include "formats/torch/torch_legacy.h"
#include "formats/torch/torch_object.h"
#include "formats/torch/torch_parts.h"
#include "formats/torch/torch_zip.h"

/*
 * What torch.save writes since 1.6: a zip archive, normally of stored
 * records,
 *
 *     TOP/data.pkl    the object; storages are persistent ids
 *     TOP/byteorder   "little" or "big"; absent in old files: little
 *     TOP/data/KEY    the bytes of one storage
 *     TOP/version, TOP/.format_version, ...
 *
 * TOP is "archive" or the stem of the file's first name. TorchScript modules
 * are such archives too, with code beside the data.
 *
 * The pickle is read where it lies and names the storages, each of which is
 * then found in the archive's directory by its name. Archives may follow one
 * another in a file: they are found from the end. Cost: directory and pickle
 * are read; no element is, before it is asked for.
 */

enum {
    NAME_MAX_BYTES = 1024, /* of a record                                  */
    BYTEORDER_MAX = 16,
    /* A state dict's pickle deflates 10 to 20 : 1. Deflate could do 1032,
     * and a value takes 32 bytes where its opcode takes one. */
    PICKLE_RATIO = 100
};

struct zip_file {
    struct tp_torch_source source;
    struct tp_zip *zip;
    struct tp_arena *arena;
    const char *top; /* "archive/", or ""                            */
    bool big_endian;
    bool checksums; /* the archive was written with CRC-32s         */
};

static enum tp_status resolve(struct tp_torch_source *source,
                              struct tp_torch_entry *entry,
                              struct tp_error *err)
{
    struct zip_file *z = (struct zip_file *)source;
    char name[NAME_MAX_BYTES];
    int length = snprintf(name, sizeof name, "%sdata/%.*s", z->top,
                          entry->id.key_length < NAME_MAX_BYTES
                              ? (int)entry->id.key_length
                              : NAME_MAX_BYTES,
                          entry->id.key);
    if (length < 0 || (size_t)length >= sizeof name)
        return tp_fail(err, TP_E_DAMAGED, entry->id.at,
                       "the key of its storage is too long");
    struct tp_zip_record record;
    enum tp_status status = tp_zip_find(z->zip, name, &record, err);
    if (status == TP_E_NOT_FOUND)
        return tp_fail(err, TP_E_DAMAGED, entry->id.at,
                       "the archive has no record %s", name);
    if (status == TP_OK)
        status =
            tp_zip_storage(z->zip, &record, z->arena, &entry->storage, err);
    if (status != TP_OK)
        return status;
    entry->storage->big_endian = z->big_endian;
    if (!z->checksums)
        entry->storage->has_crc32 = false;
    return TP_OK;
}

/* Finds the folder of data.pkl; normally that of the first record. */
static enum tp_status find_top(struct zip_file *z, struct tp_error *err)
{
    static const char pickle[] = "data.pkl";
    uint64_t count = tp_zip_count(z->zip);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(z->zip, i);
        size_t length = name ? strlen(name) : 0;
        if (length < strlen(pickle))
            continue;
        size_t top = length - strlen(pickle);
        const char *slash = strchr(name, '/');
        if (strcmp(name + top, pickle) != 0 || slash != strrchr(name, '/') ||
            (top > 0 && name + top - 1 != slash))
            continue; /* deeper ones are those of torch.package */
        z->top = tp_arena_text(z->arena, name, top);
        return z->top ? TP_OK : tp_fail_memory(err);
    }
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "a zip archive without data.pkl, not one of torch.save");
}

enum tp_status tp_torch_zip_load(struct tp_zip *zip, const char *name,
                                 uint64_t limit, struct tp_zip_content *content,
                                 struct tp_zip_record *record,
                                 struct tp_error *err)
{
    enum tp_status status = tp_zip_find(zip, name, record, err);
    if (status == TP_E_NOT_FOUND)
        return status;
    if (status == TP_OK && record->size / PICKLE_RATIO > record->packed)
        status = tp_fail(err, TP_E_LIMIT, -1,
                         "%" PRIu64 " bytes packed into %" PRIu64
                         " are no honest pickle",
                         record->size, record->packed);
    if (status == TP_OK)
        status = tp_zip_load(zip, record, limit, content, err);
    tp_while(status == TP_OK ? NULL : err, "reading %s", name);
    return status;
}

static enum tp_status load(struct zip_file *z, const char *name, uint64_t limit,
                           struct tp_zip_content *content,
                           struct tp_zip_record *record, struct tp_error *err)
{
    char full[NAME_MAX_BYTES];
    int length = snprintf(full, sizeof full, "%s%s", z->top, name);
    if (length < 0 || (size_t)length >= sizeof full)
        return tp_fail(err, TP_E_DAMAGED, -1, "a record's name is too long");
    return tp_torch_zip_load(z->zip, full, limit, content, record, err);
}

enum tp_status tp_torch_zip_byteorder(struct tp_zip *zip, const char *top,
                                      bool *big, struct tp_error *err)
{
    struct tp_zip_content content = {.bytes = {.fd = -1}};
    struct tp_zip_record record;
    char name[NAME_MAX_BYTES + 16], text[BYTEORDER_MAX + 1] = "";
    *big = false;
    snprintf(name, sizeof name, "%sbyteorder", top);
    enum tp_status status =
        tp_torch_zip_load(zip, name, BYTEORDER_MAX, &content, &record, err);
    if (status == TP_E_NOT_FOUND)
        return TP_OK;
    if (status == TP_OK)
        status = tp_bytes_read(&content.bytes, content.start, text,
                               (size_t)record.size, err);
    tp_zip_unload(&content);
    if (status != TP_OK)
        return status;
    *big = strcmp(text, "big") == 0;
    if (!*big && strcmp(text, "little") != 0)
        status = tp_fail(err, TP_E_DAMAGED, (int64_t)record.start,
                         "the byte order is neither little nor big");
    return status;
}

/*
 * Reads the pickle where it lies when it is stored, so that messages have
 * offsets in the file and a large one needs no memory.
 */
static enum tp_status read_pickle(struct zip_file *z,
                                  struct tp_zip_content *content,
                                  struct tp_pickle *pickle,
                                  struct tp_error *err)
{
    struct tp_zip_record record;
    enum tp_status status =
        load(z, "data.pkl", TP_LIMIT_PICKLE_BYTES, content, &record, err);
    if (status == TP_E_NOT_FOUND)
        return tp_fail(err, TP_E_DAMAGED, -1, "data.pkl is missing");
    if (status != TP_OK)
        return status;
    z->checksums = record.crc32 != 0;
    z->source.bytes = content->bytes;
    uint64_t position = content->start;
    return tp_pickle_read(&content->bytes, &position, position + record.size,
                          pickle, err);
}

struct tp_torch_zips *tp_torch_zips_add(struct tp_tensor_file *file)
{
    struct tp_torch_zips *added = tp_arena_alloc(&file->arena, sizeof *added);
    if (!added)
        return NULL;
    added->content.bytes.fd = -1;
    added->next = file->state;
    file->state = added;
    return added;
}

enum tp_status tp_torch_zips_open(struct tp_tensor_file *file,
                                  struct tp_zip **zip, struct tp_error *err)
{
    struct tp_torch_zips *added = tp_torch_zips_add(file);
    if (!added)
        return tp_fail_memory(err);
    const enum tp_status status =
        tp_zip_open_only(&file->bytes, &added->zip, err);
    *zip = added->zip;
    return status;
}

void tp_torch_zips_close(struct tp_tensor_file *file)
{
    for (struct tp_torch_zips *z = file->state; z; z = z->next) {
        tp_zip_close(z->zip);
        tp_zip_unload(&z->content);
    }
    file->state = NULL;
}

/* TOP, unless it is the word for what was not written to a file. */
static enum tp_status note_name(const struct zip_file *z,
                                struct tp_tensor_file *file,
                                struct tp_error *err)
{
    size_t length = strlen(z->top);
    if (length < 2 || strcmp(z->top, "archive/") == 0)
        return TP_OK;
    file->saved_as = tp_arena_text(z->arena, z->top, length - 1);
    return file->saved_as ? TP_OK : tp_fail_memory(err);
}

static enum tp_status read_all(struct zip_file *z, struct tp_tensor_file *file,
                               struct tp_pickle *pickle, struct tp_error *err)
{
    struct tp_torch_zips *state = file->state;
    enum tp_status status = find_top(z, err);
    if (status == TP_OK)
        status = note_name(z, file, err);
    if (status == TP_OK)
        status = tp_torch_zip_byteorder(z->zip, z->top, &z->big_endian, err);
    if (status == TP_OK)
        status = read_pickle(z, &state->content, pickle, err);
    if (status == TP_OK)
        status =
            tp_torch_table_read(pickle, &file->arena, &z->source.table, err);
    if (status == TP_OK)
        status = tp_torch_collect(file, pickle, &z->source, err);
    return status;
}

/* Sets file->tensors, skips and metadata to those of one archive. */
static enum tp_status open_archive(struct tp_tensor_file *file,
                                   const struct tp_zip_range *range,
                                   struct tp_error *err)
{
    struct zip_file z = {.arena = &file->arena, .top = ""};
    struct tp_pickle pickle = {0};
    z.source.resolve = resolve;
    z.source.nested = tp_legacy_storage;
    struct tp_torch_zips *state = tp_torch_zips_add(file);
    if (!state)
        return tp_fail_memory(err);
    enum tp_status status = tp_zip_open(&file->bytes, range, &state->zip, err);
    if (status != TP_OK)
        return status;
    z.zip = state->zip;
    status = read_all(&z, file, &pickle, err);
    tp_pickle_clear(&pickle);
    if (status == TP_OK && !tp_zip_needed(state->zip)) {
        tp_zip_close(state->zip);
        state->zip = NULL;
    }
    return status;
}

enum tp_status tp_torch_zip_inside(struct tp_tensor_file *file, uint64_t start,
                                   uint64_t end, struct tp_error *err)
{
    struct tp_zip_range range;
    enum tp_status status = tp_zip_last(&file->bytes, end, &range, err);
    if (status == TP_E_NOT_FOUND || (status == TP_OK && range.start < start))
        return tp_fail(err, TP_E_DAMAGED, (int64_t)start,
                       "no zip archive, as torch.save writes it");
    return status == TP_OK ? open_archive(file, &range, err) : status;
}

/* ---- archives that follow one another --------------------------------- */

/*
 * A shard of a distributed checkpoint is such a file: each of its tensors
 * was saved for itself. It reads as the list of what the archives hold.
 */
struct parts {
    struct tp_zip_range *ranges; /* the last archive comes first           */
    size_t count, room;
    uint64_t before;            /* bytes in front of the first archive    */
    uint64_t end;               /* of the last archive                    */
    struct tp_torch_parts read; /* what the archives so far gave         */
};

/* Finds the archives, from the end of the file to its start. */
static enum tp_status find_archives(const struct tp_bytes *bytes,
                                    struct parts *parts, struct tp_error *err)
{
    struct tp_zip_range range = {0, bytes->size, 0, 0};
    parts->before = parts->end = bytes->size;
    while (parts->before > 0 && parts->count < TP_LIMIT_ARCHIVES) {
        struct tp_error why = {0};
        enum tp_status status = tp_zip_last(bytes, parts->before, &range, &why);
        bool found = status == TP_OK &&
                     (parts->count == 0 || range.end == parts->before);
        if (status != TP_OK && status != TP_E_NOT_FOUND) {
            if (err)
                *err = why;
            return status;
        }
        if (!found && parts->count > 0)
            return TP_OK;
        /* where none is found libzip tells what is wrong with the first */
        status = tp_grow(&parts->ranges, &parts->room, parts->count + 1,
                         sizeof range, err);
        if (status != TP_OK)
            return status;
        if (parts->count == 0)
            parts->end = range.end;
        parts->ranges[parts->count++] = range;
        parts->before = range.start;
    }
    return TP_OK;
}

static enum tp_status open_archives(struct tp_tensor_file *file,
                                    struct parts *parts, struct tp_error *err)
{
    char name[32];
    file->metadata_count = 0; /* none of them speaks for the file */
    for (size_t i = 0; i < parts->count; i++) {
        struct tp_error why = {0};
        enum tp_status status =
            open_archive(file, &parts->ranges[parts->count - 1 - i], &why);
        if (status == TP_E_MEMORY || status == TP_E_IO) {
            if (err)
                *err = why;
            return status;
        }
        if (status == TP_E_NOT_FOUND)
            why.code = TP_E_UNSUPPORTED;
        if (status != TP_OK)
            status = tp_tensor_file_skip(file, "", &why, err);
        snprintf(name, sizeof name, "[%zu]", i);
        if (status == TP_OK)
            status = tp_torch_parts_take(&parts->read, file, name, ".", err);
        if (status != TP_OK)
            return status;
    }
    return tp_torch_parts_give(&parts->read, file, err);
}

/* Bytes of the file that are in none of its archives are reported. */
static enum tp_status report_rest(struct tp_tensor_file *file,
                                  const struct parts *parts,
                                  struct tp_error *err)
{
    struct tp_error why = {0};
    enum tp_status status = TP_OK;
    if (parts->before > 0) {
        tp_fail(&why, TP_E_UNSUPPORTED, 0,
                "%" PRIu64 " bytes stand before the last %zu archives; they "
                "are not read",
                parts->before, parts->count);
        status = tp_tensor_file_skip(file, "", &why, err);
    }
    if (status == TP_OK && parts->end < file->bytes.size) {
        tp_fail(&why, TP_E_DAMAGED, (int64_t)parts->end,
                "%" PRIu64 " bytes follow the last whole archive; they are "
                "not read",
                file->bytes.size - parts->end);
        status = tp_tensor_file_skip(file, "", &why, err);
    }
    return status;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct parts parts = {0};
    enum tp_status status = find_archives(&file->bytes, &parts, err);
    if (status == TP_OK)
        status = parts.count == 1 ? open_archive(file, parts.ranges, err)
                                  : open_archives(file, &parts, err);
    if (status == TP_OK)
        status = report_rest(file, &parts, err);
    free(parts.ranges);
    tp_torch_parts_clear(&parts.read);
    return status;
}

enum tp_status tp_torch_item_open(struct tp_tensor_file *file, uint64_t start,
                                  uint64_t end, struct tp_error *err)
{
    struct tp_zip_range range;
    if (start > end || end > file->bytes.size)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)file->bytes.size,
                       "it should lie at bytes %" PRIu64 " to %" PRIu64
                       ", the file ends at byte %" PRIu64,
                       start, end, file->bytes.size);
    enum tp_status status = tp_zip_last(&file->bytes, end, &range, err);
    if (status == TP_E_NOT_FOUND ||
        (status == TP_OK && (range.end != end || range.start != start)))
        return tp_fail(err, TP_E_DAMAGED, (int64_t)start,
                       "bytes %" PRIu64 " to %" PRIu64 " are no archive of "
                       "torch.save",
                       start, end);
    return status == TP_OK ? open_archive(file, &range, err) : status;
}

static int bid(const unsigned char *head, size_t length)
{
    return tp_zip_is(head, length) ? 32 : 0;
}

const struct tp_format tp_format_torch_zip = {
    .name = "torch_zip",
    .help = "torch.save (zip archive), TorchScript",
    .suffixes = TP_TORCH_SUFFIXES,
    .word = "zip",
    .bid = bid,
    .open = open_file,
    .close = tp_torch_zips_close,
};
