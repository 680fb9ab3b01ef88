/* SPDX-License-Identifier: MIT */
#include "formats/trace/trace_number.h"

#include <criterion/criterion.h>
#include <string.h>

/* Right sides: Python, (Decimal(text) * 1000).to_integral_value(
 * ROUND_HALF_EVEN). */
Test(trace_number, microseconds_to_nanoseconds)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"0", 0},
        {"25", 25000},
        {"1712195495519689.047", INT64_C(1712195495519689047)},
        {"1623142623460111", INT64_C(1623142623460111000)},
        {"-1.5", -1500},
        {"0.0005", 0},
        {"0.0015", 2},
        {"0.00150000000000000000000000000000000000000000001", 2},
        {"0.00050000000000000000000000000000000000000000001", 1},
        {"1.2345", 1234},
        {"1.2355", 1236},
        {"-0.0015", -2},
        {"1.2e3", 1200000},
        {"1.5E-3", 2},
        {"12e+2", 1200000},
        {"0.001", 1},
        {"000.25", 250},
        {"0e99999", 0},
        {"1e-99999", 0},
        {"9223372036854775.807", INT64_MAX},
        {"9223372036854775.8074", INT64_MAX},
        {"4458676522690.655", INT64_C(4458676522690655)},
        {"1234567", INT64_C(1234567000)},
        {"12345678", INT64_C(12345678000)},
        {"99999999.999", INT64_C(99999999999)},
        {"123456789012345.5", INT64_C(123456789012345500)},
        {"00000000000000000000000001", 1000},
    };
    static const char *const bad[] = {"",    ".",   "-",  "1.",   ".5",
                                      "1e",  "1e+", "x",  "1.2x", "0x10",
                                      "1 2", "nan", "--1",
                                      "9223372036854775.808", "1e30",
                                      "99999999999999999999"};
    int64_t ns;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_assert(tp_trace_ns(good[i].text, strlen(good[i].text), &ns), "%s",
                  good[i].text);
        cr_assert_eq(ns, good[i].ns, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert(!tp_trace_ns(bad[i], strlen(bad[i]), &ns), "%s", bad[i]);
    for (size_t i = 1; i < 16; i++) { /* beside the digits, in each place */
        char text[] = "1623142623460111";
        text[i] = i % 2 ? '/' : ':';
        cr_assert(!tp_trace_ns(text, 16, &ns), "%s", text);
    }
}

Test(trace_number, integers)
{
    int64_t value;
    cr_assert(tp_trace_integer("9223372036854775807", 19, &value));
    cr_assert_eq(value, INT64_MAX);
    cr_assert(tp_trace_integer("-9223372036854775808", 20, &value));
    cr_assert_eq(value, INT64_MIN);
    cr_assert(!tp_trace_integer("9223372036854775808", 19, &value));
    cr_assert(!tp_trace_integer("10159970886766084423", 20, &value));
    cr_assert(!tp_trace_integer("", 0, &value));
    cr_assert(!tp_trace_integer("-", 1, &value));
    cr_assert(!tp_trace_integer("1.0", 3, &value));
}
