/* SPDX-License-Identifier: MIT */
#include "compare/compare_map.h"

#include <string.h>

#include <criterion/criterion.h>

static enum tp_status parse(const char *text, struct tp_compare_map *map,
                            struct tp_error *err)
{
    *map = (struct tp_compare_map){0};
    *err = (struct tp_error){0};
    return tp_compare_map_parse(text, strlen(text), map, err);
}

/* What a name becomes; true: it was mapped whole. */
static bool becomes(const char *rules, const char *name, const char *expected)
{
    struct tp_compare_map map;
    struct tp_error err;
    struct tp_arena arena = {0};
    bool whole = false;
    cr_assert_eq(parse(rules, &map, &err), TP_OK, "%s", err.message);
    const char *made = tp_compare_map_name(&map, name, &arena, &whole);
    cr_expect_str_eq(made, expected);
    tp_arena_clear(&arena);
    tp_compare_map_clear(&map);
    return whole;
}

Test(compare_map, lines)
{
    struct tp_compare_map map;
    struct tp_error err;
    cr_assert_eq(parse("\xef\xbb\xbf# a comment\r\n\n"
                       "  a.b : 'c d'  # another\r\n\"x#y\":\tz",
                       &map, &err),
                 TP_OK, "%s", err.message);
    cr_assert_eq(map.count, 2);
    cr_expect_str_eq(map.rules[0].left, "a.b");
    cr_expect_str_eq(map.rules[0].right, "c d");
    cr_expect_eq(map.rules[0].line, 3);
    cr_expect_str_eq(map.rules[1].left, "x#y");
    cr_expect_str_eq(map.rules[1].right, "z");
    tp_compare_map_clear(&map);
}

Test(compare_map, what_is_no_line_is_named)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {{"a: b\nc d\n", "line 2: 'LEFT: RIGHT' was expected"},
                 {"a:b\n", "line 1: 'LEFT: RIGHT' was expected"},
                 {"\n: b\n", "line 2: there is no name before the colon"},
                 {"a:\nb: c\n", "line 1: there is no name behind the colon"},
                 {"x: y\na:\n", "line 2: there is no name behind the colon"},
                 {"a:\n  b:\n    c: d\n", "line 2: there is no name behind"},
                 {"a:\n  b: c\n    d: e\n", "line 3: indented by 4"},
                 {"a:\n  b: c\n d: e\n", "line 3: indented by 1"},
                 {"a:\n\tb: c\n", "line 2: a tab before a name"},
                 {"a: {b: c}\n", "line 1: a name was expected"},
                 {"a:\n  b: [c]\n", "line 2: a name was expected"},
                 {"a:\n  b: (C)\n", "line 2: the name behind the colon is"},
                 {"a: ''\n", "line 1: the name behind the colon is empty"},
                 {"a:\n  b: c\n  b: d\n", "line 3: 'b' was mapped in line 2"},
                 {"Cell:\n  b: c\nTopLayer:\n  b: d\n", "line 4: 'b' was"},
                 {"a: b\nc: d\na: e\n", "line 3: 'a' was mapped in line 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_compare_map map;
        struct tp_error err;
        cr_expect_eq(parse(cases[i].text, &map, &err), TP_E_USAGE);
        cr_expect_not_null(strstr(err.message, cases[i].problem), "%s",
                           err.message);
        tp_compare_map_clear(&map);
    }
}

Test(compare_map, no_text)
{
    struct tp_compare_map map = {0};
    struct tp_error err = {0};
    cr_expect_eq(tp_compare_map_parse("a\0b: c", 6, &map, &err), TP_E_USAGE);
    cr_expect_not_null(strstr(err.message, "line 1: this is no text"));
    tp_compare_map_clear(&map);
}

Test(compare_map, names)
{
    cr_expect_not(becomes("fc: mlp", "Module.fc.Linear", "Module.mlp.Linear"));
    cr_expect_not(becomes("fc: mlp", "Module.fc1.Linear", "Module.fc1.Linear"));
    cr_expect_not(becomes("fc: mlp", "a.xfc.fc", "a.xfc.mlp"));
    cr_expect_not(becomes("fc: mlp", "fc.fc", "mlp.fc")); /* once */
    /* the longest left is tried first */
    cr_expect_not(becomes("layers.0: h.0\nlayers.0.fc: h.0.mlp",
                          "Module.layers.0.fc.Linear",
                          "Module.h.0.mlp.Linear"));
    cr_expect_not(becomes("layers.1: h.1", "layers.10.fc", "layers.10.fc"));
    cr_expect(becomes("a.b: c.d.e", "a.b", "c.d.e"));
}

Test(compare_map, classes)
{
    struct tp_compare_map map;
    struct tp_error err;
    cr_assert_eq(parse("Cell:\n"
                       "  net: model\n"
                       "# between\n"
                       "\n"
                       "Attention:   # of A\n"
                       "      qkv: query_key_value(Linear)\n"
                       "      core.attn: 'core'\n"
                       "x.y: z(w)\n",
                       &map, &err),
                 TP_OK, "%s", err.message);
    cr_assert_eq(map.count, 4);
    cr_expect_eq(map.flat, 1);
    static const struct tp_compare_rule rules[] = {
        {NULL, "x.y", "z(w)", 8},
        {"Attention", "core.attn", "core", 7},
        {"Attention", "qkv", "query_key_value", 6},
        {"TopLayer", "net", "model", 2}};
    for (size_t i = 0; i < 4; i++) {
        if (rules[i].layer)
            cr_expect_str_eq(map.rules[i].layer, rules[i].layer);
        else
            cr_expect_null(map.rules[i].layer);
        cr_expect_str_eq(map.rules[i].left, rules[i].left);
        cr_expect_str_eq(map.rules[i].right, rules[i].right);
        cr_expect_eq(map.rules[i].line, rules[i].line);
    }
    tp_compare_map_clear(&map);
}
