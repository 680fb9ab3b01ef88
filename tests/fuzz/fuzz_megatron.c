/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "data/tensor.h"
#include "formats/reader.h"
#include "fuzz.h"

/*
 * A tree of Megatron's ranks has no file that describes it: names of folders,
 * keys and shapes do. Each line of an input is a tensor of a rank,
 *
 *     TP KEY DTYPE[DIM]...[tN]
 *
 * T and P stand for the ranks of tensor and pipeline parallelism, P = '-' for
 * a folder without the second; DTYPE is f, h, b or l, and then numbers with
 * anything between them; t: the strides are the other way round; N: the first
 * element's number. A line "!TP BYTES" makes these bytes the file. The files
 * are what torch.save writes of a flat dict. Whatever the tree is, the numbers
 * of elements that the unit has are those of the tensors it says it has as
 * parts, as who reads the files by themselves numbers them.
 */

enum {
    RANKS = 4,
    STAGES = 5, /* the last: a folder without a number of its stage        */
    FILES = RANKS * STAGES,
    DIMS = 5,
    STORAGE = 256, /* bytes that all tensors of a file share               */
    READ_ELEMENTS = 1 << 12
};

static const int numbers[] = {0, 1, 2, 65535};

struct member {
    bool there, raw;
    struct tp_text bytes; /* pickled items, or the file                    */
};

static char root[4096];

static void remove_root(void)
{
    rmdir(root);
}

static void make_root(void)
{
    const char *base = getenv("TMPDIR");
    if (*root)
        return;
    snprintf(root, sizeof root, "%s/fuzz_megatron.XXXXXX",
             base && *base ? base : "/tmp");
    fuzz_need(mkdtemp(root) != NULL, "there is room for a tree");
    atexit(remove_root);
}

static void path_of(int number, bool of_file, char path[8192])
{
    int length =
        snprintf(path, 8192, "%s/mp_rank_%02d", root, numbers[number / STAGES]);
    if (number % STAGES < STAGES - 1)
        length += snprintf(path + length, 8192 - (size_t)length, "_%03d",
                           numbers[number % STAGES]);
    if (of_file)
        snprintf(path + length, 8192 - (size_t)length, "/model_optim_rng.pt");
}

/* ---- what torch.save writes --------------------------------------------- */

static void add_number(struct tp_text *to, size_t bytes, uint64_t value)
{
    unsigned char code[8];
    for (size_t i = 0; i < bytes; i++)
        code[i] = (unsigned char)(value >> 8 * i);
    tp_text_bytes(to, (const char *)code, bytes);
}

static void add_unicode(struct tp_text *to, const char *text, size_t length)
{
    tp_text_bytes(to, "X", 1);
    add_number(to, 4, length);
    tp_text_bytes(to, text, length);
}

static void add_int(struct tp_text *to, int64_t value)
{
    tp_text_bytes(to, "\x8a\x08", 2); /* LONG1 */
    add_number(to, 8, (uint64_t)value);
}

static void add_tensor(struct tp_text *to, char dtype, const int64_t *dims,
                       int ndim, bool turned, int64_t offset)
{
    const char *type = dtype == 'h'   ? "HalfStorage"
                       : dtype == 'b' ? "BFloat16Storage"
                       : dtype == 'l' ? "LongStorage"
                                      : "FloatStorage";
    const int size = dtype == 'h' || dtype == 'b' ? 2 : dtype == 'l' ? 8 : 4;
    uint64_t stride[DIMS], step = 1;
    for (int i = 0; i < ndim; i++) {
        const int k = turned ? i : ndim - 1 - i;
        stride[k] = step;
        step *= (uint64_t)dims[k];
    }
    tp_text_add(to, "ctorch._utils\n_rebuild_tensor_v2\n((");
    add_unicode(to, "storage", 7);
    tp_text_add(to, "ctorch\n%s\n", type);
    add_unicode(to, "0", 1);
    add_unicode(to, "cpu", 3);
    add_int(to, STORAGE / size);
    tp_text_add(to, "tQ");
    add_int(to, offset);
    tp_text_add(to, "(");
    for (int i = 0; i < ndim; i++)
        add_int(to, dims[i]);
    tp_text_add(to, "t(");
    for (int i = 0; i < ndim; i++)
        add_int(to, (int64_t)stride[i]);
    tp_text_add(to, "t\x89"
                    "ccollections\nOrderedDict\n)RtR");
}

/* A record that is stored; a CRC of 0 is one that the writer left out. */
static void add_record(struct tp_text *zip, struct tp_text *directory,
                       const char *name, const char *data, size_t size)
{
    const size_t start = zip->length, length = strlen(name);
    for (int central = 0; central < 2; central++) {
        struct tp_text *to = central ? directory : zip;
        tp_text_bytes(to, central ? "PK\1\2\0\0" : "PK\3\4", central ? 6 : 4);
        add_number(to, 8, 0); /* version, flags, method, time ...            */
        add_number(to, 6, 0); /* ... date, CRC                               */
        add_number(to, 4, size);
        add_number(to, 4, size);
        add_number(to, 2, length);
        add_number(to, central ? 8 : 2, 0);
        if (central)
            add_number(to, 4, 0);
        if (central)
            add_number(to, 4, start);
        tp_text_bytes(to, name, length);
    }
    tp_text_bytes(zip, data, size);
}

static void add_archive(struct tp_text *zip, const struct tp_text *items)
{
    struct tp_text pickle = {0}, directory = {0};
    char storage[STORAGE];
    for (int i = 0; i < STORAGE; i++)
        storage[i] = (char)i;
    tp_text_bytes(&pickle, "\x80\x02}(", 4);
    tp_text_bytes(&pickle, items->data, items->length);
    tp_text_bytes(&pickle, "u.", 2);
    add_record(zip, &directory, "a/data.pkl", pickle.data, pickle.length);
    add_record(zip, &directory, "a/data/0", storage, sizeof storage);
    add_record(zip, &directory, "a/version", "3\n", 2);
    const size_t start = zip->length;
    tp_text_bytes(zip, directory.data, directory.length);
    tp_text_bytes(zip, "PK\5\6\0\0\0\0\3\0\3\0", 12);
    add_number(zip, 4, directory.length);
    add_number(zip, 4, start);
    add_number(zip, 2, 0);
    tp_text_clear(&pickle);
    tp_text_clear(&directory);
}

/* ---- the tree ----------------------------------------------------------- */

/* The numbers of a text, whatever stands between them. */
static int read_dims(const char **at, const char *end, int64_t *dims)
{
    int count = 0;
    while (*at < end && **at != 't') {
        uint64_t value = 0;
        const char *first = *at;
        for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
            value = value * 10 + (uint64_t)(**at - '0');
        if (*at == first)
            (*at)++;
        else if (count < DIMS)
            dims[count++] = (int64_t)value;
    }
    return count;
}

static void read_line(const char *at, const char *end, struct member *members)
{
    int64_t dims[DIMS], offset[DIMS] = {0};
    const bool raw = at < end && *at == '!';
    at += raw;
    if (end - at < 4)
        return;
    struct member *member =
        &members[(at[0] & 3) * STAGES + (at[1] == '-' ? 4 : at[1] & 3)];
    at += 3;
    if (member->raw)
        return;
    member->there = true;
    if (raw) {
        member->raw = true;
        tp_text_clear(&member->bytes);
        tp_text_bytes(&member->bytes, at, (size_t)(end - at));
        return;
    }
    const char *key = at;
    while (at < end && *at != ' ')
        at++;
    add_unicode(&member->bytes, key, (size_t)(at - key));
    at += at < end;
    const char dtype = *(at < end ? at : key);
    const int ndim = read_dims(&at, end, dims);
    const bool turned = at < end;
    at += turned;
    read_dims(&at, end, offset);
    add_tensor(&member->bytes, dtype, dims, ndim, turned, offset[0]);
}

static void write_tree(struct member *members)
{
    char path[8192];
    for (int i = 0; i < FILES; i++) {
        struct tp_text file = {0};
        if (!members[i].there)
            continue;
        path_of(i, false, path);
        fuzz_need(mkdir(path, 0700) == 0, "a folder can be made");
        path_of(i, true, path);
        FILE *out = fopen(path, "wb");
        fuzz_need(out != NULL, "a file can be made");
        if (!members[i].raw)
            add_archive(&file, &members[i].bytes);
        const struct tp_text *text = members[i].raw ? &members[i].bytes : &file;
        fuzz_need(!text->failed &&
                      fwrite(text->data, 1, text->length, out) == text->length,
                  "a file can be written");
        fclose(out);
        tp_text_clear(&file);
    }
}

static void remove_tree(struct member *members)
{
    char path[8192];
    for (int i = 0; i < FILES; i++) {
        tp_text_clear(&members[i].bytes);
        if (!members[i].there)
            continue;
        path_of(i, true, path);
        unlink(path);
        path_of(i, false, path);
        rmdir(path);
    }
}

/* ---- what is read ------------------------------------------------------- */

static int64_t read_tensor(const struct tp_tensor *tensor)
{
    static unsigned char codes[READ_ELEMENTS * 16], scratch[TP_CHUNK_BYTES];
    struct tp_walk walk;
    struct tp_error err = {0};
    fuzz_need(strncmp(tensor->path, "model.", 6) == 0,
              "a whole tensor is one of the model");
    tp_walk_ordered(tensor, &walk);
    const int64_t n = walk.count < READ_ELEMENTS ? walk.count : READ_ELEMENTS;
    fuzz_need(tp_walk_read(&walk, 0, (size_t)n, codes, scratch, &err) ==
                      TP_OK &&
                  tp_walk_read(&walk, walk.count - n, (size_t)n, codes, scratch,
                               &err) == TP_OK,
              "parts that are there can be read");
    return tensor->numel;
}

/* Reads a file by itself; how many elements the unit has of it. */
static int64_t read_member(const struct tp_rank_file *told)
{
    char path[8192];
    struct tp_tensor_file file;
    struct tp_error err = {0};
    struct tp_label label;
    int64_t numel = 0;
    memset(&file, 0, sizeof file);
    snprintf(path, sizeof path, "%s/%s", root, told->name);
    const enum tp_status status = tp_tensor_file_open(path, &file, &err);
    fuzz_need(status == TP_OK || (told->joined_count == 0 && *err.message),
              "a file with parts can be read by itself, another one is named");
    file.shifts = told->shifts;
    file.shift_count = told->shift_count;
    for (size_t i = 0; i < file.tensor_count; i++)
        fuzz_need(tp_tensor_file_label(&file, i, &label, &err) == TP_OK,
                  "a tensor has a label");
    for (size_t i = 0; i < told->joined_count; i++) {
        fuzz_need(told->joined[i] < file.tensor_count &&
                      (i == 0 || told->joined[i] > told->joined[i - 1]),
                  "numbers of parts ascend, and are those of tensors");
        numel += file.tensors[told->joined[i]].numel;
    }
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    return numel;
}

static void read_tree(void)
{
    char path[8192];
    struct tp_tensor_file file;
    struct tp_error err = {0};
    int64_t whole = 0, parts = 0;
    memset(&file, 0, sizeof file);
    snprintf(path, sizeof path, "%s/mp_rank_*", root);
    if (tp_tensor_file_open(path, &file, &err) != TP_OK)
        fuzz_need(err.message[0] != '\0', "an error has a message");
    for (size_t i = 0; i < file.tensor_count; i++)
        whole += read_tensor(&file.tensors[i]);
    for (size_t i = 0; i < file.rank_file_count; i++)
        parts += read_member(&file.rank_files[i]);
    for (const struct tp_skip *s = file.skips; s; s = s->next)
        fuzz_need(s->path && s->reason && s->reason[0],
                  "a skip has path and reason");
    fuzz_need(file.skips || whole == parts,
              "a whole has the elements of its parts, each once");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct member members[FILES];
    const char *at = (const char *)data, *end = at + size, *next;
    memset(members, 0, sizeof members);
    make_root();
    for (; at && at < end; at = next ? next + 1 : NULL) {
        next = memchr(at, '\n', (size_t)(end - at));
        read_line(at, next ? next : end, members);
    }
    write_tree(members);
    read_tree();
    remove_tree(members);
    return 0;
}
