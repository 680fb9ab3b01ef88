/* SPDX-License-Identifier: MIT */
#include "formats/reader.h"

#include <string.h>

#include "formats/readers.h"
#include "formats/tensor_saver.h"

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
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "not a torch file (neither zip, legacy stream nor "
                       "pickle)");
    status = file->format->open(file, err);
    if (status != TP_OK)
        return status;
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
