/* SPDX-License-Identifier: MIT */
#include "check/check_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/text.h"
#include "check/check_facts.h"
#include "check/check_tells.h"
#include "check/check_walk.h"
#include "check/deepspeed.h"
#include "check/rules_launch.h"

/* How a file is read, by the end of its name. */
struct kind {
    const char *suffix;
    size_t most; /* bytes                                                 */
    enum tp_status (*read)(const char *text, size_t length,
                           struct tp_check_file *file, struct tp_error *err);
};

/* The first "# tprof: ignore" of the line that begins at `p`: what follows it;
 * NULL when there is none. */
static const char *find_mark(const char *p, const char *end)
{
    static const char mark[] = "# tprof: ignore";
    const size_t size = sizeof mark - 1;
    for (; p < end && *p != '\n' && *p != '\r'; p++) {
        if ((size_t)(end - p) >= size && memcmp(p, mark, size) == 0)
            return p + size;
    }
    return NULL;
}

/* Whether such a mark is about a rule: without a list, about all. */
static bool is_ignored(const char *mark, const char *end,
                       const struct tp_check_rule *rule)
{
    if (!mark || mark == end || *mark != '[')
        return mark != NULL;
    const char *close = memchr(mark, ']', (size_t)(end - mark));
    return close &&
           tp_check_list_has(mark + 1, (size_t)(close - mark - 1), rule->id);
}

/* FNV-1a of a line, without blanks, so that indenting it changes nothing. */
static uint64_t print_of(const char *line, const char *end)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; line < end && *line != '\n' && *line != '\r'; line++) {
        if (*line != ' ' && *line != '\t')
            hash = (hash ^ (unsigned char)*line) * 0x100000001b3u;
    }
    return hash;
}

/* The line that findings are placed in. */
struct place {
    const char *start, *mark; /* what follows its "# tprof: ignore"; NULL */
    const char *counted;      /* as far as its characters were counted    */
    uint32_t character;       /* there, from 1; 0: it is not UTF-8        */
    uint64_t print;
};

static struct place place_at(const char *line, const char *end)
{
    return (struct place){.start = line,
                          .mark = find_mark(line, end),
                          .counted = line,
                          .character = 1,
                          .print = print_of(line, end)};
}

/* The line that begins at `p`, as text; bytes that are none are left. */
static void set_excerpt(const char *p, const char *end,
                        char excerpt[TP_EXCERPT])
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    size_t length = 0;
    while (p + length < end && p[length] && p[length] != '\n' &&
           p[length] != '\r' && length < TP_EXCERPT - 1)
        length++;
    memcpy(excerpt, p, length);
    excerpt[length] = '\0';
    if (length == TP_EXCERPT - 1)
        excerpt[tp_utf8_cut(excerpt, length - 1)] = '\0';
}

static void count_to(struct place *place, const char *p)
{
    while (place->character > 0 && place->counted < p) {
        size_t step =
            tp_utf8_step(place->counted, (size_t)(p - place->counted));
        place->counted += step;
        place->character = step > 0 ? place->character + 1 : 0;
    }
}

/* Sets the columns, and takes out what the source says to ignore. Findings
 * are in the order of the source, so each line is looked at once. */
static void place_findings(const char *source, size_t length,
                           struct tp_check_findings *findings)
{
    size_t kept = 0, at = 0;
    uint32_t line = 1;
    const char *end = source + length;
    struct place place = place_at(source, end);
    for (size_t i = 0; i < findings->count; i++) {
        struct tp_check_finding finding = findings->at[i];
        bool moves = line < finding.line;
        for (; at < length && line < finding.line; at++)
            line += source[at] == '\n' ||
                    (source[at] == '\r' &&
                     (at + 1 == length || source[at + 1] != '\n'));
        if (moves)
            place = place_at(source + at, end);
        count_to(&place, source + finding.offset);
        finding.column = (uint32_t)(source + finding.offset - place.start) + 1;
        finding.character = place.character;
        finding.print = place.print;
        set_excerpt(place.start, end, finding.excerpt);
        if (!is_ignored(place.mark, end, finding.rule))
            findings->at[kept++] = finding;
    }
    findings->count = kept;
}

/* The first of what tokens and statements could not be made of. */
static struct tp_py_problem first_problem(const struct tp_script *script)
{
    const struct tp_py_problem *a = &script->tokens.problem;
    const struct tp_py_problem *b = &script->tree.problem;
    if (a->count == 0 || b->count == 0)
        return a->count ? *a : *b;
    struct tp_py_problem first = a->line <= b->line ? *a : *b;
    first.elsewhere = a->elsewhere || b->elsewhere || a->line != b->line;
    return first;
}

/* Notes the first thing that could not be read. */
static void note_problem(const struct tp_script *script,
                         struct tp_check_file *file)
{
    const struct tp_py_problem problem = first_problem(script);
    if (problem.count == 0)
        return;
    struct tp_check_place place = tp_check_place_of(file, problem.line);
    file->problem_line = place.file_line;
    if (place.cell)
        tp_fail(&file->problem, TP_E_DAMAGED, -1, "cell %u, line %u: %s",
                place.cell, place.line, problem.what);
    else
        tp_fail(&file->problem, TP_E_DAMAGED, (int64_t)problem.offset,
                "line %u: %s", place.line, problem.what);
    if (problem.elsewhere)
        tp_while(&file->problem, "other lines could not be read, either");
}

enum tp_status tp_check_source(const char *source, size_t length,
                               struct tp_check_file *file, struct tp_error *err)
{
    struct tp_script script;
    enum tp_status status = tp_script_read(source, length, &script, err);
    if (status == TP_OK)
        status = tp_check_walk(&script, file->path, &file->findings, err);
    if (status == TP_OK) {
        place_findings(source, length, &file->findings);
        note_problem(&script, file);
        file->tells = tp_tells_read(&script.tokens);
    }
    tp_script_clear(&script);
    return status;
}

/* An option in a variable that two commands use is one finding. */
static void drop_same(struct tp_check_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct tp_check_finding *at = &findings->at[i];
        if (kept == 0 || at->offset != findings->at[kept - 1].offset ||
            at->rule != findings->at[kept - 1].rule)
            findings->at[kept++] = *at;
    }
    findings->count = kept;
}

/* Cells are checked as one source, whose lines then say where they are. */
static enum tp_status check_notebook(const char *text, size_t length,
                                     struct tp_check_file *file,
                                     struct tp_error *err)
{
    struct tp_notebook notebook;
    enum tp_status status = tp_notebook_read(text, length, &notebook, err);
    file->places = notebook.places;
    file->place_count = notebook.count;
    notebook.places = NULL;
    if (status == TP_OK)
        status = tp_check_source(notebook.source ? notebook.source : "",
                                 notebook.length, file, err);
    tp_notebook_clear(&notebook);
    return status;
}

/* The options of the commands in it. */
static enum tp_status check_shell(const char *text, size_t length,
                                  struct tp_check_file *file,
                                  struct tp_error *err)
{
    const struct tp_shell_visitor visitor = {&file->findings, tp_launch_judge};
    enum tp_status status = tp_shell_read(text, length, &visitor, err);
    if (status == TP_OK && file->findings.failed)
        status = tp_fail_memory(err);
    if (status == TP_OK) {
        tp_check_sort(&file->findings);
        drop_same(&file->findings);
        place_findings(text, length, &file->findings);
    }
    return status;
}

static enum tp_status check_deepspeed(const char *text, size_t length,
                                      struct tp_check_file *file,
                                      struct tp_error *err)
{
    enum tp_status status =
        tp_deepspeed_check(text, length, &file->findings, err);
    if (status == TP_OK) {
        tp_check_sort(&file->findings);
        place_findings(text, length, &file->findings);
    }
    return status;
}

/* The first one is what a file of any other name is. */
static const struct kind kinds[] = {
    {".py", TP_LIMIT_SCRIPT_BYTES, tp_check_source},
    {".ipynb", TP_LIMIT_NOTEBOOK_BYTES, check_notebook},
    {".sh", TP_LIMIT_SHELL_BYTES, check_shell},
    {".json", TP_LIMIT_CONFIG_BYTES, check_deepspeed},
};

/* NULL: the name says nothing. */
static const struct kind *kind_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i].suffix);
        if (length > size && strcmp(path + length - size, kinds[i].suffix) == 0)
            return &kinds[i];
    }
    return NULL;
}

bool tp_check_is_script(const char *path)
{
    return kind_of(path) != NULL;
}

static enum tp_status check_text(const struct kind *kind, const char *text,
                                 size_t length, struct tp_check_file *file,
                                 struct tp_error *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    const size_t size = sizeof bom - 1;
    if (length >= 2 &&
        (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2)))
        return tp_fail(err, TP_E_DAMAGED, 0,
                       "UTF-16 text, which nothing reads as a script: save it "
                       "as UTF-8");
    if (kind != kinds && length >= size && !memcmp(text, bom, size))
        return kind->read(text + size, length - size, file, err);
    return kind->read(text, length, file, err);
}

enum tp_status tp_check_text_of(const char *path, const char *text,
                                size_t length, struct tp_check_file *file,
                                struct tp_error *err)
{
    const struct kind *kind = kind_of(path);
    return check_text(kind ? kind : kinds, text, length, file, err);
}

static enum tp_status read_file(struct tp_check_file *file,
                                struct tp_error *err)
{
    const struct kind *kind = kind_of(file->path);
    struct tp_bytes bytes = {.fd = -1};
    char *text = NULL;
    enum tp_status status = tp_bytes_open(file->path, &bytes, err);
    if (status != TP_OK)
        return status;
    if (!kind)
        kind = kinds;
    if (bytes.size > kind->most)
        status = tp_fail(
            err, kind->read == check_deepspeed ? TP_E_UNSUPPORTED : TP_E_LIMIT,
            -1, "over %zu MiB", kind->most >> 20);
    else if (!(text = malloc((size_t)bytes.size + 1)))
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_bytes_read(&bytes, 0, text, (size_t)bytes.size, err);
    if (status == TP_OK)
        status = tp_bytes_unchanged(&bytes, err);
    if (status == TP_OK)
        status = check_text(kind, text, (size_t)bytes.size, file, err);
    free(text);
    tp_bytes_close(&bytes);
    return status;
}

void tp_check_file_read(struct tp_check_file *file)
{
    struct tp_error err = {0};
    if (read_file(file, &err) != TP_OK)
        file->problem = err;
    if (file->problem.code != TP_OK)
        tp_error_in_file(&file->problem, file->path);
}

void tp_check_file_clear(struct tp_check_file *file)
{
    free(file->path);
    free(file->findings.at);
    free(file->places);
    *file = (struct tp_check_file){0};
}

struct tp_check_place tp_check_place_of(const struct tp_check_file *file,
                                        uint32_t line)
{
    if (line > 0 && line <= file->place_count)
        return file->places[line - 1];
    return (struct tp_check_place){0, line, line};
}
