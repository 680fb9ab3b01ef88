/* SPDX-License-Identifier: MIT */
/*
 * numpy's type strings as a table of letter, bytes and dtype, searched from
 * the front. Types of other packages have no letter: ml_dtypes' bfloat16 is
 * written as two bytes of nothing ("V2"), which nobody else writes, while its
 * twelve types of one byte all become "V1" and cannot be told apart. Cost: some
 * comparisons for each array.
 */
#include "data/numpy_dtype.h"

#include <string.h>

static const struct known {
    const char *code; /* letter and bytes */
    enum tp_dtype dtype;
} known[] = {
    {"f4", TP_FLOAT32},  {"f2", TP_FLOAT16},   {"f8", TP_FLOAT64},
    {"V2", TP_BFLOAT16}, {"i8", TP_INT64},     {"i4", TP_INT32},
    {"i2", TP_INT16},    {"i1", TP_INT8},      {"u1", TP_UINT8},
    {"u2", TP_UINT16},   {"u4", TP_UINT32},    {"u8", TP_UINT64},
    {"b1", TP_BOOL},     {"c8", TP_COMPLEX64}, {"c16", TP_COMPLEX128},
};

/* What a letter stands for that has no dtype of ours, whatever its size. */
static const struct other {
    const char *code; /* whole, or one letter */
    const char *what;
} others[] = {
    {"V1", "one byte of a type that numpy has no name for: any of the float8, "
           "float4 or int4 types; save it with its name, or as float32"},
    {"f16", "long double, whose layout depends on the machine"},
    {"c32", "complex long double, whose layout depends on the machine"},
    {"O", "objects of Python, which are a pickle"},
    {"S", "strings of bytes"},
    {"a", "strings of bytes"},
    {"U", "strings"},
    {"T", "strings"},
    {"M", "points in time"},
    {"m", "differences of times"},
    {"V", "records of bytes without a meaning"},
};

static bool is_code(const char *code, const char *text, size_t length)
{
    return strlen(code) == length && memcmp(code, text, length) == 0;
}

static const char *what_else(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *code = others[i].code;
        if (is_code(code, text, length) || (!code[1] && code[0] == text[0]))
            return others[i].what;
    }
    return NULL;
}

/* The text for a message: it may be anything. */
static void shown(const char *text, size_t length, char room[32])
{
    size_t n = length < 24 ? length : 24;
    for (size_t i = 0; i < n; i++)
        room[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    memcpy(room + n, n < length ? "..." : "", n < length ? 4 : 1);
}

enum tp_status tp_numpy_dtype_read(const char *text, size_t length,
                                   struct tp_numpy_dtype *type,
                                   struct tp_error *err)
{
    char name[32];
    const bool ordered = length > 0 && strchr("<>|=", text[0]) && text[0];
    const char *code = text + ordered;
    const size_t size = length - ordered;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!is_code(known[i].code, code, size))
            continue;
        *type = (struct tp_numpy_dtype){
            .dtype = known[i].dtype,
            .big_endian = ordered && text[0] == '>',
            .assumed = code[0] == 'V',
        };
        return TP_OK;
    }
    shown(text, length, name);
    const char *what = size ? what_else(code, size) : NULL;
    if (!what)
        return tp_fail(err, TP_E_DAMAGED, -1, "'%s' is no type of numpy", name);
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "its elements are '%s', %s; they are not read", name, what);
}
