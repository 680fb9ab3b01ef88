/* SPDX-License-Identifier: MIT */
#include "formats/json/json_value.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

static struct tp_arena arena;
static struct tp_json_parser *parser;

static void start(void)
{
    parser = tp_json_parser_new();
    cr_assert_not_null(parser);
}

static void stop(void)
{
    tp_json_parser_free(parser);
    tp_arena_clear(&arena);
}

TestSuite(json_value, .init = start, .fini = stop);

static enum tp_status parse(const char *text, const struct tp_json **value)
{
    struct tp_error err = {0};
    enum tp_status status =
        tp_json_parse(parser, text, strlen(text), &arena, value, &err);
    cr_assert_eq(status == TP_OK, *value != NULL);
    cr_assert_eq(err.code, status);
    return status;
}

Test(json_value, every_kind)
{
    const struct tp_json *root;
    cr_assert_eq(parse("{\"a\": [1, -2.5, true, null, \"x\\u00e9\\n\"], "
                       "\"b\": {\"c\": 18446744073709551615}}",
                       &root),
                 TP_OK);
    cr_assert_eq(root->kind, TP_JSON_OBJECT);
    cr_expect_eq(root->count, 2);
    const struct tp_json *item = tp_json_member(root, "a")->first;
    cr_expect(item->kind == TP_JSON_INTEGER && item->integer == 1 &&
              item->real == 1);
    item = item->next;
    cr_expect(item->kind == TP_JSON_REAL && item->real == -2.5);
    item = item->next;
    cr_expect(item->kind == TP_JSON_BOOL && item->integer == 1);
    item = item->next;
    cr_expect_eq(item->kind, TP_JSON_NULL);
    item = item->next;
    cr_expect_eq(item->kind, TP_JSON_STRING);
    cr_expect_str_eq(item->text, "x\xc3\xa9\n");
    cr_expect_null(item->next);
    const struct tp_json *large =
        tp_json_member(tp_json_member(root, "b"), "c");
    cr_expect(large->kind == TP_JSON_REAL && large->real == 0x1p64);
}

/* What Python's json.dumps writes for float("nan") and so on. */
Test(json_value, words_of_python_are_numbers)
{
    const struct tp_json *root;
    cr_assert_eq(parse("{\"NaN\": NaN, \"p\": Infinity, \"m\": -Infinity, "
                       "\"t\": \"NaN -Infinity \\\" NaN\", \"n\": -1}",
                       &root),
                 TP_OK);
    cr_expect(isnan(tp_json_member(root, "NaN")->real));
    cr_expect_eq(tp_json_member(root, "p")->real, INFINITY);
    cr_expect_eq(tp_json_member(root, "m")->real, -INFINITY);
    cr_expect_str_eq(tp_json_text(root, "t", ""), "NaN -Infinity \" NaN");
    cr_expect_eq(tp_json_member(root, "n")->integer, -1);
    cr_expect(tp_json_is_number(tp_json_member(root, "NaN")));
}

/* A string that looks like what the words are replaced by stays a string
 * where nothing was replaced. */
Test(json_value, strings_stay_strings)
{
    const struct tp_json *root;
    cr_assert_eq(parse("[\"\x7f\", \"\x7f-infin\", \"NaN\"]", &root), TP_OK);
    for (const struct tp_json *at = root->first; at; at = at->next)
        cr_expect_eq(at->kind, TP_JSON_STRING);
}

Test(json_value, the_last_of_equal_keys_counts)
{
    const struct tp_json *root;
    cr_assert_eq(parse("{\"a\": 1, \"a\": 2}", &root), TP_OK);
    cr_expect_eq(tp_json_member(root, "a")->integer, 2);
    cr_expect_null(tp_json_member(root, "b"));
    cr_expect_null(tp_json_member(root->first, "a"));
    cr_expect_str_eq(tp_json_text(root, "a", "none"), "none");
}

Test(json_value, what_is_no_json_is_said)
{
    static const char *const bad[] = {
        "",          "{",     "{\"a\"}",  "[1,]", "nan", "NaNa",
        "[Infinit]", "[1] 2", "\"\x80\"", "[01]", "-",   "--Infinity"};
    const struct tp_json *root;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(parse(bad[i], &root), TP_E_DAMAGED, "%s", bad[i]);
}

Test(json_value, nesting_is_limited)
{
    static char text[4001];
    const struct tp_json *root;
    memset(text, '[', 2000);
    memset(text + 2000, ']', 2000);
    cr_expect_eq(parse(text, &root), TP_E_DAMAGED);
    memset(text + 400, ']', 400);
    text[800] = '\0';
    cr_expect_eq(parse(text, &root), TP_OK);
}

/* As Python reads them, rounded to double: 2^70, and what is beyond it. What
 * fits 64 bits keeps its digits, beside them, too; texts keep theirs. */
Test(json_value, integers_of_any_length)
{
    char text[600] = "[1180591620717411303424, -1180591620717411303424, "
                     "-9223372036854775809, -9223372036854775808, "
                     "9223372036854775807, \"1180591620717411303424\", NaN, "
                     "2.5e1, -1";
    const struct tp_json *root;
    memset(text + strlen(text), '0', 400);
    strcat(text, "]");
    cr_assert_eq(parse(text, &root), TP_OK);
    const struct tp_json *item = root->first;
    cr_expect_eq(item->kind, TP_JSON_REAL);
    cr_expect_float_eq(item->real, 0x1p70, 0x1p70 * 1e-15);
    item = item->next;
    cr_expect_float_eq(item->real, -0x1p70, 0x1p70 * 1e-15);
    item = item->next;
    cr_expect_eq(item->kind, TP_JSON_REAL);
    cr_expect_float_eq(item->real, -0x1p63, 0x1p63 * 1e-15);
    item = item->next;
    cr_expect(item->kind == TP_JSON_INTEGER && item->integer == INT64_MIN);
    item = item->next;
    cr_expect(item->kind == TP_JSON_INTEGER && item->integer == INT64_MAX);
    item = item->next;
    cr_expect_str_eq(item->text, "1180591620717411303424");
    item = item->next;
    cr_expect(isnan(item->real));
    item = item->next;
    cr_expect_eq(item->real, 25);
    item = item->next;
    cr_expect_eq(item->real, -INFINITY);
    cr_expect_null(item->next);
    cr_expect_eq(parse("[1180591620717411303424x]", &root), TP_E_DAMAGED);
    cr_expect_eq(parse("[01180591620717411303424, 01]", &root), TP_E_DAMAGED);
}

/* In any order, several of one name, and beside others. */
Test(json_value, several_members_are_found_in_one_walk)
{
    static const char *const keys[] = {"type", "dtype", "Max", "value"};
    static const char *const texts[] = {
        "{\"type\": 1, \"dtype\": 2, \"Max\": 3}",
        "{\"Max\": 3, \"x\": 9, \"dtype\": 2, \"\": 8, \"type\": 1}",
        "{\"dtype\": 7, \"type\": 1, \"type\": 1, \"Max\": 3, \"dtype\": 2}"};
    const struct tp_json *root, *found[4];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_assert_eq(parse(texts[i], &root), TP_OK);
        tp_json_members(root, keys, 4, found);
        for (size_t k = 0; k < 3; k++) {
            cr_expect_eq(found[k], tp_json_member(root, keys[k]));
            cr_expect_eq(found[k]->integer, k + 1);
        }
        cr_expect_null(found[3]);
    }
    cr_assert_eq(parse("[1]", &root), TP_OK);
    tp_json_members(root, keys, 4, found);
    cr_expect_null(found[0]);
}
