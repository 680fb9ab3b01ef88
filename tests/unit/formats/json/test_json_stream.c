/* SPDX-License-Identifier: MIT */
#include "formats/json/json_members.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

static const char TEXT[] =
    " {\"task\" : \"a \\\"}\\\\\", \"skip\":[{\"x\":\"]\"},[ ]] ,\n"
    "\"data\": {\"one\": {\"v\": [1, 2]}, \"two\":3.5,\"th\\u0072ee\":null}, "
    "\"last\":true}";

/* Goes through TEXT; writes what it finds as one line. */
static enum tp_status walk(const char *text, size_t length, size_t chunk,
                           char *found, struct tp_json_stream *stream)
{
    struct tp_json_part part;
    struct tp_error err = {0};
    char *at = found;
    int depth = 1;
    tp_json_stream_view(stream, text, length, chunk);
    enum tp_status status = tp_json_stream_enter(stream, &err);
    while (status == TP_OK && depth > 0) {
        status = tp_json_stream_key(stream, &part, &err);
        if (status == TP_OK && !part.text) {
            depth--;
            at += sprintf(at, "up ");
            continue;
        }
        if (status != TP_OK)
            break;
        cr_expect(memcmp(text + part.offset, part.text, part.length) == 0);
        if (tp_json_key_is(&part, "skip")) {
            status = tp_json_stream_skip(stream, &err);
        } else if (tp_json_key_is(&part, "data")) {
            status = tp_json_stream_enter(stream, &err);
            depth++;
        } else {
            status = tp_json_stream_value(stream, &part, &err);
            if (status != TP_OK)
                break;
            cr_expect(memcmp(text + part.offset, part.text, part.length) == 0);
            at += sprintf(at, "%.*s ", (int)part.length, part.text);
        }
    }
    cr_expect_eq(status, err.code);
    return status;
}

Test(json_stream, members_do_not_depend_on_the_chunk)
{
    for (size_t chunk = 1; chunk < sizeof TEXT; chunk++) {
        struct tp_json_stream stream;
        char found[256] = "";
        cr_assert_eq(walk(TEXT, sizeof TEXT - 1, chunk, found, &stream), TP_OK);
        cr_expect_str_eq(found, "\"a \\\"}\\\\\" {\"v\": [1, 2]} 3.5 null up "
                                "true up ");
        tp_json_stream_close(&stream);
    }
}

/* Every beginning of a file gives what it holds whole, and is known as cut. */
Test(json_stream, a_file_that_ends_too_early)
{
    for (size_t length = 0; length < sizeof TEXT - 1; length++) {
        struct tp_json_stream stream;
        char found[256] = "";
        cr_expect_eq(walk(TEXT, length, 7, found, &stream), TP_E_DAMAGED,
                     "%zu", length);
        cr_expect(stream.cut);
        tp_json_stream_close(&stream);
    }
}

Test(json_stream, what_is_no_object_is_named_with_its_byte)
{
    static const struct {
        const char *text;
        int64_t offset;
    } bad[] = {{"[1]", 0},         {"{1: 2}", 1},     {"{\"a\" 1}", 5},
               {"{\"a\": }", 6},   {"{\"a\": 1 2}", 8}, {"{\"a\":1,}", 7},
               {"{\"a\":1]", 6}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tp_json_stream stream;
        struct tp_json_part part = {.text = ""};
        struct tp_error err = {0};
        tp_json_stream_view(&stream, bad[i].text, strlen(bad[i].text), 1);
        enum tp_status status = tp_json_stream_enter(&stream, &err);
        while (status == TP_OK && part.text) {
            status = tp_json_stream_key(&stream, &part, &err);
            if (status == TP_OK && part.text)
                status = tp_json_stream_value(&stream, &part, &err);
        }
        cr_expect_eq(status, TP_E_DAMAGED, "%s", bad[i].text);
        cr_expect_eq(err.offset, bad[i].offset, "%s: %d", bad[i].text,
                     (int)err.offset);
        tp_json_stream_close(&stream);
    }
}

static enum tp_status count_members(void *context,
                                    const struct tp_json_pair *pair,
                                    struct tp_arena *arena,
                                    struct tp_error *err)
{
    size_t *count = context;
    (void)arena;
    ++*count;
    return pair->value->integer == 2
               ? tp_fail(err, TP_E_UNSUPPORTED, pair->offset, "enough")
               : TP_OK;
}

Test(json_stream, a_visitor_ends_the_walk)
{
    static const char text[] = "{\"a\": 1, \"b\": 2, \"c\": 3}";
    struct tp_json_stream stream;
    struct tp_json_walk all = {NULL, {0}};
    struct tp_error err = {0};
    size_t count = 0;
    const struct tp_json_visitor visitor = {&count, count_members};
    tp_json_stream_view(&stream, text, sizeof text - 1, 4);
    cr_expect_eq(tp_json_walk_members(&all, &stream, &visitor, &err),
                 TP_E_UNSUPPORTED);
    cr_expect_eq(count, 2);
    cr_expect_eq(err.offset, 14);
    tp_json_walk_clear(&all);
    tp_json_stream_close(&stream);
}
