/* SPDX-License-Identifier: MIT */
#include "check/check.h"

#include "check/check_package.h"

/* What is given to each task. */
struct reading {
    const struct tp_check_request *request;
    struct tp_check *check;
};

static void drop_unwanted(struct tp_check_file *file)
{
    size_t kept = 0;
    struct tp_check_findings *findings = &file->findings;
    for (size_t i = 0; i < findings->count; i++) {
        if (tp_check_wants(file->settings, findings->at[i].rule))
            findings->at[kept++] = findings->at[i];
    }
    findings->count = kept;
}

static void read_one(void *context, size_t index, unsigned worker)
{
    struct reading *reading = context;
    struct tp_check_file *file = &reading->check->list.files[index];
    (void)worker;
    if (reading->request->stop && *reading->request->stop)
        return;
    tp_check_file_read(file);
    drop_unwanted(file);
}

/* Drops what directories hold beside scripts: other notebooks, other JSON. */
static void drop_others(struct tp_check_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct tp_check_file *file = &list->files[i];
        if (file->named || file->problem.code != TP_E_UNSUPPORTED)
            list->files[kept++] = *file;
        else
            tp_check_file_clear(file);
    }
    list->count = kept;
}

static enum tp_status fail_without_files(const struct tp_check_list *list,
                                         struct tp_error *err)
{
    if (list->tests > 0)
        return tp_fail(err, TP_E_NOT_FOUND, -1,
                       "there is no script but tests (%zu); see "
                       "--include_tests",
                       list->tests);
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "there is no script (*.py, *.ipynb, *.sh)");
}

/* The language that was asked for, else that of the first root, by name. */
static enum tp_check_lang lang_of(const struct tp_check_list *list)
{
    return list->project_count > 0 ? list->projects[0]->settings.lang
                                   : TP_CHECK_EN;
}

enum tp_status tp_check_read(const struct tp_check_request *request,
                             struct tp_check *check, struct tp_error *err)
{
    struct reading reading = {.request = request, .check = check};
    struct tp_check_list *list = &check->list;
    *check = (struct tp_check){0};
    enum tp_status status = tp_check_names(request->settings.select, err);
    if (status == TP_OK)
        status = tp_check_names(request->settings.ignore, err);
    if (status == TP_OK)
        status = tp_check_find(request->roots, request->root_count,
                               &request->settings, list, err);
    if (status == TP_OK)
        tp_pool_for(request->pool, list->count, read_one, &reading);
    if (status == TP_OK && request->stop && *request->stop)
        status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    drop_others(list);
    if (status == TP_OK && !tp_package_lower(list->files, list->count))
        status = tp_fail_memory(err);
    check->lang = lang_of(list);
    if (status == TP_OK && list->count == 0)
        status = fail_without_files(list, err);
    return status;
}

void tp_check_clear(struct tp_check *check)
{
    tp_check_list_clear(&check->list);
    *check = (struct tp_check){0};
}

bool tp_check_fails(const struct tp_check *check)
{
    for (size_t i = 0; i < check->list.count; i++) {
        const struct tp_check_file *file = &check->list.files[i];
        int fail_on = file->settings->fail_on;
        for (size_t j = 0; fail_on && j < file->findings.count; j++) {
            if ((int)file->findings.at[j].severity >= fail_on)
                return true;
        }
    }
    return false;
}
