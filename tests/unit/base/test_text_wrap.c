/* SPDX-License-Identifier: MIT */
/* Where prose breaks, and where it never does. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text_wrap.h"

/* `head` stays as it is, `prose` is broken at 20 columns, 4 are hung. */
static void expect(const char *head, const char *prose,
                   const char *const *whole, const char *wanted)
{
    struct tp_text text = {.columns = 20};
    tp_text_add(&text, "%s", head);
    size_t from = text.length;
    tp_text_add(&text, "%s", prose);
    tp_text_wrap(&text, from, 4, whole);
    cr_expect_str_eq(tp_text_get(&text), wanted, "got <%s>",
                     tp_text_get(&text));
    tp_text_clear(&text);
}

Test(text_wrap, lines_break_at_spaces_and_hang)
{
    expect("", "12345678 1234567890 12345678901", NULL,
           "12345678 1234567890\n    12345678901");
    expect("", "12345678 12345678901 x\n", NULL,
           "12345678 12345678901\n    x\n");
    expect("    -> ", "one two three four", NULL,
           "    -> one two three\n    four");
    expect("", "  one two three four\n  five six seven eight\n", NULL,
           "  one two three four\n  five six seven\n    eight\n");
    expect("first\n", "second", NULL, "first\nsecond");
    expect("", "", NULL, "");
    expect("", "\n\n", NULL, "\n\n");
}

Test(text_wrap, a_word_is_never_broken)
{
    expect("", "within run/logs/a_long_name_of_a_file.pt now", NULL,
           "within\n    run/logs/a_long_name_of_a_file.pt\n    now");
    expect("", "a_name_longer_than_a_line it is", NULL,
           "a_name_longer_than_a_line\n    it is");
}

Test(text_wrap, numbers_stay_with_their_signs)
{
    expect("", "the value was 1.0 \xc2\xb1 0.5 then", NULL,
           "the value was\n    1.0 \xc2\xb1 0.5 then");
    expect("", "and it is up to 99.5 %, here", NULL,
           "and it is up to\n    99.5 %, here");
    expect("", "and in all it took 12.5 ms, which", NULL,
           "and in all it took\n    12.5 ms, which");
    expect("", "and all of it took 5 s there", NULL,
           "and all of it took\n    5 s there");
    expect("", "and in all there 12 steps", NULL,
           "and in all there 12\n    steps");
    expect("", "of a shape of [4, 8, 16] or so", NULL,
           "of a shape of\n    [4, 8, 16] or so");
    expect("", "that is in [0, 1) and so on", NULL, /* never closed */
           "that is in [0, 1)\n    and so on");
}

Test(text_wrap, paths_with_spaces_stay_whole)
{
    static const char *const whole[] = {"my runs/step 1/x.pt", "no", NULL};
    expect("", "found my runs/step 1/x.pt: two dtypes", whole,
           "found\n    my runs/step 1/x.pt:\n    two dtypes");
    expect("", "my runs/step 1/x.pt", whole, "my runs/step 1/x.pt");
    expect("", "found my runs/step 1/x.pt: two dtypes", NULL,
           "found my runs/step\n    1/x.pt: two\n    dtypes");
}

Test(text_wrap, columns_are_counted_not_bytes)
{
    /* 10 two-byte letters; 5 wide ones; a letter with a combining accent */
    static const char letters[] = "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                                  "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
    static const char han[] = "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8"
                              "\xad\xe4\xb8\xad";
    cr_expect_eq(tp_utf8_columns(letters, strlen(letters)), 10);
    cr_expect_eq(tp_utf8_columns(han, strlen(han)), 10);
    cr_expect_eq(tp_utf8_columns("e\xcc\x81", 3), 1);
    cr_expect_eq(tp_utf8_columns("\x1b[1;31mhigh\x1b[0m", 15), 4);
    cr_expect_eq(tp_utf8_columns("\x1b[1;31", 6), 6, "no colour, cut off");
    cr_expect_eq(tp_utf8_columns("\xf0\x9f\x98\x80", 4), 2);
    struct tp_text text = {0}, wanted = {0};
    tp_text_add(&text, "%s 123456789 %s x", letters, han);
    tp_text_add(&wanted, "%s 123456789\n  %s x", letters, han);
    text.columns = 20;
    tp_text_wrap(&text, 0, 2, NULL);
    cr_expect_str_eq(tp_text_get(&text), tp_text_get(&wanted));
    tp_text_clear(&text);
    tp_text_clear(&wanted);
}

Test(text_wrap, without_columns_nothing_breaks)
{
    struct tp_text text = {0};
    tp_text_add(&text, "one two three four five six seven eight nine ten");
    tp_text_wrap(&text, 0, 2, NULL);
    cr_expect_null(strchr(tp_text_get(&text), '\n'));
    tp_text_clear(&text);
}

/* Blanks, one for each run of them. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        char byte = *from == '\n' ? ' ' : *from;
        if (byte != ' ' || (to > text && to[-1] != ' '))
            *to++ = byte;
    }
    *to = '\0';
}

Test(text_wrap, no_word_is_lost_at_any_width)
{
    static const char prose[] =
        "  -> std 4.145, was 1.028 \xc2\xb1 0.0056 [8, 2, 16] in my run/x.pt: "
        "4 % more]; [ \xe4\xb8\xad\xff % \x1b[1mbold\x1b[0m  two  ms\n\n a";
    static const char *const whole[] = {"my run/x.pt", NULL};
    char before[sizeof prose];
    memcpy(before, prose, sizeof prose);
    squeeze(before);
    for (size_t columns = 1; columns < 100; columns++) {
        struct tp_text text = {.columns = columns};
        tp_text_add(&text, "%s", prose);
        tp_text_wrap(&text, 0, columns % 12, whole);
        squeeze(text.data);
        cr_assert_str_eq(text.data, before, "%zu columns", columns);
        tp_text_clear(&text);
    }
}
