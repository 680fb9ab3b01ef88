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

/* How many bytes of a string are written as they are. */
static size_t plain_length(const char *at, char quote)
{
    size_t length = 0;
    while (at[length] && (unsigned char)at[length] >= 0x20 &&
           at[length] != 0x7f && at[length] != '\\' && at[length] != quote)
        length++;
    return length;
}

static void add_escape(char c, struct tp_text *text)
{
    switch (c) {
    case '\n':
        tp_text_add(text, "\\n");
        break;
    case '\r':
        tp_text_add(text, "\\r");
        break;
    case '\t':
        tp_text_add(text, "\\t");
        break;
    case '\\':
    case '\'':
        tp_text_add(text, "\\%c", c);
        break;
    default:
        tp_text_add(text, "\\x%02x", (unsigned)(unsigned char)c);
    }
}

void tp_python_string(const char *value, struct tp_text *text)
{
    char quote = strchr(value, '\'') && !strchr(value, '"') ? '"' : '\'';
    tp_text_add(text, "%c", quote);
    while (*value) {
        size_t length = plain_length(value, quote);
        tp_text_bytes(text, value, length);
        value += length;
        if (*value)
            add_escape(*value++, text);
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
