/* SPDX-License-Identifier: MIT */
/*
 * Trees of Python. The calls of testdata/check/syntax.py, with the line that
 * each ends in and its number of arguments, are those that CPython 3.11's ast
 * finds (tests/oracle/python_calls.py prints them); what 3.11 does not know
 * has expectations of our own.
 */
#include "check/python_tree.h"

#include <criterion/criterion.h>

#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/testdata.h"

struct source {
    struct tp_py_tokens tokens;
    struct tp_py_tree tree;
};

static void parse(const char *text, size_t length, struct source *source)
{
    struct tp_error err = {0};
    cr_assert_eq(tp_py_lex(text, length, &source->tokens, &err), TP_OK);
    cr_assert_eq(tp_py_parse(&source->tokens, &source->tree, &err), TP_OK);
}

static void clear(struct source *source)
{
    tp_py_tree_clear(&source->tree);
    tp_py_tokens_clear(&source->tokens);
}

struct call {
    unsigned line, arguments;
};

static int by_line(const void *a, const void *b)
{
    const struct call *left = a, *right = b;
    return left->line != right->line
               ? (left->line > right->line) - (left->line < right->line)
               : (left->arguments > right->arguments) -
                     (left->arguments < right->arguments);
}

static size_t calls_of(const struct source *source, struct call *calls,
                       size_t most)
{
    size_t count = 0;
    const struct tp_py_node *at = source->tree.at;
    for (size_t i = 1; i < source->tree.count && count < most; i++) {
        if (at[i].kind != TP_PY_CALL)
            continue;
        calls[count] =
            (struct call){.line = source->tokens.at[at[i].end - 1].line};
        for (uint32_t a = at[at[i].child].next; a; a = at[a].next)
            calls[count].arguments++;
        count++;
    }
    qsort(calls, count, sizeof *calls, by_line);
    return count;
}

static FILE *open_data(const char *name)
{
    char path[4096];
    testdata_path(name, path, sizeof path);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s", path);
    return file;
}

Test(python_tree, calls_are_those_of_cpython)
{
    enum { MOST = 1000 };
    static char text[1 << 16];
    static struct call calls[MOST];
    struct source source;
    FILE *file = open_data("check/syntax.py");
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    parse(text, length, &source);
    cr_expect_eq(source.tokens.problem.count, 0);
    cr_expect_eq(source.tree.problem.count, 0, "line %u: %s",
                 source.tree.problem.line, source.tree.problem.what);
    size_t count = calls_of(&source, calls, MOST), read = 0;
    struct call want;
    file = open_data("check/syntax.calls");
    while (fscanf(file, "%u %u", &want.line, &want.arguments) == 2) {
        cr_assert_lt(read, count);
        cr_expect_eq(calls[read].line, want.line, "call %zu: line %u, not %u",
                     read, calls[read].line, want.line);
        cr_expect_eq(calls[read].arguments, want.arguments, "line %u",
                     want.line);
        read++;
    }
    fclose(file);
    cr_expect_eq(read, count);
    cr_expect_geq(read, 60);
    clear(&source);
}

static size_t count_calls(const char *text, uint32_t *problems)
{
    static struct call calls[100];
    struct source source;
    parse(text, strlen(text), &source);
    size_t count = calls_of(&source, calls, 100);
    *problems = source.tree.problem.count;
    clear(&source);
    return count;
}

/* Of Python 3.12 and later. */
Test(python_tree, newer_syntax)
{
    static const struct {
        const char *text;
        size_t calls;
    } known[] = {{"def f[T: int](x: T) -> T:\n  return g(x)\n", 1},
                 {"class A[T](B):\n  x = f()\n", 1},
                 {"type A[T] = list[T]\nf()\n", 1},
                 {"f'{f(\"a\" + g('b'))}'\n", 2},
                 {"t'{f(x)!r:{g(y)}}'\n", 2},
                 {"try:\n  f()\nexcept A, B:\n  g()\n", 2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t problems;
        cr_expect_eq(count_calls(known[i].text, &problems), known[i].calls,
                     "%s", known[i].text);
        cr_expect_eq(problems, 0, "%s", known[i].text);
    }
}

/* A statement that is wrong takes nothing else with it. */
Test(python_tree, one_statement_is_lost)
{
    static const struct {
        const char *text;
        size_t calls;
        uint32_t problems;
    } known[] = {
        {"x = = 1\nf()\n", 1, 1},        {"print 'old'\nf()\n", 1, 1},
        {"if x y:\n  f()\ng()\n", 2, 1}, {"def f(1):\n  g()\nh()\n", 2, 1},
        {"for x\n  f()\n", 1, 1},        {"else:\n  f()\n", 1, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t problems;
        cr_expect_eq(count_calls(known[i].text, &problems), known[i].calls,
                     "%s", known[i].text);
        cr_expect_eq(problems, known[i].problems, "%s", known[i].text);
    }
}

/* Long is fine; deep is named. */
Test(python_tree, extremes)
{
    limit_cpu(60);
    enum { SIZE = 100000 };
    static const struct {
        const char *unit;
        uint32_t problems;
    } known[] = {{"x + ", 0}, {"(", 1},     {"[", 1},           {"-", 1},
                 {"x.", 1},   {"not ", 1},  {"lambda: ", 1},    {"x ** ", 1},
                 {"x, ", 0},  {"x or ", 0}, {"x if y else ", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t unit = strlen(known[i].unit), length = SIZE * unit;
        char *text = malloc(length + 8);
        cr_assert(text != NULL);
        for (size_t j = 0; j < SIZE; j++)
            memcpy(text + j * unit, known[i].unit, unit);
        memcpy(text + length, "x\nf()\n", 7);
        struct source source;
        parse(text, length + 6, &source);
        cr_expect_eq(source.tree.problem.count, known[i].problems, "%s: %s",
                     known[i].unit, source.tree.problem.what);
        clear(&source);
        free(text);
    }
}
