/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "tensors/memo.h"

Test(memo, keeps_results_by_what_they_follow_from)
{
    struct tp_memo memo;
    struct tp_digest digests[] = {{{1, 2}}, {{3, 4}}};
    struct tp_run run = {.digests = digests, .memo = &memo};
    const struct tp_row a = {.source = 0, .place = 5};
    const struct tp_row b = {.source = 1, .place = 5};
    const struct tp_row c = {.source = 0, .place = 6};
    const struct tp_digest keys[] = {
        tp_memo_key(&run, "x", &a, NULL), tp_memo_key(&run, "y", &a, NULL),
        tp_memo_key(&run, "x", &b, NULL), tp_memo_key(&run, "x", &c, NULL),
        tp_memo_key(&run, "x", &a, &b),   tp_memo_key(&run, "x", &b, &a)};
    enum { COUNT = sizeof keys / sizeof *keys };
    tp_memo_init(&memo);
    for (double i = 0; i < COUNT; i++) {
        double got = -1;
        cr_expect_not(tp_memo_get(&run, &keys[(int)i], &got, sizeof got));
        tp_memo_put(&run, &keys[(int)i], &i, sizeof i);
    }
    for (int i = 0; i < COUNT; i++) {
        double got = -1;
        float less;
        cr_expect(tp_memo_get(&run, &keys[i], &got, sizeof got));
        cr_expect_eq(got, i);
        cr_expect_not(tp_memo_get(&run, &keys[i], &less, sizeof less));
    }
    cr_expect_null(tp_memo_text(&run, &keys[1]), "1.0 does not end in NUL");
    cr_expect_eq(memo.made, COUNT);
    tp_memo_clear(&memo);
    run.memo = NULL;
    cr_expect_not(tp_memo_get(&run, &keys[0], NULL, 0));
    tp_memo_put(&run, &keys[0], "", 1);
    cr_expect_null(tp_memo_text(&run, &keys[0]));
}

Test(memo, has_changed_by_what_was_made_and_what_nobody_asked_for)
{
    struct tp_memo memo;
    const struct tp_run run = {.memo = &memo};
    struct tp_memo_entry entry = {{{7, 0}}, "text", 5, false};
    tp_memo_init(&memo);
    cr_expect_not(tp_memo_has_changed(&memo));
    for (uint64_t i = 0; i < 500; i++) {
        entry.key.word[1] = i;
        cr_assert_eq(tp_memo_add(&memo, &entry, NULL), TP_OK);
    }
    cr_expect(tp_memo_has_changed(&memo));
    for (uint64_t i = 0; i < 500; i++) {
        entry.key.word[1] = i;
        cr_expect_str_eq(tp_memo_text(&run, &entry.key), "text");
    }
    cr_expect_not(tp_memo_has_changed(&memo));
    entry.key.word[1] = 500;
    tp_memo_put(&run, &entry.key, "new", 4);
    cr_expect(tp_memo_has_changed(&memo));
    tp_memo_clear(&memo);
}
