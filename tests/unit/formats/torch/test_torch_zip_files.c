/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/reader.h"
#include "tests/unit/support/expected_tensor.h"
#include "tests/unit/support/json.h"
#include "tests/unit/support/testdata.h"

/*
 * Whole files against what torch said about them: the 74 files of torch_zoo
 * (torch 1.13, not part of the source) and those of testdata, made by
 * tests/make_torch_files.py. Strides, first values, counts, extrema, sum and
 * norm are all of torch's making.
 */

static const char *source_dir(void)
{
    const char *source = getenv("srcdir");
    return source ? source : ".";
}

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

/* One path of a file: a tensor, or what is skipped ("skip", "unsupported"). */
static void check_path(const struct tp_tensor_file *file,
                       const struct json *want, const char *name)
{
    const struct json *reason = json_get(want, "skip");
    if (reason || json_get(want, "unsupported")) {
        const struct tp_skip *skip = find_skip(file, want->key);
        cr_assert(skip, "%s is not skipped", name);
        cr_expect(!reason || strstr(skip->reason, reason->text),
                  "%s: skipped because \"%s\"", name, skip->reason);
        if (!reason)
            cr_expect_eq(skip->code, TP_E_UNSUPPORTED, "%s", name);
        return;
    }
    const struct tp_tensor *tensor = find(file, want->key);
    cr_assert(tensor, "%s is missing", name);
    expected_tensor_check(want, tensor, name);
}

/* The CRC-32 a storage carries, against zlib's of what it reads. */
static void check_crc(const struct tp_tensor *tensor, const char *name)
{
    const struct tp_storage *storage = tensor->storage;
    struct tp_error err = {0};
    if (!storage || !storage->has_crc32)
        return;
    unsigned char *bytes = malloc((size_t)storage->size + 1);
    cr_assert_eq(storage->read(storage, 0, bytes, (size_t)storage->size, &err),
                 TP_OK, "%s: %s", name, err.message);
    bool equal = crc32(0, bytes, (uInt)storage->size) == storage->crc32;
    bool torn = strcmp(name, "bad-crc-storage.pt") == 0 &&
                strcmp(tensor->path, "t") == 0;
    cr_expect_neq(equal, torn, "%s '%s': CRC-32", name, tensor->path);
    free(bytes);
}

/* The format that the name of a test file tells. */
static const char *named_format(const char *name)
{
    return strstr(name, ".legacy.") ? "torch_legacy"
           : strstr(name, ".pkl")   ? "torch_pickle"
                                    : "torch_zip";
}

static void check_file(const char *folder, const struct json *want)
{
    char path[4096], name[4096];
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
        cr_expect_eq(status, TP_OK, "%s: %s", want->key, err.message);
        size_t skips = 0, paths = 0;
        cr_expect_str_eq(file.format->name, named_format(want->key), "%s",
                         want->key);
        const bool older = strncmp(want->key, "quantized.", 10) == 0;
        if (older) { /* the zoo knows no rows of real values */
            cr_expect(find(&file, "") && find(&file, "#value"), "%s",
                      want->key);
            paths = 2;
        }
        for (const struct json *i = want->first; i && !older;
             i = i->next, paths++) {
            snprintf(name, sizeof name, "%s '%s'", want->key, i->key);
            check_path(&file, i, name);
        }
        for (const struct tp_skip *s = file.skips; s; s = s->next)
            skips++;
        for (size_t i = 0; i < file.tensor_count; i++)
            check_crc(&file.tensors[i], want->key);
        cr_expect_eq(file.tensor_count + skips, paths,
                     "%s: %zu tensors and %zu skips, expected are %zu",
                     want->key, file.tensor_count, skips, paths);
    }
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}

/* Checks every file the expectations name; returns their number. */
static size_t check_folder(const char *folder, const char *expectations)
{
    char path[4096];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, expectations);
    struct json *json = json_read(path);
    if (!json)
        return 0;
    for (const struct json *i = json->first; i; i = i->next, count++)
        check_file(folder, i);
    json_free(json);
    return count;
}

Test(torch_files, zoo)
{
    char folder[4096];
    shared_path("dumps/torch_zoo", folder, sizeof folder);
    const size_t count = check_folder(folder, "expected.json");
    if (count == 0)
        cr_skip_test("%s is not here", folder);
    cr_expect_eq(count, 74);
}

Test(torch_files, testdata)
{
    char folder[4096];
    testdata_path("torch", folder, sizeof folder);
    cr_expect_gt(check_folder(folder, "expected.json"), 70);
}

/* Labels come from the payload's metadata, then from the name. */
Test(torch_files, labels)
{
    char path[4096];
    struct tp_tensor_file file = {0};
    struct tp_error err = {0};
    snprintf(path, sizeof path, "%s/testdata/torch/good-plain-protocol4.pkl",
             source_dir());
    cr_assert_eq(tp_tensor_file_open(path, &file, &err), TP_OK, "%s",
                 err.message);
    cr_expect_eq(file.label.rank, 1);
    cr_expect_eq(file.label.layer_idx, -1);
    cr_expect_str_eq(file.label_conflict, "");
    tp_tensor_file_close(&file);
    cr_expect_eq(tp_tensor_file_open("/nowhere/x.pt", &file, &err), TP_E_IO);
    cr_expect_str_eq(err.file, "/nowhere/x.pt");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
}
