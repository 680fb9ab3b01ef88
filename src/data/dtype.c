/* SPDX-License-Identifier: MIT */
/*
 * The dtypes as rows, and their codes as doubles, exactly for all but integers
 * above 2^53. Floating codes of 8 and 16 bits are taken apart into sign,
 * exponent and fraction by one function that knows their layout; all else is
 * a conversion of C's.
 *
 * Alternative: tables of 256 or 65 536 values. Whoever decodes a lot of narrow
 * codes counts them instead (stats/codes.c) and decodes each value once.
 *
 * Cost: one pass, some ten operations a code of a small format.
 */
#include "data/dtype.h"

#include <assert.h>
#include <string.h>

#include "data/dtype_math.h"

#define FLOATING(self, torch_name, storage_class, bytes, bits, number)       \
    [self] = {.name = torch_name, .storage = storage_class,                  \
              .kind = TP_CLASS_FLOAT, .size = bytes, .code_size = bytes,     \
              .parts = 1, .real = self, .significand = bits,                 \
              .format = number}
#define INTEGER(self, torch_name, storage_class, bytes)                      \
    [self] = {.name = torch_name, .storage = storage_class,                  \
              .kind = TP_CLASS_INTEGER, .size = bytes, .code_size = bytes,   \
              .parts = 1, .real = self, .significand = 0, .format = ""}
#define PACKED(self, torch_name, bits, digits, number)                       \
    [self] = {.name = torch_name, .storage = NULL, .kind = TP_CLASS_FLOAT,   \
              .size = 1, .code_size = 1, .parts = 1, .real = self,           \
              .significand = digits, .format = number, .packed = bits}
#define COMPLEX(self, torch_name, storage_class, bytes, part, bits)          \
    [self] = {.name = torch_name, .storage = storage_class,                  \
              .kind = TP_CLASS_COMPLEX, .size = bytes,                       \
              .code_size = (bytes) / 2, .parts = 2, .real = part,            \
              .significand = bits, .format = ""}

static const struct tp_dtype_info rows[TP_DTYPE_COUNT] = {
    FLOATING(TP_FLOAT64, "float64", "DoubleStorage", 8, 53, ""),
    FLOATING(TP_FLOAT32, "float32", "FloatStorage", 4, 24, ""),
    FLOATING(TP_FLOAT16, "float16", "HalfStorage", 2, 11, "fp16"),
    FLOATING(TP_BFLOAT16, "bfloat16", "BFloat16Storage", 2, 8, "bf16"),
    FLOATING(TP_FLOAT8_E4M3FN, "float8_e4m3fn", NULL, 1, 4, "e4m3"),
    FLOATING(TP_FLOAT8_E5M2, "float8_e5m2", NULL, 1, 3, "e5m2"),
    FLOATING(TP_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", NULL, 1, 4, "e4m3fnuz"),
    FLOATING(TP_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", NULL, 1, 3, "e5m2fnuz"),
    FLOATING(TP_FLOAT8_E8M0FNU, "float8_e8m0fnu", NULL, 1, 1, ""),
    PACKED(TP_FLOAT6_E3M2FN, "float6_e3m2fn", 6, 3, "e3m2"),
    PACKED(TP_FLOAT6_E2M3FN, "float6_e2m3fn", 6, 4, "e2m3"),
    PACKED(TP_FLOAT4_E2M1FN_X2, "float4_e2m1fn_x2", 4, 2, "e2m1"),
    INTEGER(TP_UINT8, "uint8", "ByteStorage", 1),
    INTEGER(TP_UINT16, "uint16", NULL, 2),
    INTEGER(TP_UINT32, "uint32", NULL, 4),
    INTEGER(TP_UINT64, "uint64", NULL, 8),
    INTEGER(TP_INT8, "int8", "CharStorage", 1),
    INTEGER(TP_INT16, "int16", "ShortStorage", 2),
    INTEGER(TP_INT32, "int32", "IntStorage", 4),
    INTEGER(TP_INT64, "int64", "LongStorage", 8),
    INTEGER(TP_BOOL, "bool", "BoolStorage", 1),
    COMPLEX(TP_COMPLEX32, "complex32", NULL, 4, TP_FLOAT16, 11),
    COMPLEX(TP_COMPLEX64, "complex64", "ComplexFloatStorage", 8, TP_FLOAT32,
            24),
    COMPLEX(TP_COMPLEX128, "complex128", "ComplexDoubleStorage", 16,
            TP_FLOAT64, 53),
};

const struct tp_dtype_info *tp_dtype_info(enum tp_dtype dtype)
{
    assert((unsigned)dtype < TP_DTYPE_COUNT);
    return &rows[dtype];
}

enum tp_dtype tp_dtype_by_name(const char *name)
{
    int i = 0;
    while (i < TP_DTYPE_COUNT && strcmp(rows[i].name, name) != 0) {
        i++;
    }
    return (enum tp_dtype)i;
}

enum tp_dtype tp_dtype_by_storage(const char *name)
{
    int i = 0;
    while (i < TP_DTYPE_COUNT &&
           (!rows[i].storage || strcmp(rows[i].storage, name) != 0)) {
        i++;
    }
    return (enum tp_dtype)i;
}

static void decode_small(enum tp_dtype dtype, size_t size,
                         const unsigned char *codes, size_t n,
                         double *values)
{
    const struct tp_layout layout = tp_layout_of(dtype);
    for (size_t i = 0; i < n; i++) {
        uint16_t code = codes[i * size];
        if (size == 2) {
            memcpy(&code, codes + 2 * i, 2);
        }
        values[i] = tp_small_value(code, &layout);
    }
}

static void decode_bfloat16(const unsigned char *codes, size_t n,
                            double *values)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t code;
        memcpy(&code, codes + 2 * i, 2);
        const uint32_t bits = (uint32_t)code << 16;
        float value;
        memcpy(&value, &bits, 4);
        values[i] = value;
    }
}

static void decode_e8m0(const unsigned char *codes, size_t n, double *values)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = tp_e8m0_code_value(codes[i]);
    }
}

static void decode_bool(const unsigned char *codes, size_t n, double *values)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = codes[i] != 0;
    }
}

/* Copies each code into a `type` first, since codes may lie unaligned. */
#define DECODE_AS(type)                                                      \
    for (size_t i = 0; i < n; i++) {                                         \
        type code;                                                           \
        memcpy(&code, bytes + i * sizeof code, sizeof code);                 \
        values[i] = (double)code;                                            \
    }                                                                        \
    break

void tp_dtype_decode(enum tp_dtype dtype, const void *codes, size_t n,
                     double *values)
{
    const unsigned char *bytes = codes;
    switch (tp_dtype_info(dtype)->real) {
    case TP_FLOAT64: DECODE_AS(double);
    case TP_FLOAT32: DECODE_AS(float);
    case TP_FLOAT16: decode_small(TP_FLOAT16, 2, bytes, n, values); break;
    case TP_BFLOAT16: decode_bfloat16(bytes, n, values); break;
    case TP_FLOAT8_E4M3FN:
    case TP_FLOAT8_E5M2:
    case TP_FLOAT8_E4M3FNUZ:
    case TP_FLOAT8_E5M2FNUZ:
    case TP_FLOAT6_E3M2FN:
    case TP_FLOAT6_E2M3FN:
    case TP_FLOAT4_E2M1FN_X2: decode_small(dtype, 1, bytes, n, values); break;
    case TP_FLOAT8_E8M0FNU: decode_e8m0(bytes, n, values); break;
    case TP_UINT8: DECODE_AS(uint8_t);
    case TP_UINT16: DECODE_AS(uint16_t);
    case TP_UINT32: DECODE_AS(uint32_t);
    case TP_UINT64: DECODE_AS(uint64_t);
    case TP_INT8: DECODE_AS(int8_t);
    case TP_INT16: DECODE_AS(int16_t);
    case TP_INT32: DECODE_AS(int32_t);
    case TP_INT64: DECODE_AS(int64_t);
    case TP_BOOL: decode_bool(bytes, n, values); break;
    default: assert(!"a part of a complex number is a real dtype");
    }
}

static void swap_2(unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t c;
        memcpy(&c, codes + 2 * i, 2);
        c = (uint16_t)(c << 8 | c >> 8);
        memcpy(codes + 2 * i, &c, 2);
    }
}

static uint32_t reversed_4(uint32_t c)
{
    return c << 24 | (c & 0xff00u) << 8 | (c >> 8 & 0xff00u) | c >> 24;
}

static void swap_4(unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t c;
        memcpy(&c, codes + 4 * i, 4);
        c = reversed_4(c);
        memcpy(codes + 4 * i, &c, 4);
    }
}

static void swap_8(unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t c;
        memcpy(&c, codes + 8 * i, 8);
        c = (uint64_t)reversed_4((uint32_t)c) << 32 |
            reversed_4((uint32_t)(c >> 32));
        memcpy(codes + 8 * i, &c, 8);
    }
}

void tp_dtype_swap(void *codes, size_t n, size_t code_size)
{
    switch (code_size) {
    case 1: break;
    case 2: swap_2(codes, n); break;
    case 4: swap_4(codes, n); break;
    case 8: swap_8(codes, n); break;
    default: assert(!"codes have 1, 2, 4 or 8 bytes");
    }
}
