/* SPDX-License-Identifier: MIT */
#include "report/html_told.h"

#include <string.h>

#include "report/html_write.h"

/* Where what is not in English begins: behind the colon before the first letter
 * that no English text has; the end: nowhere. */
static size_t foreign_part(const char *text)
{
    size_t first = 0, begin = 0;
    while (text[first] && (unsigned char)text[first] < 0x80)
        first++;
    for (size_t i = 0; text[first] && i + 1 < first; i++)
        if (text[i] == ':' && text[i + 1] == ' ')
            begin = i + 2;
    return text[first] ? begin : first;
}

void tp_html_told(struct tp_text *html, const char *lang, const char *text)
{
    const size_t begin = lang ? foreign_part(text) : strlen(text);
    struct tp_text head = {0};
    tp_text_bytes(&head, text, begin);
    tp_html_text(html, tp_text_get(&head));
    html->failed |= head.failed;
    tp_text_clear(&head);
    if (!text[begin])
        return;
    tp_text_add(html, "<span lang=\"%s\">", lang);
    tp_html_text(html, text + begin);
    tp_text_add(html, "</span>");
}

/* Bytes of the first statement of a text: up to a full stop, that included, or
 * to a semicolon, outside of brackets. */
static size_t statement_of(const char *text)
{
    size_t i = 0;
    for (int depth = 0; text[i]; i++) {
        const char c = text[i];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth > 0 || text[i + 1] != ' ')
            continue;
        if (c == ';')
            return i;
        if (c == '.' && text[i + 2] >= 'A' && text[i + 2] <= 'Z')
            return i + 1;
    }
    return i;
}

void tp_html_gist(struct tp_text *html, const char *lang, const char *evidence)
{
    enum { GIST = 240 }; /* bytes: about two lines of a wide window        */
    struct tp_text gist = {0};
    size_t length = statement_of(evidence);
    while (evidence[length]) {
        const size_t behind = length + strspn(evidence + length, "; ");
        const size_t next = behind + statement_of(evidence + behind);
        if (next > GIST || next == length)
            break;
        length = next;
    }
    tp_text_bytes(&gist, evidence, length);
    tp_text_add(html, "<span class=\"gist\">");
    tp_html_told(html, lang, tp_text_get(&gist));
    tp_text_add(html, "</span>");
    html->failed |= gist.failed;
    tp_text_clear(&gist);
}
