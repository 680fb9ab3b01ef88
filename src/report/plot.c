/* SPDX-License-Identifier: MIT */
/*
 * Figures to files. Table and script are written aside and renamed; gnuplot
 * draws to a hidden name, which becomes the final one only when the
 * script has come to its end and the picture ends as its format does: on a full
 * disk gnuplot draws on, and says nothing. Drawing straight to the final name
 * would leave half a picture after a kill. Drawing is separate from writing:
 * without gnuplot, tables and scripts are there all the same.
 */
#include "report/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "report/gnuplot_starter.h"
#include "report/plot_script.h"
#include "report/plot_table.h"

enum { FORMATS = TP_PLOT_PDF + 1 };

const char *const tp_plot_format_words[FORMATS + 1] = {
    [TP_PLOT_PNG] = "png", [TP_PLOT_SVG] = "svg", [TP_PLOT_PDF] = "pdf"};

/* The last bytes of each, white space aside: PNG's is an empty chunk with its
 * checksum. */
static const char *const format_ends[FORMATS] = {[TP_PLOT_PNG] =
                                                     "IEND\xae\x42\x60\x82",
                                                 [TP_PLOT_SVG] = "</svg>",
                                                 [TP_PLOT_PDF] = "%%EOF"};

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

void tp_plot_names(struct tp_text *names, const char *category, const char *id)
{
    static const char *const texts[] = {"tsv", "gp"};
    for (int f = 0; f < FORMATS + 2; f++) {
        tp_text_add(names, "%s/%s.%s", category, id,
                    f < FORMATS ? tp_plot_format_words[f] : texts[f - FORMATS]);
        tp_text_bytes(names, "", 1);
    }
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

/* One picture to draw: its name, and the one that gnuplot draws to. */
struct picture {
    char *path, *aside;
};

/* What drawing needs for all figures with panels. */
struct drawing {
    struct tp_gnuplot_job *jobs;
    struct picture *pictures;
    size_t count;
};

static enum tp_status plan_picture(const struct tp_figure *figure,
                                   const struct tp_plot_options *options,
                                   struct drawing *drawing,
                                   struct tp_error *err)
{
    struct picture *picture = &drawing->pictures[drawing->count];
    struct tp_gnuplot_job *job = &drawing->jobs[drawing->count++];
    struct tp_text path = {0};
    const char *name = path_of(&path, options->output_dir, figure,
                               tp_plot_format_name(options->format));
    *picture = (struct picture){.path = name ? strdup(name) : NULL,
                                .aside = name ? tp_file_aside(name) : NULL};
    tp_text_clear(&path);
    if (!picture->path || !picture->aside)
        return tp_fail_memory(err);
    *job = (struct tp_gnuplot_job){.category = figure->category,
                                   .id = figure->id,
                                   .output = tp_file_base_name(picture->aside)};
    return TP_OK;
}

static enum tp_status plan(const struct tp_figure *figures, size_t count,
                           const struct tp_plot_options *options,
                           struct drawing *drawing, struct tp_error *err)
{
    drawing->jobs = calloc(count + 1, sizeof *drawing->jobs);
    drawing->pictures = calloc(count + 1, sizeof *drawing->pictures);
    if (!drawing->jobs || !drawing->pictures)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        if (figures[i].panel_count > 0)
            status = plan_picture(&figures[i], options, drawing, err);
    }
    return status;
}

static void drawing_clear(struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->count; i++) {
        free(drawing->pictures[i].path);
        free(drawing->pictures[i].aside);
    }
    free(drawing->pictures);
    free(drawing->jobs);
}

/* Whether a file ends as pictures of the format do. */
static bool is_whole(const char *path, enum tp_plot_format format)
{
    const char *end = format_ends[format];
    const size_t length = strlen(end);
    char bytes[64];
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    if (fseek(file, -(long)sizeof bytes, SEEK_END) != 0)
        rewind(file); /* it is shorter */
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    while (n > 0 && strchr(" \r\n", bytes[n - 1]) && bytes[n - 1])
        n--;
    return n >= length && memcmp(bytes + n - length, end, length) == 0;
}

/* Why there is no picture, if that is no matter of gnuplot's. The file still
 * is there: as long as it is, a full disk is. */
static enum tp_status explain(const struct picture *picture,
                              const struct tp_gnuplot_job *job,
                              struct tp_error *err)
{
    const int reason = tp_file_refusal(picture->aside);
    if (reason == 0 && !job->done)
        return TP_OK;
    if (reason == 0)
        return tp_fail(err, TP_E_IO, -1,
                       "cannot write %s: gnuplot left it without its end",
                       picture->path);
    errno = reason;
    return tp_fail_errno(err, "cannot write %s", picture->path);
}

/* Gives whole pictures their final names and removes what there is of others.
 * Fails with the first one that could not be written; unless gnuplot was ended
 * or is not there, others are looked at for a reason, too. */
static enum tp_status settle_pictures(const struct drawing *drawing, bool ended,
                                      enum tp_plot_format format,
                                      struct tp_plot_result *result,
                                      struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < drawing->count; i++) {
        const struct picture *picture = &drawing->pictures[i];
        const struct tp_gnuplot_job *job = &drawing->jobs[i];
        struct tp_error *first = status == TP_OK ? err : NULL;
        enum tp_status wrong = TP_OK;
        if (job->done && is_whole(picture->aside, format)) {
            wrong = tp_file_commit(picture->aside, picture->path, first);
            result->drawn += wrong == TP_OK;
            result->failed += wrong != TP_OK;
        } else {
            result->failed++;
            if (!ended && status == TP_OK)
                wrong = explain(picture, job, first);
            unlink(picture->aside);
        }
        status = status == TP_OK ? wrong : status;
    }
    return status;
}

/* "", or how many figures share the fate of the first. */
static void count_others(struct tp_error *err, size_t others)
{
    if (err && others > 0)
        tp_fail(err, err->code, err->offset,
                "%.480s; %zu more figure%s not written", err->message, others,
                others == 1 ? " is" : "s are");
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

static enum tp_status start_gnuplot(const struct tp_plot_options *options,
                                    struct tp_gnuplot_work *work,
                                    struct tp_error *err)
{
    return options->starter
               ? tp_gnuplot_starter_run(options->starter, work, err)
               : tp_gnuplot_run(work, err);
}

static struct tp_gnuplot_work work_of(const struct drawing *drawing,
                                      const struct tp_plot_options *options)
{
    return (struct tp_gnuplot_work){.output_dir = options->output_dir,
                                    .jobs = drawing->jobs,
                                    .count = drawing->count,
                                    .processes = options->jobs,
                                    .patience_s = options->patience_s,
                                    .stop = options->stop};
}

static enum tp_status run_gnuplot(const struct drawing *drawing,
                                  const struct tp_plot_options *options,
                                  struct tp_plot_result *result,
                                  struct tp_error *err)
{
    struct tp_gnuplot_work work = work_of(drawing, options);
    struct tp_error trouble = {0};
    enum tp_status status = start_gnuplot(options, &work, &trouble);
    const bool ended = status != TP_OK || (options->stop && *options->stop);
    enum tp_status settled = settle_pictures(
        drawing, ended, options->format, result, status == TP_OK ? err : NULL);
    if (status == TP_E_NOT_FOUND) {
        snprintf(result->warning, sizeof result->warning,
                 "%.200s: the figures are not drawn, their scripts and "
                 "tables are written",
                 trouble.message);
        return TP_OK;
    }
    if (status != TP_OK)
        return tp_fail(err, status, -1, "%s", trouble.message);
    if (settled != TP_OK)
        count_others(err, result->failed - 1);
    else
        warn(drawing, work.why, result);
    return settled;
}

static enum tp_status draw(const struct tp_figure *figures, size_t count,
                           const struct tp_plot_options *options,
                           struct tp_plot_result *result, struct tp_error *err)
{
    struct drawing drawing = {0};
    enum tp_status status = plan(figures, count, options, &drawing, err);
    if (status == TP_OK)
        status = run_gnuplot(&drawing, options, result, err);
    drawing_clear(&drawing);
    return status;
}

/* How many of these have something to write. */
static size_t count_figures(const struct tp_figure *figures, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += figures[i].panel_count > 0;
    return n;
}

enum tp_status tp_plot_write(const struct tp_figure *figures, size_t count,
                             const struct tp_plot_options *options,
                             struct tp_plot_result *result,
                             struct tp_error *err)
{
    *result = (struct tp_plot_result){0};
    for (size_t i = 0; i < count; i++) {
        if (options->stop && *options->stop)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        if (figures[i].panel_count == 0)
            continue;
        enum tp_status status = write_figure(&figures[i], options, err);
        if (status == TP_E_IO)
            count_others(err, count_figures(figures + i + 1, count - i - 1));
        if (status != TP_OK)
            return status;
        result->written++;
    }
    return options->draw ? draw(figures, count, options, result, err) : TP_OK;
}

/* --- again, for a page -------------------------------------------------- */

/* Bytes that a PNG of 1200 by 800 takes: of 64 figures of test data 28 to
 * 140 kB, on average 64. */
enum { PNG_MOSTLY = 64 << 10 };

/* Bytes of a figure in a format; -1: it is not there, or memory ended, which
 * *lost says. */
static off_t size_of(const struct tp_figure *figure, const char *output_dir,
                     enum tp_plot_format format, bool *lost)
{
    struct tp_text path = {0};
    struct stat about;
    const char *name =
        path_of(&path, output_dir, figure, tp_plot_format_name(format));
    const bool there = name && stat(name, &about) == 0;
    *lost |= !name;
    tp_text_clear(&path);
    return there ? about.st_size : -1;
}

/* Adds a picture to those that are drawn again. */
static enum tp_status plan_again(const struct tp_figure *figure,
                                 const struct tp_plot_options *options,
                                 enum tp_plot_format format,
                                 struct drawing *drawing, struct tp_error *err)
{
    struct tp_text path = {0};
    const char *name = path_of(&path, options->output_dir, figure,
                               tp_plot_format_name(format));
    char *copy = name ? strdup(name) : NULL;
    tp_text_clear(&path);
    if (!copy)
        return tp_fail_memory(err);
    drawing->pictures[drawing->count].path = copy;
    drawing->jobs[drawing->count++] =
        (struct tp_gnuplot_job){.category = figure->category,
                                .id = figure->id,
                                .output = tp_file_base_name(copy)};
    return TP_OK;
}

/* Runs what was planned; only whole pictures stay. */
static enum tp_status run_again(const struct drawing *drawing,
                                const struct tp_plot_options *options,
                                enum tp_plot_format format,
                                struct tp_plot_result *result,
                                struct tp_error *err)
{
    struct tp_gnuplot_work work = work_of(drawing, options);
    struct tp_error trouble = {0};
    const enum tp_status status =
        drawing->count ? start_gnuplot(options, &work, &trouble) : TP_OK;
    for (size_t i = 0; i < drawing->count; i++) {
        const char *path = drawing->pictures[i].path;
        const bool whole = drawing->jobs[i].done && is_whole(path, format);
        result->drawn += whole;
        result->failed += !whole;
        if (!whole)
            unlink(path);
    }
    if (status == TP_E_INTERRUPTED || status == TP_E_MEMORY)
        return tp_fail(err, status, -1, "%s", trouble.message);
    if (result->failed)
        snprintf(result->warning, sizeof result->warning,
                 "%zu figures are not drawn again for the page: %.300s",
                 result->failed,
                 *trouble.message ? trouble.message
                 : *work.why      ? work.why
                                  : "gnuplot wrote no whole picture");
    return TP_OK;
}

enum tp_status tp_plot_again(const struct tp_figure *figures, size_t count,
                             const struct tp_plot_options *options,
                             struct tp_plot_result *result,
                             struct tp_error *err)
{
    static const enum tp_plot_format shown[] = {TP_PLOT_SVG, TP_PLOT_PNG};
    const char *dir = options->output_dir;
    enum tp_status status = TP_OK;
    *result = (struct tp_plot_result){0};
    for (int k = 0; k < 2 && status == TP_OK; k++) {
        struct drawing drawing = {
            .jobs = calloc(count + 1, sizeof *drawing.jobs),
            .pictures = calloc(count + 1, sizeof *drawing.pictures)};
        bool lost = !drawing.jobs || !drawing.pictures;
        for (size_t i = 0; i < count && status == TP_OK && !lost; i++) {
            const struct tp_figure *figure = &figures[i];
            if (shown[k] == options->format || figure->panel_count == 0 ||
                size_of(figure, dir, options->format, &lost) < 0 ||
                (shown[k] == TP_PLOT_PNG &&
                 size_of(figure, dir, TP_PLOT_SVG, &lost) <= PNG_MOSTLY))
                continue;
            status = plan_again(figure, options, shown[k], &drawing, err);
        }
        if (lost)
            status = tp_fail_memory(err);
        if (status == TP_OK)
            status = run_again(&drawing, options, shown[k], result, err);
        drawing_clear(&drawing);
    }
    return status;
}

enum tp_status tp_plot_forget(const char *output_dir, const char *path,
                              struct tp_error *err)
{
    const char *ending = strrchr(path, '.');
    enum tp_status status = TP_OK;
    for (int f = 0; ending && f < FORMATS && status == TP_OK; f++) {
        struct tp_text other = {0};
        if (strcmp(ending + 1, tp_plot_format_words[f]) == 0)
            continue;
        tp_text_add(&other, "%s/%.*s.%s", output_dir, (int)(ending - path),
                    path, tp_plot_format_words[f]);
        if (other.failed)
            status = tp_fail_memory(err);
        else if (unlink(tp_text_get(&other)) != 0 && errno != ENOENT)
            status =
                tp_fail_errno(err, "cannot remove %s", tp_text_get(&other));
        tp_text_clear(&other);
    }
    return status;
}
