/* SPDX-License-Identifier: MIT */
#include "base/text_index.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

enum { TEXTS = 5000 };

static char texts[TEXTS][40];

/* Names that begin alike, of all lengths about a word of the hash. */
static void make_texts(void)
{
    for (int i = 0; i < TEXTS; i++)
        sprintf(texts[i], "%.*sFunctional.%d.forward", i % 9, "aaaaaaaa", i);
}

Test(text_index, finds_the_number_of_each_text)
{
    struct tp_text_index index = {0};
    make_texts();
    cr_expect_eq(tp_text_index_of(&index, texts[0]), TP_TEXT_NEW);
    cr_assert(tp_text_index_init(&index, TEXTS));
    for (size_t i = 0; i < TEXTS; i++) {
        cr_expect_eq(tp_text_index_of(&index, texts[i]), TP_TEXT_NEW);
        size_t *number = tp_text_index_put(&index, texts[i]);
        cr_assert_eq(*number, TP_TEXT_NEW);
        *number = i;
    }
    for (size_t i = 0; i < TEXTS; i++) {
        char copy[sizeof texts[i]];
        strcpy(copy, texts[i]);
        cr_expect_eq(*tp_text_index_put(&index, copy), i);
        cr_expect_eq(tp_text_index_of(&index, copy), i);
    }
    cr_expect_eq(tp_text_index_of(&index, ""), TP_TEXT_NEW);
    cr_expect_eq(tp_text_index_of(&index, "Functional.0.forwar"), TP_TEXT_NEW);
    tp_text_index_clear(&index);
    cr_expect_eq(tp_text_index_of(&index, texts[0]), TP_TEXT_NEW);
}

/* A hash that sent names which begin alike to few slots would make each search
 * a walk: chance leaves e^-1 of the slots free when there are as many texts. */
Test(text_index, texts_that_begin_alike_are_spread)
{
    enum { SLOTS = 4096 };
    static size_t members[SLOTS];
    size_t empty = 0;
    make_texts();
    for (size_t i = 0; i < SLOTS; i++)
        members[tp_text_hash(texts[i], strlen(texts[i])) % SLOTS]++;
    for (size_t i = 0; i < SLOTS; i++)
        empty += members[i] == 0;
    cr_expect_lt(empty, SLOTS * 45 / 100);
    cr_expect_gt(empty, SLOTS * 30 / 100);
}

Test(text_index, room_is_made_anew)
{
    struct tp_text_index index = {0};
    cr_assert(tp_text_index_init(&index, 1));
    *tp_text_index_put(&index, "one") = 1;
    cr_assert(tp_text_index_init(&index, 0));
    cr_expect_eq(tp_text_index_of(&index, "one"), TP_TEXT_NEW);
    tp_text_index_clear(&index);
}
