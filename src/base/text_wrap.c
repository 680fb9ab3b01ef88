/* SPDX-License-Identifier: MIT */
/*
 * Prose is broken at the last space before the margin, word by word: O(n) for
 * n bytes, and for each text that is to stay whole one search. Breaking all
 * lines of a paragraph evenly (Knuth) looks better in print; in a terminal,
 * where lines hang under their finding, nobody would see it.
 *
 * Widths are those of Unicode's East_Asian_Width (W and F) and of combining
 * marks, by ranges that round up to whole blocks: wcwidth() depends on the
 * locale and knows only ASCII in "C".
 */
#include "base/text_wrap.h"

#include <stdint.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

static const struct range marks[] = {
    {0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
};

static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
    {0x20000, 0x3fffd},
};

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].first <= code && code <= ranges[i].last)
            return true;
    }
    return false;
}

/* The code point of the character of `length` bytes. */
static uint32_t code_of(const char *bytes, size_t length)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)bytes[0] & first[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)bytes[i] & 0x3f);
    return code;
}

/* Bytes of the ANSI colour that begins here: ESC [ ... m; 0: none. */
static size_t color_length(const char *bytes, size_t length)
{
    if (length < 3 || bytes[0] != '\x1b' || bytes[1] != '[')
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (bytes[i] == 'm')
            return i + 1;
        if (!strchr("0123456789;", bytes[i]))
            return 0;
    }
    return 0;
}

size_t tp_utf8_columns(const char *bytes, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0, step; i < length; i += step) {
        if (bytes[i] >= ' ' && bytes[i] <= '~') { /* most of all            */
            step = 1;
            columns++;
            continue;
        }
        step = color_length(bytes + i, length - i);
        if (step)
            continue;
        step = tp_utf8_step(bytes + i, length - i);
        const uint32_t code = step ? code_of(bytes + i, step) : 0;
        step = step ? step : 1;
        if (is_in(marks, sizeof marks / sizeof *marks, code))
            continue;
        columns += is_in(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
    }
    return columns;
}

/* --- where lines may break ----------------------------------------------- */

/* What is broken: a text of its own, the bytes of a tp_text behind `from`. */
struct prose {
    const char *bytes;
    size_t length;
    const char *const *whole;
};

/* A letter, a digit, or anything but ASCII that is not a sign. */
static bool is_in_word(const char *at, size_t left)
{
    static const char plus_minus[] = "\xc2\xb1";
    const unsigned char byte = (unsigned char)*at;
    if (byte >= 0x80)
        return left < 2 || memcmp(at, plus_minus, 2) != 0;
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

/* Whether what stands from `first` to `end` is more than signs. */
static bool is_word(const struct prose *prose, size_t first, size_t end)
{
    for (size_t i = first, step; i < end; i += step) {
        if (is_in_word(prose->bytes + i, end - i))
            return true;
        step = tp_utf8_step(prose->bytes + i, end - i);
        step = step ? step : 1;
    }
    return false;
}

static size_t end_of_word(const struct prose *prose, size_t at)
{
    while (at < prose->length && prose->bytes[at] != ' ' &&
           prose->bytes[at] != '\n')
        at++;
    return at;
}

static size_t end_of_spaces(const struct prose *prose, size_t at)
{
    while (at < prose->length && prose->bytes[at] == ' ')
        at++;
    return at;
}

/* Whether one of the texts that are to stay whole lies across `at`. */
static bool is_inside(const struct prose *prose, size_t at)
{
    for (const char *const *text = prose->whole; text && *text; text++) {
        const size_t length = strlen(*text);
        size_t i = at < length ? 0 : at - length + 1;
        for (; i < at && i + length <= prose->length; i++) {
            if (memcmp(prose->bytes + i, *text, length) == 0)
                return true;
        }
    }
    return false;
}

/* Whether a number ends before `end` and its unit begins at `next`. */
static bool is_quantity(const struct prose *prose, size_t at, size_t end,
                        size_t next)
{
    static const char *const units[] = {"s",  "ms", "us", "ns", "B",   "kB",
                                        "MB", "GB", "TB", "dB", "GB/s"};
    size_t length = end_of_word(prose, next) - next;
    while (length > 0 && strchr(",;:.)", prose->bytes[next + length - 1]))
        length--;
    if (at == end || prose->bytes[end - 1] < '0' || prose->bytes[end - 1] > '9')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i]) == length &&
            memcmp(units[i], prose->bytes + next, length) == 0)
            return true;
    }
    return false;
}

/* Whether a bracket that is open at `at` is closed in this line. */
static bool is_closed(const struct prose *prose, size_t at)
{
    while (at < prose->length && prose->bytes[at] != '\n' &&
           prose->bytes[at] != ']')
        at++;
    return at < prose->length && prose->bytes[at] == ']';
}

/* The end of the words from `at` on that belong together. */
static size_t end_of_unit(const struct prose *prose, size_t at)
{
    int depth = 0;
    for (;;) {
        const size_t end = end_of_word(prose, at);
        for (size_t i = at; i < end; i++)
            depth += (prose->bytes[i] == '[') - (prose->bytes[i] == ']');
        const size_t next = end_of_spaces(prose, end);
        if (next == prose->length || prose->bytes[next] == '\n')
            return end;
        if (!(depth > 0 && is_closed(prose, end)) && is_word(prose, at, end) &&
            is_word(prose, next, end_of_word(prose, next)) &&
            !is_quantity(prose, at, end, next) && !is_inside(prose, end))
            return end;
        at = next;
    }
}

/* --- breaking them ----------------------------------------------- */

/* Columns of what the last line of a text already holds. */
static size_t column_of(const struct tp_text *text)
{
    size_t first = text->length;
    while (first > 0 && text->data[first - 1] != '\n')
        first--;
    return first < text->length
               ? tp_utf8_columns(text->data + first, text->length - first)
               : 0;
}

/* Appends one line, from `at` on; returns where it ends. */
static size_t add_line(struct tp_text *text, const struct prose *prose,
                       size_t at, size_t indent)
{
    size_t column = column_of(text);
    while (at < prose->length && prose->bytes[at] != '\n') {
        const size_t word = end_of_spaces(prose, at);
        const size_t end = end_of_unit(prose, word);
        const size_t columns = tp_utf8_columns(prose->bytes + word, end - word);
        if (word > at && column > indent &&
            column + (word - at) + columns > text->columns) {
            tp_text_add(text, "\n%*s", (int)indent, "");
            column = indent;
        } else {
            tp_text_bytes(text, prose->bytes + at, word - at);
            column += word - at;
        }
        tp_text_bytes(text, prose->bytes + word, end - word);
        column += columns;
        at = end;
    }
    return at;
}

void tp_text_wrap(struct tp_text *text, size_t from, size_t indent,
                  const char *const *whole)
{
    if (text->columns == 0 || text->failed || from >= text->length)
        return;
    struct tp_text copy = {.data = NULL};
    tp_text_bytes(&copy, text->data + from, text->length - from);
    const struct prose prose = {tp_text_get(&copy), copy.length, whole};
    text->failed = copy.failed;
    text->length = text->failed ? text->length : from;
    for (size_t at = 0; at < prose.length;) {
        at = add_line(text, &prose, at, indent);
        if (at < prose.length)
            tp_text_bytes(text, "\n", 1);
        at++;
    }
    tp_text_clear(&copy);
}
