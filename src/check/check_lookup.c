/* SPDX-License-Identifier: MIT */
/*
 * A line of a stack in the scripts. The machine that ran has them elsewhere, so
 * a script is known by the end of its path. Python tells the line where a call
 * begins, a rule where its name stands, which in a statement of several lines
 * is another one: what counts is the statement. It is looked for by reading the
 * script again, since few lines are ever asked for.
 */
#include "check/check_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/text.h"
#include "check/check_words.h"
#include "check/python_tree.h"

/* Parts of two paths that are the same, from the end on; 0: other names. */
static size_t common_parts(const char *a, size_t a_length, const char *b)
{
    size_t i = a_length, j = strlen(b), parts = 0;
    while (i > 0 && j > 0 && a[i - 1] == b[j - 1]) {
        i--;
        j--;
        parts += a[i] == '/';
    }
    bool whole = (i == 0 || a[i - 1] == '/') && (j == 0 || b[j - 1] == '/');
    return parts + (whole && (a_length > i));
}

static const struct tp_check_file *file_of(const struct tp_check *check,
                                           const char *path, size_t length)
{
    const struct tp_check_file *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < check->list.count; i++) {
        const struct tp_check_file *file = &check->list.files[i];
        size_t parts = common_parts(path, length, file->path);
        if (parts == most)
            best = NULL; /* which of them is not known */
        if (parts > most) {
            most = parts;
            best = file;
        }
    }
    return best;
}

static bool is_simple(enum tp_py_kind kind)
{
    return kind == TP_PY_EXPRESSION || kind == TP_PY_ASSIGN ||
           kind == TP_PY_ANNOTATED || kind == TP_PY_AUGMENTED ||
           kind == TP_PY_RETURN || kind == TP_PY_RAISE ||
           kind == TP_PY_ASSERT || kind == TP_PY_DELETE;
}

/* Lines of the simple statement around *first. */
static void widen(const struct tp_py_tokens *tokens,
                  const struct tp_py_tree *tree, uint32_t *first,
                  uint32_t *last)
{
    uint32_t line = *first;
    for (size_t i = 1; i < tree->count; i++) {
        const struct tp_py_node *node = &tree->at[i];
        if (!is_simple((enum tp_py_kind)node->kind) || node->end == 0)
            continue;
        uint32_t begin = tokens->at[node->token].line;
        uint32_t end = tokens->at[node->end - 1].line;
        if (begin <= line && line <= end) {
            *first = begin;
            *last = end;
        }
    }
}

/* Lines of the function that begins at *first, with its decorators. */
static void widen_function(const struct tp_py_tokens *tokens,
                           const struct tp_py_tree *tree, uint32_t *first,
                           uint32_t *last)
{
    uint32_t line = *first;
    for (size_t i = 1; i < tree->count; i++) {
        const struct tp_py_node *node = &tree->at[i];
        if (node->kind != TP_PY_FUNCTION || node->end == 0)
            continue;
        uint32_t begin = tokens->at[node->token].line;
        if (tree->at[node->child].kind == TP_PY_DECORATOR)
            begin = tokens->at[tree->at[node->child].token].line;
        uint32_t end = node->end - 1;
        while (end > node->token && (tokens->at[end].kind == TP_PY_DEDENT ||
                                     tokens->at[end].kind == TP_PY_LINE_END))
            end--;
        if (begin <= line && line <= tokens->at[node->token].line) {
            *first = begin;
            *last = tokens->at[end].line;
        }
    }
}

typedef void widen_fn(const struct tp_py_tokens *tokens,
                      const struct tp_py_tree *tree, uint32_t *first,
                      uint32_t *last);

/* Widens lines by the script that they are of; one that cannot be read leaves
 * them, and says why. */
static enum tp_status widen_in_file(const char *path, widen_fn *how,
                                    uint32_t *first, uint32_t *last)
{
    struct tp_py_tokens tokens = {0};
    struct tp_py_tree tree = {0};
    char *source;
    size_t size;
    enum tp_status status = tp_bytes_load(
        path, "a script", TP_LIMIT_SCRIPT_BYTES, &source, &size, NULL);
    if (status == TP_OK)
        status = tp_py_lex(source, size, &tokens, NULL);
    if (status == TP_OK)
        status = tp_py_parse(&tokens, &tree, NULL);
    if (status == TP_OK)
        how(&tokens, &tree, first, last);
    tp_py_tree_clear(&tree);
    tp_py_tokens_clear(&tokens);
    free(source);
    return status;
}

static void say_finding(const struct tp_check_finding *finding,
                        enum tp_check_lang lang, struct tp_text *text)
{
    const struct tp_check_rule *rule = finding->rule;
    tp_text_add(text, "%s ", tp_severity_name(finding->severity));
    tp_check_words(rule->title, finding->what, text);
    tp_text_add(text, ": ");
    tp_check_words(rule->why[lang], finding->what, text);
    tp_text_add(text, "; ");
    tp_check_words(rule->fix[lang], finding->what, text);
    tp_text_add(text, ".");
}

void tp_check_say(const struct tp_check *check, const char *stack,
                  struct tp_text *text)
{
    static const char before[] = "File ", between[] = ", line ";
    const char *path = strstr(stack, before);
    const char *comma = path ? strstr(path, between) : NULL;
    if (!comma)
        return;
    path += sizeof before - 1;
    uint32_t line = (uint32_t)strtoul(comma + sizeof between - 1, NULL, 10);
    const struct tp_check_file *file =
        file_of(check, path, (size_t)(comma - path));
    if (!file || line == 0)
        return;
    tp_text_add(text, " At ");
    tp_text_printable(text, file->path);
    tp_text_add(text, ":%u", line);
    uint32_t first = line, last = line;
    text->failed |=
        widen_in_file(file->path, widen, &first, &last) == TP_E_MEMORY;
    bool any = false;
    for (size_t i = 0; i < file->findings.count; i++) {
        const struct tp_check_finding *at = &file->findings.at[i];
        if (file->places || at->line < first || at->line > last)
            continue;
        tp_text_add(text, any ? " " : " check says: ");
        say_finding(at, check->lang, text);
        any = true;
    }
    tp_text_add(text, any ? "" : ".");
}

/* A frame taken apart: the length of its path, its line, its function. */
struct frame {
    size_t length;
    uint32_t line;
    const char *function;
};

static bool read_frame(const char *name, struct frame *frame)
{
    const char *end = strstr(name, "): ");
    const char *open = end;
    while (open && open > name && *open != '(')
        open--;
    if (!open || open == name)
        return false;
    char *digits;
    frame->length = (size_t)(open - name);
    frame->line = (uint32_t)strtoul(open + 1, &digits, 10);
    frame->function = end + 3;
    return digits == end && frame->line > 0;
}

bool tp_check_knows_frame(const struct tp_check *check, const char *frame)
{
    struct frame parts;
    return read_frame(frame, &parts) && file_of(check, frame, parts.length);
}

void tp_check_say_frame(const struct tp_check *check, const char *frame,
                        bool named, const char *const *rules,
                        struct tp_text *text)
{
    struct frame parts;
    const struct tp_check_file *file =
        read_frame(frame, &parts) ? file_of(check, frame, parts.length) : NULL;
    if (!file)
        return;
    if (!named) {
        tp_text_add(text, " In ");
        tp_text_printable(text, parts.function);
        tp_text_add(text, " at ");
        tp_text_printable(text, file->path);
        tp_text_add(text, ":%u", parts.line);
    }
    uint32_t first = parts.line, last = parts.line;
    text->failed |=
        widen_in_file(file->path, widen_function, &first, &last) == TP_E_MEMORY;
    bool any = false;
    for (size_t i = 0; i < file->findings.count; i++) {
        const struct tp_check_finding *at = &file->findings.at[i];
        if (file->places || at->line < first || at->line > last ||
            !tp_text_is_one_of(at->rule->id, rules))
            continue;
        tp_text_add(text, "%s line %u: ", any ? "" : " check says:", at->line);
        say_finding(at, check->lang, text);
        any = true;
    }
    tp_text_add(text, any || named ? "" : ".");
}

void tp_check_say_places(const struct tp_check *check, const char *const *rules,
                         struct tp_text *text)
{
    enum { MOST = 3 };
    size_t count = 0;
    for (size_t i = 0; i < check->list.count; i++) {
        const struct tp_check_file *file = &check->list.files[i];
        for (size_t j = 0; j < file->findings.count && !file->places; j++) {
            const struct tp_check_finding *at = &file->findings.at[j];
            if (!tp_text_is_one_of(at->rule->id, rules) || count++ >= MOST)
                continue;
            tp_text_add(text, count > 1 ? ", " : "");
            tp_text_printable(text, file->path);
            tp_text_add(text, ":%u (%s)", at->line, at->rule->id);
        }
    }
    if (count > MOST)
        tp_text_add(text, " and %zu more", count - MOST);
}
