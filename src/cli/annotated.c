/* SPDX-License-Identifier: MIT */
#include "cli/annotated.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "report/annotate.h"

/* The file of a trace, to be freed; NULL: no memory. */
static char *target(const struct tp_options *options,
                    const struct tp_trace *trace)
{
    return tp_output_is_folder(options->annotate)
               ? tp_file_join(options->annotate, tp_file_base_name(trace->path))
               : strdup(options->annotate);
}

enum tp_status tp_annotated_check(const struct tp_options *options,
                                  struct tp_error *err)
{
    if (options->annotate && options->compare)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--compare has no tracks: no --annotate");
    return TP_OK;
}

/* Whether the file of a trace would take the place of a trace. */
static enum tp_status check_target(const struct tp_options *options,
                                   const struct tp_trace_run *run, size_t trace,
                                   struct tp_error *err)
{
    char *path = target(options, &run->traces[trace]);
    enum tp_status status =
        path ? tp_targets_check_traces("--annotate", path, run, err)
             : tp_fail_memory(err);
    free(path);
    return status;
}

static int by_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static enum tp_status check_names(const struct tp_trace_run *run,
                                  struct tp_error *err)
{
    const char **names = calloc(run->trace_count + 1, sizeof *names);
    enum tp_status status = names ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < run->trace_count && names; i++)
        names[i] = tp_file_base_name(run->traces[i].path);
    if (names)
        qsort(names, run->trace_count, sizeof *names, by_text);
    for (size_t i = 1; i < run->trace_count && status == TP_OK; i++) {
        if (!strcmp(names[i - 1], names[i]))
            status = tp_fail(err, TP_E_USAGE, -1,
                             "--annotate: two traces are named %s, so they "
                             "cannot lie in one folder; annotate them one by "
                             "one",
                             names[i]);
    }
    free(names);
    return status;
}

enum tp_status tp_annotated_plan(const struct tp_options *options,
                                 const struct tp_trace_run *run,
                                 struct tp_error *err)
{
    if (!options->annotate)
        return TP_OK;
    if (run->trace_count > 1 && !tp_output_is_folder(options->annotate))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--annotate: %zu traces were read, each gets a file; "
                       "name a folder for them, as %s/",
                       run->trace_count, options->annotate);
    enum tp_status status = check_names(run, err);
    for (size_t i = 0; i < run->trace_count && status == TP_OK; i++)
        status = check_target(options, run, i, err);
    return status;
}

/* Removes what a run that was killed left half-written beside a file. */
static enum tp_status clean_beside(const char *path, struct tp_error *err)
{
    char *folder = tp_output_parent(path);
    if (!folder)
        return tp_fail_memory(err);
    tp_file_remove_abandoned(folder);
    free(folder);
    return TP_OK;
}

enum tp_status tp_annotated_write(const struct tp_options *options,
                                  const struct tp_trace_run *run,
                                  const struct tp_trace_judged *judged,
                                  struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0;
         options->annotate && i < run->trace_count && status == TP_OK; i++) {
        char *path = target(options, &run->traces[i]);
        status = path ? clean_beside(path, err) : tp_fail_memory(err);
        if (status == TP_OK)
            status = tp_annotate(run, judged, i, path, &tp_interrupted, err);
        free(path);
    }
    return status;
}
