/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/limits.h"
#include "base/text.h"
#include "formats/reader.h"
#include "tests/unit/support/cpu_limit.h"

/*
 * Files that are cut, torn or built to hurt, and the ways of reading that
 * small files do not take: inputs that are not in memory, records inflated
 * by several threads at once.
 */

static char *test_file(const char *name)
{
    static char path[4096];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/testdata/torch/%s", source ? source : ".",
             name);
    return path;
}

static unsigned char *load(const char *name, size_t *size)
{
    FILE *file = fopen(test_file(name), "rb");
    cr_assert(file, "cannot open %s", test_file(name));
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size + 1);
    cr_assert_eq(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

/* Reads every value; returns how many tensors could be read whole. */
static size_t read_all(const struct tp_tensor_file *file)
{
    size_t whole = 0;
    unsigned char *scratch = malloc(TP_CHUNK_BYTES);
    for (size_t i = 0; i < file->tensor_count; i++) {
        struct tp_walk walk;
        struct tp_error err = {0};
        tp_walk_ordered(&file->tensors[i], &walk);
        size_t size = tp_dtype_info(file->tensors[i].dtype)->size;
        void *codes = malloc((size_t)walk.count * size + 1);
        const enum tp_status status = tp_walk_read(
            &walk, 0, (size_t)walk.count, codes, scratch, &err);
        cr_expect_neq(status, TP_E_MEMORY); /* which ends a run */
        whole += status == TP_OK;
        free(codes);
    }
    free(scratch);
    return whole;
}

/*
 * Opens bytes that are exactly `size` long in memory, so that a sanitizer
 * sees a read beyond them. Returns the number of tensors read.
 */
static size_t open_bytes(const unsigned char *data, size_t size,
                         enum tp_status *status)
{
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    *status = tp_tensor_file_open_memory("x.pt", exact, size, &file, &err);
    cr_expect(*status == TP_OK || (err.code == *status && err.message[0]));
    cr_expect_neq(*status, TP_E_MEMORY);
    for (const struct tp_skip *skip = file.skips; skip; skip = skip->next)
        cr_expect_neq(skip->code, TP_E_MEMORY);
    size_t whole = *status == TP_OK ? read_all(&file) : 0;
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    free(exact);
    return whole;
}

static void cut_everywhere(const char *name, bool all_or_nothing)
{
    size_t size;
    enum tp_status status;
    unsigned char *data = load(name, &size);
    size_t all = open_bytes(data, size, &status), before = 0;
    cr_assert_eq(status, TP_OK);
    cr_assert_gt(all, 0);
    for (size_t cut = 0; cut < size; cut++) {
        size_t whole = open_bytes(data, cut, &status);
        cr_expect_lt(whole, all, "%s cut at %zu has all tensors", name, cut);
        cr_expect_geq(whole, before, "%s cut at %zu", name, cut);
        cr_expect(!all_or_nothing || status != TP_OK,
                  "%s cut at %zu can be opened", name, cut);
        before = whole;
    }
    free(data);
}

Test(torch_hostile, zip_cut_at_every_length)
{
    cut_everywhere("good-old-zip.pt", true);
}

Test(torch_hostile, zip64_cut_at_every_length)
{
    cut_everywhere("good-zip64.pt", true);
}

Test(torch_hostile, legacy_cut_at_every_length)
{
    cut_everywhere("good-dtypes.legacy.pt", false);
}

Test(torch_hostile, pickle_cut_at_every_length)
{
    cut_everywhere("good-plain-protocol4.pkl", true);
}

/* Whether p is an archive's end record with that comment. */
static bool is_end(const unsigned char *p, size_t length, const char *comment)
{
    return memcmp(p, "PK\5\6", 4) == 0 && p[20] == length && p[21] == 0 &&
           memcmp(p + 22, comment, length) == 0;
}

/* A file of archives that is cut off loses tensors, but never in silence:
 * only a cut between two archives leaves nothing to report. */
Test(torch_hostile, archives_cut_at_every_length)
{
    size_t size;
    unsigned char *data = load("good-archives.pt", &size);
    int silent = 0, reported = 0;
    for (size_t cut = 1; cut <= size; cut++) {
        struct tp_tensor_file file = {0};
        struct tp_error err = {0};
        enum tp_status status =
            tp_tensor_file_open_memory("x.pt", data, cut, &file, &err);
        bool boundary = cut >= 24 && (is_end(data + cut - 22, 0, "") ||
                                      is_end(data + cut - 24, 2, "!?"));
        if (status == TP_OK) {
            silent += !file.skips;
            reported += file.skips != NULL;
            cr_expect_eq(boundary, !file.skips, "cut at %zu", cut);
        }
        tp_tensor_file_close(&file);
        tp_arena_clear(&file.arena);
    }
    cr_expect_eq(silent, 5);
    cr_expect_gt(reported, 1000);
    free(data);
}

static void change_everywhere(const char *name)
{
    size_t size;
    enum tp_status status;
    unsigned char *data = load(name, &size);
    for (size_t at = 0; at < size; at++) {
        static const unsigned char masks[] = {0x01, 0x80, 0xff};
        for (size_t i = 0; i < sizeof masks; i++) {
            data[at] ^= masks[i];
            open_bytes(data, size, &status);
            data[at] ^= masks[i];
        }
    }
    free(data);
}

Test(torch_hostile, every_byte_changed)
{
    change_everywhere("good-no-crc.pt");
    change_everywhere("unsupported-archives.pt");
    change_everywhere("good-deflated.pt");
    change_everywhere("../formats/good-deflated.npz");
    change_everywhere("good-storage-view.legacy.pt");
    change_everywhere("good-plain-f8.pkl");
}

/* ---- pickles built to hurt -------------------------------------------- */

#define ADD(text, literal) tp_text_bytes(text, literal, sizeof literal - 1)

static enum tp_status open_text(const struct tp_text *text,
                                struct tp_tensor_file *file,
                                struct tp_error *err)
{
    cr_assert_not(text->failed);
    return tp_tensor_file_open_memory("x.pkl", text->data, text->length, file,
                                      err);
}

static void finish(struct tp_text *text, struct tp_tensor_file *file)
{
    tp_tensor_file_close(file);
    tp_arena_clear(&file->arena);
    tp_text_clear(text);
}

Test(torch_hostile, a_million_deep)
{
    limit_cpu(20);
    struct tp_text text = {0};
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    enum { DEPTH = 1000000 };
    tp_text_bytes(&text, "\x80\x02", 2);
    for (int i = 0; i < DEPTH; i++)
        tp_text_bytes(&text, "]", 1);
    for (int i = 1; i < DEPTH; i++)
        tp_text_bytes(&text, "a", 1);
    tp_text_bytes(&text, ".", 1);
    cr_assert_eq(open_text(&text, &file, &err), TP_OK, "%s", err.message);
    cr_assert(file.skips, "the depth is reported");
    cr_expect_eq(file.skips->code, TP_E_LIMIT);
    cr_expect_null(file.skips->next);
    finish(&text, &file);
}

/* Each list holds the one before twice: 2^60 paths to one number. */
Test(torch_hostile, doubling_lists)
{
    limit_cpu(20);
    struct tp_text text = {0};
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    tp_text_bytes(&text, "\x80\x02]q\x00", 5);
    for (char i = 1; i < 60; i++) {
        char step[] = {'0',           ']', 'q',           i,  '(', 'h',
                       (char)(i - 1), 'h', (char)(i - 1), 'e'};
        tp_text_bytes(&text, step, sizeof step);
    }
    tp_text_bytes(&text, ".", 1);
    cr_assert_eq(open_text(&text, &file, &err), TP_OK, "%s", err.message);
    cr_assert(file.skips);
    cr_expect_eq(file.skips->code, TP_E_LIMIT, "%s", file.skips->reason);
    finish(&text, &file);
}

/* One long key is cut; nested, they leave no room. */
Test(torch_hostile, keys_too_long_for_a_path)
{
    for (int depth = 1; depth <= 20; depth += 19) {
        struct tp_text text = {0};
        struct tp_tensor_file file = {0};
        struct tp_error err = {0};
        tp_text_bytes(&text, "\x80\x02", 2);
        for (int level = 0; level < depth; level++) {
            tp_text_bytes(&text, "}X\x00\x20\x00\x00", 6);
            for (int i = 0; i < 0x2000; i++)
                tp_text_bytes(&text, "k", 1);
        }
        tp_text_bytes(&text, "]", 1);
        for (int level = 0; level < depth; level++)
            tp_text_bytes(&text, "s", 1);
        tp_text_bytes(&text, ".", 1);
        cr_assert_eq(open_text(&text, &file, &err), TP_OK, "%s", err.message);
        cr_expect_eq(file.skips == NULL, depth == 1);
        cr_expect(depth == 1 || file.skips->code == TP_E_LIMIT);
        finish(&text, &file);
    }
}

/* The part of a distributed tensor may be that tensor itself. */
Test(torch_hostile, distributed_tensor_of_itself)
{
    struct tp_text text = {0};
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    ADD(&text, "\x80\x02"
               "ctorch._tensor\n_rebuild_from_type_v2\n("
               "ctorch._utils\n_rebuild_wrapper_subclass\nN)"
               "}q\x01tRq\x02"
               "0h\x01X\x0d\x00\x00\x00_local_tensorh\x02s0h\x02.");
    cr_assert_eq(open_text(&text, &file, &err), TP_OK, "%s", err.message);
    cr_expect_eq(file.tensor_count, 0);
    finish(&text, &file);
}

/* As many empty archives as the limit, and one more in front of them. */
Test(torch_hostile, too_many_archives)
{
    limit_cpu(60);
    struct tp_text text = {0};
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    static const char end[22] = "PK\5\6";
    for (size_t i = 0; i <= TP_LIMIT_ARCHIVES; i++)
        tp_text_bytes(&text, end, sizeof end);
    cr_assert_eq(open_text(&text, &file, &err), TP_OK, "%s", err.message);
    size_t skips = 0;
    const struct tp_skip *last = NULL;
    for (const struct tp_skip *s = file.skips; s; last = s, s = s->next)
        skips++;
    cr_assert_eq(skips, TP_LIMIT_ARCHIVES + 1);
    cr_expect(strstr(last->reason, "22 bytes stand before"), "%s",
              last->reason);
    finish(&text, &file);
}

/* ---- inputs that are not in memory ------------------------------------ */

enum { LARGE = 300 << 10 }; /* bytes; files up to 128 KiB are read whole */

/* The value of element i of every large test tensor. */
static uint16_t pattern(size_t i)
{
    return (uint16_t)(i * 40503 ^ i >> 7);
}

static uint16_t *make_pattern(void)
{
    uint16_t *values = malloc(LARGE);
    for (size_t i = 0; i < LARGE / 2; i++)
        values[i] = pattern(i);
    return values;
}

static void expect_pattern(const struct tp_tensor_file *file)
{
    struct tp_walk walk;
    struct tp_error err = {0};
    cr_assert_eq(file->tensor_count, 1, "%s",
                 file->skips ? file->skips->reason : "nothing");
    cr_assert_eq(file->tensors->numel, LARGE / 2);
    tp_walk_ordered(file->tensors, &walk);
    uint16_t *codes = malloc(LARGE);
    cr_assert_eq(tp_walk_read(&walk, 0, LARGE / 2, codes, NULL, &err), TP_OK,
                 "%s", err.message);
    for (size_t i = 0; i < LARGE / 2; i++)
        cr_assert_eq(codes[i], pattern(i), "element %zu", i);
    free(codes);
}

static void write_file(const char *path, const struct tp_text *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && !text->failed);
    cr_assert_eq(fwrite(text->data, 1, text->length, file), text->length);
    cr_assert_eq(fclose(file), 0);
}

static void add_number(struct tp_text *text, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++, number >>= 8)
        tp_text_bytes(text, (const char[]){(char)number}, 1);
}

/* A tensor over the storage that `storage` pushes. */
static void add_tensor(struct tp_text *text, const struct tp_text *storage)
{
    ADD(text, "ctorch._utils\n_rebuild_tensor_v2\n(");
    tp_text_bytes(text, storage->data, storage->length);
    ADD(text, "K\x00J");
    add_number(text, LARGE / 2, 4);
    ADD(text, "\x85K\x01\x85\x89"
              "ccollections\nOrderedDict\n)RtR.");
}

static void add_id(struct tp_text *text, bool legacy)
{
    ADD(text, "(X\x07\x00\x00\x00storagectorch\nShortStorage\n"
              "X\x01\x00\x00\x00"
              "0X\x03\x00\x00\x00"
              "cpuJ");
    add_number(text, LARGE / 2, 4);
    if (legacy)
        ADD(text, "N");
    ADD(text, "tQ");
}

/* A legacy stream of one storage; its object is the tensor or the storage. */
static void add_stream(struct tp_text *text, const uint16_t *values,
                       bool tensor)
{
    struct tp_text storage = {0};
    add_id(&storage, true);
    ADD(text, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
    ADD(text, "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02");
    if (tensor) {
        add_tensor(text, &storage);
    } else {
        tp_text_bytes(text, storage.data, storage.length);
        ADD(text, ".");
    }
    ADD(text, "\x80\x02]X\x01\x00\x00\x00"
              "0a.");
    add_number(text, LARGE / 2, 8);
    tp_text_bytes(text, (const char *)values, LARGE);
    tp_text_clear(&storage);
}

static void open_and_expect(const char *path)
{
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    cr_assert_eq(tp_tensor_file_open(path, &file, &err), TP_OK, "%s",
                 err.message);
    cr_expect_null(file.bytes.memory, "the file is read as it is needed");
    expect_pattern(&file);
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    unlink(path);
}

Test(torch_hostile, legacy_not_in_memory)
{
    struct tp_text text = {0};
    char path[] = "/tmp/tprof-test-XXXXXX";
    close(mkstemp(path));
    uint16_t *values = make_pattern();
    add_stream(&text, values, true);
    write_file(path, &text);
    open_and_expect(path);
    tp_text_clear(&text);
    free(values);
}

Test(torch_hostile, pickle_not_in_memory)
{
    struct tp_text text = {0}, stream = {0}, storage = {0};
    char path[] = "/tmp/tprof-test-XXXXXX";
    close(mkstemp(path));
    uint16_t *values = make_pattern();
    add_stream(&stream, values, false);
    ADD(&storage, "ctorch.storage\n_load_from_bytes\nB");
    add_number(&storage, stream.length, 4);
    tp_text_bytes(&storage, stream.data, stream.length);
    ADD(&storage, "\x85R");
    ADD(&text, "\x80\x03");
    add_tensor(&text, &storage);
    write_file(path, &text);
    open_and_expect(path);
    tp_text_clear(&text);
    tp_text_clear(&stream);
    tp_text_clear(&storage);
    free(values);
}

static void add_record(zip_t *zip, const char *name, const void *data,
                       size_t size)
{
    zip_source_t *source = zip_source_buffer(zip, data, size, 0);
    zip_int64_t index = zip_file_add(zip, name, source, 0);
    cr_assert_geq(index, 0);
    cr_assert_eq(
        zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0), 0);
}

Test(torch_hostile, zip_not_in_memory)
{
    struct tp_text text = {0}, storage = {0};
    char path[] = "/tmp/tprof-test-XXXXXX";
    close(mkstemp(path));
    uint16_t *values = make_pattern();
    add_id(&storage, false);
    ADD(&text, "\x80\x02");
    add_tensor(&text, &storage);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    cr_assert(zip);
    add_record(zip, "any/data.pkl", text.data, text.length);
    add_record(zip, "any/data/0", values, LARGE);
    cr_assert_eq(zip_close(zip), 0);
    open_and_expect(path);
    tp_text_clear(&text);
    tp_text_clear(&storage);
    free(values);
}

/* ---- deflated records from several threads ---------------------------- */

struct reader {
    const struct tp_tensor *tensor;
    pthread_t thread;
    size_t wrong;
};

/* good-deflated-large.pt: zeros, but for 2.5 in the middle. */
static void *read_large(void *argument)
{
    struct reader *reader = argument;
    enum { PIECE = 1 << 14, COUNT = 1 << 20 };
    double *values = malloc(PIECE * sizeof *values);
    struct tp_walk walk;
    struct tp_error err = {0};
    tp_walk_ordered(reader->tensor, &walk);
    for (int64_t at = 0; at < COUNT; at += PIECE) {
        if (tp_walk_read(&walk, at, PIECE, values, NULL, &err) != TP_OK) {
            reader->wrong++;
            continue;
        }
        for (int64_t i = 0; i < PIECE; i++)
            reader->wrong += values[i] != (at + i == COUNT / 2 ? 2.5 : 0);
    }
    free(values);
    return NULL;
}

Test(torch_hostile, inflated_by_many_threads)
{
    enum { THREADS = 6 };
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    struct reader readers[THREADS] = {0};
    cr_assert_eq(
        tp_tensor_file_open(test_file("good-deflated-large.pt"), &file, &err),
        TP_OK, "%s", err.message);
    cr_assert_eq(file.tensor_count, 3);
    for (int i = 0; i < THREADS; i++) {
        readers[i].tensor = &file.tensors[i % 2];
        pthread_create(&readers[i].thread, NULL, read_large, &readers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(readers[i].thread, NULL);
        cr_expect_eq(readers[i].wrong, 0);
    }
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}
