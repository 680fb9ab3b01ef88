/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/call_match.h"

/* A place whose calls have these names, joined by ' '; numbered as msprobe
 * does, each API for itself. */
static void make_place(struct tp_dump_place *place, const char *names)
{
    struct tp_error err = {0};
    memset(place, 0, sizeof *place);
    for (const char *at = names; *at;) {
        char key[64];
        size_t size = strcspn(at, " "), number = 0;
        for (size_t i = 0; i < place->call_count; i++)
            number += place->calls[i].name.path.length == size &&
                      !memcmp(place->calls[i].name.path.at, at, size);
        struct tp_dump_call *call;
        snprintf(key, sizeof key, "Torch.%.*s.%zu.forward", (int)size, at,
                 number);
        cr_assert_eq(tp_dump_call_add(place, key, &call, &err), TP_OK);
        at += size + (at[size] == ' ');
    }
}

static void clear_place(struct tp_dump_place *place)
{
    free(place->calls);
    tp_arena_clear(&place->arena);
}

/* Matches two lists; the pairs as "00 1- -1". */
static void check(const char *left, const char *right, const char *want)
{
    struct tp_dump_place a, b;
    struct tp_call_pairs pairs = {0};
    struct tp_error err = {0};
    char got[256] = "";
    make_place(&a, left);
    make_place(&b, right);
    cr_assert_eq(tp_call_match(&a, &b, &pairs, &err), TP_OK);
    for (size_t i = 0; i < pairs.count; i++) {
        char one[64], x[24] = "-", y[24] = "-";
        if (pairs.pairs[i].a != SIZE_MAX)
            snprintf(x, sizeof x, "%zu", pairs.pairs[i].a);
        if (pairs.pairs[i].b != SIZE_MAX)
            snprintf(y, sizeof y, "%zu", pairs.pairs[i].b);
        snprintf(one, sizeof one, "%s%s%s", i ? " " : "", x, y);
        strcat(got, one);
    }
    cr_assert_str_eq(got, want);
    tp_call_pairs_clear(&pairs);
    clear_place(&a);
    clear_place(&b);
}

Test(call_match, pairs_equal_lists)
{
    check("mul add mul", "mul add mul", "00 11 22");
    check("", "", "");
}

Test(call_match, finds_the_call_that_one_run_lacks)
{
    check("mm mul fill exp mm add", "mm fill exp mm add", "00 1- 21 32 43 54");
    check("mm fill exp mm", "mm half fill exp float mm", "00 -1 12 23 -4 35");
    check("mm add exp", "mm add", "00 11 2-");
}

Test(call_match, puts_another_call_in_the_place_of_one)
{
    check("mm gelu mm add", "mm silu mm add", "00 1- -1 22 33");
    check("mm", "add", "0- -0");
}

/* Lists that have nothing in common, longer than what is searched at once. */
Test(call_match, comes_to_an_end)
{
    enum { COUNT = 1500 };
    static char left[COUNT * 4 + 1], right[COUNT * 4 + 1];
    struct tp_dump_place a, b;
    struct tp_call_pairs pairs = {0};
    struct tp_error err = {0};
    for (int i = 0; i < COUNT; i++) {
        strcat(left + 4 * i, "add ");
        strcat(right + 4 * i, "mul ");
    }
    make_place(&a, left);
    make_place(&b, right);
    cr_assert_eq(tp_call_match(&a, &b, &pairs, &err), TP_OK);
    cr_assert_eq(pairs.count, 2 * COUNT);
    for (size_t i = 0; i < pairs.count; i++)
        cr_assert((pairs.pairs[i].a == SIZE_MAX) !=
                  (pairs.pairs[i].b == SIZE_MAX));
    tp_call_pairs_clear(&pairs);
    clear_place(&a);
    clear_place(&b);
}

/* Numbers behind a call that is missing are others; what they call is not. */
Test(call_match, does_not_go_by_numbers)
{
    check("mul mm mul add mul", "mm mul add mul", "0- 10 21 32 43");
}
