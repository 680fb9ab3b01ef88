/* SPDX-License-Identifier: MIT */
/*
 * One table of a TOML file. What is TOML, and what a text of it means, is that
 * of TOML 1.0.0; each file without an error here gives the same table in
 * Python's tomllib (compared once).
 */
#include "check/toml_table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* "a=[x,y] b=true" or the error's message. */
static void read_text(const char *source, struct tp_text *text)
{
    struct tp_arena arena = {0};
    struct tp_toml_table table;
    struct tp_error err = {0};
    const struct tp_toml_source file = {source, strlen(source), "us"};
    enum tp_status status = tp_toml_read(&file, &arena, &table, &err);
    if (status != TP_OK)
        tp_text_add(text, "%s", err.message);
    else if (!table.found)
        tp_text_add(text, "none");
    for (size_t i = 0; i < table.count && status == TP_OK; i++) {
        const struct tp_toml_entry *e = &table.entries[i];
        tp_text_add(text, "%s%s=%s", i ? " " : "", e->key,
                    e->kind == TP_TOML_LIST   ? "["
                    : e->kind == TP_TOML_TEXT ? ""
                    : e->truth                ? "true"
                                              : "false");
        for (size_t j = 0; j < e->count; j++)
            tp_text_add(text, "%s%s", j ? "," : "", e->texts[j]);
        tp_text_add(text, "%s", e->kind == TP_TOML_LIST ? "]" : "");
    }
    free(table.entries);
    tp_arena_clear(&arena);
}

static void expect(const char *source, const char *wanted)
{
    struct tp_text text = {0};
    read_text(source, &text);
    cr_expect_str_eq(tp_text_get(&text), wanted, "%s: %s", source,
                     tp_text_get(&text));
    tp_text_clear(&text);
}

Test(toml_table, values)
{
    expect("[tool.us]\na = \"x\"\nb = 'y\\n'\nc = true\nd=false # e\n",
           "a=x b=y\\n c=true d=false");
    expect("[tool.us]\na = [ \"x\", # one\n 'y',\n]\nb = []", "a=[x,y] b=[]");
    expect("[tool.us]\na = \"\\u00e9\\t\\\"\\U0001F600\"\r\n",
           "a=\xc3\xa9\t\"\xf0\x9f\x98\x80");
    expect("\xef\xbb\xbf[ tool . \"us\" ]\n\"a\" = true", "a=true");
    expect("[tool.us]\n[other]\na = 1", "");
}

Test(toml_table, other_tables)
{
    expect("", "none");
    expect("[tool.usual]\na = 1\n[tool]\nb.us = 2\n[[tool.x]]\n", "none");
    expect("a = 1979-05-27\nb = {c = [1, {d = ']'}]} # '\n[tool.us]\ne='f'",
           "e=f");
    expect("a = \"\"\"\n[tool.us]\nb = 1 \\\"\"\"\"\"\nc = '''\n[tool.us]'''\n"
           "[tool.us]\nd = 'e'",
           "d=e");
    expect("a = [\n  [ 'b', # [tool.us]\n  ],\n]\n[tool.us]\nc='d'", "c=d");
}

Test(toml_table, what_is_wrong)
{
    expect("[tool.us]\na = 1\n",
           "line 2: a value that is no text, list or bool");
    expect("[tool.us]\na = 'b' c\n", "line 2: more than one thing in a line");
    expect("[tool.us]\na = 'b\n", "line 2: a text that is never closed");
    expect("[tool.us]\na = [\n'b'", "line 3: a list that is never closed");
    expect("[tool.us]\na = ['b' 'c']", "line 2: a comma is missing");
    expect("[tool.us]\na = [1]", "line 2: a list holds what is no text");
    expect("[tool.us]\na = '''b'''", "line 2: a text of several lines");
    expect("[tool.us]\na = \"\\x\"", "line 2: an unknown escape");
    expect("[tool.us]\na = \"\\ud800\"",
           "line 2: an escape that is no character");
    expect("[tool.us]\na", "line 2: a key without a value");
    expect("[tool.us]\na.b = 'c'", "line 2: a key with a point");
    expect("[tool.us]\na = 'b'\na = 'c'", "line 3: a key comes twice");
    expect("[tool.us]\n[tool.us]", "line 2: the table comes twice");
    expect("[tool.us.a]", "line 1: a table in the table");
    expect("[[tool.us]]", "line 1: more than one such table");
    expect("tool.us.a = 1",
           "line 1: write such keys below a header of their own");
    expect("[tool]\nus = {}",
           "line 2: write such keys below a header of their own");
    expect("[tool.us\n", "line 1: a header that is never closed");
    expect("= 1\n", "line 1: a key is missing");
    expect("a = [\n1\n", "line 3: a bracket that is never closed");
    expect("a = \"\"\"\n", "line 2: a text that is never closed");
}
