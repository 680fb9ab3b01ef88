/* SPDX-License-Identifier: MIT */
/*
 * Words of shell commands: those that bash passes on, but that a list in quotes
 * is split.
 */
#include "check/shell.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* "a|b?|$X*": '?' behind what may be left out, '*' behind what goes on. */
static void add_command(void *context, const struct tp_shell_word *words,
                        size_t count)
{
    struct tp_text *text = context;
    for (size_t i = 0; i < count; i++)
        tp_text_add(text, "%s%s%s%s", i ? "|" : "", words[i].text,
                    words[i].unknown ? "*" : "", words[i].maybe ? "?" : "");
    tp_text_add(text, "\n");
}

static void expect(const char *script, const char *wanted)
{
    struct tp_text text = {0};
    struct tp_error err = {0};
    const struct tp_shell_visitor visitor = {&text, add_command};
    cr_assert_eq(tp_shell_read(script, strlen(script), &visitor, &err), TP_OK);
    cr_expect_str_eq(tp_text_get(&text), wanted, "%s:\n%s", script,
                     tp_text_get(&text));
    tp_text_clear(&text);
}

Test(shell, words)
{
    expect("a b 'c d' \"e f\" g\\ h # i\n", "a|b|c d|e f|g h\n");
    expect("a \\\n  b;c && d | e\n", "a|b\nc\nd\ne\n");
    expect("a > out 2>&1 b < in\n", "a|b\n");
    expect("a << 'E' b\nc d\nE\ne\n", "a|b\ne\n");
    expect("a --x=\"1 2\" $'y'\n", "a|--x=1 2|y\n");
    expect("bash -c \"a b\"\n", "bash|-c|a|b\n");
    expect("(a; b) & { c; }\n", "a\nb\nc\n");
}

Test(shell, variables)
{
    expect("X=1; a $X ${X}2 \"$X\"\n", "a|1|12|1\n");
    expect("X=\"-a -b\"\nX+=\" -c\"\nX=\"$X -d\"\na $X\n", "a|-a|-b|-c|-d\n");
    expect("X=(a \"b c\" # d\n e)\nX+=(f)\n\"${X[@]}\"\n", "a|b c|e|f\n");
    expect("X=; a $X b\n", "a|b\n");
    expect("X=a; X=b; c $X\n", "c|b\n");
    expect("export X=a; c --${X}\n", "c|--a\n");
    expect("RUN=\"a $X b\"; $RUN\n", "a|$X*|b\n");
}

Test(shell, what_is_unknown)
{
    expect("a $X --y=$Y \"$@\" $(b c) `d` $1\n", "a|$X*|--y=*|$@*|$*|$*|$1*\n");
    expect("a ${X:-b} ${X##*/} $((1 + 2))\n", "a|$X*|$X*|$*\n");
    expect("X=b; a ${X:-c} ${X%d}\n", "a|b|$X*\n");
    expect("for X in b c; do a $X; done\n", "a|$X*\n");
}

Test(shell, branches)
{
    expect("if t; then X=a; b $X; else X=c; b $X; fi\nd $X\n",
           "t\nb|a\nb|c\nd|a?|c?\n");
    expect("X=a\nif t; then X=\"$X b\"; fi\nc $X\n", "t\nc|a|b?\n");
    expect("t && X=a\nb $X\n", "t\nb|a?\n");
    expect("t &&\n X=a\nb $X\n", "t\nb|a?\n");
    expect("case $1 in\na|b) X=c ;;\n*) X=d;;\nesac\ne $X\n", "e|c?|d?\n");
    expect("f() {\n X=a\n b $X\n}\nc $X\n", "b|a\nc|a?\n");
    expect("[[ a && b ]] || X=a\nX=c\nb $X\n", "b|c\n");
    expect("X=a; (X=b; c $X); d $X\n", "c|b\nd|a?|b?\n");
}

/* What is no shell ends, and hurts nobody. */
Test(shell, odd_scripts, .timeout = 20)
{
    static const char *const scripts[] = {
        "'",    "\"$(",  "X=(",   "${",     "case a in", "<<",
        "a <<", "fi fi", "esac;", ") ) }",  "$",         "\\",
        "((",   "[[ a",  "`",     "X=(;|)", "<(",        "a <<E\nb"};
    struct tp_text text = {0};
    struct tp_error err = {0};
    const struct tp_shell_visitor visitor = {&text, add_command};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        cr_expect_eq(
            tp_shell_read(scripts[i], strlen(scripts[i]), &visitor, &err),
            TP_OK, "%s", scripts[i]);
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP * 8 + 1);
    for (size_t i = 0; i < DEEP; i++)
        memcpy(deep + 8 * i, "if(${X; ", 8);
    cr_expect_eq(tp_shell_read(deep, (size_t)DEEP * 8, &visitor, &err), TP_OK);
    for (size_t i = 0; i < DEEP; i++)
        memcpy(deep + 8 * i, "X=a$X$X\n", 8);
    cr_expect_eq(tp_shell_read(deep, (size_t)DEEP * 8, &visitor, &err), TP_OK);
    for (size_t i = 0; i < DEEP; i++)
        memcpy(deep + 8 * i, "X=\"$X $X", 8);
    cr_expect_eq(tp_shell_read(deep, (size_t)DEEP * 8, &visitor, &err), TP_OK);
    free(deep);
    tp_text_clear(&text);
}
