/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "formats/reader.h"
#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/expected_tensor.h"
#include "tests/unit/support/json.h"
#include "tests/unit/support/testdata.h"

/*
 * Whole files of every format but torch.save's, against what numpy and torch
 * said about them: those of testdata/formats, made by
 * tests/make_format_files.py, and the groups npy, pt2 and dumpers of
 * files_2026, which are not part of the source.
 */

/* ---- one file ------------------------------------------------------------ */

static const struct tp_tensor *find(const struct tp_tensor_file *file,
                                    const char *path)
{
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (strcmp(file->tensors[i].path, path) == 0)
            return &file->tensors[i];
    }
    return NULL;
}

static const struct tp_skip *find_skip(const struct tp_tensor_file *file,
                                       const char *path)
{
    for (const struct tp_skip *s = file->skips; s; s = s->next) {
        if (strcmp(s->path, path) == 0)
            return s;
    }
    return NULL;
}

/* Whether all bytes of a tensor's storage can be read, with the CRC-32 that
 * they should have. */
static bool is_whole(const struct tp_tensor *tensor)
{
    static unsigned char bytes[1 << 16];
    const struct tp_storage *storage = tensor->storage;
    struct tp_error err = {0};
    uint32_t crc = 0;
    for (uint64_t at = 0; storage && at < storage->size;) {
        uint64_t left = storage->size - at;
        size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (storage->read(storage, at, bytes, n, &err) != TP_OK)
            return false;
        for (size_t i = 0; storage->has_crc32 && i < n; i++) {
            crc = ~crc ^ bytes[i];
            for (int bit = 0; bit < 8; bit++)
                crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
            crc = ~crc;
        }
        at += n;
    }
    return !storage || !storage->has_crc32 || crc == storage->crc32;
}

/* ---- testdata/formats ---------------------------------------------------- */

static void check_path(const struct tp_tensor_file *file,
                       const struct json *want, const char *name)
{
    const struct json *reason = json_get(want, "skip");
    if (!reason) {
        const struct tp_tensor *tensor = find(file, want->key);
        cr_assert(tensor, "%s is missing", name);
        expected_tensor_check(want, tensor, name);
        cr_expect(is_whole(tensor), "%s: CRC-32", name);
        return;
    }
    const struct tp_skip *skip =
        find_skip(file, strcmp(want->key, "-") ? want->key : "");
    cr_assert(skip, "%s is not skipped", name);
    cr_expect(strstr(skip->reason, reason->text), "%s: skipped because \"%s\"",
              name, skip->reason);
}

static void check_file(const char *folder, const struct json *want)
{
    char path[8192], name[8192];
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, want->key);
    enum tp_status status = tp_tensor_file_open(path, &file, &err);
    const struct json *error = json_get(want, "error");
    if (error) {
        cr_expect_neq(status, TP_OK, "%s can be read", want->key);
        cr_expect(strstr(err.message, error->text), "%s: \"%s\"", want->key,
                  err.message);
        cr_expect_str_eq(err.file, path);
    } else {
        cr_assert_eq(status, TP_OK, "%s: %s", want->key, err.message);
        size_t found = file.tensor_count, paths = 0;
        for (const struct json *i = want->first; i; i = i->next, paths++) {
            snprintf(name, sizeof name, "%.2000s '%.2000s'", want->key, i->key);
            check_path(&file, i, name);
        }
        for (const struct tp_skip *s = file.skips; s; s = s->next)
            found++;
        if (strcmp(want->key, "bad-crc.npz") == 0)
            found -= !is_whole(find(&file, "w"));
        cr_expect_eq(found, paths,
                     "%s: %zu tensors and skips, expected are %zu", want->key,
                     found, paths);
    }
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

Test(reader_files, testdata)
{
    char folder[4096], path[4200];
    testdata_path("formats", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/expected.json", folder);
    struct json *json = json_read(path);
    cr_assert(json);
    cr_expect_gt(json_count(json), 50);
    for (const struct json *i = json->first; i; i = i->next)
        check_file(folder, i);
    json_free(json);
}

/* ---- files_2026 ---------------------------------------------------------- */

/* Units of the samples that a reader of tensors has nothing to say about. */
static bool is_elsewhere(const char *name)
{
    return strstr(name, ".log") || strstr(name, ".jsonl");
}

/* Whether anything of an open file is reported or cannot be read. */
static bool has_problem(const struct tp_tensor_file *file)
{
    for (const struct tp_skip *s = file->skips; s; s = s->next) {
        if (s->code != TP_OK)
            return true;
    }
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (!is_whole(&file->tensors[i]))
            return true;
    }
    return file->tensor_count == 0;
}

/* Opens the file of a path: the unit itself or, where that is a directory,
 * the part before the colon. Returns the path in the file. */
static const char *open_part(const char *unit, const char *key,
                             struct tp_tensor_file *file)
{
    char path[8192];
    struct stat stat_;
    struct tp_error err = {0};
    const char *colon = NULL;
    cr_assert_eq(stat(unit, &stat_), 0, "%s", unit);
    if (S_ISDIR(stat_.st_mode))
        colon = strstr(key, ".pt") ? strchr(strstr(key, ".pt"), ':') : NULL;
    int length = snprintf(path, sizeof path, "%s%s%.*s", unit, colon ? "/" : "",
                          colon ? (int)(colon - key) : 0, key);
    cr_assert(length > 0 && (size_t)length < sizeof path);
    cr_assert_eq(tp_tensor_file_open(path, file, &err), TP_OK, "%s: %s", path,
                 err.message);
    return colon ? colon + 1 : key;
}

static void check_good(const char *unit, const struct json *want)
{
    struct tp_tensor_file file = {0};
    char name[4096];
    for (const struct json *i = want->first; i; i = i->next) {
        if (is_elsewhere(i->key))
            continue;
        const char *path = open_part(unit, i->key, &file);
        if (json_get(i, "python")) {
            cr_expect_eq(file.tensor_count, 0, "%s: a plain value", i->key);
            tp_tensor_file_close(&file);
            continue;
        }
        cr_assert(json_get(i, "dtype"), "%s: %s: not looked at", unit, i->key);
        const char *dtype = json_get(i, "dtype")->text;
        bool scaled = strncmp(dtype, "te.", 3) == 0; /* not of codes */
        snprintf(name, sizeof name, "%.*s%s", (int)sizeof name - 8, path,
                 scaled ? "#value" : "");
        const struct tp_tensor *tensor = find(&file, name);
        cr_assert(tensor, "%s: %s is missing", unit, i->key);
        expected_tensor_check(i, tensor, i->key);
        cr_expect(is_whole(tensor), "%s: %s: CRC-32", unit, i->key);
        for (const struct tp_skip *s = file.skips; s; s = s->next)
            cr_expect_eq(s->code, TP_OK, "%s: %s", unit, s->reason);
        tp_tensor_file_close(&file);
    }
    tp_arena_clear(&file.arena);
}

static void check_unit(const char *group, const struct json *want)
{
    char path[8192];
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    snprintf(path, sizeof path, "%s/%s", group, want->key);
    if (is_elsewhere(want->key))
        return;
    const char *slash = strrchr(want->key, '/');
    const char *name = slash ? slash + 1 : want->key;
    if (strncmp(name, "good-", 5) == 0) {
        check_good(path, want);
        return;
    }
    if (tp_tensor_file_open(path, &file, &err) == TP_OK) {
        cr_expect(has_problem(&file), "%s: no problem is seen", path);
    } else {
        cr_expect_neq(err.message[0], '\0', "%s", path);
    }
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

static struct json *read_group(const char *name, char folder[4096])
{
    char path[4200];
    shared_path(name, folder, 4096);
    snprintf(path, sizeof path, "%s/expected.json", folder);
    struct json *json = json_read(path);
    if (!json)
        cr_skip_test("%s is not here", folder);
    return json;
}

static void check_group(const char *name, size_t units)
{
    char folder[4096];
    limit_cpu(60); /* hostile files name sizes that would take hours */
    struct json *json = read_group(name, folder);
    cr_expect_eq(json_count(json), units, "%s: %zu", name, json_count(json));
    for (const struct json *i = json->first; i; i = i->next)
        check_unit(folder, i);
    json_free(json);
}

Test(reader_files, npy)
{
    check_group("dumps/files_2026/npy", 38);
}

Test(reader_files, pt2)
{
    check_group("dumps/files_2026/pt2", 8);
}

Test(reader_files, dumpers)
{
    check_group("dumps/files_2026/dumpers", 5);
}

Test(reader_files, te_dump)
{
    check_group("dumps/files_2026/te_dump", 11);
}

/* ---- cost ---------------------------------------------------------------- */

/* The most memory that this process had at a time, in MB. */
static long peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

#if defined(__SANITIZE_ADDRESS__)
enum { SHADOW = 8 }; /* a sanitizer takes more of both */
#else
enum { SHADOW = 1 };
#endif

/* Damaged and hostile files cost less than a second each, of computing, and
 * less than 100 MB. */
static void check_cost(const char *group, const struct json *json,
                       const char *which)
{
    const long before = peak_mb();
    for (const struct json *i = json->first; i; i = i->next) {
        char path[8192];
        struct tp_tensor_file file = {0};
        snprintf(path, sizeof path, "%s/%s", group, i->key);
        if (!strstr(i->key, which))
            continue;
        const clock_t start = clock();
        if (tp_tensor_file_open(path, &file, NULL) == TP_OK)
            has_problem(&file);
        cr_expect_lt(clock() - start, CLOCKS_PER_SEC * SHADOW, "%s", path);
        tp_tensor_file_close(&file);
        tp_arena_clear(&file.arena);
        cr_expect_lt(peak_mb() - before, 100 * SHADOW, "%s", path);
    }
}

Test(reader_files, cost_of_bad)
{
    char folder[4096], path[4200];
    testdata_path("formats", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/expected.json", folder);
    struct json *json = json_read(path);
    cr_assert(json);
    check_cost(folder, json, "bad-");
    json_free(json);
}

Test(reader_files, cost_of_hostile)
{
    static const char *const groups[] = {"npy", "pt2", "te_dump",
                                         "safetensors"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char name[64], folder[4096];
        snprintf(name, sizeof name, "dumps/files_2026/%s", groups[i]);
        struct json *json = read_group(name, folder);
        check_cost(folder, json, "hostile");
        json_free(json);
    }
}

/* ---- labels -------------------------------------------------------------- */

static void open_format(const char *name, struct tp_tensor_file *file)
{
    char folder[4096], path[4200];
    struct tp_error err = {0};
    testdata_path("formats", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(tp_tensor_file_open(path, file, &err), TP_OK, "%s",
                 err.message);
}

/* The dict "meta" of SGLang's dumper says what its file's name says less
 * clearly; without a "value" beside it a "meta" is somebody else's. */
Test(reader_files, labels_of_a_dumper)
{
    struct tp_tensor_file file = {0};
    open_format("good-sglang.pt", &file);
    cr_expect_str_eq(file.label.tensor_name, "grad__a=b");
    cr_expect_str_eq(file.label.operation, "backward");
    cr_expect_eq(file.label.iteration, 7);
    cr_expect_eq(file.label.rank, 3);
    cr_expect_eq(file.label.counter, 12);
    cr_expect_eq(file.label.layer_idx, 5);
    cr_expect_str_eq(file.label_conflict, "");
    tp_tensor_file_close(&file);
    open_format("good-npu.pt", &file);
    cr_expect_eq(file.label.iteration, -1);
    cr_expect_str_eq(file.label.operation, "");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

/* What was packed is called as it was before. */
Test(reader_files, labels_of_packed_files)
{
    struct tp_tensor_file file = {0};
    open_format("good-packed.pt.gz", &file);
    cr_expect_str_eq(file.label.tensor_name, "good-packed");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

/* That a type was assumed is said, and only where it was. */
Test(reader_files, assumptions)
{
    struct tp_tensor_file file = {0};
    open_format("good-bf16.npy", &file);
    cr_expect(strstr(file.assumption, "bfloat16"));
    tp_tensor_file_close(&file);
    open_format("good-v1.npy", &file);
    cr_expect_str_eq(file.assumption, "");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

/* ---- damage -------------------------------------------------------------- */

/* Every beginning of a file is either refused with a message, or what can be
 * read of it is what the whole file has. */
static void cut_everywhere(const char *name)
{
    char folder[4096], path[4200];
    testdata_path("formats", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "rb");
    cr_assert(stream, "%s", path);
    static unsigned char bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    cr_assert(size > 0 && size < sizeof bytes, "%s", path);
    struct tp_tensor_file file = {0};
    size_t opened = 0;
    for (size_t length = 0; length < size; length++) {
        struct tp_error err = {0};
        unsigned char *copy = malloc(length + 1);
        memcpy(copy, bytes, length);
        enum tp_status status =
            tp_tensor_file_open_memory(name, copy, length, &file, &err);
        cr_expect(status == TP_OK || err.message[0], "%s, %zu bytes", name,
                  length);
        opened += status == TP_OK && !has_problem(&file);
        tp_tensor_file_close(&file);
        free(copy);
    }
    tp_arena_clear(&file.arena);
    cr_expect_eq(opened, 0, "%s: %zu beginnings pass for the file", name,
                 opened);
}

Test(reader_files, cut_npy)
{
    cut_everywhere("good-v1.npy");
}

Test(reader_files, cut_npz)
{
    cut_everywhere("good-deflated.npz");
}

Test(reader_files, cut_pt2)
{
    cut_everywhere("good-export.pt2");
}

Test(reader_files, cut_package)
{
    cut_everywhere("bad-package.pt");
}

Test(reader_files, cut_gzip)
{
    cut_everywhere("good-packed.pt.gz");
}
