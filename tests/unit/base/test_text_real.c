/* SPDX-License-Identifier: MIT */
/* Numbers of seven digits, against printf of the C library. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void expect_as_printf(double value)
{
    char wanted[64];
    struct tp_text text = {0};
    snprintf(wanted, sizeof wanted, "%.7g", value);
    tp_text_real(&text, value);
    cr_assert_str_eq(tp_text_get(&text), wanted);
    tp_text_clear(&text);
}

static void expect_both_signs(double value)
{
    expect_as_printf(value);
    expect_as_printf(-value);
}

Test(text_real, powers_of_ten_and_their_neighbours_are_as_printf_has_them)
{
    for (int e = -330; e <= 308; e++) {
        char number[16];
        double power;
        snprintf(number, sizeof number, "1e%d", e);
        sscanf(number, "%lf", &power);
        expect_both_signs(power);
        expect_both_signs(nextafter(power, 0));
        expect_both_signs(nextafter(power, INFINITY));
        for (int digit = 2; digit < 10; digit++)
            expect_both_signs(power * digit);
    }
    expect_both_signs(0);
    expect_both_signs(DBL_MAX);
    expect_both_signs(DBL_TRUE_MIN);
}

Test(text_real, ties_and_their_neighbours_are_as_printf_has_them)
{
    for (int i = 0; i < 2000; i++) {
        const double tie = 1000000 + 4501 * (double)i + 0.5;
        for (double scale = 0x1p-40; scale <= 0x1p40; scale *= 2) {
            expect_both_signs(tie * scale);
            expect_both_signs(nextafter(tie * scale, 0));
            expect_both_signs(nextafter(tie * scale, INFINITY));
        }
    }
}

Test(text_real, any_number_is_as_printf_has_it)
{
    uint64_t state = 1;
    for (int i = 0; i < 400000; i++) {
        double value;
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t bits = state ^ state >> 29;
        if (i % 2) /* most numbers lie near 1 */
            bits = (bits & ~(UINT64_C(0x7ff) << 52)) |
                   (uint64_t)(1023 - 40 + (int)(state >> 58)) << 52;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            expect_as_printf(value);
    }
}
