/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/scaled.h"
#include "formats/reader.h"
#include "tests/unit/support/testdata.h"

/*
 * Quantised tensors of every kind against what torch, torchao, or code and
 * scale taken one by one make of them: the files of testdata/quantised hold it
 * beside the codes (tests/make_quantised_files.py). Not an ulp may differ.
 */

static const char value[] = "#value";

static void open_file(const char *name, struct tp_tensor_file *file)
{
    char below[256], path[4096];
    struct tp_error err = {0};
    snprintf(below, sizeof below, "quantised/%s", name);
    testdata_path(below, path, sizeof path);
    memset(file, 0, sizeof *file);
    cr_assert_eq(tp_tensor_file_open(path, file, &err), TP_OK, "%s: %s", name,
                 err.message);
}

static void close_file(struct tp_tensor_file *file)
{
    tp_tensor_file_close(file);
    tp_arena_clear(&file->arena);
}

static const struct tp_tensor *find(const struct tp_tensor_file *file,
                                    const char *path)
{
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (!strcmp(file->tensors[i].path, path))
            return &file->tensors[i];
    }
    return NULL;
}

static float *read_all(const struct tp_tensor *tensor)
{
    struct tp_walk walk;
    struct tp_error err = {0};
    float *values = malloc((size_t)tensor->numel * sizeof *values + 1);
    void *scratch = malloc(TP_CHUNK_BYTES);
    cr_assert(values && scratch && tensor->dtype == TP_FLOAT32);
    tp_walk_ordered(tensor, &walk);
    cr_assert_eq(tp_walk_read(&walk, 0, (size_t)tensor->numel, values, scratch,
                              &err),
                 TP_OK, "%s: %s", tensor->path, err.message);
    free(scratch);
    return values;
}

static bool are_same(float a, float b)
{
    return a == b || (a != a && b != b);
}

/* Any range of bytes is what the whole has there. */
static void check_ranges(const struct tp_tensor *tensor)
{
    const struct tp_storage *storage = tensor->storage;
    size_t size = (size_t)storage->size;
    unsigned char *whole = malloc(size + 1), *part = malloc(size + 1);
    cr_assert(whole && part);
    cr_assert_eq(storage->read(storage, 0, whole, size, NULL), TP_OK);
    for (size_t from = 0; from < size; from += 1 + from / 3) {
        size_t n = size - from < 37 ? size - from : 37;
        cr_assert_eq(storage->read(storage, from, part, n, NULL), TP_OK);
        cr_assert(memcmp(whole + from, part, n) == 0, "%s: bytes from %zu",
                  tensor->path, from);
    }
    struct tp_error err = {0};
    cr_assert_eq(storage->read(storage, size, part, 1, &err), TP_E_DAMAGED);
    free(whole);
    free(part);
}

static void compare(const struct tp_tensor *want, const struct tp_tensor *got)
{
    float *x = read_all(want), *y = read_all(got);
    cr_assert_eq(want->ndim, got->ndim, "%s", got->path);
    for (int i = 0; i < want->ndim; i++)
        cr_assert_eq(want->shape[i], got->shape[i], "%s", got->path);
    for (int64_t i = 0; i < want->numel; i++)
        cr_assert(are_same(x[i], y[i]), "%s[%lld] is %.9g, not %.9g",
                  got->path, (long long)i, (double)y[i], (double)x[i]);
    check_ranges(got);
    free(x);
    free(y);
}

/* Compares all that the file expects; returns how many. */
static int check_file(const char *name)
{
    struct tp_tensor_file file;
    int compared = 0;
    open_file(name, &file);
    cr_expect_null(file.skips, "%s: %s", name,
                   file.skips ? file.skips->reason : "");
    for (size_t i = 0; i < file.tensor_count; i++) {
        const struct tp_tensor *want = &file.tensors[i];
        char path[256];
        if (strncmp(want->path, "expect.", 7) != 0)
            continue;
        snprintf(path, sizeof path, "%s%s", want->path + 7, value);
        const struct tp_tensor *got = find(&file, path);
        cr_assert_not_null(got, "%s: no %s", name, path);
        cr_assert(got->scaled && !got->encoded);
        cr_expect(got->scaled->codes->numel == 0 ||
                  got->scaled->codes->storage);
        compare(want, got);
        compared++;
    }
    close_file(&file);
    cr_expect(compared > 0, "%s expects nothing", name);
    return compared;
}

Test(value_layouts, values_are_what_others_make_of_them)
{
    char folder[4096];
    int files = 0, tensors = 0;
    testdata_path("quantised", folder, sizeof folder);
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "good-", 5) != 0)
            continue;
        tensors += check_file(entry->d_name);
        files++;
    }
    closedir(dir);
    cr_expect(files >= 20 && tensors >= 40, "%d files, %d tensors", files,
              tensors);
}

Test(value_layouts, codes_and_scales_are_marked_and_stay)
{
    struct tp_tensor_file file;
    open_file("good-fp8.pt", &file);
    static const char *const encoded[] = {"a.weight", "a.weight_scale",
                                          "a.input_scale", "b.weight"};
    for (size_t i = 0; i < sizeof encoded / sizeof *encoded; i++) {
        const struct tp_tensor *tensor = find(&file, encoded[i]);
        cr_assert(tensor && tensor->encoded, "%s", encoded[i]);
    }
    cr_expect(!find(&file, "expect.a.weight")->encoded);
    /* the values stand behind their codes */
    cr_expect_eq(find(&file, "a.weight#value"), find(&file, "a.weight") + 1);
    close_file(&file);
}

/* Words of the reason why there are no values of a path. */
static const struct {
    const char *file, *path, *reason;
    enum tp_status code;
} refused[] = {
    {"bad-shapes.pt", "a.weight", "codes [200,300] and scales [3,3] disagree",
     TP_E_DAMAGED},
    {"bad-shapes.pt", "b.weight_packed", "scales [6,5] disagree",
     TP_E_DAMAGED},
    {"bad-shapes.pt", "c.weight_packed", "disagree", TP_E_DAMAGED},
    {"bad-te_shape.pt", "q", "given as [40,65], its codes are [40,64]",
     TP_E_DAMAGED},
    {"bad-scale_missing/model.pt", "a.weight", "without scales",
     TP_E_NOT_FOUND},
    {"bad-scale_missing/packed.pt", "a.weight_packed", "without scales",
     TP_E_NOT_FOUND},
    {"bad-scale_missing/packed.pt", "b.gate_up_proj_blocks", "without scales",
     TP_E_NOT_FOUND},
    {"unsupported-zero_point.pt", "a.weight", "_zero_point", TP_E_UNSUPPORTED},
    {"unsupported-gptq.pt", "a.qweight", "GPTQ or AWQ", TP_E_UNSUPPORTED},
};

Test(value_layouts, what_contradicts_itself_is_named)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct tp_tensor_file file;
        const struct tp_skip *skip;
        open_file(refused[i].file, &file);
        for (skip = file.skips; skip; skip = skip->next) {
            if (!strcmp(skip->path, refused[i].path))
                break;
        }
        cr_assert_not_null(skip, "%s: %s", refused[i].file, refused[i].path);
        cr_expect_eq(skip->code, refused[i].code, "%s", skip->reason);
        cr_expect(strstr(skip->reason, refused[i].reason), "%s",
                  skip->reason);
        for (size_t k = 0; k < file.tensor_count; k++)
            cr_expect_null(file.tensors[k].scaled, "%s",
                           file.tensors[k].path);
        cr_expect(find(&file, refused[i].path) || i == 3);
        close_file(&file);
    }
}
