/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "data/dtype.h"
#include "tests/unit/support/vectors.h"

static double decoded(enum tp_dtype dtype, const void *code)
{
    double value;
    tp_dtype_decode(dtype, code, 1, &value);
    return value;
}

/* Bit equal, and all NaN alike. */
static bool identical(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_small(enum tp_dtype dtype, const char *file,
                        const char *format, int value_field)
{
    struct vectors v = vectors_open(file);
    int rows = 0;
    while (vectors_next(&v)) {
        if (format && strcmp(v.field[0], format) != 0) {
            continue;
        }
        const char *text = v.field[format ? 1 : 0];
        const unsigned char code = (unsigned char)strtoul(text, NULL, 16);
        const double value = strtod(v.field[value_field], NULL);
        cr_assert(identical(decoded(dtype, &code), value), "%s %s: %a",
                  tp_dtype_info(dtype)->name, text, decoded(dtype, &code));
        rows++;
    }
    cr_assert_eq(rows, 256);
}

Test(dtype, bytes_decode_as_the_code_tables_say)
{
    check_small(TP_FLOAT8_E4M3FN, "small_codes.csv", "e4m3fn", 2);
    check_small(TP_FLOAT8_E5M2, "small_codes.csv", "e5m2", 2);
    check_small(TP_FLOAT8_E4M3FNUZ, "small_codes.csv", "e4m3fnuz", 2);
    check_small(TP_FLOAT8_E5M2FNUZ, "small_codes.csv", "e5m2fnuz", 2);
    check_small(TP_FLOAT8_E8M0FNU, "e8m0_codes.csv", NULL, 1);
}

Test(dtype, every_bfloat16_is_the_upper_half_of_a_binary32)
{
    for (uint32_t code = 0; code < 65536; code++) {
        const uint16_t half = (uint16_t)code;
        const uint32_t bits = code << 16;
        float value;
        memcpy(&value, &bits, 4);
        cr_assert(identical(decoded(TP_BFLOAT16, &half), value));
    }
}

/* IEEE 754 section 3.4, with the compiler's arithmetic as the oracle. */
Test(dtype, every_float16_has_its_value)
{
    for (unsigned code = 0; code < 65536; code++) {
        const uint16_t half = (uint16_t)code;
        const int sign = code & 0x8000 ? -1 : 1;
        const int exponent = (int)(code >> 10 & 31);
        const int fraction = (int)(code & 1023);
        double value = exponent == 0 ? ldexp(fraction, -24)
                                     : ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31) {
            value = fraction ? NAN : INFINITY;
        }
        cr_assert(identical(decoded(TP_FLOAT16, &half), sign * value),
                  "%04x", code);
    }
}

Test(dtype, wide_codes_and_integers_at_their_ends)
{
    cr_assert_eq(decoded(TP_FLOAT32, &(float){-0x1.8p-149f}), -0x1p-148);
    cr_assert_eq(decoded(TP_FLOAT64, &(double){0x1.23456789abcdep-3}),
                 0x1.23456789abcdep-3);
    cr_assert_eq(decoded(TP_UINT8, &(uint8_t){255}), 255);
    cr_assert_eq(decoded(TP_INT8, &(int8_t){-128}), -128);
    cr_assert_eq(decoded(TP_UINT16, &(uint16_t){65535}), 65535);
    cr_assert_eq(decoded(TP_INT16, &(int16_t){-32768}), -32768);
    cr_assert_eq(decoded(TP_UINT32, &(uint32_t){UINT32_MAX}), 4294967295.0);
    cr_assert_eq(decoded(TP_INT32, &(int32_t){INT32_MIN}), -2147483648.0);
    cr_assert_eq(decoded(TP_UINT64, &(uint64_t){UINT64_MAX}), 0x1p64);
    cr_assert_eq(decoded(TP_INT64, &(int64_t){INT64_MIN}), -0x1p63);
    cr_assert_eq(decoded(TP_BOOL, &(uint8_t){0}), 0);
    cr_assert_eq(decoded(TP_BOOL, &(uint8_t){7}), 1);
}

Test(dtype, complex_numbers_decode_as_their_parts_at_any_alignment)
{
    const float parts[] = {1.5f, -2, 0, 1e30f};
    unsigned char bytes[sizeof parts + 1];
    memcpy(bytes + 1, parts, sizeof parts);
    double values[4];
    tp_dtype_decode(TP_COMPLEX64, bytes + 1, 4, values);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(values[i], parts[i]);
    }
}

Test(dtype, names_and_storage_classes_find_their_rows)
{
    static const struct {
        const char *storage, *name;
        int size;
    } torch[] = {
        {"DoubleStorage", "float64", 8},
        {"FloatStorage", "float32", 4},
        {"HalfStorage", "float16", 2},
        {"BFloat16Storage", "bfloat16", 2},
        {"ByteStorage", "uint8", 1},
        {"CharStorage", "int8", 1},
        {"ShortStorage", "int16", 2},
        {"IntStorage", "int32", 4},
        {"LongStorage", "int64", 8},
        {"BoolStorage", "bool", 1},
        {"ComplexFloatStorage", "complex64", 8},
        {"ComplexDoubleStorage", "complex128", 16},
    };
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++) {
        const enum tp_dtype dtype = tp_dtype_by_storage(torch[i].storage);
        cr_assert_neq(dtype, TP_DTYPE_COUNT);
        cr_assert_eq(dtype, tp_dtype_by_name(torch[i].name));
        cr_assert_eq(tp_dtype_info(dtype)->size, torch[i].size);
    }
    cr_assert_eq(tp_dtype_by_storage("QInt8Storage"), TP_DTYPE_COUNT);
    cr_assert_eq(tp_dtype_by_name("qint8"), TP_DTYPE_COUNT);
    cr_assert_eq(tp_dtype_by_name("float8_e5m2fnuz"), TP_FLOAT8_E5M2FNUZ);
    cr_assert_eq(tp_dtype_by_name("complex32"), TP_COMPLEX32);
}

Test(dtype, rows_are_consistent)
{
    for (int i = 0; i < TP_DTYPE_COUNT; i++) {
        const struct tp_dtype_info *row = tp_dtype_info((enum tp_dtype)i);
        cr_assert_eq(tp_dtype_by_name(row->name), (enum tp_dtype)i);
        cr_assert_eq(row->size, row->parts * row->code_size);
        cr_assert_eq(tp_dtype_info(row->real)->size, row->code_size);
        cr_assert_eq(row->kind == TP_CLASS_INTEGER, row->significand == 0);
        cr_assert_not_null(row->format);
    }
}

Test(dtype, swapping_twice_is_nothing_and_once_reverses)
{
    unsigned char bytes[16], back[16];
    for (int i = 0; i < 16; i++) {
        bytes[i] = (unsigned char)(i * 17 + 3);
    }
    for (size_t size = 1; size <= 8; size *= 2) {
        memcpy(back, bytes, 16);
        tp_dtype_swap(back, 16 / size, size);
        for (size_t i = 0; i < 16; i++) {
            cr_assert_eq(back[i], bytes[i / size * size + size - 1 -
                                        i % size]);
        }
        tp_dtype_swap(back, 16 / size, size);
        cr_assert_arr_eq(back, bytes, 16);
    }
}
