/* SPDX-License-Identifier: MIT */
#include "check/shell_words.h"

#include <string.h>

enum {
    MOST_WORD = 4096,        /* bytes, with what variables add            */
    MOST_EXPANDED = 16 << 20 /* bytes that variables add to a script      */
};

bool tp_shell_is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

static void begin_word(struct tp_shell_reader *reader)
{
    if (reader->begun)
        return;
    reader->begun = true;
    reader->word = (struct tp_shell_word){
        .line = reader->line, .offset = (uint32_t)(reader->p - reader->begin)};
    reader->text.length = 0;
}

static void add_bytes(struct tp_shell_reader *reader, const char *bytes,
                      size_t length)
{
    if (reader->word.unknown)
        return; /* what follows stands nowhere */
    if (reader->text.length + length > MOST_WORD)
        reader->word.unknown = true;
    else
        tp_text_bytes(&reader->text, bytes, length);
}

void tp_shell_end_word(struct tp_shell_reader *reader)
{
    if (!reader->begun)
        return;
    reader->begun = false;
    if (reader->text.length == 0 && !reader->word.unknown &&
        (reader->splits || !reader->quoted))
        return; /* a variable that holds nothing */
    if (reader->drops) {
        reader->drops = false;
        return;
    }
    reader->word.text = tp_arena_text(
        &reader->arena, tp_text_get(&reader->text), reader->text.length);
    if (!reader->word.text || reader->text.failed ||
        tp_grow(&reader->words, &reader->capacity, reader->count + 1,
                sizeof *reader->words, NULL) != TP_OK)
        reader->failed = true;
    else
        reader->words[reader->count++] = reader->word;
}

void tp_shell_add_unknown(struct tp_shell_reader *reader, const char *name,
                          size_t length)
{
    begin_word(reader);
    if (reader->text.length == 0 && !reader->word.unknown) {
        add_bytes(reader, "$", 1);
        add_bytes(reader, name, length);
    }
    reader->word.unknown = true;
}

/* Puts a word that a variable holds into the one that is made. */
static void add_item(struct tp_shell_reader *reader, struct tp_shell_word item)
{
    bool fresh =
        !reader->begun || (reader->text.length == 0 && !reader->word.unknown);
    bool maybe = item.maybe | (reader->begun && reader->word.maybe);
    begin_word(reader);
    if (fresh) {
        reader->word.line = item.line;
        reader->word.offset = item.offset;
    }
    add_bytes(reader, item.text, strlen(item.text));
    reader->word.unknown |= item.unknown;
    reader->word.maybe = maybe;
    reader->expanded += strlen(item.text) + 1;
}

static void add_variable(struct tp_shell_reader *reader, const char *name,
                         size_t length)
{
    const struct tp_shell_variable *variable =
        tp_shell_name(&reader->names, &reader->arena, name, length, false);
    bool first = true;
    if (!variable || !variable->known || reader->expanded > MOST_EXPANDED) {
        tp_shell_add_unknown(reader, name, length);
        return;
    }
    for (size_t i = 0; i < variable->count; i++) {
        struct tp_shell_word item;
        if (!tp_shell_item_in(&reader->names, &variable->items[i], reader->arm,
                              &item))
            continue;
        if (!first)
            tp_shell_end_word(reader);
        add_item(reader, item);
        first = false;
    }
}

void tp_shell_pass_brackets(struct tp_shell_reader *reader, char open,
                            char close)
{
    size_t deep = 0;
    while (reader->p < reader->end) {
        char c = *reader->p;
        tp_shell_pass(reader);
        deep += c == open;
        deep -= c == close;
        if (deep == 0)
            return;
        if (c == '\\' && reader->p < reader->end)
            tp_shell_pass(reader);
        if (c == '\'' || c == '"') {
            while (reader->p < reader->end && *reader->p != c) {
                if (*reader->p == '\\' && c == '"' &&
                    reader->p + 1 < reader->end)
                    tp_shell_pass(reader);
                tp_shell_pass(reader);
            }
            if (reader->p < reader->end)
                tp_shell_pass(reader);
        }
    }
}

/* "${...}": a variable with all its words, or something that is unknown. */
static void read_braces(struct tp_shell_reader *reader)
{
    const char *name = reader->p + 1, *p = name;
    while (p < reader->end && tp_shell_is_name(*p, p == name))
        p++;
    size_t length = (size_t)(p - name);
    if (reader->end - p >= 3 && p[0] == '[' && strchr("@*", p[1]) &&
        p[2] == ']')
        p += 3;
    bool plain =
        length > 0 && p < reader->end &&
        (*p == '}' || (*p == ':' && p + 1 < reader->end && p[1] == '-'));
    if (plain)
        add_variable(reader, name, length);
    else
        tp_shell_add_unknown(reader, name, length);
    tp_shell_pass_brackets(reader, '{', '}');
}

/* What begins with '$' or a back quote. */
static void read_dollar(struct tp_shell_reader *reader)
{
    const char *next = reader->p + 1, *p = next;
    if (*reader->p == '`') {
        tp_shell_add_unknown(reader, "", 0);
        for (tp_shell_pass(reader);
             reader->p < reader->end && *reader->p != '`';)
            tp_shell_pass(reader);
        if (reader->p < reader->end)
            tp_shell_pass(reader);
        return;
    }
    while (p < reader->end && tp_shell_is_name(*p, p == next))
        p++;
    begin_word(reader);
    if (p > next) {
        reader->p = p;
        add_variable(reader, next, (size_t)(p - next));
    } else if (next < reader->end && *next == '{') {
        reader->p++;
        read_braces(reader);
    } else if (next < reader->end && *next == '(') {
        tp_shell_add_unknown(reader, "", 0);
        reader->p++;
        tp_shell_pass_brackets(reader, '(', ')');
    } else if (next < reader->end && *next &&
               strchr("@*#?-$!0123456789", *next)) {
        tp_shell_add_unknown(reader, next, 1);
        reader->p += 2;
    } else {
        if (next == reader->end || (*next != '"' && *next != '\''))
            add_bytes(reader, "$", 1);
        reader->p++;
    }
}

static void read_backslash(struct tp_shell_reader *reader)
{
    reader->p++;
    if (tp_shell_at(reader, '\r') && reader->p + 1 < reader->end &&
        reader->p[1] == '\n')
        reader->p++;
    if (tp_shell_at(reader, '\n')) { /* the line goes on */
        tp_shell_pass(reader);
        return;
    }
    begin_word(reader);
    if (reader->p < reader->end)
        add_bytes(reader, reader->p++, 1);
}

/* A text in quotes. A list of options in quotes is many words. */
static void read_quotes(struct tp_shell_reader *reader)
{
    char quote = *reader->p;
    if (!reader->splits)
        begin_word(reader);
    reader->quoted = true;
    for (reader->p++; reader->p < reader->end && *reader->p != quote;) {
        char c = *reader->p;
        if (quote == '"' && c == '\\') {
            read_backslash(reader);
        } else if (quote == '"' && (c == '$' || c == '`')) {
            read_dollar(reader);
        } else if (reader->splits && strchr(" \t\r\n", c)) {
            tp_shell_end_word(reader);
            tp_shell_pass(reader);
        } else {
            begin_word(reader);
            add_bytes(reader, &c, 1);
            tp_shell_pass(reader);
        }
    }
    if (reader->p < reader->end)
        reader->p++;
}

void tp_shell_read_word(struct tp_shell_reader *reader)
{
    reader->quoted = false;
    while (reader->p < reader->end && !strchr(" \t\r\n;&|<>()", *reader->p)) {
        char c = *reader->p;
        if (c == '\\')
            read_backslash(reader);
        else if (c == '"' || c == '\'')
            read_quotes(reader);
        else if (c == '$' || c == '`')
            read_dollar(reader);
        else {
            begin_word(reader);
            add_bytes(reader, &c, 1);
            reader->p++;
        }
    }
    tp_shell_end_word(reader);
}

void tp_shell_pass_comment(struct tp_shell_reader *reader)
{
    while (reader->p < reader->end && *reader->p != '\n')
        reader->p++;
}
