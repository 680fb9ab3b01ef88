/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "formats/pt2/pt2_tensor.h"
#include "tests/unit/support/made_axes.h"

/* Numbers of dtypes as torch._export.serde.schema.ScalarType of torch 2.15 has
 * them; whole archives are compared in test_reader_files.c. */

static enum tp_status read_text(const char *text, struct tp_tensor *tensor,
                                struct tp_error *err)
{
    struct tp_json_parser *parser = tp_json_parser_new();
    struct tp_arena arena = {0};
    const struct tp_json *json;
    memset(tensor, 0, sizeof *tensor);
    cr_assert_eq(tp_json_parse(parser, text, strlen(text), &arena, &json, NULL),
                 TP_OK, "%s", text);
    enum tp_status status =
        tp_pt2_tensor_read(json, &arena, tensor, err);
    axes_of(tensor);
    tp_arena_clear(&arena);
    tp_json_parser_free(parser);
    return status;
}

Test(pt2_tensor, dtypes)
{
    static const struct {
        int number;
        const char *name;
    } rows[] = {
        {1, "uint8"},
        {2, "int8"},
        {3, "int16"},
        {4, "int32"},
        {5, "int64"},
        {6, "float16"},
        {7, "float32"},
        {8, "float64"},
        {9, "complex32"},
        {10, "complex64"},
        {11, "complex128"},
        {12, "bool"},
        {13, "bfloat16"},
        {28, "uint16"},
        {29, "float8_e4m3fn"},
        {30, "float8_e5m2"},
        {31, "float8_e4m3fnuz"},
        {32, "float8_e5m2fnuz"},
        {33, "float8_e8m0fnu"},
        {34, "uint32"},
        {35, "uint64"},
    };
    for (int number = -1; number < 40; number++) {
        const char *name = NULL;
        char text[256];
        struct tp_tensor tensor;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            name = rows[i].number == number ? rows[i].name : name;
        snprintf(text, sizeof text,
                 "{\"dtype\": %d, \"sizes\": [], \"strides\": [], "
                 "\"storage_offset\": {\"as_int\": 2}, \"layout\": 7}",
                 number);
        enum tp_status status = read_text(text, &tensor, NULL);
        cr_expect_eq(status, name ? TP_OK : TP_E_UNSUPPORTED, "%d", number);
        if (name)
            cr_expect_str_eq(tp_dtype_info(tensor.dtype)->name, name);
        if (name)
            cr_expect_eq(tensor.offset, 2);
    }
}

Test(pt2_tensor, what_is_none)
{
    static const struct {
        const char *text;
        enum tp_status status;
    } rows[] = {
        {"null", TP_E_UNSUPPORTED},
        {"[]", TP_E_UNSUPPORTED},
        {"{}", TP_E_DAMAGED},
        {"{\"dtype\": 7}", TP_E_DAMAGED},
        {"{\"dtype\": 7.0, \"sizes\": [], \"strides\": []}", TP_E_DAMAGED},
        {"{\"dtype\": 7, \"layout\": 1}", TP_E_UNSUPPORTED},
        {"{\"dtype\": 7, \"sizes\": [3], \"strides\": []}", TP_E_DAMAGED},
        {"{\"dtype\": 7, \"sizes\": [{\"as_expr\": {}}]}", TP_E_UNSUPPORTED},
        {"{\"dtype\": 7, \"sizes\": [], \"strides\": [{\"as_int\": 1}], "
         "\"storage_offset\": {\"as_int\": 0}}",
         TP_E_DAMAGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_tensor tensor;
        struct tp_error err = {0};
        cr_expect_eq(read_text(rows[i].text, &tensor, &err), rows[i].status,
                     "%s: %s", rows[i].text, err.message);
        cr_expect_neq(err.message[0], '\0');
    }
}
