/* SPDX-License-Identifier: MIT */
#include "check/check_words.h"

#include <string.h>

#include "data/severity.h"

static const char *const before_fix[TP_CHECK_LANGS] = {"suggestion: ",
                                                       "建议："};

/* A text of a rule, with what was found for '%'. */
static void add_words(const char *words, const char *what, struct tp_text *text)
{
    const char *mark = strchr(words, '%');
    if (!mark) {
        tp_text_add(text, "%s", words);
        return;
    }
    tp_text_bytes(text, words, (size_t)(mark - words));
    tp_text_printable(text, what);
    tp_text_add(text, "%s", mark + 1);
}

static void add_finding(const struct tp_check_finding *finding,
                        enum tp_check_lang lang, struct tp_text *text)
{
    static const char *const marks[] = {"", "LOW", "MEDIUM", "HIGH"};
    const struct tp_check_rule *rule = finding->rule;
    tp_text_add(text, "Line %u: [%s] ", finding->line,
                marks[finding->severity]);
    add_words(rule->title, finding->what, text);
    tp_text_add(text, "\n  -> ");
    add_words(rule->why[lang], finding->what, text);
    tp_text_add(text, "\n  -> %s", before_fix[lang]);
    add_words(rule->fix[lang], finding->what, text);
    tp_text_add(text, "\n");
}

void tp_check_text(const struct tp_check *check, enum tp_check_lang lang,
                   struct tp_text *text)
{
    bool first = true;
    for (size_t i = 0; i < check->file_count; i++) {
        const struct tp_check_findings *findings = &check->files[i].findings;
        if (findings->count == 0)
            continue;
        tp_text_add(text, "%sFile: ", first ? "" : "\n");
        tp_text_printable(text, check->files[i].path);
        tp_text_add(text, "\n");
        for (size_t j = 0; j < findings->count; j++) {
            tp_text_add(text, "%s", j ? "\n" : "");
            add_finding(&findings->at[j], lang, text);
        }
        first = false;
    }
    if (first)
        tp_text_add(text, "No findings in %zu %s.\n", check->file_count,
                    check->file_count == 1 ? "script" : "scripts");
}

/* "name": the text, as JSON. */
static void add_member(const char *name, const char *words, const char *what,
                       struct tp_text *text)
{
    struct tp_text value = {0};
    add_words(words, what, &value);
    tp_text_add(text, ", \"%s\": ", name);
    tp_text_json(text, tp_text_get(&value));
    text->failed |= value.failed;
    tp_text_clear(&value);
}

static void add_finding_json(const char *path,
                             const struct tp_check_finding *finding,
                             enum tp_check_lang lang, struct tp_text *text)
{
    const struct tp_check_rule *rule = finding->rule;
    tp_text_add(text, "{\"file\": ");
    tp_text_json(text, path);
    tp_text_add(text,
                ", \"line\": %u, \"column\": %u, \"rule\": \"%s\", "
                "\"severity\": \"%s\", \"confidence\": \"%s\"",
                finding->line, finding->column, rule->id,
                tp_severity_name(finding->severity),
                tp_check_confidence_words[finding->confidence]);
    add_member("title", rule->title, finding->what, text);
    add_member("why", rule->why[lang], finding->what, text);
    add_member("suggestion", rule->fix[lang], finding->what, text);
    add_member("see", rule->guide, "", text);
    tp_text_add(text, "}");
}

void tp_check_json(const struct tp_check *check, enum tp_check_lang lang,
                   struct tp_text *text)
{
    bool first = true;
    tp_text_add(text,
                "{\"schema_version\": 1,\n\"scripts\": %zu,\n"
                "\"findings\": [",
                check->file_count);
    for (size_t i = 0; i < check->file_count; i++) {
        const struct tp_check_file *file = &check->files[i];
        for (size_t j = 0; j < file->findings.count; j++) {
            tp_text_add(text, first ? "\n  " : ",\n  ");
            add_finding_json(file->path, &file->findings.at[j], lang, text);
            first = false;
        }
    }
    first = true;
    tp_text_add(text, "],\n\"skipped\": [");
    for (size_t i = 0; i < check->file_count; i++) {
        const struct tp_check_file *file = &check->files[i];
        if (file->problem.code == TP_OK)
            continue;
        tp_text_add(text, first ? "\n  {\"file\": " : ",\n  {\"file\": ");
        tp_text_json(text, file->path);
        tp_text_add(text, ", \"line\": %u, \"reason\": ", file->problem_line);
        tp_text_json(text, file->problem.message);
        tp_text_add(text, "}");
        first = false;
    }
    tp_text_add(text, "]}\n");
}
