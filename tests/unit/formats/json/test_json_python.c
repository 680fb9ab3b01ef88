/* SPDX-License-Identifier: MIT */
/* The texts are those of repr() of Python 3.11. */
#include "formats/json/json_python.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

Test(json_python, floats)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.0, "0.0"},
                 {-0.0, "-0.0"},
                 {1.0, "1.0"},
                 {0.1, "0.1"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1e15, "1000000000000000.0"},
                 {1e16, "1e+16"},
                 {1e-4, "0.0001"},
                 {1e-5, "1e-05"},
                 {1e23, "1e+23"},
                 {123456789012345680.0, "1.2345678901234568e+17"},
                 {3.029144048690796, "3.029144048690796"},
                 /* 2^-24: 16 digits, of which the nearest do not read back */
                 {5.9604644775390625e-08, "5.960464477539063e-08"},
                 {9007199254740993.0, "9007199254740992.0"},
                 {5e-324, "5e-324"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {(double)NAN, "nan"},
                 {-(double)INFINITY, "-inf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_text text = {0};
        tp_python_float(cases[i].value, &text);
        cr_expect_str_eq(tp_text_get(&text), cases[i].text);
        tp_text_clear(&text);
    }
}

Test(json_python, strings)
{
    static const struct {
        const char *value, *text;
    } cases[] = {{"", "''"},
                 {"it's", "\"it's\""},
                 {"it's \"so\"", "'it\\'s \"so\"'"},
                 {"a\n\t\\\x01\x7f", "'a\\n\\t\\\\\\x01\\x7f'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_text text = {0};
        tp_python_string(cases[i].value, &text);
        cr_expect_str_eq(tp_text_get(&text), cases[i].text);
        tp_text_clear(&text);
    }
}

Test(json_python, values)
{
    static const char json[] =
        "[null, true, false, 12, -0.5, \"x\", [], {\"a\": [1], \"b\": {}}]";
    struct tp_json_parser *parser = tp_json_parser_new();
    struct tp_arena arena = {0};
    struct tp_text text = {0};
    const struct tp_json *value;
    cr_assert_eq(
        tp_json_parse(parser, json, strlen(json), &arena, &value, NULL), TP_OK);
    tp_json_python(value, &text);
    cr_expect_str_eq(
        tp_text_get(&text),
        "[None, True, False, 12, -0.5, 'x', [], {'a': [1], 'b': {}}]");
    tp_text_clear(&text);
    tp_arena_clear(&arena);
    tp_json_parser_free(parser);
}
