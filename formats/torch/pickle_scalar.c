/* SPDX-License-Identifier: MIT */
/*
 * The opcodes that push one number or text. Protocol 0 writes them as lines
 * of text, as Python's repr() has them; later protocols as a length and
 * bytes, little-endian, but for floats, which are big-endian. Integers beyond
 * 64 bits are kept as bytes: nothing that is read here is so large, so
 * arithmetic on them would serve nobody. A text is not copied where the input
 * lies in memory; escapes of protocol 0 are the exception. Cost: one look at
 * each byte of a line, none at the bytes of a counted text.
 */
#include "formats/torch/pickle_scalar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_TEXT_MAX = 64,
    LONG_BYTES_MAX = 16 /* longer integers do not fit 64 bits, or are odd  */
};

/* ---- numbers --------------------------------------------------------- */

static enum tp_status push_integer(struct tp_machine *m,
                                   enum tp_value_kind kind, int64_t integer)
{
    struct tp_value *value;
    enum tp_status status = tp_machine_new(m, kind, &value);
    if (status == TP_OK)
        value->u.integer = integer;
    return status;
}

enum tp_status tp_scalar_none(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    return tp_machine_constant(m, TP_VALUE_NONE, false);
}

enum tp_status tp_scalar_bool(struct tp_machine *m, unsigned argument)
{
    return tp_machine_constant(m, TP_VALUE_BOOL, argument != 0);
}

/* argument: bytes; four of them are signed, fewer are not */
enum tp_status tp_scalar_int(struct tp_machine *m, unsigned argument)
{
    uint64_t bits;
    enum tp_status status = tp_machine_take_number(m, argument, &bits);
    if (status != TP_OK)
        return status;
    int64_t integer = (int64_t)bits;
    if (argument == 4 && bits > INT32_MAX)
        integer -= INT64_C(1) << 32;
    return push_integer(m, TP_VALUE_INT, integer);
}

/* argument: bytes of the length */
enum tp_status tp_scalar_long(struct tp_machine *m, unsigned argument)
{
    uint64_t length;
    enum tp_status status = tp_machine_take_number(m, argument, &length);
    if (status != TP_OK)
        return status;
    if (argument == 4 && length > INT32_MAX)
        return tp_machine_fail(m, TP_E_DAMAGED, "a negative length");
    if (length > LONG_BYTES_MAX)
        return tp_machine_push_text(m, TP_VALUE_BIG_INT, length);
    const unsigned char *p;
    status = tp_machine_take(m, (size_t)length, &p);
    if (status != TP_OK)
        return status;
    uint64_t bits = length && p[length - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = (size_t)length; i-- > 0;)
        bits = bits << 8 | p[i];
    bool fits = true; /* bytes from the 8th on may only repeat the sign */
    for (size_t i = 8; i < length; i++)
        fits = fits && p[i] == (bits >> 63 ? 0xff : 0);
    if (!fits) {
        m->position -= length;
        return tp_machine_push_text(m, TP_VALUE_BIG_INT, length);
    }
    int64_t integer;
    memcpy(&integer, &bits, sizeof integer);
    return push_integer(m, TP_VALUE_INT, integer);
}

enum tp_status tp_scalar_float(struct tp_machine *m, unsigned argument)
{
    (void)argument;
    const unsigned char *p;
    enum tp_status status = tp_machine_take(m, 8, &p);
    if (status != TP_OK)
        return status;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) /* the one big-endian number of pickle */
        bits = bits << 8 | p[i];
    struct tp_value *value;
    status = tp_machine_new(m, TP_VALUE_FLOAT, &value);
    if (status == TP_OK)
        memcpy(&value->u.real, &bits, sizeof bits);
    return status;
}

/* ---- texts --------------------------------------------------- */

/* argument: bytes of the length */
enum tp_status tp_scalar_string(struct tp_machine *m, unsigned argument)
{
    uint64_t length;
    enum tp_status status = tp_machine_take_number(m, argument, &length);
    return status == TP_OK ? tp_machine_push_text(m, TP_VALUE_STRING, length)
                           : status;
}

enum tp_status tp_scalar_bytes(struct tp_machine *m, unsigned argument)
{
    uint64_t length;
    enum tp_status status = tp_machine_take_number(m, argument, &length);
    return status == TP_OK ? tp_machine_push_text(m, TP_VALUE_BYTES, length)
                           : status;
}

/* ---- lines of text ----------------------------------------------------- */

static enum tp_status number_line(struct tp_machine *m, unsigned letter,
                                  const unsigned char *p, size_t length)
{
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
    enum tp_status status = tp_machine_new(m, TP_VALUE_FLOAT, &value);
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

static enum tp_status string_line(struct tp_machine *m, unsigned letter,
                                  const unsigned char *p, size_t length)
{
    if (letter == 'S') {
        if (length < 2 || p[0] != p[length - 1])
            return tp_machine_fail(m, TP_E_DAMAGED,
                                   "its argument is not quoted");
        p++;
        length -= 2;
    }
    char *text;
    /* V writes bytes 0x80-0xff as Latin-1, two bytes each in UTF-8 */
    enum tp_status status = tp_machine_text(m, 2 * length, &text);
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

enum tp_status tp_scalar_line(struct tp_machine *m, unsigned letter)
{
    const unsigned char *p;
    size_t length;
    enum tp_status status = tp_machine_take_line(m, &p, &length);
    if (status != TP_OK)
        return status;
    return letter == 'S' || letter == 'V' ? string_line(m, letter, p, length)
                                          : number_line(m, letter, p, length);
}
