/* SPDX-License-Identifier: MIT */
#include "check/check_sarif.h"

#include <inttypes.h>
#include <string.h>

#include "check/check_words.h"

static const char schema[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json";

static const char *level_of(enum tp_severity severity)
{
    static const char *const levels[] = {"none", "note", "warning", "error"};
    return levels[severity];
}

/* "name": "value", with what was found for '%'. */
static void add_text(const char *before, const char *words, const char *what,
                     struct tp_text *text)
{
    struct tp_text value = {0};
    tp_check_words(words, what, &value);
    tp_text_add(text, "%s", before);
    tp_text_json(text, tp_text_get(&value));
    text->failed |= value.failed;
    tp_text_clear(&value);
}

static void add_rule(const struct tp_check_rule *rule, enum tp_check_lang lang,
                     struct tp_text *text)
{
    tp_text_add(text, "{\"id\": \"%s\",\n    \"shortDescription\": {\"text\": ",
                rule->id);
    tp_text_json(text, rule->help);
    add_text("},\n    \"fullDescription\": {\"text\": ", rule->why[lang], "it",
             text);
    add_text("},\n    \"help\": {\"text\": ", rule->fix[lang], "it", text);
    tp_text_add(text,
                "},\n    \"defaultConfiguration\": {\"level\": \"%s\"},\n"
                "    \"properties\": {\"guide\": \"%s\"}}",
                level_of(rule->severity), rule->guide);
}

/* A path as a URI: relative ones stay relative. */
static void add_uri(const char *path, struct tp_text *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz"
                                "0123456789-._~/";
    while (!strncmp(path, "./", 2))
        path += 2;
    tp_text_add(text, "\"%s", *path == '/' ? "file://" : "");
    for (; *path; path++)
        if (strchr(plain, *path))
            tp_text_bytes(text, path, 1);
        else
            tp_text_add(text, "%%%02X", (unsigned char)*path);
    tp_text_add(text, "\"");
}

static void add_location(const struct tp_check_file *file, uint32_t line,
                         uint32_t column, struct tp_text *text)
{
    tp_text_add(text, "\"locations\": [{\"physicalLocation\": "
                      "{\"artifactLocation\": {\"uri\": ");
    add_uri(file->path, text);
    tp_text_add(text, "}");
    if (line > 0)
        tp_text_add(text, ", \"region\": {\"startLine\": %" PRIu32, line);
    if (line > 0 && column > 0)
        tp_text_add(text, ", \"startColumn\": %" PRIu32, column);
    tp_text_add(text, "%s}}]", line > 0 ? "}" : "");
}

static void add_message(const struct tp_check_finding *finding,
                        struct tp_check_place place, enum tp_check_lang lang,
                        struct tp_text *text)
{
    static const char *const parts[] = {": ", ". "};
    const struct tp_check_rule *rule = finding->rule;
    const char *words[] = {rule->title, rule->why[lang], rule->fix[lang]};
    struct tp_text message = {0};
    if (place.cell)
        tp_text_add(&message, "Cell %" PRIu32 ", line %" PRIu32 ": ",
                    place.cell, place.line);
    for (int i = 0; i < 3; i++) {
        tp_check_words(words[i], finding->what, &message);
        tp_text_add(&message, "%s", i < 2 ? parts[i] : ".");
    }
    tp_text_json(text, tp_text_get(&message));
    text->failed |= message.failed;
    tp_text_clear(&message);
}

/* Number i of a file's findings. The print tells a finding in the next version
 * of the file: the text of its line, and how many like it stand above. */
static void add_result(const struct tp_check_file *file, size_t i,
                       size_t rule_index, enum tp_check_lang lang,
                       struct tp_text *text)
{
    const struct tp_check_finding *at = file->findings.at;
    struct tp_check_place place = tp_check_place_of(file, at[i].line);
    size_t above = 0;
    for (size_t j = i; j-- > 0 && i - j < 1000;)
        above += at[j].rule == at[i].rule && at[j].print == at[i].print;
    tp_text_add(text,
                "{\"ruleId\": \"%s\", \"ruleIndex\": %zu, \"level\": \"%s\",\n"
                "   \"message\": {\"text\": ",
                at[i].rule->id, rule_index, level_of(at[i].severity));
    add_message(&at[i], place, lang, text);
    tp_text_add(text, "},\n   ");
    add_location(file, place.file_line, place.cell ? 0 : at[i].character, text);
    tp_text_add(text,
                ",\n   \"partialFingerprints\": {\"line/v1\": \"%016" PRIx64
                ":%zu\"}}",
                at[i].print, above);
}

static size_t index_of(const struct tp_check_rule *wanted)
{
    size_t i = 0;
    while (tp_check_rule_at(i) != wanted)
        i++;
    return i;
}

static void add_results(const struct tp_check *check, struct tp_text *text)
{
    bool first = true;
    for (size_t i = 0; i < check->list.count; i++) {
        const struct tp_check_file *file = &check->list.files[i];
        for (size_t j = 0; j < file->findings.count; j++) {
            tp_text_add(text, first ? "\n  " : ",\n  ");
            add_result(file, j, index_of(file->findings.at[j].rule),
                       check->lang, text);
            first = false;
        }
    }
}

static void add_notifications(const struct tp_check *check,
                              struct tp_text *text)
{
    bool first = true;
    for (size_t i = 0; i < check->list.count; i++) {
        const struct tp_check_file *file = &check->list.files[i];
        if (file->problem.code == TP_OK)
            continue;
        tp_text_add(text, "%s{\"level\": \"error\", \"message\": {\"text\": ",
                    first ? "\n  " : ",\n  ");
        tp_text_json(text, file->problem.message);
        tp_text_add(text, "},\n   ");
        add_location(file, file->problem_line, 0, text);
        tp_text_add(text, "}");
        first = false;
    }
}

void tp_check_sarif(const struct tp_check *check, const char *version,
                    struct tp_text *text)
{
    const struct tp_check_rule *rule;
    tp_text_add(text,
                "{\"$schema\": \"%s\",\n\"version\": \"2.1.0\",\n"
                "\"runs\": [{\"tool\": {\"driver\": {\"name\": "
                "\"tprof-analyze\", \"version\": \"%s\",\n  \"rules\": [",
                schema, version);
    for (size_t i = 0; (rule = tp_check_rule_at(i)); i++) {
        tp_text_add(text, i ? ",\n   " : "\n   ");
        add_rule(rule, check->lang, text);
    }
    tp_text_add(text, "]}},\n \"columnKind\": \"unicodeCodePoints\",\n"
                      " \"invocations\": [{\"executionSuccessful\": true, "
                      "\"toolExecutionNotifications\": [");
    add_notifications(check, text);
    tp_text_add(text, "]}],\n \"results\": [");
    add_results(check, text);
    tp_text_add(text, "]}]}\n");
}
