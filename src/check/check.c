/* SPDX-License-Identifier: MIT */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "check/check_facts.h"
#include "check/check_walk.h"

/* What is given to each task. */
struct reading {
    const struct tp_check_request *request;
    struct tp_check *check;
};

/* Whether `list`, names with commas between, has `name`. */
static bool has_name(const char *list, size_t length, const char *name)
{
    size_t size = strlen(name), i = 0;
    while (i < length) {
        while (i < length && (list[i] == ' ' || list[i] == ','))
            i++;
        size_t begin = i;
        while (i < length && list[i] != ' ' && list[i] != ',')
            i++;
        if (i - begin == size && memcmp(list + begin, name, size) == 0)
            return true;
    }
    return false;
}

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
    return close && has_name(mark + 1, (size_t)(close - mark - 1), rule->id);
}

/* Sets the columns, and takes out what the source says to ignore. Findings
 * are in the order of the source, so each line is looked at once. */
static void place_findings(const char *source, size_t length,
                           struct tp_check_findings *findings)
{
    size_t kept = 0, start = 0;
    uint32_t line = 1;
    const char *end = source + length, *mark = find_mark(source, end);
    for (size_t i = 0; i < findings->count; i++) {
        struct tp_check_finding finding = findings->at[i];
        bool moves = line < finding.line;
        for (; start < length && line < finding.line; start++)
            line += source[start] == '\n' ||
                    (source[start] == '\r' &&
                     (start + 1 == length || source[start + 1] != '\n'));
        if (moves)
            mark = find_mark(source + start, end);
        finding.column = finding.offset - (uint32_t)start + 1;
        if (!is_ignored(mark, end, finding.rule))
            findings->at[kept++] = finding;
    }
    findings->count = kept;
}

/* Notes the first thing that could not be read. */
static void note_problem(const struct tp_script *script,
                         struct tp_check_file *file)
{
    const struct tp_py_problem *problem = &script->tokens.problem;
    if (problem->count == 0)
        problem = &script->tree.problem;
    if (problem->count == 0)
        return;
    file->problem_line = problem->line;
    tp_fail(&file->problem, TP_E_DAMAGED, (int64_t)problem->offset,
            "line %u: %s", problem->line, problem->what);
    if (problem->count > 1)
        tp_while(&file->problem, "%u more lines could not be read",
                 problem->count - 1);
}

enum tp_status tp_check_source(const char *source, size_t length,
                               struct tp_check_file *file, struct tp_error *err)
{
    struct tp_script script;
    enum tp_status status = tp_script_read(source, length, &script, err);
    if (status == TP_OK)
        status = tp_check_walk(&script, &file->findings, err);
    if (status == TP_OK) {
        place_findings(source, length, &file->findings);
        note_problem(&script, file);
    }
    tp_script_clear(&script);
    return status;
}

static enum tp_status read_source(const char *path, struct tp_check_file *file,
                                  struct tp_error *err)
{
    struct tp_bytes bytes = {.fd = -1};
    char *source = NULL;
    enum tp_status status = tp_bytes_open(path, &bytes, err);
    if (status != TP_OK)
        return status;
    if (bytes.size > TP_LIMIT_SCRIPT_BYTES)
        status = tp_fail(err, TP_E_LIMIT, -1, "a script of over %zu MiB",
                         TP_LIMIT_SCRIPT_BYTES >> 20);
    else if (!(source = malloc((size_t)bytes.size + 1)))
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_bytes_read(&bytes, 0, source, (size_t)bytes.size, err);
    if (status == TP_OK)
        status = tp_check_source(source, (size_t)bytes.size, file, err);
    free(source);
    tp_bytes_close(&bytes);
    return status;
}

static bool is_wanted(const struct tp_check_request *request, const char *id)
{
    return (!request->select ||
            has_name(request->select, strlen(request->select), id)) &&
           !(request->ignore &&
             has_name(request->ignore, strlen(request->ignore), id));
}

static void drop_unwanted(const struct tp_check_request *request,
                          struct tp_check_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (is_wanted(request, findings->at[i].rule->id))
            findings->at[kept++] = findings->at[i];
    }
    findings->count = kept;
}

static void read_one(void *context, size_t index, unsigned worker)
{
    struct reading *reading = context;
    struct tp_check_file *file = &reading->check->files[index];
    struct tp_error err = {0};
    (void)worker;
    if (reading->request->stop && *reading->request->stop)
        return;
    if (read_source(file->path, file, &err) != TP_OK)
        file->problem = err;
    drop_unwanted(reading->request, &file->findings);
    if (file->problem.code != TP_OK)
        tp_error_in_file(&file->problem, file->path);
}

/* Names in a list that are no rule. */
static enum tp_status check_names(const char *list, struct tp_error *err)
{
    for (const char *p = list; p && *p;) {
        size_t length = strcspn(p, ",");
        if (length > 0 && !tp_check_rule_find(p, length))
            return tp_fail(err, TP_E_USAGE, -1,
                           "no rule \"%.*s\"; see 'list checks'", (int)length,
                           p);
        p += length + (p[length] == ',');
    }
    return TP_OK;
}

static bool is_script(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".py") == 0;
}

static bool is_root(const struct tp_check_request *request, const char *path)
{
    for (size_t i = 0; i < request->root_count; i++) {
        if (!strcmp(request->roots[i], path))
            return true;
    }
    return false;
}

/* The scripts among what was found become files; the list loses their paths
 * and its problems. */
static enum tp_status take_files(const struct tp_check_request *request,
                                 struct tp_found_list *list,
                                 struct tp_check *check, struct tp_error *err)
{
    check->problems = list->problems;
    check->problem_count = list->problem_count;
    list->problems = NULL;
    list->problem_count = 0;
    check->files = calloc(list->count + 1, sizeof *check->files);
    if (!check->files)
        return tp_fail_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        char *path = list->files[i].path;
        if (!is_script(path) && !is_root(request, path))
            continue;
        check->files[check->file_count++].path = path;
        list->files[i].path = NULL;
    }
    return check->file_count > 0
               ? TP_OK
               : tp_fail(err, TP_E_NOT_FOUND, -1, "there is no script (*.py)");
}

static enum tp_status find_files(const struct tp_check_request *request,
                                 struct tp_check *check, struct tp_error *err)
{
    struct tp_found_list list = {0};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < request->root_count && status == TP_OK; i++)
        status = tp_file_find(request->roots[i], &list, err);
    if (status == TP_OK)
        status = tp_found_sort(&list, err);
    if (status == TP_OK)
        status = take_files(request, &list, check, err);
    tp_found_clear(&list);
    return status;
}

enum tp_status tp_check_read(const struct tp_check_request *request,
                             struct tp_check *check, struct tp_error *err)
{
    struct reading reading = {.request = request, .check = check};
    *check = (struct tp_check){0};
    enum tp_status status = check_names(request->select, err);
    if (status == TP_OK)
        status = check_names(request->ignore, err);
    if (status == TP_OK)
        status = find_files(request, check, err);
    if (status == TP_OK)
        tp_pool_for(request->pool, check->file_count, read_one, &reading);
    if (status == TP_OK && request->stop && *request->stop)
        status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    return status;
}

void tp_check_clear(struct tp_check *check)
{
    for (size_t i = 0; i < check->file_count; i++) {
        free(check->files[i].path);
        free(check->files[i].findings.at);
    }
    for (size_t i = 0; i < check->problem_count; i++)
        free(check->problems[i]);
    free(check->files);
    free(check->problems);
    *check = (struct tp_check){0};
}

int tp_check_worst(const struct tp_check *check)
{
    int worst = 0;
    for (size_t i = 0; i < check->file_count; i++) {
        const struct tp_check_findings *findings = &check->files[i].findings;
        for (size_t j = 0; j < findings->count; j++)
            worst = (int)findings->at[j].severity > worst
                        ? (int)findings->at[j].severity
                        : worst;
    }
    return worst;
}
