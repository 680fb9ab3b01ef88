/* SPDX-License-Identifier: MIT */
#include "cli/check_page.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/file.h"
#include "check/check_words.h"
#include "cli/output.h"
#include "config.h"
#include "data/table.h"
#include "report/html_page.h"
#include "report/staging.h"

/* A finding as the page has it; absent numbers are -1. */
struct finding {
    const char *severity, *rule, *file;
    int64_t cell, line, column;
    const char *source, *evidence, *suggestion, *confidence, *guide;
};

/* A file, and what came of it. */
struct script {
    const char *file;
    uint64_t high, medium, low;
    const char *problem; /* why it could not be read whole                 */
};

struct page_rows {
    struct finding *findings; /* worst first, then by file and line        */
    size_t finding_count;
    struct script *scripts;
    struct tp_arena arena; /* of their texts                               */
    size_t with;           /* scripts with findings                        */
};

static const struct tp_column finding_columns[] = {
    TP_COLUMN(struct finding, severity, ""),
    TP_COLUMN(struct finding, rule, ""),
    TP_COLUMN(struct finding, file, ""),
    TP_COLUMN(struct finding, cell, "1"),
    TP_COLUMN(struct finding, line, "1"),
    TP_COLUMN(struct finding, column, "B"),
    TP_COLUMN(struct finding, source, ""),
    TP_COLUMN(struct finding, evidence, ""),
    TP_COLUMN(struct finding, suggestion, ""),
    TP_COLUMN(struct finding, confidence, ""),
    TP_COLUMN(struct finding, guide, ""),
};

static const struct tp_column script_columns[] = {
    TP_COLUMN(struct script, file, ""),    TP_COLUMN(struct script, high, "1"),
    TP_COLUMN(struct script, medium, "1"), TP_COLUMN(struct script, low, "1"),
    TP_COLUMN(struct script, problem, ""),
};

/* Words of a rule; `more`: behind these, NULL: nothing. "" when memory
 * failed, which the arena notes. */
static const char *words_of(struct page_rows *rows, const char *words,
                            const char *more, const char *what)
{
    struct tp_text text = {0};
    tp_check_words(words, what, &text);
    if (more) {
        tp_text_add(&text, ": ");
        tp_check_words(more, what, &text);
    }
    return tp_arena_words(&rows->arena, &text);
}

static struct finding finding_of(struct page_rows *rows,
                                 const struct tp_check_file *file,
                                 const struct tp_check_finding *finding,
                                 enum tp_check_lang lang)
{
    const struct tp_check_rule *rule = finding->rule;
    const struct tp_check_place place = tp_check_place_of(file, finding->line);
    return (struct finding){
        .severity = tp_severity_name(finding->severity),
        .rule = rule->id,
        .file = file->path,
        .cell = place.cell ? (int64_t)place.cell : -1,
        .line = place.line,
        .column = finding->column,
        .source = finding->excerpt,
        .evidence = words_of(rows, rule->title, rule->why[lang], finding->what),
        .suggestion = words_of(rows, rule->fix[lang], NULL, finding->what),
        .confidence = tp_check_confidence_words[finding->confidence],
        .guide = rule->guide};
}

static void count_severity(struct script *script, enum tp_severity severity)
{
    if (severity == TP_SEVERITY_HIGH)
        script->high++;
    else if (severity == TP_SEVERITY_MEDIUM)
        script->medium++;
    else
        script->low++;
}

/* The findings of one severity, in the order of files and lines. */
static void add_findings(const struct tp_check *check,
                         enum tp_severity severity, struct page_rows *rows)
{
    const struct tp_check_list *list = &check->list;
    for (size_t i = 0; i < list->count; i++) {
        const struct tp_check_file *file = &list->files[i];
        for (size_t j = 0; j < file->findings.count; j++) {
            const struct tp_check_finding *found = &file->findings.at[j];
            if (found->severity == severity)
                rows->findings[rows->finding_count++] =
                    finding_of(rows, file, found, check->lang);
        }
    }
}

static enum tp_status make_rows(const struct tp_check *check,
                                struct page_rows *rows, struct tp_error *err)
{
    const struct tp_check_list *list = &check->list;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->files[i].findings.count;
    rows->findings = calloc(count + 1, sizeof *rows->findings);
    rows->scripts = calloc(list->count + 1, sizeof *rows->scripts);
    if (!rows->findings || !rows->scripts)
        return tp_fail_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        const struct tp_check_file *file = &list->files[i];
        struct script *script = &rows->scripts[i];
        *script = (struct script){.file = file->path,
                                  .problem = file->problem.code == TP_OK
                                                 ? ""
                                                 : file->problem.message};
        rows->with += file->findings.count > 0;
        for (size_t j = 0; j < file->findings.count; j++)
            count_severity(script, file->findings.at[j].severity);
    }
    for (int level = TP_SEVERITY_HIGH; level >= TP_SEVERITY_LOW; level--)
        add_findings(check, (enum tp_severity)level, rows);
    return rows->arena.failed ? tp_fail_memory(err) : TP_OK;
}

static void clear_rows(struct page_rows *rows)
{
    free(rows->findings);
    free(rows->scripts);
    tp_arena_clear(&rows->arena);
}

static enum tp_status add_rows(struct tp_html_page *page,
                               const struct page_rows *rows, size_t scripts,
                               struct tp_error *err)
{
    const struct tp_table findings = TP_TABLE_OF(
        "findings", finding_columns, rows->findings, rows->finding_count);
    const struct tp_table files =
        TP_TABLE_OF("scripts", script_columns, rows->scripts, scripts);
    enum tp_status status = tp_html_page_add(page, &findings, err);
    return status == TP_OK ? tp_html_page_add(page, &files, err) : status;
}

static enum tp_status make_page(const struct tp_options *options,
                                const struct page_rows *rows,
                                const struct tp_check *check,
                                const char *report, struct tp_text *html,
                                struct tp_error *err)
{
    const size_t scripts = check->list.count;
    struct tp_html_page page = {.files = scripts,
                                .lang = check->lang == TP_CHECK_ZH ? "zh-Hans"
                                                                   : NULL};
    struct tp_text sentence = {0};
    tp_text_add(&sentence, "%zu %s in %zu of %zu %s", rows->finding_count,
                rows->finding_count == 1 ? "finding" : "findings", rows->with,
                scripts, scripts == 1 ? "script" : "scripts");
    const struct tp_html_words words = {.title = "training scripts",
                                        .tool_version = PACKAGE_VERSION,
                                        .sentence = tp_text_get(&sentence),
                                        .report = report,
                                        .inputs = options->inputs,
                                        .input_count = options->input_count,
                                        .folder = "."};
    enum tp_status status = tp_output_whole(options, &page.folder, err);
    if (status == TP_OK)
        status = add_rows(&page, rows, scripts, err);
    if (status == TP_OK)
        status = sentence.failed ? tp_fail_memory(err)
                                 : tp_html_page_write(&page, &words, html, err);
    tp_text_clear(&sentence);
    tp_html_page_clear(&page);
    return status;
}

/* Puts the page in its place. */
static enum tp_status put_page(const struct tp_options *options,
                               const struct tp_text *html, struct tp_error *err)
{
    static const char names[] = TP_CHECK_PAGE;
    struct tp_options inner = *options;
    struct tp_text replaced = {0};
    char *staging;
    enum tp_status status = tp_staging_open(options->output_dir, &staging, err);
    inner.staging = staging;
    tp_text_bytes(&replaced, names, sizeof names);
    if (status == TP_OK)
        status = tp_output_write(&inner, TP_CHECK_PAGE, html, err);
    if (status == TP_OK && replaced.failed)
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_staging_commit(options->output_dir, staging, &replaced,
                                   TP_CHECK_PAGE, err);
    else if (staging)
        tp_file_remove_tree(staging);
    if (status != TP_OK && staging) {
        tp_staging_hide(staging, err->message);
        tp_staging_hide(staging, err->file);
    }
    tp_text_clear(&replaced);
    free(staging);
    return status;
}

enum tp_status tp_check_page_write(const struct tp_options *options,
                                   const struct tp_check *check,
                                   const char *report, struct tp_error *err)
{
    struct page_rows rows = {0};
    struct tp_text html = {0};
    enum tp_status status = make_rows(check, &rows, err);
    if (status == TP_OK)
        status = make_page(options, &rows, check, report, &html, err);
    if (status == TP_OK)
        status = put_page(options, &html, err);
    tp_text_clear(&html);
    clear_rows(&rows);
    return status;
}
