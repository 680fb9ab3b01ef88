/* SPDX-License-Identifier: MIT */
/* Texts: JSON, terminals, UTF-8. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

Test(text, json_strings_are_valid_whatever_the_bytes)
{
    struct tp_text text = {0};
    tp_text_json(&text, "a\"\\\n\x7f\xc3\xa9\xff\xed\xa0\x80 \xf0\x9f\x98\x80");
    cr_assert_str_eq(tp_text_get(&text),
                     "\"a\\\"\\\\\\u000a\\u007f\xc3\xa9\xef\xbf\xbd"
                     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xf0\x9f\x98\x80\"");
    tp_text_clear(&text);
}

Test(text, a_truncated_utf8_sequence_does_not_read_past_the_end)
{
    static const char *const cut[] = {"\xc3", "\xe2\x82", "\xf0\x9f\x98"};
    for (size_t i = 0; i < 3; i++) {
        struct tp_text text = {0};
        char *copy = strdup(cut[i]); /* a sanitizer sees one byte more */
        tp_text_json(&text, copy);
        cr_assert_eq(text.length, 2 + 3 * strlen(cut[i]));
        free(copy);
        tp_text_clear(&text);
    }
}

Test(text, nothing_printable_drives_a_terminal)
{
    struct tp_text text = {0};
    tp_text_printable(&text, "a\x1b[31m\x9b\xc2\x9b\xe2\x80\xae\xe2\x81\xa6"
                             "\xc3\xa9\xe2\x82\xac\xff");
    cr_assert_str_eq(tp_text_get(&text),
                     "a\\x1b[31m\\x9b\\xc2\\x9b\\xe2\\x80\\xae"
                     "\\xe2\\x81\\xa6\xc3\xa9\xe2\x82\xac\\xff");
    text.length = 0;
    tp_text_json(&text, "\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x82\xac");
    cr_assert_str_eq(tp_text_get(&text),
                     "\"\\u009b\\u202e\\u2066\xe2\x82\xac\"");
    text.length = 0;
    tp_text_printable(&text, "\xd8\x9c\xe2\x80\xa8\xe2\x80\xa9"
                             "\xd8\x9b\xe2\x80\xa7"); /* U+061B, U+2027 */
    cr_assert_str_eq(tp_text_get(&text), "\\xd8\\x9c\\xe2\\x80\\xa8"
                                         "\\xe2\\x80\\xa9"
                                         "\xd8\x9b\xe2\x80\xa7");
    text.length = 0;
    tp_text_json(&text, "\xd8\x9c\xe2\x80\xa8");
    cr_assert_str_eq(tp_text_get(&text), "\"\\u061c\\u2028\"");
    text.length = 0;
    tp_text_json(&text, "a\xc2\xad\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81");
    cr_assert_str_eq(tp_text_get(&text),
                     "\"a\\u00ad\\u200b\\ufeff\\udb40\\udc41\"");
    text.length = 0; /* U+2000, U+205F, U+E0080 are none */
    tp_text_printable(&text, "\xe2\x80\x80\xe2\x81\x9f\xf3\xa0\x82\x80"
                             "\xe2\x80\x8b\xf3\xa0\x81\x81");
    cr_assert_str_eq(tp_text_get(&text),
                     "\xe2\x80\x80\xe2\x81\x9f\xf3\xa0\x82\x80"
                     "\\xe2\\x80\\x8b\\xf3\\xa0\\x81\\x81");
    text.length = 0;
    tp_text_shown(&text, "\x1b[1;31mhigh\x1b[0m\n\x1b]0;x\x1b[2J\xc3\xa9",
                  true);
    cr_assert_str_eq(tp_text_get(&text), "\x1b[1;31mhigh\x1b[0m\n"
                                         "\\x1b]0;x\\x1b[2J\xc3\xa9");
    text.length = 0;
    tp_text_shown(&text, "a\x1b[1mb\n", false);
    cr_assert_str_eq(tp_text_get(&text), "a\\x1b[1mb\n");
    text.length = 0;
    tp_text_printable_lines(&text, "a\n\nb\x1b\n\n");
    cr_assert_str_eq(tp_text_get(&text), "a\n\nb\\x1b\n\n");
    cr_assert(tp_text_is_utf8("\xc3\xa9"));
    cr_assert_not(tp_text_is_utf8("a\xff"));
    tp_text_clear(&text);
}

Test(text, long_names_are_cut_between_characters)
{
    static const char *const cut[][2] = {
        {"abcde", "abcde"},
        {"abcdef", "abcde..."},
        {"abcd\xc3\xa9", "abcd..."}, /* e acute */
        {"abc\xc3\xa9", "abc\xc3\xa9"},
        {"ab\xe2\x82\xac"
         "c",
         "ab\xe2\x82\xac..."}, /* Euro */
        {"ab\x01"
         "cd",
         "ab\\x0..."},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        struct tp_text text = {0};
        tp_text_printable_cut(&text, cut[i][0], 5);
        cr_assert_str_eq(tp_text_get(&text), cut[i][1]);
        tp_text_clear(&text);
    }
}

Test(text, json_numbers_round_trip_and_have_no_nan)
{
    struct tp_text text = {0};
    tp_text_json_number(&text, 0.1);
    cr_assert_eq(strtod(tp_text_get(&text), NULL), 0.1);
    tp_text_clear(&text);
    tp_text_json_number(&text, 0.0 / 0.0);
    cr_assert_str_eq(tp_text_get(&text), "null");
    tp_text_clear(&text);
}

Test(text, a_step_of_utf8)
{
    static const struct {
        const char *bytes;
        size_t left, step;
    } cases[] = {
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\xc2\x80", 2, 2},
        {"\xc2\x80", 1, 0}, /* cut off                                      */
        {"\xc1\x80", 2, 0}, /* overlong                                     */
        {"\x80", 1, 0},
        {"\xe0\xa0\x80", 3, 3},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xed\x9f\xbf", 3, 3},
        {"\xed\xa0\x80", 3, 0}, /* a surrogate                              */
        {"\xef\xbf", 4, 0}, /* its NUL ends it                              */
        {"\xf0\x90\x80\x80", 4, 4},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xf4\x90\x80\x80", 4, 0}, /* above U+10FFFF                      */
        {"\xf5\x80\x80\x80", 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tp_utf8_step(cases[i].bytes, cases[i].left), cases[i].step,
                     "case %zu", i);
}

Test(text, digits_make_a_number_that_fits_or_none)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"0009223372036854775807", INT64_MAX},
        {"9223372036854775808", -1},
        {"92233720368547758070", -1},
        {"18446744073709551617", -1}, /* 1, modulo 2^64                    */
        {"", -1},
        {"-1", -1},
        {"+1", -1},
        {" 1", -1},
        {"1e3", -1},
        {"/", -1}, /* the characters beside the digits                     */
        {":", -1},
        {"\xd9\xa1", -1}, /* a digit of another script                     */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tp_digits_value(cases[i].text, strlen(cases[i].text)),
                     cases[i].value, "'%s'", cases[i].text);
    cr_expect_eq(tp_digits_value("12x", 2), 12, "of the length given");
    cr_expect_eq(tp_digits_value("1", 0), -1);
}

/* RFC 8259, section 2; C's isspace has two more, and more by locale. */
Test(text, json_has_four_blanks)
{
    for (int c = 0; c < 256; c++)
        cr_expect_eq(tp_json_is_blank((char)c),
                     c == 0x20 || c == 0x09 || c == 0x0a || c == 0x0d,
                     "byte %d", c);
}

Test(text, utf8_is_cut_and_counted_by_character)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x90\x80\x80";
    static const size_t cut[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    static const size_t first[] = {0, 1, 3, 6, 10, 10};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        cr_expect_eq(tp_utf8_cut(text, i), cut[i], "at most %zu", i);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        cr_expect_eq(tp_utf8_first(text, i), first[i], "first %zu", i);
    cr_expect_eq(tp_utf8_count(text), 4);
    cr_expect_eq(tp_utf8_count(""), 0);
    cr_expect_eq(tp_utf8_cut("", 5), 0);
    cr_expect_eq(tp_utf8_first("", 5), 0);
}

Test(text, integers_are_what_printf_writes)
{
    static const int64_t values[] = {0,   -1,  9,         -10,
                                     100, 999, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct tp_text text = {0}, printed = {0};
        tp_text_integer(&text, values[i]);
        tp_text_add(&printed, "%" PRId64, values[i]);
        cr_expect_str_eq(tp_text_get(&text), tp_text_get(&printed));
        tp_text_clear(&text);
        tp_text_clear(&printed);
    }
}

/* What is added may be larger than the room there is, and larger than twice. */
Test(text, texts_of_any_length_are_added_whole)
{
    char want[600] = "";
    struct tp_text text = {0};
    for (int i = 0; i < 20; i++) {
        tp_text_add(&text, "%0*d", i, i % 10);
        sprintf(want + strlen(want), "%0*d", i, i % 10);
        cr_expect_str_eq(text.data, want);
        cr_expect_eq(text.length, strlen(want));
    }
    tp_text_add(&text, "%0200d", 7);
    cr_expect_eq(text.length, strlen(want) + 200);
    tp_text_clear(&text);
}

/* Code points that no text may have (Unicode, 23.7): HTML and XML forbid them,
 * their neighbours are characters. */
Test(text, noncharacters)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {{"\xef\xbf\xbe", "\\xef\\xbf\\xbe"},
                 {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"},
                 {"\xef\xb7\x90", "\\xef\\xb7\\x90"},
                 {"\xef\xb7\xaf", "\\xef\\xb7\\xaf"},
                 {"\xf0\x9f\xbf\xbe", "\\xf0\\x9f\\xbf\\xbe"},
                 {"\xf4\x8f\xbf\xbf", "\\xf4\\x8f\\xbf\\xbf"},
                 {"\xef\xbf\xbd", "\xef\xbf\xbd"},
                 {"\xef\xb7\x8f", "\xef\xb7\x8f"},
                 {"\xef\xb7\xb0", "\xef\xb7\xb0"},
                 {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                 {"\xe2\xbf\xbf", "\xe2\xbf\xbf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_text text = {0};
        tp_text_printable(&text, cases[i].text);
        cr_expect_str_eq(tp_text_get(&text), cases[i].shown);
        tp_text_clear(&text);
    }
}
