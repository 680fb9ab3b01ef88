/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_PT_MAKER_H
#define TP_TESTS_PT_MAKER_H

/*
 * Small tensors as torch.save writes them, without torch: the archive of a
 * pickle that says _rebuild_tensor_v2(storage, 0, (numel,), (1,), False, {}).
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

/* Two axes at most. */
struct pt_shape {
    uint32_t rows; /* 0: there is one axis                                 */
    uint32_t columns;
};

/* Writes the pickle; returns its bytes. */
static inline size_t pt_pickle(char *pickle, const struct pt_dtype *dtype,
                               struct pt_shape shape)
{
    const uint32_t numel = (shape.rows ? shape.rows : 1) * shape.columns;
    char *at = pickle;
    PT_ADD(&at, "\x80\x02"
                "ctorch._utils\n_rebuild_tensor_v2\n((");
    pt_text(&at, "storage");
    at += sprintf(at, "ctorch\n%s\n", dtype->storage);
    pt_text(&at, "0");
    pt_text(&at, "cpu");
    pt_int(&at, numel);
    PT_ADD(&at, "tQK\0(");
    if (shape.rows)
        pt_int(&at, shape.rows);
    pt_int(&at, shape.columns);
    PT_ADD(&at, "t(");
    if (shape.rows)
        pt_int(&at, shape.columns);
    PT_ADD(&at, "K\x01t\x89"
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

/* Writes a tensor, its elements at `data`, as a file of the maker. */
static inline void pt_put_shaped(const struct maker *maker, const char *name,
                                 const struct pt_dtype *dtype, const void *data,
                                 struct pt_shape shape)
{
    const size_t numel = (size_t)(shape.rows ? shape.rows : 1) * shape.columns;
    char path[512], pickle[512];
    maker_put(maker, name, ""); /* makes its folders */
    maker_path(maker, name, path, sizeof path);
    size_t length = pt_pickle(pickle, dtype, shape);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    cr_assert_not_null(zip);
    pt_record(zip, "archive/data.pkl", pickle, length);
    pt_record(zip, "archive/data/0", data, numel * dtype->size);
    pt_record(zip, "archive/version", "3\n", 2);
    cr_assert_eq(zip_close(zip), 0);
}

/* The same with `numel` elements on one axis. */
static inline void pt_put(const struct maker *maker, const char *name,
                          const struct pt_dtype *dtype, const void *data,
                          size_t numel)
{
    pt_put_shaped(maker, name, dtype, data,
                  (struct pt_shape){0, (uint32_t)numel});
}

#endif
