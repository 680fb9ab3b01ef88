/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/digest.h"

static struct tp_digest of(const char *a, const char *b)
{
    struct tp_digest digest = {{0, 0}};
    tp_digest_text(&digest, a);
    tp_digest_text(&digest, b);
    return digest;
}

Test(digest, tells_bytes_apart)
{
    const struct tp_digest one = of("some text", "more"), same = one;
    const struct tp_digest others[] = {
        of("some texts", "more"), of("some tex", "tmore"), of("", ""),
        of("more", "some text"),  of("some text", ""),     of("x", "more")};
    struct tp_digest again = of("some text", "more");
    cr_expect(tp_digest_same(&one, &again));
    cr_expect_eq(tp_digest_compare(&one, &same), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cr_expect_not(tp_digest_same(&one, &others[i]), "%zu", i);
        cr_expect_eq(tp_digest_compare(&one, &others[i]),
                     -tp_digest_compare(&others[i], &one));
    }
}

static int compare_words(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

Test(digest, has_no_two_of_many_numbers)
{
    enum { MANY = 20000 };
    static uint64_t words[2][MANY];
    for (uint64_t i = 0; i < MANY; i++) {
        struct tp_digest digest = {{0, 0}};
        tp_digest_number(&digest, i);
        words[0][i] = digest.word[0];
        words[1][i] = digest.word[1];
    }
    for (int k = 0; k < 2; k++) {
        qsort(words[k], MANY, sizeof words[k][0], compare_words);
        for (size_t i = 1; i < MANY; i++)
            cr_assert_neq(words[k][i - 1], words[k][i], "each word by itself");
    }
}
