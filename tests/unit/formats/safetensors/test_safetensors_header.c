/* SPDX-License-Identifier: MIT */
/*
 * Headers of safetensors, written out: what is accepted and what is refused,
 * with which words. That the verdicts are those of the reference was checked
 * with safetensors 0.8.0; its own answer stands beside each.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "formats/safetensors/safetensors_header.h"

#define A4 "\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]"

struct attempt {
    struct tp_arena arena;
    struct tp_safetensors_header header;
    struct tp_error err;
    enum tp_status status;
};

/* Reads a header in front of `data` bytes. */
static struct attempt *attempt(const char *text, size_t length, size_t data)
{
    static struct attempt a;
    static unsigned char file[1 << 16];
    struct tp_bytes bytes;
    memset(&a, 0, sizeof a);
    memset(file, 0, sizeof file);
    for (size_t i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> 8 * i);
    memcpy(file + 8, text, length);
    tp_bytes_view(file, 8 + length + data, &bytes);
    a.status =
        tp_safetensors_read(&bytes, NULL, 0, &a.arena, &a.header, &a.err);
    return &a;
}

static void refused(const char *text, size_t data, const char *words)
{
    struct attempt *a = attempt(text, strlen(text), data);
    cr_expect_eq(a->status, TP_E_DAMAGED, "accepted: %s", text);
    cr_expect(strstr(a->err.message, words), "%s: %s", text, a->err.message);
    cr_expect_geq(a->err.offset, 0, "%s: no byte", text);
    tp_arena_clear(&a->arena);
}

static void accepted(const char *text, size_t data, size_t tensors)
{
    struct attempt *a = attempt(text, strlen(text), data);
    cr_expect_eq(a->status, TP_OK, "%s: %s", text, a->err.message);
    cr_expect_eq(a->header.end.code, TP_OK, "%s: %s", text,
                 a->header.end.message);
    cr_expect_eq(a->header.count, tensors, "%s: %zu", text, a->header.count);
    tp_arena_clear(&a->arena);
}

Test(safetensors_header, what_the_reference_accepts)
{
    accepted("{}", 0, 0);
    accepted("  {}  \n", 0, 0);
    accepted("{\"a\":{" A4 "}}", 16, 1);
    accepted("{\"a\":{" A4 ",\"more\":{\"x\":[1,{}]}}}", 16, 1);
    accepted("{\"__metadata__\":null,\"a\":{" A4 "}}", 16, 1);
    accepted("{\"__metadata__\":{\"a\":\"\\u00e9\"}}", 0, 0);
    accepted("{\"\":{" A4 "}}", 16, 1);
    accepted("{\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}",
             8, 1);
    accepted("{\"e\":{\"dtype\":\"F32\",\"shape\":[0, 1099511627776, "
             "1099511627776],\"data_offsets\":[ 0 , 0 ]}}",
             0, 1);
}

Test(safetensors_header, what_the_reference_refuses)
{
    /* InvalidHeaderDeserialization */
    refused("{", 0, "ends too early");
    refused("[]", 0, "an object should begin");
    refused("{}x", 0, "something follows");
    refused("{\"a\":{" A4 "},}", 16, "a key should begin");
    refused("{\"a\":1}", 0, "an object should begin");
    refused("{\"a\":{" A4 ",\"more\":[1,}]}}", 16, "JSON");
    refused("{\"a\":{" A4 ",\"dtype\":\"F32\"}}", 16, "dtype is there twice");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4]}}", 0,
            "no data_offsets");
    refused("{\"a\":{\"dtype\":\"f32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
            16, "dtype \"f32\" is none");
    refused("{\"a\":{\"dtype\":4,\"shape\":[4],\"data_offsets\":[0,16]}}", 16,
            "no string");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":4,\"data_offsets\":[0,16]}}",
            16, "a list of integers");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[04],"
            "\"data_offsets\":[0,16]}}",
            16, "an integer should");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-4],"
            "\"data_offsets\":[0,16]}}",
            16, "a negative integer");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2.4e1],"
            "\"data_offsets\":[0,96]"
            "}}",
            96, "fraction or an exponent");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4,],"
            "\"data_offsets\":[0,16]}}",
            16, "an integer should");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],"
            "\"data_offsets\":[0,16]}}",
            16, "beyond 63 bits");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16]}}",
            16, "1 offset instead of 2");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "no string");
    refused("{\"__metadata__\":[]}", 0, "no object");
    /* InvalidOffset */
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
            "\"data_offsets\":[1,2]}}", 2,
            "a gap");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
            "\"data_offsets\":[1,0]}}", 2,
            "before it begins");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
            3, "an overlap");
    /* ValidationOverflow, MisalignedSlice, TensorInvalidInfo */
    refused("{\"e\":{\"dtype\":\"F32\",\"shape\":[1099511627776,1099511627776,"
            "0],\"data_offsets\":[0,0]}}",
            0, "more than 2^64 bits");
    refused("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],"
            "\"data_offsets\":[0,1]}}", 1,
            "do not fill whole bytes");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,15]}}",
            15, "need 16 bytes, its data has 15");
}

/* The reference keeps the last one of a name; two shapes for it are a lie. */
Test(safetensors_header, a_name_stands_once)
{
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
            "\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[0,1],\"data_offsets\":"
            "[0,0]}}",
            0, "two tensors have this name");
}

Test(safetensors_header, the_header_is_utf8_of_json)
{
    refused("{\"\xff\":{" A4 "}}", 16, "not UTF-8");
    refused("{\"a\x01\":{" A4 "}}", 16, "JSON");
    struct attempt *a = attempt("{}\0\0", 4, 0); /* padding with NUL */
    cr_expect_eq(a->status, TP_E_DAMAGED);
    tp_arena_clear(&a->arena);
}

/* A character of four bytes across the window in which UTF-8 is checked. */
Test(safetensors_header, characters_across_windows)
{
    static char text[70000];
    for (size_t at = 65530; at <= 65537; at++) {
        memset(text, ' ', sizeof text);
        text[0] = '{';
        memcpy(text + at, "\"\xf0\x9f\x98\x80\":{" A4 "}}", strlen(A4) + 10);
        static unsigned char file[80100];
        struct tp_bytes bytes;
        struct tp_arena arena = {0};
        struct tp_safetensors_header header;
        struct tp_error err = {0};
        memset(file, 0, sizeof file);
        const size_t length = sizeof text;
        for (size_t i = 0; i < 8; i++)
            file[i] = (unsigned char)(length >> 8 * i);
        memcpy(file + 8, text, length);
        tp_bytes_view(file, 8 + length + 16, &bytes);
        cr_expect_eq(
            tp_safetensors_read(&bytes, NULL, 0, &arena, &header, &err),
            TP_OK, "%zu: %s", at, err.message);
        cr_expect_eq(header.count, 1);
        tp_arena_clear(&arena);
    }
}

Test(safetensors_header, ends_are_told_not_refused)
{
    struct attempt *a = attempt("{\"a\":{" A4 "}}", strlen(A4) + 8, 13);
    cr_expect_eq(a->status, TP_OK, "%s", a->err.message);
    cr_expect(strstr(a->header.end.message, "3 are missing"), "%s",
              a->header.end.message);
    tp_arena_clear(&a->arena);
    a = attempt("{\"a\":{" A4 "}}", strlen(A4) + 8, 20);
    cr_expect(strstr(a->header.end.message, "4 bytes follow"), "%s",
              a->header.end.message);
    tp_arena_clear(&a->arena);
}
