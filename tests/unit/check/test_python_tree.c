/* SPDX-License-Identifier: MIT */
/*
 * Trees of Python. The calls of testdata/check/syntax.py, the statements that
 * are inside "with" and the assignments are those that CPython 3.11's ast
 * finds (tests/oracle/python_tree.py prints them); what 3.11 does not know has
 * expectations of our own.
 */
#include "check/python_tree.h"

#include <criterion/criterion.h>

#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/python_print.h"
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

enum { MOST = 4000 };

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text, sorted; they point into it. */
static size_t lines_of(char *text, char *lines[MOST])
{
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        cr_assert_lt(count, MOST);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, by_text);
    return count;
}

static size_t calls_of(const struct source *source)
{
    size_t count = 0;
    for (size_t i = 1; i < source->tree.count; i++)
        count += source->tree.at[i].kind == TP_PY_CALL;
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

/* What we find of a kind in syntax.py, and what ast does. */
static void compare(const struct source *source, const struct python_kind *kind)
{
    static char wanted[1 << 16];
    static char *want[MOST], *have[MOST];
    char name[64], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(out != NULL);
    kind->print(&source->tree, out);
    fclose(out);
    snprintf(name, sizeof name, "check/syntax.%s", kind->name);
    FILE *file = open_data(name);
    wanted[fread(wanted, 1, sizeof wanted - 1, file)] = '\0';
    fclose(file);
    size_t count = lines_of(text, have), read = lines_of(wanted, want);
    cr_expect_eq(count, read, "%s: %zu, not %zu", kind->name, count, read);
    cr_expect_geq(read, 20);
    for (size_t i = 0; i < count && i < read; i++)
        cr_assert_str_eq(have[i], want[i], "%s", kind->name);
    free(text);
}

Test(python_tree, it_is_that_of_cpython)
{
    static char text[1 << 16];
    struct source source;
    FILE *file = open_data("check/syntax.py");
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    parse(text, length, &source);
    cr_expect_eq(source.tokens.problem.count, 0);
    cr_expect_eq(source.tree.problem.count, 0, "line %u: %s",
                 source.tree.problem.line, source.tree.problem.what);
    for (const struct python_kind *kind = python_kinds; kind->name; kind++)
        compare(&source, kind);
    clear(&source);
}

static size_t count_calls(const char *text, uint32_t *problems)
{
    struct source source;
    parse(text, strlen(text), &source);
    size_t count = calls_of(&source);
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
