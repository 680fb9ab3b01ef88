/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "formats/torch/pickle.h"

/* A pickle that Python made, and its values in the notation of note(). */
struct golden {
    int protocol;
    size_t size;
    const char *data, *note;
};

#include "tests/unit/support/golden_pickle.h"

static enum tp_status read_bytes(const void *data, size_t size,
                                 struct tp_pickle *pickle, struct tp_error *err)
{
    struct tp_bytes bytes;
    uint64_t position = 0;
    tp_bytes_view(data, size, &bytes);
    return tp_pickle_read(&bytes, &position, size, pickle, err);
}

static void note_text(struct tp_text *to, const struct tp_value *value)
{
    tp_text_add(to, value->kind == TP_VALUE_STRING ? "'" : "b'");
    for (uint64_t i = 0; i < value->u.text.length; i++) {
        unsigned char c = (unsigned char)value->u.text.data[i];
        bool plain = c >= 32 && c < 127 && c != '\'' && c != '\\';
        tp_text_add(to, plain ? "%c" : "\\x%02x", c);
    }
    tp_text_add(to, "'");
}

static void note(struct tp_text *to, const struct tp_pickle *pickle,
                 tp_ref ref);

static void note_items(struct tp_text *to, const struct tp_pickle *pickle,
                       tp_ref ref, const char *brackets)
{
    tp_text_add(to, "%c", brackets[0]);
    for (size_t i = 0; i < tp_pickle_length(pickle, ref); i++) {
        tp_text_add(to, i ? ", " : "");
        note(to, pickle, tp_pickle_item(pickle, ref, i));
    }
    tp_text_add(to, "%c", brackets[1]);
}

static void note_dict(struct tp_text *to, const struct tp_pickle *pickle,
                      tp_ref ref)
{
    tp_ref key, value;
    tp_text_add(to, "{");
    for (size_t i = 0; tp_pickle_pair(pickle, ref, i, &key, &value); i++) {
        tp_text_add(to, i ? ", " : "");
        note(to, pickle, key);
        tp_text_add(to, ": ");
        note(to, pickle, value);
    }
    tp_text_add(to, "}");
}

static void note(struct tp_text *to, const struct tp_pickle *pickle, tp_ref ref)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    cr_assert(value);
    switch (value->kind) {
    case TP_VALUE_NONE:
        tp_text_add(to, "None");
        break;
    case TP_VALUE_BOOL:
        tp_text_add(to, value->u.integer ? "True" : "False");
        break;
    case TP_VALUE_INT:
        tp_text_add(to, "%lld", (long long)value->u.integer);
        break;
    case TP_VALUE_BIG_INT:
        tp_text_add(to, "big:");
        for (uint64_t i = 0; i < value->u.text.length; i++)
            tp_text_add(to, "%02x", (unsigned char)value->u.text.data[i]);
        break;
    case TP_VALUE_FLOAT:
        tp_text_add(to, "%.17g", value->u.real);
        break;
    case TP_VALUE_STRING:
    case TP_VALUE_BYTES:
        note_text(to, value);
        break;
    case TP_VALUE_LIST:
        note_items(to, pickle, ref, "[]");
        break;
    case TP_VALUE_TUPLE:
        note_items(to, pickle, ref, "()");
        break;
    case TP_VALUE_SET:
        note_items(to, pickle, ref, "{}");
        break;
    case TP_VALUE_DICT:
        note_dict(to, pickle, ref);
        break;
    default:
        tp_text_add(to, "<%d>", value->kind);
    }
}

static void check_golden(const struct golden *g, size_t index)
{
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_bytes(g->data, g->size, &pickle, &err), TP_OK,
                 "pickle %zu, protocol %d: %s", index, g->protocol,
                 err.message);
    struct tp_text text = {0};
    note(&text, &pickle, pickle.root);
    cr_expect_str_eq(tp_text_get(&text), g->note, "pickle %zu, protocol %d",
                     index, g->protocol);
    tp_text_clear(&text);
    tp_pickle_clear(&pickle);
}

Test(pickle, what_python_made)
{
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
        check_golden(&golden[i], i);
}

Test(pickle, every_truncation_fails)
{
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        for (size_t size = 0; size < golden[i].size; size++) {
            struct tp_pickle pickle = {0};
            struct tp_error err = {0};
            enum tp_status status =
                read_bytes(golden[i].data, size, &pickle, &err);
            cr_expect_eq(status, TP_E_DAMAGED, "pickle %zu cut at %zu: %s", i,
                         size, err.message);
            cr_expect_leq(err.offset, (int64_t)size);
            tp_pickle_clear(&pickle);
        }
    }
}

Test(pickle, globals_calls_and_state)
{
    /* copyreg.__newobj__-style object with state and a dict's items */
    static const char data[] = "\x80\x04\x8c\x01m\x8c\x01"
                               "C\x93)\x81"
                               "}\x8c\x01"
                               "aK\x07sb(K\x01K\x02uK\x03"
                               "a.";
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_bytes(data, sizeof data - 1, &pickle, &err), TP_OK, "%s",
                 err.message);
    cr_assert_eq(tp_pickle_kind(&pickle, pickle.root), TP_VALUE_CALL);
    cr_expect_str_eq(tp_pickle_callable(&pickle, pickle.root), "m.C");
    int64_t seven = 0, two = 0;
    const struct tp_value *call = tp_pickle_value(&pickle, pickle.root);
    cr_expect(tp_pickle_int(
        &pickle, tp_pickle_lookup(&pickle, call->u.call.state, "a"), &seven));
    cr_expect_eq(seven, 7);
    tp_ref key, value;
    cr_expect(tp_pickle_pair(&pickle, pickle.root, 0, &key, &value));
    cr_expect(tp_pickle_int(&pickle, value, &two));
    cr_expect_eq(two, 2);
    cr_expect(tp_pickle_pair(&pickle, pickle.root, 1, &key, &value));
    cr_expect_eq(key, TP_REF_NONE, "an appended item has no key");
    cr_expect_not(tp_pickle_pair(&pickle, pickle.root, 2, &key, &value));
    tp_pickle_clear(&pickle);
}

Test(pickle, numpy_integers)
{
    /* pickle.dumps(numpy.int32(-7), 2) and numpy.uint16(513), numpy 1.26 */
    static const char text[] =
        "\x80\x02(cnumpy.core.multiarray\nscalar\nq\x00"
        "cnumpy\ndtype\nq\x01X\x02\x00\x00\x00i4q\x02\x89\x88\x87q\x03Rq\x04"
        "(K\x03X\x01\x00\x00\x00<q\x05NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
        "K\x00tq\x06"
        "bC\x04\xf9\xff\xff\xff\x86R"
        "h\x00h\x01X\x02\x00\x00\x00u2\x89\x88\x87R(K\x03X\x01\x00\x00\x00>"
        "NNNK\x00K\x00K\x00tbC\x02\x02\x01\x86Rt.";
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_bytes(text, sizeof text - 1, &pickle, &err), TP_OK, "%s",
                 err.message);
    int64_t number = 0;
    cr_expect(tp_pickle_int(&pickle, tp_pickle_item(&pickle, pickle.root, 0),
                            &number));
    cr_expect_eq(number, -7);
    cr_expect(tp_pickle_int(&pickle, tp_pickle_item(&pickle, pickle.root, 1),
                            &number));
    cr_expect_eq(number, 513);
    tp_pickle_clear(&pickle);
}

Test(pickle, a_million_deep)
{
    enum { DEPTH = 1000000 };
    char *data = malloc(2 * DEPTH + 3);
    memcpy(data, "\x80\x02", 2);
    memset(data + 2, ']', DEPTH);
    memset(data + 2 + DEPTH, 'a', DEPTH - 1);
    data[1 + 2 * DEPTH] = '.';
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_bytes(data, 2 + 2 * DEPTH, &pickle, &err), TP_OK, "%s",
                 err.message);
    size_t depth = 0;
    for (tp_ref ref = pickle.root; ref != TP_REF_NONE; depth++)
        ref = tp_pickle_item(&pickle, ref, 0);
    cr_expect_eq(depth, DEPTH);
    tp_pickle_clear(&pickle);
    free(data);
}

Test(pickle, a_list_in_itself)
{
    static const char data[] = "\x80\x02]q\x00h\x00"
                               "a.";
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_bytes(data, sizeof data - 1, &pickle, &err), TP_OK);
    cr_expect_eq(tp_pickle_item(&pickle, pickle.root, 0), pickle.root);
    tp_pickle_clear(&pickle);
}

/* Memory must stay in proportion to the input, whatever that claims. */
Test(pickle, little_text_cannot_grow)
{
    enum { NAME = 500, TIMES = 20000 };
    struct tp_text data = {0};
    char name[NAME];
    memset(name, 'n', sizeof name);
    tp_text_bytes(&data, "\x80\x04(X\xf4\x01\x00\x00", 8);
    tp_text_bytes(&data, name, sizeof name);
    tp_text_bytes(&data, "q\x00", 2);
    for (int i = 0; i < TIMES; i++)
        tp_text_bytes(&data, "h\x00\x93h\x00", 5);
    tp_text_bytes(&data, "t.", 2);
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    enum tp_status status = read_bytes(data.data, data.length, &pickle, &err);
    cr_expect_eq(status, TP_E_LIMIT, "%s", err.message);
    cr_expect_lt(pickle.arena.total, 64 * data.length);
    tp_pickle_clear(&pickle);
    tp_text_clear(&data);
}

/* The opcode `byte`, `count` times between a mark and the list of all. */
static enum tp_status read_many(char byte, size_t count,
                                struct tp_pickle *pickle, struct tp_error *err)
{
    char *data = malloc(count + 5);
    memcpy(data, "\x80\x02(", 3);
    memset(data + 3, byte, count);
    memcpy(data + 3 + count, "l.", 2);
    enum tp_status status = read_bytes(data, count + 5, pickle, err);
    free(data);
    return status;
}

Test(pickle, a_byte_for_a_list_is_more_than_picklers_write)
{
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_expect_eq(read_many(']', 3000000, &pickle, &err), TP_E_LIMIT);
    cr_expect_not_null(strstr(err.message, "more values than picklers"));
    tp_pickle_clear(&pickle);
}

Test(pickle, constants_are_made_once)
{
    static const char bytes[] = {'N', ')', '\x88', '\x89'};
    for (size_t i = 0; i < sizeof bytes; i++) {
        struct tp_pickle pickle = {0};
        struct tp_error err = {0};
        cr_assert_eq(read_many(bytes[i], 3000000, &pickle, &err), TP_OK);
        cr_expect_eq(pickle.count, 2, "it and the list");
        const tp_ref last = tp_pickle_item(&pickle, pickle.root, 2999999);
        const struct tp_value *value = tp_pickle_value(&pickle, last);
        cr_assert_not_null(value);
        cr_expect_eq(value->kind, bytes[i] == 'N'   ? TP_VALUE_NONE
                                  : bytes[i] == ')' ? TP_VALUE_TUPLE
                                                    : TP_VALUE_BOOL);
        cr_expect_eq(value->u.integer, bytes[i] == '\x88');
        tp_pickle_clear(&pickle);
    }
}

Test(pickle, memory_is_reused)
{
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
            cr_expect_eq(
                read_bytes(golden[i].data, golden[i].size, &pickle, &err),
                TP_OK);
    }
    tp_pickle_clear(&pickle);
    cr_expect_null(pickle.values);
}

Test(pickle, errors_name_opcode_and_byte)
{
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_expect_eq(read_bytes("\x80\x02K\x01N\x87.", 7, &pickle, &err),
                 TP_E_DAMAGED);
    cr_expect(strstr(err.message, "TUPLE3"), "%s", err.message);
    cr_expect(strstr(err.message, "byte 5"), "%s", err.message);
    cr_expect_eq(err.offset, 5);
    tp_pickle_clear(&pickle);
}

/* What a function returns is told from what a class makes. */
Test(pickle, objects_and_calls)
{
    static const char text[] = "\x80\x04(cm\nC\n)Rcm\nC\n)\x81"
                               "cm\nC\n)}\x92t.";
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    cr_assert_eq(read_bytes(text, sizeof text - 1, &pickle, &err), TP_OK, "%s",
                 err.message);
    for (size_t i = 0; i < 3; i++) {
        tp_ref ref = tp_pickle_item(&pickle, pickle.root, i);
        cr_assert_eq(tp_pickle_kind(&pickle, ref), TP_VALUE_CALL);
        cr_expect_eq(pickle.values[ref].made, i > 0, "call %zu", i);
    }
    tp_pickle_clear(&pickle);
}
