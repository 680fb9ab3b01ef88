/* SPDX-License-Identifier: MIT */
#include "formats/reader.h"

#include <string.h>

#include "formats/tensor_saver.h"
#include "formats/torch/torch_formats.h"

/* Longest header that the safetensors library accepts. */
#define SAFETENSORS_MAX ((uint64_t)100000000)

const struct tp_format *const tp_formats[] = {
    &tp_format_torch_zip,
    &tp_format_torch_legacy,
    &tp_format_torch_pickle,
    &tp_format_torch_tar,
    NULL,
};

const struct tp_format *tp_format_by_content(const unsigned char *head,
                                             size_t length)
{
    const struct tp_format *best = NULL;
    int highest = 0;
    for (size_t i = 0; tp_formats[i]; i++) {
        int bid = tp_formats[i]->bid(head, length);
        if (bid > highest) {
            highest = bid;
            best = tp_formats[i];
        }
    }
    return best;
}

/* Safetensors: the length of a JSON text, little-endian, and the text. */
static bool is_safetensors(const unsigned char *head, size_t length)
{
    uint64_t text = 0;
    for (size_t i = 8; length > 9 && i-- > 0;)
        text = text << 8 | head[i];
    return text >= 2 && text < SAFETENSORS_MAX && head[8] == '{' &&
           (head[9] == '"' || head[9] == '}' || head[9] == ' ');
}

const char *tp_format_foreign(const unsigned char *head, size_t length)
{
    static const struct {
        const char *start, *word;
    } others[] = {
        {"\x93NUMPY", "a NumPy array (.npy)"},
        {"\x89HDF\r\n", "HDF5"},
        {"version https://git-lfs",
         "a pointer of Git LFS in place of the file; `git lfs pull` fetches "
         "it"},
        {"GGUF", "a GGUF model"},
        {"\x1f\x8b", "packed by gzip; unpack it first"},
        {"BZh", "packed by bzip2; unpack it first"},
        {"\xfd"
         "7zXZ",
         "packed by xz; unpack it first"},
        {"\x28\xb5\x2f\xfd", "packed by zstd; unpack it first"},
        {"<!DOCTYPE", "a page of HTML"},
        {"<html", "a page of HTML"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t start = strlen(others[i].start);
        if (length >= start && memcmp(head, others[i].start, start) == 0)
            return others[i].word;
    }
    return is_safetensors(head, length)
               ? "safetensors"
               : "neither zip, legacy stream nor pickle";
}

/* Opens file->bytes, which are open. */
static enum tp_status open_bytes(const char *name, struct tp_tensor_file *file,
                                 struct tp_error *err)
{
    unsigned char head[TP_FORMAT_HEAD];
    size_t length =
        file->bytes.size < sizeof head ? (size_t)file->bytes.size : sizeof head;
    enum tp_status status = tp_bytes_read(&file->bytes, 0, head, length, err);
    if (status != TP_OK)
        return status;
    if (length == 0)
        return tp_fail(err, TP_E_DAMAGED, 0, "the file is empty");
    file->format = tp_format_by_content(head, length);
    if (!file->format)
        return tp_fail(err, TP_E_UNSUPPORTED, 0, "not a torch file: %s",
                       tp_format_foreign(head, length));
    file->metadata_count = tp_label_ask(file->metadata);
    status = file->format->open(file, err);
    if (status != TP_OK)
        return status;
    tp_label_from_metadata(file->metadata, file->metadata_count, &file->label);
    return tp_label_complete(&file->label, name, &file->arena,
                             &file->label_conflict, err);
}

/* Everything but the arena, which is reused, and the bytes. */
static void start(struct tp_tensor_file *file)
{
    static const struct tp_label none = TP_LABEL_NONE;
    tp_arena_reset(&file->arena);
    file->format = NULL;
    file->tensors = NULL;
    file->tensor_count = 0;
    file->metadata_count = 0;
    file->label = none;
    file->label_conflict = "";
    file->skips = NULL;
    file->state = NULL;
}

enum tp_status tp_tensor_file_open(const char *name,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err)
{
    start(file);
    enum tp_status status = tp_bytes_open(name, &file->bytes, err);
    if (status == TP_OK)
        status = open_bytes(name, file, err);
    if (status != TP_OK)
        tp_error_in_file(err, name);
    return status;
}

enum tp_status tp_tensor_file_open_memory(const char *name, const void *data,
                                          size_t size,
                                          struct tp_tensor_file *file,
                                          struct tp_error *err)
{
    start(file);
    tp_bytes_view(data, size, &file->bytes);
    enum tp_status status = open_bytes(name, file, err);
    if (status != TP_OK)
        tp_error_in_file(err, name);
    return status;
}

void tp_tensor_file_close(struct tp_tensor_file *file)
{
    if (file->format && file->format->close)
        file->format->close(file);
    tp_bytes_close(&file->bytes);
    start(file);
}
