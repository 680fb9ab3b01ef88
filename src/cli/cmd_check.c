/* SPDX-License-Identifier: MIT */
/* tprof-analyze check PATH...: what in training scripts will lose numbers,
 * before they run. Writes no files. */
#include "check/check.h"
#include "check/check_words.h"
#include "cli/cli.h"
#include "cli/output.h"

/* Names what could not be read; the rest was checked. */
static bool print_problems(const struct tp_options *options,
                           const struct tp_check *check)
{
    bool any = false;
    for (size_t i = 0; i < check->problem_count; i++)
        tp_print_warning(options, "%s", check->problems[i]);
    for (size_t i = 0; i < check->file_count; i++) {
        if (check->files[i].problem.code == TP_OK)
            continue;
        tp_print_error(&check->files[i].problem);
        any = true;
    }
    return any;
}

static int report(const struct tp_options *options,
                  const struct tp_check *check)
{
    struct tp_text text = {0};
    if (options->format == TP_FORM_JSON)
        tp_check_json(check, options->lang, &text);
    else if (!options->quiet)
        tp_check_text(check, options->lang, &text);
    bool printed = tp_print(&text);
    bool damaged = print_problems(options, check);
    if (!printed)
        return TP_EXIT_FAILED;
    if (damaged)
        return TP_EXIT_DAMAGED;
    return tp_reaches_fail_on(options, tp_check_worst(check)) ? TP_EXIT_FINDINGS
                                                              : TP_EXIT_OK;
}

int tp_cmd_check(const struct tp_options *options, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct tp_check check = {0};
    struct tp_error err = {0};
    struct tp_check_request how = {.roots = options->inputs,
                                   .root_count = options->input_count,
                                   .select = options->select,
                                   .ignore = options->ignore,
                                   .stop = &tp_interrupted};
    enum tp_status status = tp_check_options(options, "PATH", &err);
    if (status == TP_OK)
        status = tp_pool_new(tp_options_jobs(options), &how.pool, &err);
    if (status == TP_OK)
        status = tp_check_read(&how, &check, &err);
    int result;
    if (status != TP_OK) {
        tp_print_error(&err);
        result = tp_exit_of(status);
    } else {
        result = report(options, &check);
    }
    tp_check_clear(&check);
    tp_pool_free(how.pool);
    return result;
}
