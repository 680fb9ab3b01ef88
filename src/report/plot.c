/* SPDX-License-Identifier: MIT */
/*
 * Figures to files. The picture that an earlier run left under a figure's name
 * goes first, and of a figure that is empty now table and script, too, so that
 * none tells of other data. Table and script are written aside and renamed;
 * gnuplot draws to a hidden name, which becomes the final one only when the
 * script has come to its end. Drawing straight to the final name would leave
 * half a picture after a kill. Drawing is separate from writing: without
 * gnuplot, tables and scripts are there all the same.
 */
#include "report/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "report/gnuplot.h"
#include "report/plot_script.h"

enum { FORMATS = TP_PLOT_PDF + 1 };

const char *const tp_plot_format_words[FORMATS + 1] = {
    [TP_PLOT_PNG] = "png", [TP_PLOT_SVG] = "svg", [TP_PLOT_PDF] = "pdf"};

const char *tp_plot_format_name(enum tp_plot_format format)
{
    return tp_plot_format_words[format];
}

/* output_dir/category/[dot]id.ending, in `path`, which is emptied first. */
static const char *path_of(struct tp_text *path, const char *output_dir,
                           const struct tp_figure *figure, const char *ending)
{
    path->length = 0;
    tp_text_add(path, "%s/%s/%s.%s", output_dir, figure->category, figure->id,
                ending);
    return path->failed ? NULL : tp_text_get(path);
}

/* The name gnuplot draws to: beside the final one, hidden, of this process. */
static void aside_name(char *name, size_t size, const struct tp_figure *figure,
                       const char *format)
{
    snprintf(name, size, ".%s.%ld.%s", figure->id, (long)getpid(), format);
}

/* Removes files of an earlier run, so that none tells of other data. */
static void remove_old(const struct tp_figure *figure, const char *output_dir,
                       bool pictures_only)
{
    struct tp_text path = {0};
    static const char *const others[] = {"tsv", "gp"};
    for (int f = 0; f < FORMATS; f++) {
        if (path_of(&path, output_dir, figure, tp_plot_format_words[f]))
            unlink(tp_text_get(&path));
    }
    for (int f = 0; f < 2 && !pictures_only; f++) {
        if (path_of(&path, output_dir, figure, others[f]))
            unlink(tp_text_get(&path));
    }
    tp_text_clear(&path);
}

static enum tp_status write_text(const struct tp_text *text, const char *path,
                                 struct tp_error *err)
{
    if (text->failed || !path)
        return tp_fail_memory(err);
    return tp_file_write(path, tp_text_get(text), text->length, err);
}

static enum tp_status make_folder(const struct tp_figure *figure,
                                  const char *output_dir, struct tp_error *err)
{
    char *folder = tp_file_join(output_dir, figure->category);
    if (!folder)
        return tp_fail_memory(err);
    enum tp_status status = tp_file_make_directories(folder, err);
    free(folder);
    return status;
}

static enum tp_status write_figure(const struct tp_figure *figure,
                                   const struct tp_plot_options *options,
                                   struct tp_error *err)
{
    struct tp_text text = {0}, path = {0};
    enum tp_status status = tp_figure_check(figure, err);
    if (status == TP_OK)
        status = make_folder(figure, options->output_dir, err);
    if (status == TP_OK) {
        tp_plot_table(figure, &text);
        status = write_text(
            &text, path_of(&path, options->output_dir, figure, "tsv"), err);
    }
    if (status == TP_OK) {
        text.length = 0;
        tp_plot_script(figure, tp_plot_format_name(options->format), &text);
        status = write_text(
            &text, path_of(&path, options->output_dir, figure, "gp"), err);
    }
    tp_text_clear(&text);
    tp_text_clear(&path);
    return status;
}

/* Gives a picture its final name, or removes what there is of it. */
static void settle_picture(const struct tp_figure *figure,
                           const struct tp_plot_options *options,
                           const struct tp_gnuplot_job *job,
                           struct tp_plot_result *result)
{
    struct tp_text from = {0}, to = {0};
    tp_text_add(&from, "%s/%s/%s", options->output_dir, figure->category,
                job->output);
    path_of(&to, options->output_dir, figure,
            tp_plot_format_name(options->format));
    bool good = job->done && !from.failed && !to.failed &&
                rename(tp_text_get(&from), tp_text_get(&to)) == 0;
    if (good) {
        result->drawn++;
    } else {
        result->failed++;
        if (!from.failed)
            unlink(tp_text_get(&from));
    }
    tp_text_clear(&from);
    tp_text_clear(&to);
}

/* What drawing needs for all figures with panels. */
struct drawing {
    const struct tp_figure **figures;
    struct tp_gnuplot_job *jobs;
    char (*names)[96];
    size_t count;
};

static enum tp_status plan(const struct tp_figure *figures, size_t count,
                           const char *format, struct drawing *drawing,
                           struct tp_error *err)
{
    drawing->figures = calloc(count + 1, sizeof *drawing->figures);
    drawing->jobs = calloc(count + 1, sizeof *drawing->jobs);
    drawing->names = calloc(count + 1, sizeof *drawing->names);
    if (!drawing->figures || !drawing->jobs || !drawing->names)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (figures[i].panel_count == 0)
            continue;
        size_t n = drawing->count++;
        aside_name(drawing->names[n], sizeof drawing->names[n], &figures[i],
                   format);
        drawing->figures[n] = &figures[i];
        drawing->jobs[n] = (struct tp_gnuplot_job){
            .category = figures[i].category,
            .id = figures[i].id,
            .output = drawing->names[n],
        };
    }
    return TP_OK;
}

/* One sentence for whoever wonders where the figures are. */
static void warn(const struct drawing *drawing, const char *why,
                 struct tp_plot_result *result)
{
    size_t first = 0;
    while (first < drawing->count && drawing->jobs[first].done)
        first++;
    if (why[0] || result->failed > 0)
        snprintf(result->warning, sizeof result->warning, "%s",
                 why[0] ? why : "gnuplot was stopped");
    size_t length = strlen(result->warning);
    if (result->failed == 0)
        return;
    if (result->failed == 1 && first < drawing->count)
        snprintf(result->warning + length, sizeof result->warning - length,
                 ": %s/%s is not drawn", drawing->jobs[first].category,
                 drawing->jobs[first].id);
    else
        snprintf(result->warning + length, sizeof result->warning - length,
                 ": %zu figures are not drawn", result->failed);
}

static enum tp_status draw(const struct tp_figure *figures, size_t count,
                           const struct tp_plot_options *options,
                           struct tp_plot_result *result, struct tp_error *err)
{
    struct drawing drawing = {0};
    struct tp_error trouble = {0};
    enum tp_status status = plan(figures, count,
                                 tp_plot_format_name(options->format),
                                 &drawing, err);
    if (status == TP_OK) {
        struct tp_gnuplot_work work = {.output_dir = options->output_dir,
                                       .jobs = drawing.jobs,
                                       .count = drawing.count,
                                       .processes = options->jobs,
                                       .patience_s = options->patience_s,
                                       .stop = options->stop};
        enum tp_status drawn = tp_gnuplot_run(&work, &trouble);
        for (size_t i = 0; i < drawing.count; i++)
            settle_picture(drawing.figures[i], options, &drawing.jobs[i],
                           result);
        warn(&drawing, work.why, result);
        if (drawn == TP_E_INTERRUPTED)
            status = tp_fail(err, drawn, -1, "%s", trouble.message);
        else if (drawn != TP_OK)
            snprintf(result->warning, sizeof result->warning,
                     "%.200s: the figures are not drawn, their scripts and "
                     "tables are written", trouble.message);
    }
    free(drawing.figures);
    free(drawing.jobs);
    free(drawing.names);
    return status;
}

enum tp_status tp_plot_write(const struct tp_figure *figures, size_t count,
                             const struct tp_plot_options *options,
                             struct tp_plot_result *result,
                             struct tp_error *err)
{
    *result = (struct tp_plot_result){0};
    for (size_t i = 0; i < count; i++) {
        bool empty = figures[i].panel_count == 0;
        if (options->stop && *options->stop)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        remove_old(&figures[i], options->output_dir, !empty);
        if (empty)
            continue;
        enum tp_status status = write_figure(&figures[i], options, err);
        if (status != TP_OK)
            return status;
        result->written++;
    }
    return options->draw ? draw(figures, count, options, result, err) : TP_OK;
}
