/* SPDX-License-Identifier: MIT */
/* tprof-analyze check PATH...: what in training scripts will lose numbers,
 * before they run. Writes a page, where an output directory is given. */
#include "config.h"

#include "check/check.h"
#include "check/check_sarif.h"
#include "check/check_words.h"
#include "cli/check_page.h"
#include "cli/cli.h"
#include "cli/confine.h"
#include "cli/output.h"

/* Names what could not be read; the rest was checked. */
static bool print_problems(const struct tp_options *options,
                           const struct tp_check_list *list)
{
    bool any = false;
    for (size_t i = 0; i < list->problem_count; i++)
        tp_print_warning(options, "%s", list->problems[i]);
    for (size_t i = 0; i < list->count; i++) {
        if (list->files[i].problem.code == TP_OK)
            continue;
        tp_print_error(&list->files[i].problem);
        any = true;
    }
    return any;
}

/* What the command line asks for; what it does not, a project may. */
static struct tp_check_settings settings_of(const struct tp_options *options)
{
    static const struct {
        const char *name;
        unsigned bit;
    } given[] = {{"lang", TP_CHECK_SET_LANG},
                 {"target", TP_CHECK_SET_TARGET},
                 {"fail_on", TP_CHECK_SET_FAIL_ON},
                 {"include_tests", TP_CHECK_SET_TESTS}};
    struct tp_check_settings settings = {.select = options->select,
                                         .ignore = options->ignore,
                                         .lang = options->lang,
                                         .target = options->target,
                                         .fail_on = options->fail_on,
                                         .include_tests =
                                             options->include_tests};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (tp_options_given(options, given[i].name))
            settings.set |= given[i].bit;
    return settings;
}

/* Whether a page is asked for: no default directory is written into. */
static bool writes_page(const struct tp_options *options)
{
    return tp_options_given(options, "output_dir") && !options->no_html;
}

static int report(const struct tp_options *options,
                  const struct tp_check *check)
{
    struct tp_text text = {0};
    if (options->format == TP_FORM_JSON)
        tp_check_json(check, &text);
    else if (options->format == TP_FORM_SARIF)
        tp_check_sarif(check, PACKAGE_VERSION, &text);
    else if (!options->quiet) {
        tp_check_text(check, &text);
        if (writes_page(options))
            tp_output_link(options, TP_CHECK_PAGE, &text);
    }
    bool printed = tp_print(&text);
    bool damaged = print_problems(options, &check->list);
    if (!printed)
        return TP_EXIT_FAILED;
    if (damaged)
        return TP_EXIT_DAMAGED;
    return tp_check_fails(check) ? TP_EXIT_FINDINGS : TP_EXIT_OK;
}

static enum tp_status write_page(const struct tp_options *options,
                                 const struct tp_check *check,
                                 struct tp_error *err)
{
    struct tp_text report = {0};
    if (!writes_page(options))
        return TP_OK;
    tp_check_text(check, &report);
    enum tp_status status =
        report.failed ? tp_fail_memory(err)
                      : tp_check_page_write(options, check,
                                            tp_text_get(&report), err);
    tp_text_clear(&report);
    return status;
}

int tp_cmd_check(const struct tp_options *options, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct tp_check check = {0};
    struct tp_error err = {0};
    struct tp_check_request how = {.roots = options->inputs,
                                   .root_count = options->input_count,
                                   .settings = settings_of(options),
                                   .stop = &tp_interrupted};
    struct tp_output_made made = {false, false, false};
    const struct tp_confine_use use = {.writes = writes_page(options),
                                       .made = &made};
    struct tp_confined confined = {.tried = false};
    enum tp_status status = tp_check_options(options, "PATH", &err);
    if (status == TP_OK && use.writes)
        status = tp_output_prepare(options, &made, &err);
    if (status == TP_OK)
        status = tp_confine(options, &use, &confined, &err);
    if (status == TP_OK && use.writes)
        status = tp_output_recover(options, &err);
    if (status == TP_OK)
        status = tp_pool_new(tp_options_jobs(options), &how.pool, &err);
    if (status == TP_OK)
        status = tp_check_read(&how, &check, &err);
    if (status == TP_OK)
        status = write_page(options, &check, &err);
    if (status != TP_OK)
        tp_output_undo(options, &made);
    int result;
    if (status != TP_OK) {
        tp_print_error(&err);
        result = tp_exit_of(status);
    } else {
        result = report(options, &check);
    }
    tp_check_clear(&check);
    tp_pool_free(how.pool);
    tp_confine_end(&confined);
    return result;
}
