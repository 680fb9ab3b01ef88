/* SPDX-License-Identifier: MIT */
/*
 * A zip archive over an input. libzip reads the directory, through a source
 * that hands it the input's bytes; a stored record is then a range of the
 * input and read past libzip, at the speed of the disk and from many threads.
 * Only deflated records go through it, once, when they are first read: into
 * memory as far as the limit goes, then into an unlinked file. To read all
 * through libzip would be simpler and would copy every byte under one lock; to
 * read the directory ourselves would repeat what libzip knows of zip64 and of
 * damage. Cost: one look at the directory; deflated bytes are inflated once.
 */
#include "formats/torch/zip_archive.h"

#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include "base/limits.h"
#include "base/spill.h"
#include "data/range_storage.h"

enum {
    COPY_BYTES = 64 << 10,
    /* of a directory in memory: 100 bytes for each of 10^5 records */
    DIRECTORY_MAX = 16 << 20
};

/* A deflated record that is a storage. */
struct inflated {
    struct tp_storage base;
    struct tp_zip *zip;
    struct tp_zip_record record;
    unsigned char *memory; /* its bytes, or NULL: in zip->spill at ...    */
    uint64_t spill_at;
    bool ready;
    struct tp_error failure; /* of the first attempt, code TP_OK: none     */
    struct inflated *next;
};

/* What was asked of a record before. */
struct asked {
    struct tp_storage *storage; /* NULL: none was made                     */
    bool claimed;
};

struct tp_zip {
    zip_t *archive;
    struct tp_bytes bytes;     /* borrowed                              */
    struct tp_zip_range range; /* the archive in them             */
    uint64_t position;         /* of libzip in the archive              */
    uint64_t last_read;        /* where it read last in the input       */
    zip_error_t source_error;
    struct tp_error input_error; /* of the last read that failed          */
    struct asked *asked;         /* of each record                        */
    uint64_t claimed;            /* bytes of the records asked for        */
    uint64_t thin;               /* of them those that expand too much    */
    unsigned char *directory;    /* what libzip sees as such; NULL: ours  */

    pthread_mutex_t lock; /* guards all that follows, and archive  */
    struct inflated *inflated;
    uint64_t memory_used;  /* of inflated records                   */
    struct tp_bytes spill; /* an unlinked file for the others       */
};

/* ---- libzip's view of the input --------------------------------------- */

static uint64_t archive_size(const struct tp_zip *zip)
{
    return zip->range.end - zip->range.start;
}

/* Puts the changed directory over n bytes that were read at byte `at`. */
static void overlay(const struct tp_zip *zip, uint64_t at, unsigned char *data,
                    size_t n)
{
    uint64_t from = zip->range.directory, to = zip->range.directory_end;
    uint64_t low = at > from ? at : from, high = at + n < to ? at + n : to;
    if (zip->directory && low < high)
        memcpy(data + (low - at), zip->directory + (low - from),
               (size_t)(high - low));
}

static zip_int64_t source_read(struct tp_zip *zip, void *data,
                               zip_uint64_t length)
{
    uint64_t left = archive_size(zip) - zip->position;
    size_t n = (size_t)(length < left ? length : left);
    zip->last_read = zip->range.start + zip->position;
    if (tp_bytes_read(&zip->bytes, zip->last_read, data, n,
                      &zip->input_error) != TP_OK) {
        zip_error_set(&zip->source_error, ZIP_ER_READ, EIO);
        return -1;
    }
    overlay(zip, zip->last_read, data, n);
    zip->position += n;
    return (zip_int64_t)n;
}

static zip_int64_t source_call(void *user, void *data, zip_uint64_t length,
                               zip_source_cmd_t command)
{
    struct tp_zip *zip = user;
    zip_int64_t to;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        zip->position = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return source_read(zip, data, length);
    case ZIP_SOURCE_SEEK:
        to = zip_source_seek_compute_offset(zip->position, archive_size(zip),
                                            data, length, &zip->source_error);
        if (to < 0)
            return -1;
        zip->position = (uint64_t)to;
        return 0;
    case ZIP_SOURCE_TELL:
        return (zip_int64_t)zip->position;
    case ZIP_SOURCE_STAT:
        zip_stat_init(data);
        ((zip_stat_t *)data)->size = archive_size(zip);
        ((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&zip->source_error, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
            ZIP_SOURCE_SUPPORTS, -1);
    default:
        zip_error_set(&zip->source_error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

/* Words what libzip says, or what the input said below it. */
static enum tp_status fail_zip(struct tp_zip *zip, zip_error_t *error,
                               const char *what, struct tp_error *err)
{
    if (zip->input_error.code != TP_OK) {
        if (err)
            *err = zip->input_error;
        return zip->input_error.code;
    }
    const int code = zip_error_code_zip(error);
    if (code == ZIP_ER_MEMORY ||
        (code == ZIP_ER_ZLIB && zip_error_code_system(error) == Z_MEM_ERROR))
        return tp_fail_memory(err);
    if (code == ZIP_ER_NOZIP)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)zip->range.end,
                       "%s: there is none at the end of the file; the file "
                       "is cut off or was never finished",
                       what);
    return tp_fail(err, TP_E_DAMAGED, -1, "%s: %s", what,
                   zip_error_strerror(error));
}

/* ---- opening ---------------------------------------------------------- */

/* Makes zip->directory; none where there is none in the file. */
static enum tp_status change_directory(struct tp_zip *zip, struct tp_error *err)
{
    uint64_t size = zip->range.directory_end - zip->range.directory;
    if (size == 0 || size > DIRECTORY_MAX)
        return TP_OK;
    unsigned char *made = malloc((size_t)size);
    enum tp_status status =
        made ? tp_bytes_read(&zip->bytes, zip->range.directory, made,
                             (size_t)size, err)
             : tp_fail_memory(err);
    if (status != TP_OK) {
        free(made);
        return status;
    }
    tp_zip_names_plain(made, (size_t)size);
    zip->directory = made;
    return TP_OK;
}

static void open_archive(struct tp_zip *zip, zip_error_t *error)
{
    zip_error_fini(error);
    zip_error_init(error);
    zip->input_error.code = TP_OK;
    zip_source_t *source = zip_source_function_create(source_call, zip, error);
    if (source)
        zip->archive = zip_open_from_source(source, ZIP_RDONLY, error);
    if (source && !zip->archive)
        zip_source_free(source);
}

enum tp_status tp_zip_open(const struct tp_bytes *bytes,
                           const struct tp_zip_range *range,
                           struct tp_zip **zip, struct tp_error *err)
{
    struct tp_zip *made = calloc(1, sizeof *made);
    if (!made)
        return tp_fail_memory(err);
    made->bytes = *bytes;
    made->range = *range;
    made->spill.fd = -1;
    pthread_mutex_init(&made->lock, NULL);
    zip_error_init(&made->source_error);

    zip_error_t error;
    zip_error_init(&error);
    enum tp_status status = TP_OK;
    open_archive(made, &error);
    /* libzip says so, too, where memory ended for a moment */
    if (!made->archive && zip_error_code_zip(&error) == ZIP_ER_NOZIP)
        open_archive(made, &error);
    if (!made->archive && zip_error_code_zip(&error) == ZIP_ER_INCONS) {
        status = change_directory(made, err);
        if (made->directory)
            open_archive(made, &error);
    }
    if (status == TP_OK && !made->archive)
        status =
            fail_zip(made, &error, "the zip directory cannot be read", err);
    zip_error_fini(&error);
    if (status == TP_OK) {
        made->asked = calloc(tp_zip_count(made) + 1, sizeof *made->asked);
        status = made->asked ? TP_OK : tp_fail_memory(err);
    }
    if (status == TP_OK)
        *zip = made;
    else
        tp_zip_close(made);
    return status;
}

enum tp_status tp_zip_open_only(const struct tp_bytes *bytes,
                                struct tp_zip **zip, struct tp_error *err)
{
    struct tp_zip_range range = {0, bytes->size, 0, 0};
    enum tp_status status = tp_zip_last(bytes, bytes->size, &range, err);
    if (status == TP_E_NOT_FOUND) /* then libzip tells what is wrong */
        range = (struct tp_zip_range){0, bytes->size, 0, 0};
    else if (status != TP_OK)
        return status;
    return tp_zip_open(bytes, &range, zip, err);
}

void tp_zip_close(struct tp_zip *zip)
{
    if (!zip)
        return;
    if (zip->archive)
        zip_discard(zip->archive);
    for (struct inflated *i = zip->inflated; i; i = i->next)
        free(i->memory);
    free(zip->directory);
    free(zip->asked);
    tp_bytes_close(&zip->spill);
    zip_error_fini(&zip->source_error);
    pthread_mutex_destroy(&zip->lock);
    free(zip);
}

uint64_t tp_zip_count(const struct tp_zip *zip)
{
    zip_int64_t count = zip_get_num_entries(zip->archive, 0);
    return count > 0 ? (uint64_t)count : 0;
}

const char *tp_zip_name(struct tp_zip *zip, uint64_t index)
{
    return zip_get_name(zip->archive, index, ZIP_FL_ENC_RAW);
}

/* ---- finding records -------------------------------------------------- */

/* Opens a record to be inflated, or, where it has a name, as it is stored.
 * libzip 1.7 has no error where it has no memory for a source; one of another
 * record is forgotten. */
static enum tp_status open_record(struct tp_zip *zip, uint64_t index,
                                  const char *name, zip_file_t **file,
                                  struct tp_error *err)
{
    zip_error_t *error = zip_get_error(zip->archive);
    zip_error_clear(zip->archive);
    *file = zip_fopen_index(zip->archive, index, name ? ZIP_FL_COMPRESSED : 0);
    if (*file)
        return TP_OK;
    return zip_error_code_zip(error) == ZIP_ER_OK &&
                   zip->input_error.code == TP_OK
               ? tp_fail_memory(err)
               : fail_zip(zip, error, name ? name : "a deflated record", err);
}

/*
 * libzip does not tell where a record's content starts (behind a local
 * header of variable length), but it reads it through source_read, which
 * notes the place. The CRC-32 of the content proves it right later.
 */
static enum tp_status find_start(struct tp_zip *zip, const char *name,
                                 struct tp_zip_record *record,
                                 struct tp_error *err)
{
    unsigned char first;
    zip_file_t *file;
    enum tp_status status = open_record(zip, record->index, name, &file, err);
    if (status != TP_OK)
        return status;
    zip_int64_t got = record->size ? zip_fread(file, &first, 1) : 1;
    if (got != 1)
        status = fail_zip(zip, zip_file_get_error(file), name, err);
    zip_fclose(file);
    record->start = record->size ? zip->last_read : 0;
    if (status == TP_OK && (record->start > zip->range.end ||
                            record->size > zip->range.end - record->start))
        status = tp_fail(err, TP_E_DAMAGED, (int64_t)record->start,
                         "%s: its %" PRIu64 " bytes go beyond the archive's "
                         "end",
                         name, record->size);
    return status;
}

static enum tp_status check_record(struct tp_zip *zip, const char *name,
                                   const zip_stat_t *stat, struct tp_error *err)
{
    struct asked *asked = &zip->asked[stat->index];
    const zip_uint64_t want = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_CRC |
                              ZIP_STAT_ENCRYPTION_METHOD;
    if ((stat->valid & want) != want)
        return tp_fail(err, TP_E_DAMAGED, -1, "%s: incomplete zip entry", name);
    if (stat->encryption_method != ZIP_EM_NONE)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "%s is encrypted", name);
    bool stored = stat->comp_method == ZIP_CM_STORE;
    if (!stored && stat->comp_method != ZIP_CM_DEFLATE)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "%s is packed by the unknown method %d", name,
                       stat->comp_method);
    if ((stored && stat->size != stat->comp_size) ||
        stat->size / TP_LIMIT_DEFLATE_RATIO > stat->comp_size)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "%s claims %" PRIu64 " bytes out of %" PRIu64, name,
                       (uint64_t)stat->size, (uint64_t)stat->comp_size);
    /* Records do not overlap, so together they fit into the file: without
     * this, many entries could unpack the same bytes again and again. */
    if (asked->claimed)
        return TP_OK;
    bool thin = stat->size / TP_LIMIT_THIN_RATIO > stat->comp_size;
    zip->thin += thin ? stat->size : 0;
    if (thin && zip->thin > TP_LIMIT_THIN_BYTES)
        return tp_fail(err, TP_E_LIMIT, -1,
                       "%s: over %d MiB packed more than %d : 1; write it "
                       "without compression",
                       name, (int)(TP_LIMIT_THIN_BYTES >> 20),
                       TP_LIMIT_THIN_RATIO);
    if (stat->comp_size > archive_size(zip) - zip->claimed)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "%s: its zip entries claim more bytes than the file "
                       "has",
                       name);
    zip->claimed += stat->comp_size;
    asked->claimed = true;
    return TP_OK;
}

enum tp_status tp_zip_find(struct tp_zip *zip, const char *name,
                           struct tp_zip_record *record, struct tp_error *err)
{
    zip_int64_t index = zip_name_locate(zip->archive, name, ZIP_FL_ENC_RAW);
    if (index < 0)
        return tp_fail(err, TP_E_NOT_FOUND, -1, "the archive has no record %s",
                       name);
    return tp_zip_at(zip, (uint64_t)index, name, record, err);
}

enum tp_status tp_zip_at(struct tp_zip *zip, uint64_t index, const char *name,
                         struct tp_zip_record *record, struct tp_error *err)
{
    zip_stat_t stat;
    if (zip_stat_index(zip->archive, index, 0, &stat) < 0)
        return fail_zip(zip, zip_get_error(zip->archive), name, err);
    enum tp_status status = check_record(zip, name, &stat, err);
    if (status != TP_OK)
        return status;
    *record = (struct tp_zip_record){
        .index = index,
        .size = stat.size,
        .packed = stat.comp_size,
        .crc32 = stat.crc,
        .deflated = stat.comp_method == ZIP_CM_DEFLATE,
    };
    return record->deflated ? TP_OK : find_start(zip, name, record, err);
}

/* ---- inflating -------------------------------------------------------- */

static enum tp_status fail_inflating(struct tp_zip *zip, zip_file_t *file,
                                     struct tp_error *err)
{
    return fail_zip(zip, zip_file_get_error(file), "a deflated record", err);
}

/* Gets `length` inflated bytes at a time into `buffer` or the spill file. */
static enum tp_status inflate_all(struct tp_zip *zip, zip_file_t *file,
                                  uint64_t size, unsigned char *memory,
                                  struct tp_error *err)
{
    unsigned char *copy = memory ? NULL : malloc(COPY_BYTES);
    if (!memory && !copy)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    uint64_t done = 0;
    while (status == TP_OK && done < size) {
        uint64_t want = size - done < COPY_BYTES ? size - done : COPY_BYTES;
        unsigned char *to = memory ? memory + done : copy;
        zip_int64_t got = zip_fread(file, to, want);
        if (got <= 0)
            status = got < 0 ? fail_inflating(zip, file, err)
                             : tp_fail(err, TP_E_DAMAGED, -1,
                                       "a deflated record ends after %" PRIu64
                                       " of %" PRIu64 " bytes",
                                       done, size);
        if (!memory && got > 0)
            status = tp_spill_write(&zip->spill, zip->spill.size + done, copy,
                                    (size_t)got, err);
        done += got > 0 ? (uint64_t)got : 0;
    }
    unsigned char beyond;
    /* the read that finds the end is the one that checks the CRC-32 */
    const zip_int64_t more = status == TP_OK ? zip_fread(file, &beyond, 1) : 0;
    if (more < 0)
        status = fail_inflating(zip, file, err);
    else if (more > 0)
        status =
            tp_fail(err, TP_E_DAMAGED, -1,
                    "a deflated record has more than %" PRIu64 " bytes", size);
    free(copy);
    return status;
}

static enum tp_status inflate_record(struct tp_zip *zip,
                                     const struct tp_zip_record *record,
                                     unsigned char *memory,
                                     struct tp_error *err)
{
    zip_file_t *file;
    enum tp_status status = open_record(zip, record->index, NULL, &file, err);
    if (status != TP_OK)
        return status;
    status = inflate_all(zip, file, record->size, memory, err);
    zip_fclose(file);
    return status;
}

enum tp_status tp_zip_peek(struct tp_zip *zip,
                           const struct tp_zip_record *record,
                           unsigned char *buffer, size_t length, size_t *got,
                           struct tp_error *err)
{
    *got = record->size < length ? (size_t)record->size : length;
    if (!record->deflated)
        return tp_bytes_read(&zip->bytes, record->start, buffer, *got, err);
    zip_file_t *file;
    enum tp_status status = open_record(zip, record->index, NULL, &file, err);
    if (status != TP_OK)
        return status;
    zip_int64_t n = *got ? zip_fread(file, buffer, *got) : 0;
    if (n < 0)
        status = fail_inflating(zip, file, err);
    *got = n > 0 ? (size_t)n : 0;
    zip_fclose(file);
    return status;
}

static enum tp_status make_ready(struct inflated *i, struct tp_error *err)
{
    struct tp_zip *zip = i->zip;
    uint64_t size = i->record.size;
    if (size <= TP_LIMIT_INFLATE_MEMORY - zip->memory_used) {
        i->memory = malloc(size ? (size_t)size : 1);
        if (!i->memory)
            return tp_fail_memory(err);
        zip->memory_used += size;
        return inflate_record(zip, &i->record, i->memory, err);
    }
    enum tp_status status =
        zip->spill.fd < 0 ? tp_spill_open(&zip->spill, err) : TP_OK;
    if (status == TP_OK)
        status = tp_spill_room(&zip->spill, size, err);
    if (status == TP_OK)
        status = inflate_record(zip, &i->record, NULL, err);
    if (status == TP_OK) {
        i->spill_at = zip->spill.size;
        zip->spill.size += size;
    }
    return status;
}

static enum tp_status inflated_read(const struct tp_storage *storage,
                                    uint64_t offset, void *buffer,
                                    size_t length, struct tp_error *err)
{
    /* the storage was made writable; only its users see it as constant */
    struct inflated *i = (struct inflated *)(uintptr_t)storage;
    if (offset > storage->size || length > storage->size - offset)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "the storage ends after %" PRIu64 " bytes",
                       storage->size);
    pthread_mutex_lock(&i->zip->lock);
    if (!i->ready && i->failure.code == TP_OK)
        i->ready = make_ready(i, &i->failure) == TP_OK;
    bool ready = i->ready;
    struct tp_bytes spill = i->zip->spill;
    pthread_mutex_unlock(&i->zip->lock);
    if (!ready) {
        if (err)
            *err = i->failure;
        return i->failure.code;
    }
    if (!i->memory)
        return tp_bytes_read(&spill, i->spill_at + offset, buffer, length, err);
    if (length)
        memcpy(buffer, i->memory + offset, length);
    return TP_OK;
}

/* ---- records as bytes and as storages --------------------------------- */

static enum tp_status check_crc(const struct tp_zip *zip,
                                const struct tp_zip_record *record,
                                struct tp_error *err)
{
    if (record->crc32 == 0)
        return TP_OK; /* torch may be told to leave the checksums out */
    unsigned char *buffer = malloc(COPY_BYTES);
    if (!buffer)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    uint32_t crc = 0;
    for (uint64_t done = 0; status == TP_OK && done < record->size;) {
        uint64_t left = record->size - done;
        size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        status =
            tp_bytes_read(&zip->bytes, record->start + done, buffer, n, err);
        if (status == TP_OK)
            crc = libdeflate_crc32(crc, buffer, n);
        done += n;
    }
    free(buffer);
    if (status == TP_OK && crc != record->crc32)
        status = tp_fail(err, TP_E_DAMAGED, (int64_t)record->start,
                         "CRC-32 is %08" PRIx32 " instead of %08" PRIx32, crc,
                         record->crc32);
    return status;
}

enum tp_status tp_zip_load(struct tp_zip *zip,
                           const struct tp_zip_record *record, uint64_t limit,
                           struct tp_zip_content *content, struct tp_error *err)
{
    if (record->size > limit)
        return tp_fail(err, TP_E_LIMIT, -1,
                       "a record of %" PRIu64 " bytes where at most %" PRIu64
                       " are read",
                       record->size, limit);
    if (!record->deflated) {
        content->bytes = zip->bytes;
        content->bytes.owned = NULL;
        content->start = record->start;
        return check_crc(zip, record, err);
    }
    unsigned char *memory = malloc(record->size ? (size_t)record->size : 1);
    if (!memory)
        return tp_fail_memory(err);
    enum tp_status status = inflate_record(zip, record, memory, err);
    if (status != TP_OK) {
        free(memory);
        return status;
    }
    tp_bytes_view(memory, (size_t)record->size, &content->bytes);
    content->bytes.owned = memory;
    content->start = 0;
    return TP_OK;
}

void tp_zip_unload(struct tp_zip_content *content)
{
    free(content->bytes.owned);
    *content = (struct tp_zip_content){.bytes = {.fd = -1}};
}

static struct tp_storage *stored_storage(struct tp_zip *zip,
                                         const struct tp_zip_record *record,
                                         struct tp_arena *arena)
{
    struct tp_range_storage *range =
        tp_range_storage_new(arena, &zip->bytes, record->start, record->size);
    if (!range)
        return NULL;
    range->base.crc32 = record->crc32;
    range->base.has_crc32 = true;
    return &range->base;
}

static struct tp_storage *deflated_storage(struct tp_zip *zip,
                                           const struct tp_zip_record *record,
                                           struct tp_arena *arena)
{
    struct inflated *i = tp_arena_alloc(arena, sizeof *i);
    if (!i)
        return NULL;
    i->base.read = inflated_read;
    i->base.size = record->size;
    i->base.file_offset = -1;
    i->zip = zip;
    i->record = *record;
    i->next = zip->inflated;
    zip->inflated = i;
    return &i->base;
}

enum tp_status tp_zip_storage(struct tp_zip *zip,
                              const struct tp_zip_record *record,
                              struct tp_arena *arena,
                              struct tp_storage **storage, struct tp_error *err)
{
    struct asked *asked = &zip->asked[record->index];
    if (!asked->storage)
        asked->storage = record->deflated ? deflated_storage(zip, record, arena)
                                          : stored_storage(zip, record, arena);
    *storage = asked->storage;
    return *storage ? TP_OK : tp_fail_memory(err);
}

bool tp_zip_needed(const struct tp_zip *zip)
{
    return zip->inflated != NULL;
}
