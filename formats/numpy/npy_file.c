/* SPDX-License-Identifier: MIT */
/*
 * A .npy file: one array, or several, since numpy.save may be called for one
 * open file again and again. Arrays are found one behind the other, each by its
 * head, and read where they lie, at the speed of the disk. One array has the
 * path "", several "[0]", "[1]", ... What follows the last and is none is
 * reported; numpy.load ignores it. Cost: 10 KB of reading for each array.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/range_storage.h"
#include "formats/numpy/npy.h"
#include "formats/numpy/numpy_formats.h"

/* A file in the course of being read. */
struct reading {
    struct tp_tensor_file *file;
    unsigned char *head; /* TP_NPY_HEAD_MAX bytes                          */
    struct tp_tensor *tensors;
    size_t room;
    uint64_t at; /* byte of the next array                                 */
};

/* Reads the head at r->at, which messages call by its byte in the file. */
static enum tp_status read_head(struct reading *r, struct tp_npy_head *head,
                                struct tp_error *err)
{
    const struct tp_bytes *bytes = &r->file->bytes;
    uint64_t left = bytes->size - r->at;
    size_t length = left < TP_NPY_HEAD_MAX ? (size_t)left : TP_NPY_HEAD_MAX;
    enum tp_status status = tp_bytes_read(bytes, r->at, r->head, length, err);
    if (status != TP_OK)
        return status;
    status = tp_npy_head_read(r->head, length, left, head, err);
    if (status != TP_OK && err && err->offset >= 0)
        err->offset += (int64_t)r->at;
    return status;
}

static enum tp_status read_array(struct reading *r, struct tp_error *err)
{
    struct tp_tensor_file *file = r->file;
    struct tp_npy_head head;
    enum tp_status status = read_head(r, &head, err);
    if (status == TP_OK)
        status = tp_grow(&r->tensors, &r->room, file->tensor_count + 1,
                         sizeof *r->tensors, err);
    if (status != TP_OK)
        return status;
    struct tp_range_storage *storage = tp_range_storage_new(
        &file->arena, &file->bytes, r->at + head.size, head.bytes);
    if (!storage)
        return tp_fail_memory(err);
    status = tp_npy_tensor(&head, &storage->base, &file->arena,
                           &r->tensors[file->tensor_count], err);
    if (status != TP_OK)
        return status;
    r->tensors[file->tensor_count++].path = "";
    if (head.type.assumed)
        file->assumption = tp_npy_assumption;
    r->at += head.size + head.bytes;
    return TP_OK;
}

/* Names them, once it is known how many they are. */
static enum tp_status name_all(struct tp_tensor_file *file,
                               struct tp_error *err)
{
    for (size_t i = 0; i < file->tensor_count && file->tensor_count > 1; i++) {
        char name[32];
        int length = snprintf(name, sizeof name, "[%zu]", i);
        file->tensors[i].path =
            tp_arena_text(&file->arena, name, (size_t)length);
        if (!file->tensors[i].path)
            return tp_fail_memory(err);
    }
    return TP_OK;
}

/* An array behind the first that cannot be read, or no array. */
static enum tp_status report_rest(struct reading *r, const struct tp_error *why,
                                  struct tp_error *err)
{
    struct tp_error rest = *why;
    if (why->code == TP_OK)
        tp_fail(&rest, TP_E_UNSUPPORTED, (int64_t)r->at,
                "%" PRIu64 " bytes follow the last array; they are not read",
                r->file->bytes.size - r->at);
    return tp_tensor_file_skip(r->file, "", &rest, err);
}

static enum tp_status read_all(struct reading *r, struct tp_error *err)
{
    struct tp_tensor_file *file = r->file;
    struct tp_error why = {0};
    enum tp_status status = read_array(r, err);
    if (status != TP_OK)
        return status;
    while (r->at < file->bytes.size && why.code == TP_OK) {
        unsigned char magic[TP_NPY_MAGIC];
        if (file->bytes.size - r->at < sizeof magic ||
            tp_bytes_read(&file->bytes, r->at, magic, sizeof magic, err) !=
                TP_OK ||
            !tp_npy_is(magic, sizeof magic))
            break;
        status = read_array(r, &why);
        if (status == TP_E_MEMORY)
            return tp_fail_memory(err);
    }
    if (why.code != TP_OK || r->at < file->bytes.size)
        return report_rest(r, &why, err);
    return TP_OK;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct reading r = {.file = file, .head = malloc(TP_NPY_HEAD_MAX)};
    enum tp_status status = r.head ? read_all(&r, err) : tp_fail_memory(err);
    size_t bytes = file->tensor_count * sizeof *file->tensors;
    if (status == TP_OK) {
        file->tensors = tp_arena_alloc(&file->arena, bytes);
        if (!file->tensors)
            status = tp_fail_memory(err);
        else if (bytes)
            memcpy(file->tensors, r.tensors, bytes);
    }
    if (status == TP_OK)
        status = name_all(file, err);
    file->metadata_count = 0; /* it says nothing of itself */
    free(r.head);
    free(r.tensors);
    return status;
}

static int bid(const unsigned char *head, size_t length)
{
    return tp_npy_is(head, length) ? 8 * TP_NPY_MAGIC : 0;
}

const struct tp_format tp_format_npy = {
    .name = "npy",
    .help = "numpy.save (.npy), one array or several",
    .suffixes = ".npy",
    .word = NULL,
    .bid = bid,
    .open = open_file,
};
