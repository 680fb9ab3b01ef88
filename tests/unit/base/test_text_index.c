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

Test(text_index, room_is_made_anew)
{
    struct tp_text_index index = {0};
    cr_assert(tp_text_index_init(&index, 1));
    *tp_text_index_put(&index, "one") = 1;
    cr_assert(tp_text_index_init(&index, 0));
    cr_expect_eq(tp_text_index_of(&index, "one"), TP_TEXT_NEW);
    tp_text_index_clear(&index);
}
