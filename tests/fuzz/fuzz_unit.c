/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/tensor.h"
#include "formats/reader.h"
#include "fuzz.h"

/*
 * What describes a checkpoint of several files: the first byte says which kind
 * the rest is, and the files beside it are those of testdata/checkpoints. All
 * tensors are read, with their parts.
 */

enum { READ_ELEMENTS = 1 << 14, READ_TENSORS = 256 };

static const char *const names[] = {
    "good-dcp/.metadata",
    "good-sharded/model.safetensors.index.json",
    "good-bin/pytorch_model.bin.index.json",
};

static void read_tensor(const struct tp_tensor *tensor)
{
    static unsigned char codes[READ_ELEMENTS * 16], scratch[TP_CHUNK_BYTES];
    struct tp_walk walk;
    struct tp_error err = {0};
    fuzz_need(tensor->path != NULL, "a tensor has a path");
    tp_walk_ordered(tensor, &walk);
    const int64_t n =
        walk.count < READ_ELEMENTS ? walk.count : READ_ELEMENTS;
    if (tp_walk_read(&walk, 0, (size_t)n, codes, scratch, &err) != TP_OK)
        fuzz_need(err.message[0] != '\0', "a failed read has a message");
    else
        tp_walk_read(&walk, walk.count - n, (size_t)n, codes, scratch, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *source = getenv("srcdir");
    char path[4096];
    if (size == 0)
        return 0;
    snprintf(path, sizeof path, "%s/testdata/checkpoints/%s",
             source ? source : ".",
             names[data[0] % (sizeof names / sizeof *names)]);
    struct fuzz_guard guard = fuzz_guard_copy(data + 1, size - 1);
    struct tp_tensor_file file;
    struct tp_error err = {0};
    memset(&file, 0, sizeof file);
    file.parts = true;
    if (tp_tensor_file_open_memory(path, guard.data, size - 1, &file, &err) !=
        TP_OK)
        fuzz_need(err.message[0] != '\0', "an error has a message");
    for (size_t i = 0; i < file.tensor_count && i < READ_TENSORS; i++)
        read_tensor(&file.tensors[i]);
    for (const struct tp_skip *s = file.skips; s; s = s->next)
        fuzz_need(s->path && s->reason && s->reason[0],
                  "a skip has path and reason");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    fuzz_guard_free(&guard);
    return 0;
}
