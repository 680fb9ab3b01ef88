/* SPDX-License-Identifier: MIT */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* What is given to each task. */
struct reading {
    const struct tp_check_request *request;
    struct tp_check *check;
};

static bool is_wanted(const struct tp_check_request *request, const char *id)
{
    return (!request->select ||
            tp_check_list_has(request->select, strlen(request->select), id)) &&
           !(request->ignore &&
             tp_check_list_has(request->ignore, strlen(request->ignore), id));
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
    (void)worker;
    if (reading->request->stop && *reading->request->stop)
        return;
    tp_check_file_read(file);
    drop_unwanted(reading->request, &file->findings);
}

/* Drops what directories hold beside scripts: other notebooks, other JSON. */
static void drop_others(struct tp_check *check)
{
    size_t kept = 0;
    for (size_t i = 0; i < check->file_count; i++) {
        struct tp_check_file *file = &check->files[i];
        if (file->named || file->problem.code != TP_E_UNSUPPORTED)
            check->files[kept++] = *file;
        else
            tp_check_file_clear(file);
    }
    check->file_count = kept;
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
        bool named = is_root(request, path);
        if (!named &&
            (!tp_check_is_script(path) || strstr(path, "/.ipynb_checkpoints/")))
            continue; /* the latter are copies that Jupyter keeps */
        check->files[check->file_count].named = named;
        check->files[check->file_count++].path = path;
        list->files[i].path = NULL;
    }
    return TP_OK;
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
    drop_others(check);
    if (status == TP_OK && check->file_count == 0)
        status = tp_fail(err, TP_E_NOT_FOUND, -1,
                         "there is no script (*.py, *.ipynb, *.sh)");
    return status;
}

void tp_check_clear(struct tp_check *check)
{
    for (size_t i = 0; i < check->file_count; i++)
        tp_check_file_clear(&check->files[i]);
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
