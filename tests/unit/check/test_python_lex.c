/* SPDX-License-Identifier: MIT */
/* Tokens of Python. What is wanted is what CPython's tokenize prints for the
 * same source (3.12 for f-strings), in our letters. */
#include "check/python_lex.h"
#include "tests/unit/support/cpu_limit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of the tokens, a letter each. */
static void kinds_of(const char *source, size_t length, char *kinds,
                     struct tp_py_problem *problem)
{
    static const char letters[] = "E;><wknsof{}g";
    struct tp_py_tokens tokens;
    struct tp_error err = {0};
    cr_assert_eq(tp_py_lex(source, length, &tokens, &err), TP_OK);
    for (size_t i = 0; i < tokens.count; i++) {
        kinds[i] = letters[tokens.at[i].kind];
        cr_assert_leq(tokens.at[i].start + tokens.at[i].length, length);
    }
    kinds[tokens.count] = '\0';
    *problem = tokens.problem;
    tp_py_tokens_clear(&tokens);
}

Test(python_lex, kinds)
{
    static const struct {
        const char *source, *kinds;
    } known[] = {
        {"", "E"},
        {"x = 1\n", "won;E"},
        {"if x:\n\ty\nz", "kwo;>w;<w;E"},
        {"if x:\n  y\n\n# c\n\n  z\n", "kwo;>w;w;<E"},
        {"f(a,\n  b)\n", "wowowo;E"},
        {"a = b \\\n  + c\n", "wowow;E"},
        {"rb'\\'' 'x' \"\"\"a\n'\"b\"\"\"\n", "sss;E"},
        {"1.5e-3 + 0x_fF + 1_0j + .5 + 1.\n", "nonono"
                                              "non;E"},
        {"a //= b ** c != d -> ...\n", "wowowowoo;E"},
        {"f'{x}'\n", "f{w}g;E"},
        {"f'a{{b}}c{x!r:>{w}}d'\n", "f{wow{w}}g;E"},
        {"f'{a['b']}'\n", "f{wos"
                          "o}g;E"},
        {"f'{f'{1+1}'}'\n", "f{f{non}g}g;E"},
        {"rf'\\{x}' f'\\N{DASH}{y}'\n", "f{w}gf{w}g;E"},
        {"f'''{\nx\n}\n'''\n", "f{w}g;E"},
        {"x\r\ny\rz\n", "w;w;w;E"},
        {"\xef\xbb\xbfx\n", "w;E"},
        {"n\xc3\xa4me = '\xe9'\n", "wos;E"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char kinds[256];
        struct tp_py_problem problem;
        kinds_of(known[i].source, strlen(known[i].source), kinds, &problem);
        cr_expect_str_eq(kinds, known[i].kinds, "%zu: %s", i, known[i].source);
        cr_expect_eq(problem.count, 0, "%zu: %s", i, problem.what);
    }
}

Test(python_lex, problems)
{
    static const struct {
        const char *source;
        size_t length;
        uint32_t line;
        const char *word;
    } known[] = {
        {"x = 'a\ny\n", 9, 1, "string"},
        {"x\n'''a\nb", 9, 2, "string"},
        {"x\ny = (1,\n", 10, 2, "never closed"},
        {"x)\n", 3, 1, "closing"},
        {"x\0y\n", 4, 1, "NUL"},
        {"x = `y`\n", 8, 1, "Python 2"},
        {"if x:\n    y\n  z\n", 16, 3, "indentation"},
        {"f'{x\n", 5, 1, "string"},
        {"x = $\n", 6, 1, "no use"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char kinds[256];
        struct tp_py_problem problem;
        kinds_of(known[i].source, known[i].length, kinds, &problem);
        cr_assert_geq(problem.count, 1, "%zu", i);
        cr_expect_eq(problem.line, known[i].line, "%zu: line %u", i,
                     problem.line);
        cr_expect(strstr(problem.what, known[i].word) != NULL, "%zu: %s", i,
                  problem.what);
    }
}

/* 10^5 brackets, 1 MB lines: linear, and named. */
Test(python_lex, extremes)
{
    limit_cpu(60);
    enum { SIZE = 1 << 20 };
    static const char fill[] = "([{f'\"xa \\";
    char *source = malloc(SIZE);
    cr_assert(source != NULL);
    for (size_t i = 0; i < sizeof fill - 1; i++) {
        struct tp_py_tokens tokens;
        struct tp_error err = {0};
        memset(source, fill[i], SIZE);
        cr_expect_eq(tp_py_lex(source, SIZE, &tokens, &err), TP_OK);
        cr_expect_geq(tokens.count, 1);
        tp_py_tokens_clear(&tokens);
    }
    free(source);
}
