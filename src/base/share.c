/* SPDX-License-Identifier: MIT */
#include "base/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"

/* A file on its way; its path follows, with its NUL. */
struct sent {
    uint64_t size;
    int64_t modified;
};

static void pack(const struct tp_found_list *files, struct tp_text *bytes)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct tp_found *file = &files->files[i];
        const struct sent sent = {file->size, file->modified};
        tp_text_bytes(bytes, (const char *)&sent, sizeof sent);
        tp_text_bytes(bytes, file->path, strlen(file->path) + 1);
    }
}

static enum tp_status send_files(const struct tp_world *world,
                                 const struct tp_found_list *files,
                                 struct tp_error *err)
{
    struct tp_text bytes = {0};
    pack(files, &bytes);
    const uint64_t sizes[] = {files->count, bytes.length};
    enum tp_status status =
        bytes.failed ? tp_fail_memory(err)
                     : tp_world_tell(world, sizes, sizeof sizes, err);
    if (status == TP_OK)
        status = tp_world_tell(world, bytes.data, bytes.length, err);
    tp_text_clear(&bytes);
    return status;
}

static enum tp_status unpack(const char *bytes, size_t count,
                             struct tp_found_list *files, struct tp_error *err)
{
    if (tp_grow(&files->files, &files->capacity, count + 1,
                sizeof *files->files, err) != TP_OK)
        return TP_E_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct sent sent;
        memcpy(&sent, bytes, sizeof sent);
        bytes += sizeof sent;
        char *path = strdup(bytes);
        if (!path)
            return tp_fail_memory(err);
        files->files[files->count++] = (struct tp_found){
            .path = path, .size = sent.size, .modified = sent.modified};
        bytes += strlen(bytes) + 1;
    }
    return TP_OK;
}

static enum tp_status receive_files(const struct tp_world *world,
                                    struct tp_found_list *files,
                                    struct tp_error *err)
{
    uint64_t sizes[2];
    enum tp_status status =
        world->receive(world->context, 0, sizes, sizeof sizes, err);
    if (status != TP_OK)
        return status;
    char *bytes = malloc(sizes[1] + 1);
    status = bytes ? world->receive(world->context, 0, bytes, sizes[1], err)
                   : tp_fail_memory(err);
    if (status == TP_OK)
        status = unpack(bytes, sizes[0], files, err);
    free(bytes);
    return status;
}

enum tp_status tp_share_files(const struct tp_world *world,
                              struct tp_found_list *files, struct tp_error *err)
{
    return world->rank == 0 ? send_files(world, files, err)
                            : receive_files(world, files, err);
}

enum tp_status tp_share_done(const struct tp_world *world, bool *done,
                             size_t count, struct tp_error *err)
{
    const size_t size = count * sizeof *done;
    return world->rank == 0
               ? tp_world_tell(world, done, size, err)
               : world->receive(world->context, 0, done, size, err);
}

/* A file and its number. */
struct ordered {
    uint64_t size;
    size_t number;
};

static int compare_ordered(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    const int larger = (a->size < b->size) - (a->size > b->size);
    return larger ? larger : tp_order_size(a->number, b->number);
}

size_t *tp_share_order(const uint64_t *sizes, size_t count)
{
    struct ordered *sorted = calloc(count + 1, sizeof *sorted);
    size_t *order = calloc(count + 1, sizeof *order);
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = (struct ordered){sizes[i], i};
    if (sorted)
        qsort(sorted, count, sizeof *sorted, compare_ordered);
    for (size_t i = 0; sorted && order && i < count; i++)
        order[i] = sorted[i].number;
    if (!sorted) {
        free(order);
        order = NULL;
    }
    free(sorted);
    return order;
}
