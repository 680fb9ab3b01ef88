/* SPDX-License-Identifier: MIT */
/*
 * A .npz file: a zip archive, stored (numpy.savez) or deflated
 * (savez_compressed), whose members are .npy files; NAME.npy has the path NAME.
 * As numpy does, what a member is is told by its first bytes and not by its
 * name, but one that is called .npy and is no array is reported. Stored
 * members are read where they lie, deflated ones are inflated when they are
 * first read: into memory while they are small, else into a temporary file, so
 * that a bomb costs disk and no memory. The CRC-32 of a member covers its head,
 * too: that of its elements follows from both (see crc_behind). Cost: 10 KB of
 * reading for each member.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text_index.h"
#include "data/tensor_path.h"
#include "formats/numpy/npy.h"
#include "formats/numpy/numpy_formats.h"
#include "formats/torch/zip_archive.h"

/* What a storage holds from byte `skip` on. */
struct tail {
    struct tp_storage base;
    const struct tp_storage *whole;
    uint64_t skip;
};

static enum tp_status read_tail(const struct tp_storage *storage,
                                uint64_t offset, void *buffer, size_t length,
                                struct tp_error *err)
{
    const struct tail *tail = (const struct tail *)storage;
    if (offset > storage->size || length > storage->size - offset)
        return tp_fail(err, TP_E_DAMAGED, storage->file_offset,
                       "the member ends before byte %llu",
                       (unsigned long long)(offset + length));
    return tail->whole->read(tail->whole, tail->skip + offset, buffer, length,
                             err);
}

/*
 * The CRC-32 of b where that of ab and of a are known: combining is linear,
 * combine(crc(a), crc(b)) = shift(crc(a), |b|) ^ crc(b).
 */
static uint32_t crc_behind(uint32_t whole, const unsigned char *head,
                           size_t length, uint64_t rest)
{
    uLong front = crc32(0, head, (uInt)length);
    return whole ^ (uint32_t)crc32_combine(front, 0, (z_off_t)rest);
}

/* The archive in the course of being read. */
struct reading {
    struct tp_tensor_file *file;
    struct tp_zip *zip;
    unsigned char *head; /* TP_NPY_HEAD_MAX bytes                          */
    size_t length;       /* of them that were read                         */
    struct tp_text_index last; /* the last member of each name             */
};

/* The storage of the elements of a member whose head was read. */
static struct tp_storage *storage_of(struct reading *r,
                                     const struct tp_zip_record *record,
                                     const struct tp_npy_head *head,
                                     struct tp_error *err)
{
    struct tp_storage *whole;
    struct tail *tail = tp_arena_alloc(&r->file->arena, sizeof *tail);
    if (!tail) {
        tp_fail_memory(err);
        return NULL;
    }
    if (tp_zip_storage(r->zip, record, &r->file->arena, &whole, err) != TP_OK)
        return NULL;
    tail->whole = whole;
    tail->skip = head->size;
    tail->base.read = read_tail;
    tail->base.size = record->size - head->size;
    tail->base.file_offset =
        whole->file_offset < 0 ? -1 : whole->file_offset + (int64_t)head->size;
    tail->base.has_crc32 = whole->has_crc32;
    if (whole->has_crc32)
        tail->base.crc32 =
            crc_behind(whole->crc32, r->head, head->size, tail->base.size);
    return &tail->base;
}

static bool is_promised(const char *name)
{
    size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".npy") == 0;
}

/* The path of a member, which is its name without .npy. */
static const char *path_of(struct reading *r, const char *name)
{
    size_t length = strlen(name);
    if (is_promised(name) && length > 4)
        length -= 4;
    return tp_tensor_path(&r->file->arena, name, length);
}

/* Reads one member; TP_E_NOT_FOUND: it is something else than an array. */
static enum tp_status read_member(struct reading *r, uint64_t index,
                                  struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    struct tp_zip_record record;
    struct tp_npy_head head;
    const char *name = tp_zip_name(r->zip, index);
    enum tp_status status = tp_zip_at(r->zip, index, name, &record, err);
    if (status == TP_OK)
        status = tp_zip_peek(r->zip, &record, r->head, TP_NPY_HEAD_MAX,
                             &r->length, err);
    if (status != TP_OK)
        return status;
    if (!tp_npy_is(r->head, r->length) && !is_promised(name))
        return TP_E_NOT_FOUND;
    status = tp_npy_head_read(r->head, r->length, record.size, &head, err);
    if (status != TP_OK) {
        if (err && err->offset >= 0) /* in the file, where that is known */
            err->offset =
                record.deflated ? -1 : err->offset + (int64_t)record.start;
        return status;
    }
    struct tp_storage *storage = storage_of(r, &record, &head, err);
    if (!storage)
        return err ? err->code : TP_E_MEMORY;
    if (head.type.assumed)
        r->file->assumption = tp_npy_assumption;
    return tp_npy_tensor(&head, storage, &r->file->arena, tensor, err);
}

static enum tp_status index_names(struct reading *r, struct tp_error *err)
{
    const uint64_t count = tp_zip_count(r->zip);
    if (!tp_text_index_init(&r->last, (size_t)count))
        return tp_fail_memory(err);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(r->zip, i);
        if (name)
            *tp_text_index_put(&r->last, name) = (size_t)i;
    }
    return TP_OK;
}

/* Says of a member that it is not read, since a later one has its name. */
static enum tp_status tell_twice(struct reading *r, const char *name,
                                 struct tp_error *err)
{
    struct tp_error why = {0};
    const char *path = tp_tensor_path(&r->file->arena, name, strlen(name));
    tp_fail(&why, TP_E_UNSUPPORTED, -1,
            "a later member of the archive has this name, too, and is the one "
            "that numpy reads");
    return path ? tp_tensor_file_skip(r->file, path, &why, err)
                : tp_fail_memory(err);
}

static enum tp_status read_members(struct reading *r, struct tp_error *err)
{
    struct tp_tensor_file *file = r->file;
    const uint64_t count = tp_zip_count(r->zip);
    file->tensors =
        tp_arena_alloc(&file->arena, (size_t)count * sizeof *file->tensors);
    if (!file->tensors)
        return tp_fail_memory(err);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(r->zip, i);
        struct tp_tensor *tensor = &file->tensors[file->tensor_count];
        struct tp_error why = {0};
        if (!name)
            continue;
        if (tp_text_index_of(&r->last, name) != i) {
            if (tell_twice(r, name, err) != TP_OK)
                return TP_E_MEMORY;
            continue;
        }
        enum tp_status status = read_member(r, i, tensor, &why);
        const char *path = status == TP_E_NOT_FOUND ? "" : path_of(r, name);
        if (status == TP_E_MEMORY || !path)
            return tp_fail_memory(err);
        if (status == TP_OK) {
            tensor->path = path;
            file->tensor_count++;
        } else if (status != TP_E_NOT_FOUND &&
                   tp_tensor_file_skip(file, path, &why, err) != TP_OK) {
            return TP_E_MEMORY;
        }
    }
    return TP_OK;
}

/* Whether some member is an array by its name, the others' heads need not be
 * looked at to know that this is another kind of archive. */
static bool has_arrays(struct tp_zip *zip)
{
    const uint64_t count = tp_zip_count(zip);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = tp_zip_name(zip, i);
        if (name && is_promised(name))
            return true;
    }
    return false;
}

static void close_file(struct tp_tensor_file *file)
{
    tp_zip_close(file->state);
    file->state = NULL;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct tp_zip *zip = NULL;
    enum tp_status status = tp_zip_open_only(&file->bytes, &zip, err);
    if (status != TP_OK)
        return status;
    file->state = zip;
    if (!has_arrays(zip))
        return tp_fail(err, TP_E_NOT_FOUND, -1, "no member is a .npy file");
    struct reading r = {file, zip, malloc(TP_NPY_HEAD_MAX), 0, {0}};
    status = r.head ? index_names(&r, err) : tp_fail_memory(err);
    if (status == TP_OK)
        status = read_members(&r, err);
    file->metadata_count = 0; /* it says nothing of itself */
    tp_text_index_clear(&r.last);
    free(r.head);
    return status;
}

/* A zip archive, of which torch's are by far the most: those whose archive has
 * no pickle of torch are left for the next bidder. */
static int bid(const unsigned char *head, size_t length)
{
    return tp_zip_is(head, length) ? 31 : 0;
}

const struct tp_format tp_format_npz = {
    .name = "npz",
    .help = "numpy.savez, numpy.savez_compressed (.npz)",
    .suffixes = ".npz",
    .word = NULL,
    .only_tensors = true,
    .bid = bid,
    .open = open_file,
    .close = close_file,
};
