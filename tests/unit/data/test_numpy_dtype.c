/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "data/numpy_dtype.h"

/* Type strings as numpy 2.4 gives them: numpy.dtype(name).str. */
Test(numpy_dtype, known)
{
    static const struct {
        const char *text, *name;
        bool big_endian, assumed;
    } rows[] = {
        {"<f4", "float32", false, false},   {">f8", "float64", true, false},
        {"<f2", "float16", false, false},   {"|b1", "bool", false, false},
        {"|i1", "int8", false, false},      {">i2", "int16", true, false},
        {"<i4", "int32", false, false},     {"=i8", "int64", false, false},
        {"|u1", "uint8", false, false},     {"<u2", "uint16", false, false},
        {"<u4", "uint32", false, false},    {"u8", "uint64", false, false},
        {"<c8", "complex64", false, false}, {">c16", "complex128", true, false},
        {"<V2", "bfloat16", false, true},   {"|V2", "bfloat16", false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_numpy_dtype type;
        cr_assert_eq(tp_numpy_dtype_read(rows[i].text, strlen(rows[i].text),
                                         &type, NULL),
                     TP_OK, "%s", rows[i].text);
        cr_expect_str_eq(tp_dtype_info(type.dtype)->name, rows[i].name);
        cr_expect_eq(type.big_endian, rows[i].big_endian, "%s", rows[i].text);
        cr_expect_eq(type.assumed, rows[i].assumed, "%s", rows[i].text);
    }
}

Test(numpy_dtype, others)
{
    static const struct {
        const char *text, *part;
        enum tp_status status;
    } rows[] = {
        {"|V1", "float8", TP_E_UNSUPPORTED},
        {"|V8", "records", TP_E_UNSUPPORTED},
        {"<f16", "long double", TP_E_UNSUPPORTED},
        {"|O", "pickle", TP_E_UNSUPPORTED},
        {"|O8", "pickle", TP_E_UNSUPPORTED},
        {"<U12", "strings", TP_E_UNSUPPORTED},
        {"|S3", "bytes", TP_E_UNSUPPORTED},
        {"<M8[ns]", "time", TP_E_UNSUPPORTED},
        {"<q9", "no type", TP_E_DAMAGED},
        {"", "no type", TP_E_DAMAGED},
        {"<", "no type", TP_E_DAMAGED},
        {"f3", "no type", TP_E_DAMAGED},
        {"\x01\xff", "no type", TP_E_DAMAGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_numpy_dtype type;
        struct tp_error err = {0};
        cr_expect_eq(tp_numpy_dtype_read(rows[i].text, strlen(rows[i].text),
                                         &type, &err),
                     rows[i].status, "%s", rows[i].text);
        cr_expect(strstr(err.message, rows[i].part), "%s: %s", rows[i].text,
                  err.message);
    }
}
