/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_TEXT_H
#define TP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * A growing text. All-zero bytes are an empty text. An allocation that fails
 * sets `failed` and later calls do nothing, so that a long sequence of adds
 * is checked once, at its end.
 */
struct tp_text {
    char *data; /* NUL-terminated, or NULL when nothing was added */
    size_t length, capacity;
    bool failed;
    size_t columns; /* of prose, see text_wrap.h; 0: lines never break  */
};

/* Releases the text; it is empty afterwards. */
void tp_text_clear(struct tp_text *text);

/* Appends as printf does. */
void tp_text_add(struct tp_text *text, const char *format, ...) TP_PRINTF(2, 3);

/* Appends `length` bytes as they are. */
void tp_text_bytes(struct tp_text *text, const char *bytes, size_t length);

/* Appends the decimal digits of an integer, as "%" PRId64 does. */
void tp_text_integer(struct tp_text *text, int64_t value);

/* Appends a finite number with seven digits, as "%.7g" does, several times as
 * fast. */
void tp_text_real(struct tp_text *text, double value);

/* Appends a JSON string with its quotes; invalid UTF-8 becomes U+FFFD, and what
 * tp_text_printable does not let through is told by its number. */
void tp_text_json(struct tp_text *text, const char *value);

/* Appends a JSON number with 17 digits; null when it is not finite. */
void tp_text_json_number(struct tp_text *text, double value);

/* Appends the text with control characters (those of terminals and of the
 * writing direction, too) and bytes that are not UTF-8 written as \xNN. */
void tp_text_printable(struct tp_text *text, const char *value);

/* Whether a text is ASCII that prints, and lines: the next function leaves it
 * as it is. */
bool tp_text_is_plain(const char *value);

/* As tp_text_printable, but lines stay lines. */
void tp_text_printable_lines(struct tp_text *text, const char *value);

/* As tp_text_printable_lines, but colours ("\x1b[1;31m") stay if `color`. */
void tp_text_shown(struct tp_text *text, const char *value, bool color);

/* As tp_text_printable, but of a longer one at most `most` bytes, whole
 * characters, and "..." for the rest. */
void tp_text_printable_cut(struct tp_text *text, const char *value,
                           size_t most);

/* Bytes of the UTF-8 character that `bytes` begins with, of which there are
 * `left`, one at least; 0: none, as it is damaged or cut off. Reads no byte
 * behind the first that does not fit. */
size_t tp_utf8_step(const char *bytes, size_t left);

/* Bytes of the longest beginning of valid UTF-8 that has at most `most` bytes
 * and ends with a whole character. */
size_t tp_utf8_cut(const char *text, size_t most);

/* Characters of valid UTF-8, not bytes. */
size_t tp_utf8_count(const char *text);

/* Bytes of the first `count` characters of valid UTF-8, or of all when there
 * are fewer. */
size_t tp_utf8_first(const char *text, size_t count);

/* Whether a text is valid UTF-8. */
bool tp_text_is_utf8(const char *value);

/*
 * The number that decimal digits make; -1 when `length` is 0, another character
 * is among them, or the number does not fit an int64_t.
 */
int64_t tp_digits_value(const char *text, size_t length);

/* Whether a text is one of the words, which NULL ends; how a text ends. */
bool tp_text_is_one_of(const char *text, const char *const *words);
bool tp_text_ends_with(const char *text, const char *end);

/* Whether a byte is white space of JSON. */
static inline bool tp_json_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The text, "" when empty; borrowed, until the next call. */
const char *tp_text_get(const struct tp_text *text);

#endif
