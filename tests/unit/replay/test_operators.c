/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "replay/operators.h"

static const struct tp_operator *of(const char *name)
{
    return tp_operator_of((struct tp_msprobe_part){name, strlen(name)});
}

Test(operators, are_found_in_every_spelling)
{
    static const char *const add[] = {"add", "add_", "__add__", "__iadd__"};
    for (size_t i = 0; i < sizeof add / sizeof *add; i++) {
        cr_assert_not_null(of(add[i]), "%s", add[i]);
        cr_assert_eq(of(add[i]), of("add"), "%s", add[i]);
    }
    cr_assert_eq(of("__radd__"), of("radd"));
    cr_assert_eq(of("__itruediv__"), of("div"));
    cr_assert_eq(of("bmm"), of("matmul"));
    cr_assert_neq(of("t"), of("transpose"));
}

Test(operators, are_not_guessed)
{
    static const char *const others[] = {
        "", "_", "ad", "addx", "__setitem__", "iadd", "einsumx", "__", "____"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_null(of(others[i]), "%s", others[i]);
}

static bool in_list(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at;) {
        const size_t size = strcspn(at, ",");
        if (size == length && !strncmp(at, word, length))
            return true;
        at += size + (at[size] == ',');
    }
    return false;
}

/* Each name has one row; parameters are arguments of the signature. */
Test(operators, are_a_table_without_contradictions)
{
    size_t rows = 0, random = 0;
    for (const struct tp_operator *row = tp_operators; row->names; row++) {
        rows++;
        random += row->run == NULL;
        for (const char *at = row->names; *at;) {
            const size_t size = strcspn(at, " ");
            const struct tp_msprobe_part name = {at, size};
            cr_assert_eq(tp_operator_of(name), row, "%.*s", (int)size, at);
            at += size + (at[size] == ' ');
        }
        for (const char *at = row->parameters; *at;) {
            const size_t size = strcspn(at, ",");
            cr_assert(in_list(row->signature, at, size), "%s", row->names);
            at += size + (at[size] == ',');
        }
    }
    cr_assert_geq(rows, 100);
    cr_assert_eq(random, 2); /* random, and not set                          */
}
