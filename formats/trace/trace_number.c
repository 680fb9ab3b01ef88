/* SPDX-License-Identifier: MIT */
/*
 * Decimal microseconds to integer nanoseconds, exactly.
 *
 * Times since the epoch have 16 digits before the point: a double, so strtod,
 * holds them to a quarter of a microsecond only. Digits are collected and
 * rounded half to even, as if with unlimited precision; the usual form, up to
 * 16 digits and three decimals, is read without that in one loop. O(length).
 */
#include "formats/trace/trace_number.h"

#include <string.h>

/* Digits kept; a time that fits has at most 19, the rest is for rounding. */
enum { DIGITS = 40, NS_DECIMALS = 3, EXPONENT_MAX = 10000 };

/* 0.d1 d2 d3 ... * 10^point */
struct decimal {
    bool negative, beyond; /* beyond: a nonzero digit was not kept */
    int count;
    int64_t point;
    unsigned char digits[DIGITS];
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_digit(struct decimal *number, char c)
{
    if (number->count < DIGITS)
        number->digits[number->count++] = (unsigned char)(c - '0');
    else if (c != '0')
        number->beyond = true;
}

/* Reads digits; leading zeros only move the point. */
static const char *read_digits(struct decimal *number, const char *at,
                               const char *end, bool fraction)
{
    for (; at < end && is_digit(*at); at++) {
        if (number->count == 0 && *at == '0') {
            number->point -= fraction;
            continue;
        }
        add_digit(number, *at);
        number->point += !fraction;
    }
    return at;
}

static bool read_exponent(struct decimal *number, const char *at,
                          const char *end)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end)
        return false;
    int64_t exponent = 0;
    for (; at < end && is_digit(*at); at++) {
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    }
    number->point += negative ? -exponent : exponent;
    return at == end;
}

static bool read_decimal(const char *text, size_t length,
                         struct decimal *number)
{
    const char *at = text, *end = text + length;
    *number = (struct decimal){.negative = at < end && *at == '-'};
    at += number->negative;
    const char *first = at;
    at = read_digits(number, at, end, false);
    bool some = at > first;
    if (at < end && *at == '.') {
        first = ++at;
        at = read_digits(number, at, end, true);
        some = some && at > first;
    }
    if (some && at < end && (*at == 'e' || *at == 'E'))
        return read_exponent(number, at + 1, end);
    return some && at == end;
}

/* Whether what follows the first `kept` digits rounds the last one up. */
static bool rounds_up(const struct decimal *number, int64_t kept, uint64_t last)
{
    if (kept < 0 || kept >= number->count)
        return false;
    if (number->digits[kept] != 5)
        return number->digits[kept] > 5;
    for (int64_t i = kept + 1; i < number->count; i++) {
        if (number->digits[i])
            return true;
    }
    return number->beyond || last % 2 == 1;
}

/* The number times 10^scale as an integer, rounded half to even. */
static bool scale_decimal(const struct decimal *number, int scale,
                          int64_t *value)
{
    int64_t kept = number->point + scale; /* digits before the point */
    uint64_t sum = 0;
    if (number->count == 0) {
        *value = 0;
        return true;
    }
    if (kept > 19)
        return false;
    for (int64_t i = 0; i < kept; i++)
        sum = sum * 10 + (i < number->count ? number->digits[i] : 0);
    sum += rounds_up(number, kept, sum);
    if (sum > INT64_MAX)
        return false;
    *value = number->negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}

/* Eight digits at once: neighbours are joined to pairs in all bytes, these to
 * fours, these to one. False if one of them is no digit. */
static bool eight_digits(const char *text, int64_t *value)
{
    uint64_t v;
    memcpy(&v, text, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    const uint64_t digits = v ^ UINT64_C(0x3030303030303030);
    if (((digits + UINT64_C(0x7676767676767676)) | digits) &
        UINT64_C(0x8080808080808080))
        return false;
    v = digits * 10 + (digits >> 8);
    v = ((v & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
         (v >> 16 & UINT64_C(0x000000ff000000ff)) *
             UINT64_C(0x0000271000000001)) >>
        32;
    *value = (int64_t)(v & UINT32_MAX);
    return true;
}

/* The usual form: microseconds since the epoch, 16 digits, with up to three
 * decimals; whatever does not fit 63 bits with those is not quick. */
static bool quick_ns(const char *text, size_t length, int64_t *ns)
{
    size_t at = 0;
    int64_t sum = 0, unit = 1000, eight;
    for (; at + 8 <= length && at < 16 && eight_digits(text + at, &eight);
         at += 8)
        sum = sum * 100000000 + eight;
    for (; at < length && at < 17 && is_digit(text[at]); at++)
        sum = sum * 10 + (text[at] - '0');
    if (at == 0 || sum > INT64_MAX / 1000 - 1)
        return false;
    sum *= 1000;
    if (at < length) {
        size_t decimals = length - at - 1;
        if (text[at] != '.' || decimals < 1 || decimals > NS_DECIMALS)
            return false;
        for (at++; at < length; at++) {
            if (!is_digit(text[at]))
                return false;
            unit /= 10;
            sum += (text[at] - '0') * unit;
        }
    }
    *ns = sum;
    return true;
}

bool tp_trace_ns(const char *text, size_t length, int64_t *ns)
{
    struct decimal number;
    if (length == 0)
        return false;
    if (quick_ns(text, length, ns))
        return true;
    return read_decimal(text, length, &number) &&
           scale_decimal(&number, NS_DECIMALS, ns);
}

bool tp_trace_integer(const char *text, size_t length, int64_t *value)
{
    bool negative = length > 0 && text[0] == '-';
    uint64_t sum = 0;
    if (length == (size_t)negative || length > 20)
        return false;
    for (size_t i = negative; i < length; i++) {
        if (!is_digit(text[i]) || sum > UINT64_MAX / 10 - 1)
            return false;
        sum = sum * 10 + (uint64_t)(text[i] - '0');
    }
    if (sum > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? 0 - sum : sum);
    return true;
}
