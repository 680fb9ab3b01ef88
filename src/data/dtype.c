/* SPDX-License-Identifier: MIT */
/*
 * The dtypes as rows, and their codes as doubles, exactly for all but integers
 * above 2^53. Floating codes of 16 bits are taken apart into sign, exponent
 * and fraction by one function that knows their layout; the values of codes of
 * 8 bits and less stand in tables, which the compiler makes by the same rules
 * (a test compares them with that function); all else is a conversion of C's.
 *
 * Alternative: to take 8 bits apart as well costs ten times as much, and
 * statistics by index decode every value. A table of 65 536 values would push
 * from the nearest cache what is decoded with it.
 *
 * Cost: one pass; a load for each code of a small format, some ten operations
 * for one of binary16.
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

static void decode_float16(const unsigned char *codes, size_t n,
                           double *values)
{
    const struct tp_layout layout = tp_layout_of(TP_FLOAT16);
    for (size_t i = 0; i < n; i++) {
        uint16_t code;
        memcpy(&code, codes + 2 * i, 2);
        values[i] = tp_small_value(code, &layout);
    }
}

/* The values of codes of 8 bits, by sign and magnitude c, of f bits of fraction
 * and a bias: exact in binary32. At the edges each format is its own. */
#define POWER(e)                                                             \
    ((float)(1u << ((e) > 0 ? (e) : 0)) / (1u << ((e) < 0 ? -(e) : 0)))
#define FRACTION(c, f) ((float)((c) & ((1u << (f)) - 1)) / (1u << (f)))
#define NUMBER(c, f, bias)                                                   \
    ((c) >> (f) ? (1 + FRACTION(c, f)) * POWER((int)((c) >> (f)) - (bias))   \
                : FRACTION(c, f) * POWER(1 - (bias)))
#define E4M3FN(sign, c) ((c) == 0x7f ? NAN : sign NUMBER(c, 3, 7))
#define E5M2(sign, c)                                                        \
    ((c) > 0x7c ? NAN : sign((c) == 0x7c ? INFINITY : NUMBER(c, 2, 15)))
#define E4M3FNUZ(sign, c) (sign 1 < 0 && (c) == 0 ? NAN : sign NUMBER(c, 3, 8))
#define E5M2FNUZ(sign, c) \
    (sign 1 < 0 && (c) == 0 ? NAN : sign NUMBER(c, 2, 16))

#define CODES_4(value, sign, c)                                              \
    value(sign, c), value(sign, (c) + 1), value(sign, (c) + 2),              \
        value(sign, (c) + 3)
#define CODES_16(value, sign, c)                                             \
    CODES_4(value, sign, c), CODES_4(value, sign, (c) + 4),                  \
        CODES_4(value, sign, (c) + 8), CODES_4(value, sign, (c) + 12)
#define CODES_64(value, sign, c)                                             \
    CODES_16(value, sign, c), CODES_16(value, sign, (c) + 16),               \
        CODES_16(value, sign, (c) + 32), CODES_16(value, sign, (c) + 48)
#define CODES(value)                                                         \
    {                                                                        \
        CODES_64(value, +, 0u), CODES_64(value, +, 64u),                     \
            CODES_64(value, -, 0u), CODES_64(value, -, 64u)                  \
    }

static const float e4m3fn[256] = CODES(E4M3FN);
static const float e5m2[256] = CODES(E5M2);
static const float e4m3fnuz[256] = CODES(E4M3FNUZ);
static const float e5m2fnuz[256] = CODES(E5M2FNUZ);

static void look_up(const float table[256], const unsigned char *codes,
                    size_t n, double *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = table[codes[i]];
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
    if (n == 0) /* of no values there may be no memory */
        return;
    switch (tp_dtype_info(dtype)->real) {
    case TP_FLOAT64: memcpy(values, codes, n * sizeof *values); break;
    case TP_FLOAT32: DECODE_AS(float);
    case TP_FLOAT16: decode_float16(bytes, n, values); break;
    case TP_BFLOAT16: decode_bfloat16(bytes, n, values); break;
    case TP_FLOAT8_E4M3FN:
    case TP_FLOAT6_E3M2FN: /* widened, see struct tp_dtype_info */
    case TP_FLOAT6_E2M3FN:
    case TP_FLOAT4_E2M1FN_X2: look_up(e4m3fn, bytes, n, values); break;
    case TP_FLOAT8_E5M2: look_up(e5m2, bytes, n, values); break;
    case TP_FLOAT8_E4M3FNUZ: look_up(e4m3fnuz, bytes, n, values); break;
    case TP_FLOAT8_E5M2FNUZ: look_up(e5m2fnuz, bytes, n, values); break;
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
