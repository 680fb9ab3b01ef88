/* SPDX-License-Identifier: MIT */
#include "formats/json/json_python.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Removes zeros at the end of the digits of "d.ddde+xx", and a point that
 * nothing is behind. */
static void strip_zeros(char *digits)
{
    char *e = strchr(digits, 'e'), *end = e;
    if (!strchr(digits, '.'))
        return;
    while (end[-1] == '0')
        end--;
    if (end[-1] == '.')
        end--;
    memmove(end, e, strlen(e) + 1);
}

/* Adds one to the last digit; false when all are nines. */
static bool next_up(char *digits)
{
    char *at = strchr(digits, 'e') - 1;
    for (; at >= digits && (*at == '9' || *at == '.'); at--)
        if (*at == '9')
            *at = '0';
    if (at < digits || *at == '-')
        return false;
    ++*at;
    return true;
}

/*
 * The fewest digits that read back as the value, as "d.ddde+xx". 15 are exact
 * for each number that has no more, so fewer are these without their zeros; 17
 * always give a binary64 back. Above a power of two doubles are twice as far
 * apart as below, so that the 16 digits above it may read back where those that
 * are nearest do not. Subnormals have fewer digits than 15.
 */
static void shortest(double value, char *digits, size_t size)
{
    const bool subnormal = fabs(value) < DBL_MIN;
    for (int n = subnormal ? 0 : 14; n < 15; n++) {
        snprintf(digits, size, "%.*e", n, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    if (strtod(digits, NULL) == value) {
        strip_zeros(digits);
        return;
    }
    snprintf(digits, size, "%.15e", value);
    if (strtod(digits, NULL) == value ||
        (next_up(digits) && strtod(digits, NULL) == value))
        return;
    snprintf(digits, size, "%.16e", value);
}

/*
 * Adds a number of few decimals: an integer below 10^15 over a power of ten.
 * Both are exact, so that their quotient is what the decimal reads back as, and
 * of at most 15 digits only one decimal does. False: it is another one.
 */
static bool add_short(double value, struct tp_text *text)
{
    static const double powers[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
    const double size = fabs(value);
    int decimals = 0;
    if (!(size < 1e9) || (size < 1e-4 && size > 0))
        return false;
    while (decimals < 7 &&
           nearbyint(size * powers[decimals]) / powers[decimals] != size)
        decimals++;
    if (decimals == 7)
        return false;
    const int64_t power = (int64_t)powers[decimals];
    const int64_t whole = (int64_t)nearbyint(size * powers[decimals]);
    char digits[8] = ".0";
    for (int64_t i = decimals, rest = whole % power; i > 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    tp_text_bytes(text, "-", signbit(value) != 0);
    tp_text_integer(text, whole / power);
    tp_text_bytes(text, digits, decimals > 0 ? (size_t)decimals + 1 : 2);
    return true;
}

/* Python writes exponents below -4 and from 16 on, all else in full. */
void tp_python_float(double value, struct tp_text *text)
{
    char digits[40];
    if (isnan(value)) {
        tp_text_add(text, "nan");
        return;
    }
    if (isinf(value)) {
        tp_text_add(text, value < 0 ? "-inf" : "inf");
        return;
    }
    if (add_short(value, text))
        return;
    shortest(value, digits, sizeof digits);
    char *e = strchr(digits, 'e');
    int exponent = atoi(e + 1);
    int decimals = (int)(e - digits) - (digits[0] == '-') - 2;
    if (decimals < 0) /* "5e+01": one digit, no point */
        decimals = 0;
    if (exponent < -4 || exponent >= 16)
        tp_text_add(text, "%s", digits);
    else if (exponent >= decimals)
        tp_text_add(text, "%.1f", value);
    else
        tp_text_add(text, "%.*f", decimals - exponent, value);
}

/* What Python does not print as it is beyond ASCII: spaces but the common one,
 * controls, format and private characters of Unicode; those that are not
 * assigned yet are left out, since their number shrinks every year. */
static const struct {
    uint32_t first, last;
} unprinted[] = {
    {0x80, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
    {0x890, 0x891},     {0x8e2, 0x8e2},     {0x1680, 0x1680},
    {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},
    {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0x10ffff},
};

static bool is_printed(uint32_t c)
{
    for (size_t i = 0; i < sizeof unprinted / sizeof *unprinted; i++)
        if (c >= unprinted[i].first && c <= unprinted[i].last)
            return false;
    return c >= 0x20 && c != 0x7f;
}

/* The character that valid UTF-8 begins with, and its bytes. */
static uint32_t decode(const char *at, size_t *length)
{
    const unsigned char *c = (const unsigned char *)at;
    *length = tp_utf8_step(at, strlen(at));
    switch (*length) {
    case 2:
        return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
    case 3:
        return (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    case 4:
        return (c[0] & 7u) << 18 | (c[1] & 0x3fu) << 12 | (c[2] & 0x3fu) << 6 |
               (c[3] & 0x3fu);
    default: /* no UTF-8 is kept byte by byte */
        *length = 1;
        return c[0] < 0x80 ? c[0] : 0xfffd;
    }
}

static void add_escape(uint32_t c, struct tp_text *text)
{
    if (c == '\n' || c == '\r' || c == '\t')
        tp_text_add(text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (c == '\\' || c == '\'')
        tp_text_add(text, "\\%c", (char)c);
    else if (c < 0x100)
        tp_text_add(text, "\\x%02" PRIx32, c);
    else
        tp_text_add(text, c < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, c);
}

void tp_python_string(const char *value, struct tp_text *text)
{
    const char quote = strchr(value, '\'') && !strchr(value, '"') ? '"' : '\'';
    tp_text_add(text, "%c", quote);
    for (size_t length; *value; value += length) {
        const uint32_t c = decode(value, &length);
        if (is_printed(c) && c != '\\' && c != (uint32_t)quote)
            tp_text_bytes(text, value, length);
        else
            add_escape(c, text);
    }
    tp_text_add(text, "%c", quote);
}

static void add_values(const struct tp_json *value, struct tp_text *text)
{
    for (const struct tp_json *at = value->first; at; at = at->next) {
        if (at != value->first)
            tp_text_add(text, ", ");
        if (value->kind == TP_JSON_OBJECT) {
            tp_python_string(at->key, text);
            tp_text_add(text, ": ");
        }
        tp_json_python(at, text);
    }
}

void tp_json_python(const struct tp_json *value, struct tp_text *text)
{
    switch (value->kind) {
    case TP_JSON_NULL:
        tp_text_add(text, "None");
        break;
    case TP_JSON_BOOL:
        tp_text_add(text, value->integer ? "True" : "False");
        break;
    case TP_JSON_INTEGER:
        tp_text_add(text, "%" PRId64, value->integer);
        break;
    case TP_JSON_REAL:
        tp_python_float(value->real, text);
        break;
    case TP_JSON_STRING:
        tp_python_string(value->text, text);
        break;
    case TP_JSON_LIST:
        tp_text_add(text, "[");
        add_values(value, text);
        tp_text_add(text, "]");
        break;
    case TP_JSON_OBJECT:
        tp_text_add(text, "{");
        add_values(value, text);
        tp_text_add(text, "}");
    }
}
