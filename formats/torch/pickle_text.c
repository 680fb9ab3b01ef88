/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/torch/pickle_machine.h"

/* The opcodes of protocol 0, whose arguments are lines of text. */

enum { NUMBER_TEXT_MAX = 64 };

static enum tp_status push_integer(struct tp_machine *m,
                                   enum tp_value_kind kind, int64_t integer)
{
    struct tp_value *value;
    enum tp_status status = tp_machine_new(m, kind, &value);
    if (status == TP_OK)
        value->u.integer = integer;
    return status;
}

enum tp_status tp_machine_number_text(struct tp_machine *m, unsigned letter)
{
    const unsigned char *p;
    size_t length;
    enum tp_status status = tp_machine_take_line(m, &p, &length);
    if (status != TP_OK)
        return status;
    char text[NUMBER_TEXT_MAX + 1];
    if (length == 0 || length > NUMBER_TEXT_MAX)
        return tp_machine_fail(m, TP_E_UNSUPPORTED, "a number of this length");
    memcpy(text, p, length);
    text[length] = '\0';
    if (letter == 'L' && text[length - 1] == 'L')
        text[length - 1] = '\0';
    if (letter == 'I' && length == 2 && text[0] == '0')
        return push_integer(m, TP_VALUE_BOOL, text[1] == '1');
    char *rest;
    errno = 0;
    double real = strtod(text, &rest);
    int64_t integer = 0;
    if (letter != 'F')
        integer = strtoll(text, &rest, 10);
    if (rest == text || *rest)
        return tp_machine_fail(m, TP_E_DAMAGED, "its argument is not a number");
    if (letter != 'F' && errno == ERANGE)
        return tp_machine_fail(m, TP_E_UNSUPPORTED,
                               "an integer beyond 64 bits");
    if (letter != 'F')
        return push_integer(m, TP_VALUE_INT, integer);
    struct tp_value *value;
    status = tp_machine_new(m, TP_VALUE_FLOAT, &value);
    if (status == TP_OK)
        value->u.real = real;
    return status;
}

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes a code point as UTF-8; surrogates too, as Python does on demand. */
static size_t put_utf8(char *to, unsigned long code)
{
    unsigned char *p = (unsigned char *)to;
    if (code < 0x80) {
        p[0] = (unsigned char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        p[i] = (unsigned char)(0x80 | (code & 0x3f));
    p[0] = (unsigned char)(lead[n] | code);
    return n;
}

/* The length of the escape at p, "\xNN", "\uNNNN" or "\UNNNNNNNN", and its
 * code; 0 when there is none. */
static size_t escape(const unsigned char *p, size_t length, unsigned long *code)
{
    if (length < 2 || p[0] != '\\')
        return 0;
    size_t digits = p[1] == 'x' ? 2 : p[1] == 'u' ? 4 : p[1] == 'U' ? 8 : 0;
    if (digits == 0 || length < 2 + digits)
        return 0;
    *code = 0;
    for (size_t i = 2; i < 2 + digits; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return 0;
        *code = *code << 4 | (unsigned long)digit;
    }
    return *code <= 0x10ffff ? 2 + digits : 0;
}

enum tp_status tp_machine_string_text(struct tp_machine *m, unsigned letter)
{
    const unsigned char *p;
    size_t length;
    enum tp_status status = tp_machine_take_line(m, &p, &length);
    if (status != TP_OK)
        return status;
    if (letter == 'S') {
        if (length < 2 || p[0] != p[length - 1])
            return tp_machine_fail(m, TP_E_DAMAGED,
                                   "its argument is not quoted");
        p++;
        length -= 2;
    }
    char *text;
    /* V writes bytes 0x80-0xff as Latin-1, two bytes each in UTF-8 */
    status = tp_machine_text(m, 2 * length, &text);
    if (status != TP_OK)
        return status;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        unsigned long code = p[i];
        size_t step = escape(p + i, length - i, &code);
        if (letter == 'S' && !step && p[i] == '\\' && i + 1 < length) {
            code = p[i + 1] == 'n' ? '\n' : p[i + 1] == 't' ? '\t' : p[i + 1];
            step = 2;
        }
        used += put_utf8(text + used, code);
        i += step ? step : 1;
    }
    struct tp_value *value;
    status = tp_machine_new(m, TP_VALUE_STRING, &value);
    if (status == TP_OK)
        value->u.text = (struct tp_value_text){
            .data = text, .length = used, .where = m->opcode_at};
    return status;
}
