/* SPDX-License-Identifier: MIT */
/*
 * A notebook as one script: its cells share their names, so that what one
 * imports the next one uses, and rules follow that as they do in a module.
 * Beside the source stands, for each line, where it came from.
 *
 * Lines of IPython begin with '%', '!' or '?', or end with '?', where Python
 * begins a statement; inside brackets and strings the same characters are
 * Python. Such a line becomes the statement "0", so that a block of only magics
 * stays a block. A cell that begins with "%%" is in another language but for
 * the few magics that run Python.
 *
 * Alternative: IPython's own rewriting into calls of get_ipython(), which no
 * rule would look at. Cost: linear in the text, and its tree in memory.
 */
#include "check/notebook.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check/json_lines.h"

struct reader {
    struct tp_notebook *notebook;
    struct tp_json_lines lines;
    uint32_t cell, cell_line;
    bool fresh; /* the next byte begins a line                            */
    struct tp_error *err;
    enum tp_status status;
};

/* How far a cell was understood. */
struct scan {
    char *p, *end;
    int brackets;
    char quote; /* of a string that goes on in the next line, or 0        */
};

static bool ends_line(const char *p, const char *end)
{
    return *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] != '\n'));
}

/* Passes over a string that began; it may go on behind the line. */
static void pass_string(struct scan *scan, char *stop)
{
    while (scan->p < stop) {
        char c = *scan->p++;
        if (c == '\\' && scan->p < stop)
            scan->p++;
        else if (c == scan->quote && stop - scan->p >= 2 && scan->p[0] == c &&
                 scan->p[1] == c) {
            scan->p += 2;
            scan->quote = 0;
            return;
        }
    }
}

static void begin_string(struct scan *scan, char *stop)
{
    char quote = *scan->p++;
    if (stop - scan->p >= 2 && scan->p[0] == quote && scan->p[1] == quote) {
        scan->p += 2;
        scan->quote = quote;
        pass_string(scan, stop);
        return;
    }
    while (scan->p < stop && *scan->p != quote)
        scan->p += *scan->p == '\\' && scan->p + 1 < stop ? 2 : 1;
    scan->p += scan->p < stop;
}

/* Follows Python to the end of its line. The last character that is no blank
 * and in no comment; 0: none. */
static char pass_line(struct scan *scan, char *stop)
{
    char last = 0;
    if (scan->quote)
        pass_string(scan, stop);
    while (scan->p < stop && *scan->p != '#') {
        char c = *scan->p;
        if (c != ' ' && c != '\t' && c != '\r')
            last = c;
        if (c == '"' || c == '\'') {
            begin_string(scan, stop);
            continue;
        }
        scan->brackets += c == '(' || c == '[' || c == '{';
        scan->brackets -= c == ')' || c == ']' || c == '}';
        scan->p++;
    }
    if (scan->brackets < 0)
        scan->brackets = 0;
    return last;
}

static char *past_blanks(char *p, const char *stop)
{
    while (p < stop && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* The '!' or '%' of "x = !ls" and "x = %time f()"; NULL. */
static char *assigned_magic(char *line, char *stop)
{
    char *equals = memchr(line, '=', (size_t)(stop - line));
    if (!equals)
        return NULL;
    for (const char *p = line; p < equals; p++) {
        if (strchr("\"'#()[]{}!<>%+-*/", *p))
            return NULL;
    }
    char *p = past_blanks(equals + 1, stop);
    return p < stop && (*p == '!' || *p == '%') ? p : NULL;
}

/* Leaves the statement "0". */
static void blank(char *from, char *stop)
{
    if (from < stop)
        *from++ = '0';
    memset(from, ' ', (size_t)(stop - from));
}

static bool ends_with_backslash(const char *line, const char *stop)
{
    if (stop > line && stop[-1] == '\r')
        stop--;
    return stop > line && stop[-1] == '\\';
}

static char *line_end(const struct scan *scan)
{
    char *p = scan->p;
    while (p < scan->end && !ends_line(p, scan->end))
        p++;
    return p;
}

/* A line that begins a statement: whether it is IPython's. */
static bool blank_line(char *line, char *stop)
{
    char *begin = past_blanks(line, stop);
    if (begin == stop)
        return false;
    if (!strchr("%!?", *begin))
        begin = assigned_magic(begin, stop);
    if (begin)
        blank(begin, stop);
    return begin != NULL;
}

/* Whether the cell is in another language. */
static bool is_foreign(const char *cell, size_t length)
{
    static const char *const python[] = {
        "time", "timeit", "capture", "prun",  "python", "python3",
        "pypy", "mypy",   "memit",   "mprun", "lprun",  "scalene"};
    size_t i = 0, size;
    while (i < length && strchr(" \t\r\n", cell[i]))
        i++;
    if (length - i < 3 || cell[i] != '%' || cell[i + 1] != '%')
        return false;
    cell += i + 2;
    for (size = 0; size < length - i - 2 && !strchr(" \t\r\n", cell[size]);)
        size++;
    for (i = 0; i < sizeof python / sizeof *python; i++) {
        if (strlen(python[i]) == size && !memcmp(python[i], cell, size))
            return false;
    }
    return true;
}

static void blank_all(char *cell, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (cell[i] != '\n' && cell[i] != '\r')
            cell[i] = ' ';
    }
}

void tp_notebook_blank(char *cell, size_t length)
{
    struct scan scan = {.p = cell, .end = cell + length};
    enum { NOTHING, PYTHON, MAGIC } before = NOTHING; /* goes on here */
    if (is_foreign(cell, length)) {
        blank_all(cell, length);
        return;
    }
    while (scan.p < scan.end) {
        char *line = scan.p, *stop = line_end(&scan);
        bool begins = before == NOTHING && !scan.brackets && !scan.quote;
        bool joined = ends_with_backslash(line, stop);
        if (before == MAGIC) { /* which takes any text */
            memset(line, ' ', (size_t)(stop - line));
            before = joined ? MAGIC : NOTHING;
        } else if (begins && blank_line(line, stop)) {
            before = joined ? MAGIC : NOTHING;
        } else {
            char last = pass_line(&scan, stop);
            before = last == '\\' ? PYTHON : NOTHING;
            if (begins && last == '?') { /* "obj?" shows its help */
                blank(past_blanks(line, stop), stop);
                scan.brackets = 0;
            }
        }
        scan.p = stop < scan.end ? stop + 1 : stop;
    }
}

static void add_byte(struct reader *reader, char c, uint32_t line)
{
    struct tp_notebook *notebook = reader->notebook;
    if (reader->status == TP_OK)
        reader->status = tp_grow(&notebook->source, &notebook->capacity,
                                 notebook->length + 1, 1, reader->err);
    if (reader->status == TP_OK && reader->fresh)
        reader->status =
            tp_grow(&notebook->places, &notebook->place_capacity,
                    notebook->count + 1, sizeof *notebook->places, reader->err);
    if (reader->status != TP_OK)
        return;
    if (reader->fresh)
        notebook->places[notebook->count++] =
            (struct tp_check_place){reader->cell, ++reader->cell_line, line};
    notebook->source[notebook->length++] = c;
    reader->fresh = false;
}

/* A line of the source, or several. */
static void add_text(struct reader *reader, const struct tp_json *text)
{
    uint32_t line = tp_json_lines_next(&reader->lines);
    const char *end = text->text + text->length;
    for (const char *p = text->text; p < end; p++) {
        add_byte(reader, *p, line);
        reader->fresh = ends_line(p, end);
    }
}

static void add_source(struct reader *reader, const struct tp_json *source)
{
    size_t begin = reader->notebook->length;
    reader->cell_line = 0;
    reader->fresh = true;
    if (source->kind == TP_JSON_STRING)
        add_text(reader, source);
    for (const struct tp_json *at = source->first; at; at = at->next) {
        if (at->kind == TP_JSON_STRING)
            add_text(reader, at);
        else
            tp_json_lines_skip(&reader->lines, at);
    }
    if (reader->status != TP_OK || reader->notebook->length == begin)
        return;
    tp_notebook_blank(reader->notebook->source + begin,
                      reader->notebook->length - begin);
    if (!reader->fresh)
        add_byte(reader, '\n', 0);
}

static void read_cell(struct reader *reader, const struct tp_json *cell)
{
    bool code = !strcmp(tp_json_text(cell, "cell_type", ""), "code");
    reader->cell++;
    for (const struct tp_json *at = cell->first; at; at = at->next) {
        if (at->key)
            tp_json_lines_next(&reader->lines);
        if (code && at->key && at->kind != TP_JSON_OBJECT &&
            (!strcmp(at->key, "source") || !strcmp(at->key, "input")))
            add_source(reader, at);
        else
            tp_json_lines_skip(&reader->lines, at);
    }
}

/* The notebook, or one of its worksheets. */
static void read_cells(struct reader *reader, const struct tp_json *sheet)
{
    for (const struct tp_json *at = sheet->first; at; at = at->next) {
        if (at->key)
            tp_json_lines_next(&reader->lines);
        if (!at->key || at->kind != TP_JSON_LIST) {
            tp_json_lines_skip(&reader->lines, at);
            continue;
        }
        for (const struct tp_json *i = at->first; i; i = i->next) {
            if (!strcmp(at->key, "cells"))
                read_cell(reader, i);
            else if (!strcmp(at->key, "worksheets"))
                read_cells(reader, i);
            else
                tp_json_lines_skip(&reader->lines, i);
        }
    }
}

/* Whether the text has cells, of Python as far as it says. */
static enum tp_status check_kind(const struct tp_json *root,
                                 struct tp_error *err)
{
    const struct tp_json *metadata = tp_json_member(root, "metadata");
    const char *language = tp_json_text(
        tp_json_member(metadata, "language_info"), "name",
        tp_json_text(tp_json_member(metadata, "kernelspec"), "language", ""));
    if (!tp_json_member(root, "cells") && !tp_json_member(root, "worksheets"))
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "a notebook without cells");
    if (*language && strncasecmp(language, "python", 6) &&
        strcasecmp(language, "ipython"))
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "a notebook of %s", language);
    return TP_OK;
}

enum tp_status tp_notebook_read(const char *text, size_t length,
                                struct tp_notebook *notebook,
                                struct tp_error *err)
{
    const struct tp_json *root = NULL;
    struct tp_arena arena = {0};
    *notebook = (struct tp_notebook){0};
    struct reader reader = {
        .notebook = notebook, .lines = {text, length, 0, 1, 0}, .err = err};
    struct tp_json_parser *parser = tp_json_parser_new();
    enum tp_status status =
        parser ? tp_json_parse(parser, text, length, &arena, &root, err)
               : tp_fail_memory(err);
    if (status == TP_OK)
        status = check_kind(root, err);
    if (status == TP_OK) {
        read_cells(&reader, root);
        status = reader.status;
    }
    tp_arena_clear(&arena);
    tp_json_parser_free(parser);
    return status;
}

void tp_notebook_clear(struct tp_notebook *notebook)
{
    free(notebook->source);
    free(notebook->places);
    *notebook = (struct tp_notebook){0};
}
