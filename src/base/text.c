/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void tp_text_clear(struct tp_text *text)
{
    free(text->data);
    memset(text, 0, sizeof *text);
}

static bool make_room(struct tp_text *text, size_t more)
{
    if (!text->failed && text->length + more < text->capacity)
        return true;
    if (!text->failed && tp_grow(&text->data, &text->capacity,
                                 text->length + more + 1, 1, NULL) != TP_OK)
        text->failed = true;
    return !text->failed;
}

void tp_text_bytes(struct tp_text *text, const char *bytes, size_t length)
{
    if (!make_room(text, length))
        return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void tp_text_add(struct tp_text *text, const char *format, ...)
{
    va_list args, again;
    if (!make_room(text, 0))
        return;
    va_start(args, format);
    va_copy(again, args);
    const size_t room = text->capacity - text->length;
    int length = vsnprintf(text->data + text->length, room, format, args);
    if (length < 0)
        text->failed = true;
    else if ((size_t)length >= room && make_room(text, (size_t)length))
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    if (text->failed) /* what was there before ends where it did */
        text->data[text->length] = '\0';
    else
        text->length += (size_t)length;
    va_end(again);
    va_end(args);
}

void tp_text_integer(struct tp_text *text, int64_t value)
{
    char digits[20], *end = digits + sizeof digits, *first = end;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--first = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        *--first = '-';
    tp_text_bytes(text, first, (size_t)(end - first));
}

size_t tp_utf8_step(const char *bytes, size_t left)
{
    const unsigned char *s = (const unsigned char *)bytes;
    const size_t length = s[0] < 0x80    ? 1
                          : s[0] < 0xc2  ? 0 /* inside one, or overlong */
                          : s[0] < 0xe0  ? 2
                          : s[0] < 0xf0  ? 3
                          : s[0] <= 0xf4 ? 4
                                         : 0;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    /* overlong forms, surrogates, above U+10FFFF */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

/* Whether a byte of valid UTF-8 is not the first one of its character. */
static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t tp_utf8_cut(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most)
        return length;
    length = most;
    while (length > 0 && continues(text[length]))
        length--;
    return length;
}

size_t tp_utf8_count(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += !continues(*text);
    return count;
}

size_t tp_utf8_first(const char *text, size_t count)
{
    const char *end = text;
    for (; count > 0 && *end; count--) {
        end++;
        while (continues(*end))
            end++;
    }
    return (size_t)(end - text);
}

/* The same of a text that is not empty: its NUL ends what is cut off. */
static size_t utf8_length(const unsigned char *s)
{
    return tp_utf8_step((const char *)s, 4);
}

/* The code point of a sequence of UTF-8. */
static uint32_t code_of(const unsigned char *s, size_t length)
{
    uint32_t code = length < 2 ? s[0] : s[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3fU);
    return code;
}

/* What drives a terminal, breaks a line, turns the writing direction, or is not
 * to be seen, so that two names look alike: control and format characters
 * beyond ASCII, and separators of lines and paragraphs (Unicode 15.1,
 * categories Cc, Cf, Zl and Zp). */
static bool is_control(const unsigned char *s, size_t length)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x80, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
                  {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
                  {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
                  {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
                  {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
                  {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
                  {0x1d173, 0x1d17a}, {0xe0001, 0xe007f}};
    if (length < 2)
        return false;
    const uint32_t code = code_of(s, length);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code <= ranges[i].last)
            return code >= ranges[i].first;
    return false;
}

/* Such a sequence in JSON, which has four digits, or two surrogates. */
static void add_json_control(struct tp_text *text, const unsigned char *s,
                             size_t length)
{
    const uint32_t code = code_of(s, length);
    if (code < 0x10000)
        tp_text_add(text, "\\u%04" PRIx32, code);
    else
        tp_text_add(text, "\\u%04" PRIx32 "\\u%04" PRIx32,
                    0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
}

/* Bytes at the front that are ASCII and print. */
static size_t printing(const unsigned char *s)
{
    const unsigned char *end = s;
    while (*end >= 0x20 && *end < 0x7f)
        end++;
    return (size_t)(end - s);
}

/* The same of what JSON has as it is. */
static size_t printing_json(const unsigned char *s)
{
    const unsigned char *end = s;
    while (*end >= 0x20 && *end < 0x7f && *end != '"' && *end != '\\')
        end++;
    return (size_t)(end - s);
}

void tp_text_json(struct tp_text *text, const char *value)
{
    tp_text_bytes(text, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)value; *s;) {
        const size_t plain = printing_json(s);
        tp_text_bytes(text, (const char *)s, plain);
        s += plain;
        if (!*s)
            break;
        size_t length = utf8_length(s);
        if (length == 0)
            tp_text_bytes(text, "\xef\xbf\xbd", 3);
        else if (*s == '"' || *s == '\\')
            tp_text_add(text, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            tp_text_add(text, "\\u%04x", *s);
        else if (is_control(s, length))
            add_json_control(text, s, length);
        else
            tp_text_bytes(text, (const char *)s, length);
        s += length ? length : 1;
    }
    tp_text_bytes(text, "\"", 1);
}

void tp_text_json_number(struct tp_text *text, double value)
{
    if (isfinite(value))
        tp_text_add(text, "%.17g", value);
    else
        tp_text_add(text, "null");
}

/* What no text may have: U+FDD0 .. U+FDEF, and the last two of each plane. */
static bool is_noncharacter(const unsigned char *s, size_t length)
{
    if (length < 3)
        return false;
    const unsigned low = (unsigned)(s[length - 2] & 0x3f) << 6 |
                         (unsigned)(s[length - 1] & 0x3f);
    const unsigned top = length == 3 ? (s[0] & 0xfU) : (s[1] & 0xfU);
    const bool inside =
        length == 3 && s[0] == 0xef && low >= 0xdd0 && low <= 0xdef;
    return inside || (top == 0xf && low >= 0xffe);
}

void tp_text_printable(struct tp_text *text, const char *value)
{
    for (const unsigned char *s = (const unsigned char *)value; *s;) {
        size_t length = printing(s);
        tp_text_bytes(text, (const char *)s, length);
        s += length;
        if (!*s)
            break;
        length = utf8_length(s);
        bool plain = length > 0 && *s >= 0x20 && *s != 0x7f &&
                     !is_control(s, length) && !is_noncharacter(s, length);
        if (plain)
            tp_text_bytes(text, (const char *)s, length);
        length = length ? length : 1;
        for (size_t i = 0; !plain && i < length; i++)
            tp_text_add(text, "\\x%02x", s[i]);
        s += length;
    }
}

bool tp_text_is_plain(const char *value)
{
    while ((*value >= ' ' && *value <= '~') || *value == '\n')
        value++;
    return *value == '\0';
}

void tp_text_printable_lines(struct tp_text *text, const char *value)
{
    struct tp_text line = {.data = NULL};
    for (const char *end; (end = strchr(value, '\n')); value = end + 1) {
        line.length = 0;
        tp_text_bytes(&line, value, (size_t)(end - value));
        tp_text_printable(text, tp_text_get(&line));
        tp_text_bytes(text, "\n", 1);
    }
    tp_text_printable(text, value);
    text->failed |= line.failed;
    tp_text_clear(&line);
}

/* Bytes of the sequence for a colour that a text begins with; 0: none. */
static size_t colour_length(const char *text)
{
    size_t length = 2;
    if (strncmp(text, "\x1b[", length) != 0)
        return 0;
    length += strspn(text + length, "0123456789;");
    return text[length] == 'm' ? length + 1 : 0;
}

void tp_text_shown(struct tp_text *text, const char *value, bool color)
{
    struct tp_text between = {.data = NULL};
    while (*value) {
        const size_t length =
            color ? strcspn(value + 1, "\x1b") + 1 : strlen(value);
        const size_t colour = color ? colour_length(value) : 0;
        tp_text_bytes(text, value, colour);
        between.length = 0;
        tp_text_bytes(&between, value + colour, length - colour);
        tp_text_printable_lines(text, tp_text_get(&between));
        value += length;
    }
    text->failed |= between.failed;
    tp_text_clear(&between);
}

void tp_text_printable_cut(struct tp_text *text, const char *value, size_t most)
{
    struct tp_text whole = {.data = NULL};
    tp_text_printable(&whole, value);
    const char *bytes = tp_text_get(&whole);
    size_t length = tp_utf8_cut(bytes, most);
    tp_text_bytes(text, bytes, length);
    if (length < whole.length)
        tp_text_bytes(text, "...", 3);
    text->failed |= whole.failed;
    tp_text_clear(&whole);
}

bool tp_text_is_utf8(const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    const unsigned char *end = s + strlen(value);
    /* eight bytes of ASCII at a time, which most texts are */
    for (uint64_t word = 0; (size_t)(end - s) >= sizeof word;
         s += sizeof word) {
        memcpy(&word, s, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    while (*s) {
        const size_t length = *s < 0x80 ? 1 : utf8_length(s);
        if (length == 0)
            return false;
        s += length;
    }
    return true;
}

const char *tp_text_get(const struct tp_text *text)
{
    return text->data ? text->data : "";
}

int64_t tp_digits_value(const char *text, size_t length)
{
    int64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = text[i] - '0';
        if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10)
            return -1;
        value = value * 10 + digit;
    }
    return length > 0 ? value : -1;
}

bool tp_text_is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(text, *words) != 0)
        words++;
    return *words != NULL;
}

bool tp_text_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}
