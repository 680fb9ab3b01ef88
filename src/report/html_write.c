/* SPDX-License-Identifier: MIT */
#include "report/html_write.h"

#include <string.h>

static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void tp_html_text(struct tp_text *html, const char *text)
{
    struct tp_text plain = {0};
    tp_text_printable(&plain, text);
    for (const char *p = tp_text_get(&plain); *p;) {
        const size_t length = strcspn(p, "&<>\"'");
        tp_text_bytes(html, p, length);
        p += length;
        if (*p)
            tp_text_add(html, "%s", escape_of(*p++));
    }
    html->failed |= plain.failed;
    tp_text_clear(&plain);
}

void tp_html_lines(struct tp_text *html, const char *text)
{
    struct tp_text line = {0};
    while (*text) {
        const size_t length = strcspn(text, "\n");
        tp_text_clear(&line);
        tp_text_bytes(&line, text, length);
        html->failed |= line.failed;
        tp_html_text(html, tp_text_get(&line));
        text += length;
        if (*text) {
            tp_text_bytes(html, "\n", 1);
            text++;
        }
    }
    tp_text_clear(&line);
}

void tp_html_base64(struct tp_text *html, const void *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    char piece[1024]; /* whole groups of four                             */
    size_t used = 0;
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const unsigned long group = (unsigned long)from[i] << 16 |
                                    (left > 1 ? from[i + 1] : 0UL) << 8 |
                                    (left > 2 ? from[i + 2] : 0UL);
        const char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
                              left > 1 ? digits[group >> 6 & 63] : '=',
                              left > 2 ? digits[group & 63] : '='};
        memcpy(piece + used, four, sizeof four);
        used += sizeof four;
        if (used == sizeof piece) {
            tp_text_bytes(html, piece, used);
            used = 0;
        }
    }
    tp_text_bytes(html, piece, used);
}
