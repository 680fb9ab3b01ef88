/* SPDX-License-Identifier: MIT */
#include "base/number_set.h"

#include <criterion/criterion.h>

static enum tp_status parse(struct tp_number_set *set, const char *text)
{
    struct tp_error err = {0};
    enum tp_status status = tp_number_set_parse(set, text, &err);
    cr_expect_eq(err.code, status);
    return status;
}

Test(number_set, none_named_is_all)
{
    const struct tp_number_set set = {NULL, 0, 0};
    cr_expect(tp_number_set_has(&set, 0));
    cr_expect(tp_number_set_has(&set, INT64_MAX));
    cr_expect(tp_number_set_has(&set, -1)); /* not known: asked by nobody */
}

Test(number_set, numbers_and_ranges)
{
    struct tp_number_set set = {NULL, 0, 0};
    cr_assert_eq(parse(&set, "0,2,8-11"), TP_OK);
    for (int64_t i = -1; i < 20; i++)
        cr_expect_eq(tp_number_set_has(&set, i),
                     i == 0 || i == 2 || (i >= 8 && i <= 11), "%d", (int)i);
    cr_assert_eq(parse(&set, "1"), TP_OK); /* adds */
    cr_expect(tp_number_set_has(&set, 1));
    cr_expect(tp_number_set_has(&set, 9));
    tp_number_set_clear(&set);
    cr_expect(tp_number_set_has(&set, 7));
}

Test(number_set, one_number_range_and_the_largest)
{
    struct tp_number_set set = {NULL, 0, 0};
    cr_assert_eq(parse(&set, "5-5,9223372036854775807"), TP_OK);
    cr_expect(tp_number_set_has(&set, 5));
    cr_expect_not(tp_number_set_has(&set, 6));
    cr_expect(tp_number_set_has(&set, INT64_MAX));
    tp_number_set_clear(&set);
}

Test(number_set, what_is_no_list)
{
    static const char *const bad[] = {
        "",    "a",   "1,",  ",1",  "1,,2", "-1",
        "1-",  "-",   "2-1", "1 ",  " 1",   "1-2-3",
        "+1",  "0x1", "1.5", "1;2", "٣",    "9223372036854775808",
        "1--2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tp_number_set set = {NULL, 0, 0};
        cr_expect_eq(parse(&set, bad[i]), TP_E_USAGE, "\"%s\"", bad[i]);
        tp_number_set_clear(&set);
    }
}
