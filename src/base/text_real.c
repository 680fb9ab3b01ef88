/* SPDX-License-Identifier: MIT */
/*
 * Numbers of seven digits. The number is brought to seven digits before the
 * point by one multiplication or division with a power of ten: powers up to
 * 10^27 are exact where a long double has 64 bits, so the result is off by
 * 2^-63 of itself, below 1e-11 in units of the last digit, and it is known to
 * which side it rounds unless it lies nearer than that to the middle. There,
 * and where more than 10^27 would be needed, printf has its say.
 *
 * Alternative: Ryu, which is exact for all numbers and needs tables of 10 kB.
 *
 * Cost: some 60 instructions for a number, of which printf takes 1 500.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"

enum {
    DIGITS = 7,
    POWERS = 28,    /* 10^0 .. 10^27; 5^27 is below 2^63                  */
    FIXED_FROM = -4 /* the smallest exponent that %g writes as a fraction */
};

static const long double powers[POWERS] = {
    1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
    1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
    1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

static const uint64_t LEAST = 1000000; /* of seven digits                   */
static const double UNSURE = 1e-6;     /* 10^5 times the error              */

/* size * 10^(DIGITS - 1 - exponent) */
static long double scaled(double size, int exponent)
{
    const int power = DIGITS - 1 - exponent;
    return power < 0 ? size / powers[-power] : size * powers[power];
}

/* The seven digits of a positive number and its exponent; 0: not known. */
static uint64_t digits_of(double size, int *exponent)
{
    int binary;
    frexp(size, &binary);
    /* log10(2) = 0.30103; rounded down, the offset keeps it positive; it may
     * be one too small */
    *exponent = ((binary - 1) * 30102 + 100000000) / 100000 - 1000;
    if (*exponent <= DIGITS - POWERS || *exponent >= POWERS)
        return 0;
    long double value = scaled(size, *exponent);
    if (value >= (long double)(10 * LEAST))
        value = scaled(size, ++*exponent);
    const uint64_t whole = (uint64_t)value;
    const double rest = (double)(value - (long double)whole);
    if (whole < LEAST || fabs(rest - 0.5) < UNSURE)
        return 0;
    const uint64_t rounded = whole + (rest > 0.5);
    *exponent += rounded == 10 * LEAST;
    return rounded == 10 * LEAST ? LEAST : rounded;
}

/* Writes an exponent as %g does. */
static char *put_exponent(char *at, int exponent)
{
    const int size = exponent < 0 ? -exponent : exponent;
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    *at++ = (char)('0' + size / 10);
    *at++ = (char)('0' + size % 10);
    return at;
}

/* Writes `count` digits, the point behind the first `before` of them. */
static char *put_digits(char *at, const char *digits, int count, int before)
{
    for (int i = 0; i < count || i < before; i++) {
        if (i == before)
            *at++ = '.';
        *at++ = i < count ? digits[i] : '0';
    }
    return at;
}

void tp_text_real(struct tp_text *text, double value)
{
    char digits[DIGITS], written[2 * DIGITS + 8], *at = written;
    int exponent = 0, count = DIGITS;
    if (value == 0) { /* of either sign */
        tp_text_bytes(text, "-0" + !signbit(value), 1U + !!signbit(value));
        return;
    }
    uint64_t seven = digits_of(fabs(value), &exponent);
    if (seven == 0) {
        tp_text_add(text, "%.7g", value);
        return;
    }
    for (int i = DIGITS; i-- > 0; seven /= 10)
        digits[i] = (char)('0' + seven % 10);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (value < 0)
        *at++ = '-';
    if (exponent >= DIGITS || exponent < FIXED_FROM) {
        at = put_exponent(put_digits(at, digits, count, 1), exponent);
    } else if (exponent >= 0) {
        at = put_digits(at, digits, count, exponent + 1);
    } else {
        memcpy(at, "0.000", 5); /* at most three zeros behind the point    */
        memcpy(at + 1 - exponent, digits, (size_t)count);
        at += 1 - exponent + count;
    }
    tp_text_bytes(text, written, (size_t)(at - written));
}
