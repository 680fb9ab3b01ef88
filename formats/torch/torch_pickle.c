/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "formats/torch/torch_formats.h"
#include "formats/torch/torch_legacy.h"
#include "formats/torch/torch_object.h"

/*
 * A plain pickle of something with tensors: pickle.dump instead of
 * torch.save. Each storage is then a byte string, which is a legacy stream
 * of its own, inside a call of torch.storage._load_from_bytes. It is read where
 * it lies in the file; what Python would do, to load each into memory, would
 * need twice the file. Cost: one walk over the pickle, and a small pickle for
 * each storage that a tensor needs.
 */

static enum tp_status no_storage(struct tp_torch_source *source,
                                 struct tp_torch_entry *entry,
                                 struct tp_error *err)
{
    (void)source;
    return tp_fail(err, TP_E_DAMAGED, entry->id.at,
                   "its storage is outside this pickle");
}

/* Whether a pickle is what torch.cuda.memory._snapshot() returns, or the list
 * of torch.cuda.memory.memory_snapshot(), of any kind of device. */
static bool is_memory_snapshot(const struct tp_pickle *pickle)
{
    const tp_ref segments = tp_pickle_lookup(pickle, pickle->root, "segments");
    if (tp_pickle_kind(pickle, segments) == TP_VALUE_LIST)
        return tp_pickle_lookup(pickle, pickle->root, "device_traces") !=
               TP_REF_NONE;
    const tp_ref first = tp_pickle_item(pickle, pickle->root, 0);
    return tp_pickle_lookup(pickle, first, "segment_type") != TP_REF_NONE &&
           tp_pickle_lookup(pickle, first, "blocks") != TP_REF_NONE;
}

static enum tp_status skip_memory_snapshot(struct tp_tensor_file *file,
                                           struct tp_error *err)
{
    struct tp_error why = {0};
    tp_fail(&why, TP_E_UNSUPPORTED, -1,
            "a snapshot of an allocator's memory (torch.cuda.memory), which "
            "has blocks and who asked for them, and no tensor; "
            "torch/cuda/_memory_viz.py draws it");
    return tp_tensor_file_skip(file, "", &why, err);
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct tp_pickle pickle = {0};
    struct tp_torch_source source = {.resolve = no_storage,
                                     .nested = tp_legacy_storage,
                                     .bytes = file->bytes};
    uint64_t position = 0;
    enum tp_status status =
        tp_pickle_read(&file->bytes, &position, file->bytes.size, &pickle, err);
    if (status == TP_OK)
        status = tp_torch_table_read(&pickle, &file->arena, &source.table, err);
    if (status == TP_OK)
        status = tp_torch_collect(file, &pickle, &source, err);
    if (status == TP_OK && file->tensor_count == 0 &&
        is_memory_snapshot(&pickle))
        status = skip_memory_snapshot(file, err);
    if (status == TP_OK && position < file->bytes.size) {
        struct tp_error why = {0};
        tp_fail(&why, TP_E_UNSUPPORTED, (int64_t)position,
                "%" PRIu64 " bytes follow the first pickle; they are not read",
                file->bytes.size - position);
        status = tp_tensor_file_skip(file, "", &why, err);
    }
    tp_pickle_clear(&pickle);
    return status;
}

static bool starts_with(const unsigned char *head, size_t length,
                        const char *text)
{
    return length >= strlen(text) && memcmp(head, text, strlen(text)) == 0;
}

static int bid(const unsigned char *head, size_t length)
{
    if (length >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return 14;
    /* protocols 0 and 1 have no head: a container, put into the memo */
    if (starts_with(head, length, "(dp0\n") ||
        starts_with(head, length, "(lp0\n") ||
        starts_with(head, length, "ctorch"))
        return 32;
    if (starts_with(head, length, "}q") || starts_with(head, length, "]q"))
        return 8;
    return 0;
}

const struct tp_format tp_format_torch_pickle = {
    .name = "torch_pickle",
    .help = "Python pickle with tensors (pickle.dump)",
    .suffixes = TP_TORCH_SUFFIXES,
    .word = "pickle",
    .any_content = true,
    .bid = bid,
    .open = open_file,
};
