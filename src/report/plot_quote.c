/* SPDX-License-Identifier: MIT */
#include "report/plot_quote.h"

#include <stdbool.h>
#include <string.h>

/*
 * Names of tensors and operators reach gnuplot inside single-quoted strings,
 * where a quote ends the string and what follows is run. So every byte but
 * plain printable ASCII becomes \xNN, which gnuplot shows as it stands. The
 * manual's way, to double a quote, does not do: gnuplot 5.4 takes a string
 * that begins with a doubled one for two strings, and what follows for
 * commands. A text too long for its place keeps both ends, measured in bytes
 * as shown; an escape is never cut. Time is linear in the text.
 */

/* Whether gnuplot can be shown the byte as it is. */
static bool is_plain(char byte)
{
    unsigned char c = (unsigned char)byte;
    return c >= 0x20 && c <= 0x7e && c != '`' && c != '\'';
}

/* Bytes [from, to) of a text, each as what can be shown. */
static void escape_part(struct tp_text *out, const char *text, size_t from,
                        size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (is_plain(text[i]))
            tp_text_bytes(out, text + i, 1);
        else
            tp_text_add(out, "\\x%02x", (unsigned char)text[i]);
    }
}

/* Bytes that a byte takes when shown. */
static size_t shown_width(char byte)
{
    return is_plain(byte) ? 1 : 4;
}

void tp_plot_escape(struct tp_text *out, const char *text, size_t most)
{
    escape_part(out, text, 0, strnlen(text, most));
}

void tp_plot_quote(struct tp_text *out, const char *text, size_t limit,
                   size_t tail)
{
    size_t length = strlen(text), width = 0, head = 0, last = length;
    for (size_t i = 0; i < length; i++)
        width += shown_width(text[i]);
    tp_text_bytes(out, "'", 1);
    if (width <= limit) {
        escape_part(out, text, 0, length);
    } else {
        size_t left = limit - tail;
        while (shown_width(text[head]) <= left)
            left -= shown_width(text[head++]);
        while (shown_width(text[last - 1]) <= tail)
            tail -= shown_width(text[--last]);
        escape_part(out, text, 0, head);
        tp_text_bytes(out, "...", 3);
        escape_part(out, text, last, length);
    }
    tp_text_bytes(out, "'", 1);
}
