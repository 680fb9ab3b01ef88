/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/reader.h"

enum {
    READ_ELEMENTS = 1 << 16, /* of each tensor                             */
    READ_TENSORS = 256       /* of each file                               */
};

void fuzz_need(int holds, const char *promise)
{
    if (!holds) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

struct fuzz_guard fuzz_guard_copy(const uint8_t *data, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (size + page - 1) / page * page;
    struct fuzz_guard guard = {.map_size = room + page};
    guard.map = mmap(NULL, guard.map_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fuzz_need(guard.map != MAP_FAILED, "memory for the input");
    unsigned char *end = (unsigned char *)guard.map + room;
    fuzz_need(mprotect(end, page, PROT_NONE) == 0, "a page to guard it");
    guard.data = end - size;
    if (size)
        memcpy(guard.data, data, size);
    return guard;
}

void fuzz_guard_free(struct fuzz_guard *guard)
{
    munmap(guard->map, guard->map_size);
}

static void read_walk(const struct tp_tensor *tensor,
                      const struct tp_walk *walk, unsigned char *scratch)
{
    static unsigned char codes[READ_ELEMENTS * 16];
    struct tp_error err = {0};
    int64_t n = walk->count < READ_ELEMENTS ? walk->count : READ_ELEMENTS;
    enum tp_status status =
        tp_walk_read(walk, 0, (size_t)n, codes, scratch, &err);
    fuzz_need(status == TP_OK || err.message[0] != '\0',
              "a failed read has a message");
    if (status == TP_OK && walk->count > n) /* and the other end */
        tp_walk_read(walk, walk->count - n, (size_t)n, codes, scratch, &err);
    (void)tensor;
}

static void read_tensor(const struct tp_tensor *tensor, unsigned char *scratch)
{
    struct tp_walk walk;
    fuzz_need(tensor->path != NULL, "a tensor has a path");
    fuzz_need(tensor->numel == 0 || tensor->storage,
              "a tensor with elements has a storage");
    tp_walk_ordered(tensor, &walk);
    read_walk(tensor, &walk, scratch);
    tp_walk_any_order(tensor, &walk);
    read_walk(tensor, &walk, scratch);
}

int fuzz_tensor_file(const char *format, const uint8_t *data, size_t size)
{
    static unsigned char scratch[TP_CHUNK_BYTES];
    const struct tp_format *bidder = tp_format_by_content(
        data, size < TP_FORMAT_HEAD ? size : TP_FORMAT_HEAD);
    if (!bidder || strcmp(bidder->name, format) != 0)
        return 0;
    struct fuzz_guard guard = fuzz_guard_copy(data, size);
    struct tp_tensor_file file;
    struct tp_error err = {0};
    memset(&file, 0, sizeof file);
    enum tp_status status =
        tp_tensor_file_open_memory("fuzz.pt", guard.data, size, &file, &err);
    if (status != TP_OK) {
        fuzz_need(err.code == status, "the error holds the status");
        fuzz_need(err.message[0] != '\0', "an error has a message");
        fuzz_need(err.offset >= -1, "its offset is one");
    } else {
        for (size_t i = 0; i < file.tensor_count && i < READ_TENSORS; i++)
            read_tensor(&file.tensors[i], scratch);
        for (const struct tp_skip *s = file.skips; s; s = s->next)
            fuzz_need(s->path && s->reason && s->reason[0],
                      "a skip has path and reason");
    }
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    fuzz_guard_free(&guard);
    return 0;
}
