/* SPDX-License-Identifier: MIT */
/*
 * Commands of a shell script. One pass: characters become words, words become
 * assignments or a command, whose words are handed on. A variable stands for
 * the words it was given, wherever it is used, quoted or not: lists of options
 * are written either way. Branches are told apart (shell_names.c); loops and
 * functions count as branches, and stand where they are written.
 *
 * Alternative: asking a shell with -n or -v, which tells whether it is one but
 * not what a command gets. Cost: one look at each byte; what variables expand
 * to is limited, beyond that it is unknown.
 */
#include "check/shell.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "check/shell_words.h"

/* The items of "NAME=(...)". */
static void read_array(struct tp_shell_reader *reader)
{
    for (reader->p++; reader->p < reader->end && *reader->p != ')';) {
        const char *before = reader->p;
        if (strchr(" \t\r\n", *reader->p))
            tp_shell_pass(reader);
        else if (*reader->p == '#')
            tp_shell_pass_comment(reader);
        else
            tp_shell_read_word(reader);
        if (reader->p == before)
            reader->p++; /* an operator, where none may stand */
    }
    if (reader->p < reader->end)
        reader->p++;
}

/* Whether the value, from words[first] on, begins with all that the variable
 * holds: then it is added to. */
static bool keeps(const struct tp_shell_reader *reader,
                  const struct tp_shell_variable *variable, size_t first)
{
    size_t same = 0;
    for (size_t i = 0; i < variable->count && first + same < reader->count; i++)
        same += variable->items[i].word.offset ==
                reader->words[first + same].offset;
    return same > 0 && same == variable->count;
}

/* False: it is not known what the variable holds. */
static bool give(struct tp_shell_reader *reader,
                 struct tp_shell_variable *variable, struct tp_shell_word word,
                 uint32_t arm)
{
    enum tp_status status = tp_shell_give(variable, word, arm);
    reader->failed |= status == TP_E_MEMORY;
    return status == TP_OK;
}

static void assign(struct tp_shell_reader *reader, const char *name,
                   size_t length, size_t first, bool adds)
{
    static const struct tp_shell_word outside = {.text = "$", .unknown = true};
    struct tp_shell_variable *variable =
        tp_shell_name(&reader->names, &reader->arena, name, length, true);
    if (!variable) {
        reader->failed = true;
        return;
    }
    size_t skip = 0;
    if (!adds && keeps(reader, variable, first)) {
        adds = true;
        skip = variable->count;
    }
    if (!adds)
        tp_shell_forget(&reader->names, variable, reader->arm);
    if (!variable->known && adds) /* to what the environment holds */
        give(reader, variable, outside, 0);
    variable->known = true;
    for (size_t i = first + skip; i < reader->count; i++) {
        if (!give(reader, variable, reader->words[i], reader->arm))
            variable->known = false;
    }
}

/* "NAME=value" or "NAME+=value", if that is next. */
static bool read_assignment(struct tp_shell_reader *reader)
{
    const char *name = reader->p, *p = name;
    while (p < reader->end && tp_shell_is_name(*p, p == name))
        p++;
    size_t length = (size_t)(p - name), first = reader->count;
    bool adds = p + 1 < reader->end && p[0] == '+' && p[1] == '=';
    p += adds;
    if (length == 0 || p == reader->end || *p != '=')
        return false;
    reader->p = p + 1;
    if (tp_shell_at(reader, '(')) {
        read_array(reader);
    } else {
        reader->splits = true;
        tp_shell_read_word(reader);
        reader->splits = false;
    }
    assign(reader, name, length, first, adds);
    reader->count = first;
    return true;
}

/* Words that do not run what follows them. */
static const char *const declarations[] = {"export",   "declare", "local",
                                           "readonly", "typeset", NULL};
static const char *const lists[] = {"for", "select", "case", NULL};

static bool is_first(const struct tp_shell_reader *reader, const char *word)
{
    return reader->count == 1 && !reader->quoted &&
           strcmp(reader->words[0].text, word) == 0;
}

static void open_frame(struct tp_shell_reader *reader, char kind, bool branches)
{
    if (reader->frame_count == TP_SHELL_FRAMES)
        return;
    reader->frames[reader->frame_count++] =
        (struct tp_shell_frame){kind, false, reader->list_arm};
    if (branches)
        reader->arm = tp_shell_arm_new(&reader->names, reader->arm);
    reader->list_arm = reader->arm;
}

static void close_frame(struct tp_shell_reader *reader, char kind)
{
    if (reader->frame_count == 0 ||
        reader->frames[reader->frame_count - 1].kind != kind)
        return;
    reader->arm = reader->list_arm = reader->frames[--reader->frame_count].arm;
}

/* Another branch of what is open. */
static void next_arm(struct tp_shell_reader *reader, char kind)
{
    if (reader->frame_count == 0 ||
        reader->frames[reader->frame_count - 1].kind != kind)
        return;
    reader->arm = reader->list_arm = tp_shell_arm_new(
        &reader->names, reader->frames[reader->frame_count - 1].arm);
}

/* The end of "case WORD in": patterns follow. */
static void open_case(struct tp_shell_reader *reader)
{
    open_frame(reader, 'c', false);
    if (reader->frame_count > 0)
        reader->frames[reader->frame_count - 1].pattern = true;
}

static void end_command(struct tp_shell_reader *reader)
{
    if (reader->count > 0 &&
        !tp_text_is_one_of(reader->words[0].text, declarations) &&
        !tp_text_is_one_of(reader->words[0].text, lists))
        reader->visitor->command(reader->visitor->context, reader->words,
                                 reader->count);
    reader->count = 0;
    reader->drops = false;
}

/* "for NAME": what it holds is unknown. */
static void forget_loop_name(struct tp_shell_reader *reader)
{
    const char *name = reader->words[1].text;
    struct tp_shell_variable *variable =
        tp_shell_name(&reader->names, &reader->arena, name, strlen(name), true);
    if (variable)
        variable->known = false;
    else
        reader->failed = true;
}

/* A word that is more than a word, behind which a command begins. */
static bool take_keyword(struct tp_shell_reader *reader)
{
    static const char *const plain[] = {"!",     "time",  "elif",
                                        "while", "until", NULL};
    bool taken = true;
    if (is_first(reader, "if"))
        open_frame(reader, 'i', false);
    else if (is_first(reader, "then") || is_first(reader, "else"))
        next_arm(reader, 'i');
    else if (is_first(reader, "fi"))
        close_frame(reader, 'i');
    else if (is_first(reader, "do"))
        open_frame(reader, 'l', true);
    else if (is_first(reader, "done"))
        close_frame(reader, 'l');
    else if (is_first(reader, "{"))
        open_frame(reader, '{', true);
    else if (is_first(reader, "}"))
        close_frame(reader, '{');
    else if (is_first(reader, "esac"))
        close_frame(reader, 'c');
    else if (reader->count > 1 && !strcmp(reader->words[0].text, "case") &&
             !strcmp(reader->words[reader->count - 1].text, "in"))
        open_case(reader);
    else if (reader->count != 2 || strcmp(reader->words[0].text, "function"))
        taken = reader->count == 1 && !reader->quoted &&
                tp_text_is_one_of(reader->words[0].text, plain);
    if (taken)
        reader->count = 0;
    if (reader->count == 2 && !strcmp(reader->words[0].text, "for"))
        forget_loop_name(reader);
    return taken;
}

/* "[[ ... ]]", whose operators are not those of commands. */
static void pass_test(struct tp_shell_reader *reader)
{
    reader->count = 0;
    while (reader->p < reader->end && *reader->p != '\n' &&
           !(*reader->p == ']' && reader->end - reader->p > 1 &&
             reader->p[1] == ']'))
        tp_shell_pass(reader);
    for (int i = 0; i < 2 && tp_shell_at(reader, ']'); i++)
        reader->p++;
}

/* Whether words may be assignments here. */
static bool may_assign(const struct tp_shell_reader *reader)
{
    return reader->count == 0 ||
           tp_text_is_one_of(reader->words[0].text, declarations) ||
           !strcmp(reader->words[0].text, "env");
}

/* Whether a text in quotes is a command of its own. */
static bool holds_command(const struct tp_shell_reader *reader)
{
    const char *last =
        reader->count ? reader->words[reader->count - 1].text : "";
    return !strcmp(last, "eval") || (last[0] == '-' && last[1] != '-' &&
                                     *last && last[strlen(last) - 1] == 'c');
}

/* Whether the last word is the 2 of "2>file". */
static bool is_descriptor(const struct tp_shell_reader *reader)
{
    const char *text = reader->words[reader->count - 1].text;
    return (tp_shell_at(reader, '<') || tp_shell_at(reader, '>')) &&
           text[strspn(text, "0123456789")] == '\0';
}

static void read_argument(struct tp_shell_reader *reader)
{
    reader->joins = false;
    if (may_assign(reader) && read_assignment(reader))
        return;
    size_t before = reader->count;
    reader->splits = holds_command(reader);
    tp_shell_read_word(reader);
    reader->splits = false;
    if (reader->count > before && is_descriptor(reader))
        reader->count--;
    if (reader->count == before)
        return;
    if (is_first(reader, "[["))
        pass_test(reader);
    else
        take_keyword(reader);
}

/* "<<END" and "<<-END": END, whose text follows the line. */
static void note_document(struct tp_shell_reader *reader)
{
    reader->p += tp_shell_at(reader, '-');
    while (tp_shell_at(reader, ' ') || tp_shell_at(reader, '\t'))
        reader->p++;
    while (reader->p < reader->end && strchr("\"'\\", *reader->p))
        reader->p++;
    const char *name = reader->p;
    while (reader->p < reader->end &&
           !strchr(" \t\r\n;&|<>()\"'\\", *reader->p))
        reader->p++;
    if (reader->document_count < TP_SHELL_DOCUMENTS && reader->p > name) {
        reader->documents[reader->document_count] = name;
        reader->document_size[reader->document_count++] =
            (size_t)(reader->p - name);
    }
    while (reader->p < reader->end && strchr("\"'", *reader->p))
        reader->p++;
}

/* Behind the end of a line: the texts that were announced there. */
static void pass_documents(struct tp_shell_reader *reader)
{
    for (size_t i = 0; i < reader->document_count; i++) {
        size_t size = reader->document_size[i];
        bool ends = false;
        while (!ends && reader->p < reader->end) {
            while (tp_shell_at(reader, '\t'))
                reader->p++;
            const char *line = reader->p;
            tp_shell_pass_comment(reader);
            size_t length = (size_t)(reader->p - line);
            length -= length > 0 && line[length - 1] == '\r';
            ends = length == size && !memcmp(line, reader->documents[i], size);
            if (reader->p < reader->end)
                tp_shell_pass(reader);
        }
    }
    reader->document_count = 0;
}

static void read_redirection(struct tp_shell_reader *reader)
{
    char c = *reader->p++;
    if (c == '<' && tp_shell_at(reader, '<')) {
        reader->p++;
        if (!tp_shell_at(reader, '<')) {
            note_document(reader);
            return;
        }
        reader->p++;
    } else if (tp_shell_at(reader, '(')) {
        tp_shell_add_unknown(reader, "", 0);
        tp_shell_end_word(reader);
        tp_shell_pass_brackets(reader, '(', ')');
        return;
    }
    while (reader->p < reader->end && strchr("<>&|", *reader->p))
        reader->p++;
    reader->drops = true;
}

/* ";", "&", "|", "(" and the like. */
static void read_operator(struct tp_shell_reader *reader)
{
    char c = *reader->p, next = reader->end - reader->p > 1 ? reader->p[1] : 0;
    bool function = c == '(' && next == ')' && reader->count < 2;
    tp_shell_pass(reader);
    if (function) { /* NAME () */
        reader->p++;
        reader->count = 0;
        return;
    }
    end_command(reader);
    if (c == '(' && next == '(') {
        reader->p--;
        tp_shell_pass_brackets(reader, '(', ')');
    } else if (c == '(') {
        open_frame(reader, '(', true);
    } else if (c == ')') {
        close_frame(reader, '(');
    } else if (c == next && (c == '&' || c == '|')) {
        reader->p++;
        reader->arm = tp_shell_arm_new(&reader->names, reader->list_arm);
        reader->joins = true;
        return;
    } else if (c == ';' && (next == ';' || next == '&') &&
               reader->frame_count > 0 &&
               reader->frames[reader->frame_count - 1].kind == 'c') {
        reader->p += 1 + (reader->end - reader->p > 1 && next == ';' &&
                          reader->p[1] == '&');
        reader->frames[reader->frame_count - 1].pattern = true;
    }
    if (c != '|')
        reader->arm = reader->list_arm;
}

/* A pattern of a case, or its end. */
static void read_pattern(struct tp_shell_reader *reader)
{
    while (reader->p < reader->end && strchr(" \t\r\n(", *reader->p))
        tp_shell_pass(reader);
    if (tp_shell_at(reader, '#')) {
        tp_shell_pass_comment(reader);
        return;
    }
    reader->frames[reader->frame_count - 1].pattern = false;
    if (reader->end - reader->p >= 4 && !memcmp(reader->p, "esac", 4))
        return;
    while (reader->p < reader->end && *reader->p != ')')
        tp_shell_pass(reader);
    if (reader->p < reader->end)
        reader->p++;
    next_arm(reader, 'c');
}

static void read_next(struct tp_shell_reader *reader)
{
    char c = *reader->p;
    if (reader->frame_count > 0 &&
        reader->frames[reader->frame_count - 1].pattern) {
        read_pattern(reader);
    } else if (c == ' ' || c == '\t' || c == '\r') {
        reader->p++;
    } else if (c == '#') {
        tp_shell_pass_comment(reader);
    } else if (c == '\n') {
        tp_shell_pass(reader);
        end_command(reader);
        if (!reader->joins)
            reader->arm = reader->list_arm;
        pass_documents(reader);
    } else if (c == '<' || c == '>') {
        read_redirection(reader);
    } else if (strchr(";&|()", c) && c) {
        read_operator(reader);
    } else if (c == '\0') {
        reader->p++;
    } else {
        read_argument(reader);
    }
}

enum tp_status tp_shell_read(const char *text, size_t length,
                             const struct tp_shell_visitor *visitor,
                             struct tp_error *err)
{
    struct tp_shell_reader reader = {.p = text,
                                     .begin = text,
                                     .end = text + length,
                                     .line = 1,
                                     .visitor = visitor};
    while (reader.p < reader.end && !reader.failed)
        read_next(&reader);
    if (!reader.failed)
        end_command(&reader);
    bool failed = reader.failed || reader.names.failed;
    tp_text_clear(&reader.text);
    free(reader.words);
    tp_shell_names_clear(&reader.names);
    tp_arena_clear(&reader.arena);
    return failed ? tp_fail_memory(err) : TP_OK;
}
