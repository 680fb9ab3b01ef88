/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "cli/targets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/output.h"

/* The file of an option. */
struct target {
    const char *option, *path;
    char *place; /* of its folder without links                            */
};

enum { TARGETS = 3 };

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_file(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && is_same(&a, &b);
}

static enum tp_status fail_read(const char *option, const char *path,
                                const char *read, struct tp_error *err)
{
    return tp_fail(err, TP_E_USAGE, -1,
                   "%s %s would write over %s, which is "
                   "read",
                   option, path, read);
}

/* What is there already must be a file. */
static enum tp_status check_kind(const struct target *target,
                                 struct tp_error *err)
{
    struct stat info;
    if (lstat(target->path, &info) != 0)
        return TP_OK;
    if (S_ISLNK(info.st_mode))
        return tp_fail(err, TP_E_USAGE, -1,
                       "%s %s is a link, which the file would replace; name "
                       "what it leads to",
                       target->option, target->path);
    return S_ISREG(info.st_mode)
               ? TP_OK
               : tp_fail(err, TP_E_USAGE, -1, "%s %s is not a regular file",
                         target->option, target->path);
}

static enum tp_status check_inputs(const struct tp_options *options,
                                   const struct target *target,
                                   struct tp_error *err)
{
    for (size_t i = 0; i < options->input_count; i++)
        if (is_same_file(target->path, options->inputs[i]))
            return fail_read(target->option, target->path, options->inputs[i],
                             err);
    return TP_OK;
}

/* Whether two paths name one file, which need not be there. */
static bool is_one(const char *folder, const char *path,
                   const struct target *target)
{
    return folder && target->place && !strcmp(folder, target->place) &&
           !strcmp(tp_file_base_name(path), tp_file_base_name(target->path));
}

static enum tp_status check_results(const struct tp_options *options,
                                    const struct tp_text *results,
                                    const struct target *target,
                                    struct tp_error *err)
{
    char *folder = realpath(options->output_dir, NULL);
    const char *name = tp_text_get(results), *end = name + results->length;
    enum tp_status status = TP_OK;
    for (; name < end && status == TP_OK; name += strlen(name) + 1)
        if (is_one(folder, name, target))
            status = tp_fail(err, TP_E_USAGE, -1,
                             "%s %s is a file of the result; name another",
                             target->option, target->path);
    free(folder);
    return status;
}

static enum tp_status check_targets(const struct tp_options *options,
                                    const struct tp_text *results,
                                    const struct target *targets, size_t count,
                                    struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        status = check_kind(&targets[i], err);
        if (status == TP_OK)
            status = check_inputs(options, &targets[i], err);
        if (status == TP_OK)
            status = check_results(options, results, &targets[i], err);
        for (size_t k = 0; k < i && status == TP_OK; k++)
            if (is_one(targets[k].place, targets[k].path, &targets[i]))
                status = tp_fail(
                    err, TP_E_USAGE, -1, "%s and %s are one file, %s",
                    targets[k].option, targets[i].option, targets[i].path);
    }
    return status;
}

/* Results are written over those of an earlier run, but not over inputs. */
static enum tp_status check_folder(const struct tp_options *options,
                                   const struct tp_text *results,
                                   struct tp_error *err)
{
    const char *name = tp_text_get(results), *end = name + results->length;
    enum tp_status status = TP_OK;
    for (; name < end && status == TP_OK; name += strlen(name) + 1) {
        char *path = tp_file_join(options->output_dir, name);
        if (!path)
            return tp_fail_memory(err);
        for (size_t i = 0; i < options->input_count && status == TP_OK; i++)
            if (is_same_file(path, options->inputs[i]))
                status = fail_read("--output_dir", options->output_dir,
                                   options->inputs[i], err);
        free(path);
    }
    return status;
}

/* The folder of a path without links; NULL: it has none. */
static enum tp_status place_of(const char *path, char **place,
                               struct tp_error *err)
{
    char *parent = tp_output_parent(path);
    *place = parent ? realpath(parent, NULL) : NULL;
    free(parent);
    return parent ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_targets_check(const struct tp_options *options,
                                const struct tp_text *results,
                                struct tp_error *err)
{
    const char *annotate = options->annotate;
    const bool is_folder = annotate && tp_output_is_folder(annotate);
    const struct target all[TARGETS] = {
        {"--state", options->state, NULL},
        {"--output_json", options->output_json, NULL},
        {"--annotate", is_folder ? NULL : annotate, NULL}};
    struct target targets[TARGETS];
    enum tp_status status = results->failed
                                ? tp_fail_memory(err)
                                : check_folder(options, results, err);
    size_t count = 0;
    for (size_t i = 0; i < TARGETS && status == TP_OK; i++) {
        if (!all[i].path)
            continue;
        targets[count] = all[i];
        status = place_of(all[i].path, &targets[count].place, err);
        count += status == TP_OK;
    }
    if (status == TP_OK)
        status = check_targets(options, results, targets, count, err);
    for (size_t i = 0; i < count; i++)
        free(targets[i].place);
    return status;
}

enum tp_status tp_targets_check_traces(const char *option, const char *path,
                                       const struct tp_trace_run *run,
                                       struct tp_error *err)
{
    for (size_t i = 0; path && i < run->trace_count; i++)
        if (is_same_file(path, run->traces[i].path))
            return fail_read(option, path, run->traces[i].path, err);
    return TP_OK;
}
