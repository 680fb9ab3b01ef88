/* SPDX-License-Identifier: MIT */
/* tprof-analyze inspect FILE...: every statistic of each tensor, no files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cli/cli.h"
#include "cli/confine.h"
#include "config.h"
#include "report/hdf5.h"
#include "report/report.h"
#include "tensors/collect.h"

static void add_skipped_json(const struct tp_run *run, struct tp_text *text)
{
    tp_text_add(text, "],\n\"skipped\": [");
    for (size_t i = 0; i < run->skipped_count; i++) {
        const struct tp_skipped *skipped = &run->skipped[i];
        tp_text_add(text, i ? ",\n  {\"file\": " : "\n  {\"file\": ");
        tp_text_json(text, skipped->file);
        tp_text_add(text, ", \"path\": ");
        tp_text_json(text, skipped->path);
        tp_text_add(text, ", \"reason\": ");
        tp_text_json(text, skipped->reason);
        tp_text_add(text, "}");
    }
    tp_text_add(text, "]}\n");
}

/* Prints what there is once it is enough, so that a file of 10^5 tensors does
 * not have to be one text; false: it could not be printed. */
static bool print_enough(struct tp_text *text)
{
    enum { ENOUGH = 1 << 20 };
    return text->length < ENOUGH || tp_print(text);
}

static bool print_json(const struct tp_run *run)
{
    struct tp_text text = {0};
    bool printed = true;
    tp_text_add(&text, "{\"schema_version\": %d,\n\"tensors\": [",
                TP_SCHEMA_VERSION);
    for (size_t i = 0; printed && i < run->row_count + run->aside_count; i++) {
        tp_text_add(&text, i ? ",\n  " : "\n  ");
        tp_report_tensor_json(&run->rows[i], &text);
        printed = print_enough(&text);
    }
    add_skipped_json(run, &text);
    if (printed)
        return tp_print(&text);
    tp_text_clear(&text);
    return false;
}

static bool print_texts(const struct tp_run *run)
{
    struct tp_text text = {0};
    bool printed = true;
    for (size_t i = 0; printed && i < run->row_count + run->aside_count; i++) {
        tp_text_add(&text, "%s", i ? "\n" : "");
        tp_report_tensor_text(&run->rows[i], &text);
        printed = print_enough(&text);
    }
    if (printed)
        return tp_print(&text);
    tp_text_clear(&text);
    return false;
}

/* Damage is an error here: the user named the file. */
static int print_skipped(const struct tp_run *run)
{
    int result = TP_EXIT_OK;
    for (size_t i = 0; i < run->skipped_count; i++) {
        const struct tp_skipped *skipped = &run->skipped[i];
        struct tp_error err = {0};
        char byte[32] = "";
        if (skipped->offset >= 0 && !strstr(skipped->reason, " byte "))
            snprintf(byte, sizeof byte, " (byte %" PRId64 ")", skipped->offset);
        tp_fail(&err, TP_E_DAMAGED, skipped->offset, "%s%s%s%s", skipped->path,
                skipped->path[0] ? ": " : "", skipped->reason, byte);
        tp_error_in_file(&err, skipped->file);
        tp_print_error(&err);
        result = skipped->damage ? TP_EXIT_DAMAGED : result;
    }
    return result;
}

/* What was assumed, and that there was nothing to show: neither is seen in the
 * reports. */
static int print_notes(const struct tp_run *run, int result)
{
    struct tp_error err = {0};
    for (size_t i = 0; i < run->notes.count; i++) {
        tp_fail(&err, TP_OK, -1, "%s", run->notes.texts[i]);
        tp_print_error(&err);
    }
    if (run->row_count > 0 || result != TP_EXIT_OK ||
        (run->files_read > 0 && run->files_empty == run->files_read))
        return result;
    tp_fail(&err, TP_E_DAMAGED, -1,
            "nothing here can be read as tensors; `tprof-analyze list formats` "
            "names what can");
    tp_print_error(&err);
    return TP_EXIT_DAMAGED;
}

static int report(const struct tp_options *options, const struct tp_run *run)
{
    const bool printed =
        options->format == TP_FORM_JSON ? print_json(run) : print_texts(run);
    int result = print_notes(run, print_skipped(run));
    return printed ? result : TP_EXIT_FAILED;
}

static enum tp_status read_files(const struct tp_options *options,
                                 struct tp_run *run, struct tp_error *err)
{
    struct tp_pool *pool = NULL;
    struct tp_collect_options how = {.roots = options->inputs,
                                     .root_count = options->input_count,
                                     .mx_scale = options->mx_scale,
                                     .mx_nonfinite = options->mx_nonfinite,
                                     .block_axis = options->block_axis,
                                     .backward_format =
                                         tp_backward_format(options),
                                     .dims = TP_DIMS_ALL,
                                     .reduce = options->reduce_dtype,
                                     .parts = options->parts,
                                     .stop = &tp_interrupted};
    const struct tp_confine_use use = {.computes = true, .temporary = true};
    struct tp_confined confined = {.tried = false};
    enum tp_status status = tp_check_options(options, "FILE", err);
    if (status == TP_OK)
        status = tp_confine(options, &use, &confined, err);
    if (status == TP_OK)
        status = tp_pool_new(tp_options_jobs(options), &pool, err);
    if (status == TP_OK)
        status = tp_open_device(options, tp_pool_size(pool), how.quant,
                                &how.device, err);
    if (status == TP_OK)
        status = tp_collect(pool, &how, run, err);
    tp_close_device(options, how.device);
    tp_pool_free(pool);
    tp_confine_end(&confined);
    return status;
}

int tp_cmd_inspect(const struct tp_options *options, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct tp_run run = {0};
    struct tp_error err = {0};
    enum tp_status status = read_files(options, &run, &err);
    int result;
    if (status != TP_OK) {
        tp_print_error(&err);
        result = tp_exit_of(status);
    } else {
        result = report(options, &run);
    }
    tp_run_clear(&run);
    return result;
}
