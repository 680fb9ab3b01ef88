/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_PT_MAKER_H
#define TP_TESTS_PT_MAKER_H

/*
 * Small tensors as torch.save writes them, without torch: the archive of a
 * pickle that says _rebuild_tensor_v2(storage, 0, shape, stride, False, {}).
 * The opcodes are those of Python's pickletools; what the files hold was
 * compared with torch.load.
 */
#include "tests/unit/support/dump_maker.h"

#include <zip.h>

/* A class of storage, and bytes of its elements. */
struct pt_dtype {
    const char *storage;
    size_t size;
};

static const struct pt_dtype pt_float32 = {"FloatStorage", 4};
static const struct pt_dtype pt_bfloat16 = {"BFloat16Storage", 2};
static const struct pt_dtype pt_float16 = {"HalfStorage", 2};
static const struct pt_dtype pt_int64 = {"LongStorage", 8};

static inline void pt_add(char **at, const void *bytes, size_t size)
{
    memcpy(*at, bytes, size);
    *at += size;
}

/* A literal, which may hold NUL. */
#define PT_ADD(at, literal) pt_add(at, literal, sizeof(literal) - 1)

static inline void pt_text(char **at, const char *text)
{
    const char head[5] = {'X', (char)strlen(text), 0, 0, 0}; /* BINUNICODE */
    pt_add(at, head, sizeof head);
    pt_add(at, text, strlen(text));
}

static inline void pt_int(char **at, uint32_t value)
{
    const char bytes[5] = {'J', (char)value, (char)(value >> 8), /* BININT */
                           (char)(value >> 16), (char)(value >> 24)};
    pt_add(at, bytes, sizeof bytes);
}

/* A tuple of whole numbers. */
static inline void pt_tuple(char **at, const int64_t *numbers, int count)
{
    PT_ADD(at, "("); /* MARK */
    for (int i = 0; i < count; i++)
        pt_int(at, (uint32_t)numbers[i]);
    PT_ADD(at, "t"); /* TUPLE */
}

/* Writes the pickle of a row-major tensor of at most 4 axes; returns its
 * bytes. */
static inline size_t pt_pickle(char *pickle, const struct pt_dtype *dtype,
                               const int64_t *shape, int ndim)
{
    char *at = pickle;
    int64_t stride[4], numel = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = numel;
        numel *= shape[i];
    }
    PT_ADD(&at, "\x80\x02"
                "ctorch._utils\n_rebuild_tensor_v2\n((");
    pt_text(&at, "storage");
    at += sprintf(at, "ctorch\n%s\n", dtype->storage);
    pt_text(&at, "0");
    pt_text(&at, "cpu");
    pt_int(&at, (uint32_t)numel);
    PT_ADD(&at, "tQK\0");
    pt_tuple(&at, shape, ndim);
    pt_tuple(&at, stride, ndim);
    PT_ADD(&at, "\x89"
                "ccollections\nOrderedDict\n)RtR.");
    return (size_t)(at - pickle);
}

static inline void pt_record(zip_t *zip, const char *name, const void *bytes,
                             size_t size)
{
    zip_source_t *source = zip_source_buffer(zip, bytes, size, 0);
    cr_assert_not_null(source);
    zip_int64_t index = zip_file_add(zip, name, source, 0);
    cr_assert_geq(index, 0);
    cr_assert_eq(
        zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0), 0);
}

/* Writes a row-major tensor, its elements at `data`, as a file of the maker. */
static inline void pt_put_shaped(const struct maker *maker, const char *name,
                                 const struct pt_dtype *dtype, const void *data,
                                 const int64_t *shape, int ndim)
{
    char path[512], pickle[512];
    size_t bytes = dtype->size;
    for (int i = 0; i < ndim; i++)
        bytes *= (size_t)shape[i];
    maker_put(maker, name, ""); /* makes its folders */
    maker_path(maker, name, path, sizeof path);
    size_t length = pt_pickle(pickle, dtype, shape, ndim);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    cr_assert_not_null(zip);
    pt_record(zip, "archive/data.pkl", pickle, length);
    pt_record(zip, "archive/data/0", data, bytes);
    pt_record(zip, "archive/version", "3\n", 2);
    cr_assert_eq(zip_close(zip), 0);
}

/* The same of a single axis. */
static inline void pt_put(const struct maker *maker, const char *name,
                          const struct pt_dtype *dtype, const void *data,
                          size_t numel)
{
    const int64_t shape = (int64_t)numel;
    pt_put_shaped(maker, name, dtype, data, &shape, 1);
}

#endif
