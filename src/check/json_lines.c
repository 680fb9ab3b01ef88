/* SPDX-License-Identifier: MIT */
/*
 * Lines of a JSON text. The tree of the parser knows no places, but its
 * strings come in the order of the text: who walks the tree in that order and
 * takes one string of the text for each of the tree knows where he is.
 *
 * Alternative: a parser that keeps an offset in each value, which makes every
 * tree larger for the two readers that ask. Cost: one look at each byte.
 */
#include "check/json_lines.h"

static void pass(struct tp_json_lines *lines)
{
    const char *text = lines->text;
    size_t at = lines->at++;
    lines->line +=
        text[at] == '\n' ||
        (text[at] == '\r' && (at + 1 == lines->length || text[at + 1] != '\n'));
}

uint32_t tp_json_lines_next(struct tp_json_lines *lines)
{
    while (lines->at < lines->length && lines->text[lines->at] != '"')
        pass(lines);
    lines->start = lines->at++;
    while (lines->at < lines->length && lines->text[lines->at] != '"')
        lines->at += lines->text[lines->at] == '\\' ? 2 : 1;
    lines->at++; /* a string of JSON holds no end of a line */
    return lines->line;
}

void tp_json_lines_skip(struct tp_json_lines *lines,
                        const struct tp_json *value)
{
    if (value->kind == TP_JSON_STRING)
        tp_json_lines_next(lines);
    for (const struct tp_json *at = value->first; at; at = at->next) {
        if (at->key)
            tp_json_lines_next(lines);
        tp_json_lines_skip(lines, at);
    }
}
