/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/notes.h"
#include "cli/cli.h"
#include "figures/replay_figures.h"
#include "figures/trace_compare_figures.h"
#include "figures/trace_figures.h"
#include "report/csv.h"
#include "report/staging.h"

/* In a folder without figures. */
#define WHY_EMPTY "WHY.txt"

void tp_note_command_line(int argc, char **argv, struct tp_text *text)
{
    for (int i = 0; i < argc; i++) {
        tp_text_add(text, i ? " " : "");
        tp_text_printable(text, argv[i]);
    }
}

char *tp_output_parent(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    while (end > 0 && path[end - 1] != '/')
        end--;
    return end > 0 ? strndup(path, end) : strdup(".");
}

enum tp_status tp_output_folder_of(const char *path, char **folder,
                                   struct tp_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    *folder = NULL;
    if (!slash || slash == path)
        return TP_OK;
    *folder = strndup(path, (size_t)(slash - path));
    return *folder ? TP_OK : tp_fail_memory(err);
}

bool tp_output_is_folder(const char *path)
{
    struct stat info;
    return tp_text_ends_with(path, "/") ||
           (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

static enum tp_status make_folder_of(const char *path, bool *made,
                                     struct tp_error *err)
{
    char *folder;
    enum tp_status status = tp_output_folder_of(path, &folder, err);
    if (!folder)
        return status;
    const bool existed = access(folder, F_OK) == 0;
    status = tp_file_make_directories(folder, err);
    *made = status == TP_OK && !existed;
    free(folder);
    return status;
}

enum tp_status tp_output_prepare(const struct tp_options *options,
                                 struct tp_output_made *made,
                                 struct tp_error *err)
{
    const char *output_dir = options->output_dir;
    *made =
        (struct tp_output_made){access(output_dir, F_OK) != 0, false, false};
    enum tp_status status = tp_file_make_directories(output_dir, err);
    if (status == TP_OK && access(output_dir, W_OK | X_OK) != 0)
        status = tp_fail_errno(err, "cannot write into %s", output_dir);
    if (status == TP_OK)
        status = make_folder_of(options->output_json, &made->json, err);
    if (status == TP_OK)
        status = make_folder_of(options->annotate, &made->annotated, err);
    return status;
}

enum tp_status tp_output_whole(const struct tp_options *options, char **path,
                               struct tp_error *err)
{
    *path = realpath(options->output_dir, NULL);
    return *path || errno != ENOMEM ? TP_OK : tp_fail_memory(err);
}

void tp_output_link(const struct tp_options *options, const char *name,
                    struct tp_text *text)
{
    char *path = tp_file_join(options->output_dir, name);
    char *whole = path ? realpath(path, NULL) : NULL;
    text->failed |= !path || (!whole && errno == ENOMEM);
    if (whole) {
        tp_text_add(text, "Open ");
        if (tp_wants_color())
            tp_text_link(text, whole, path);
        else
            tp_text_printable(text, path);
        tp_text_add(text, "\n");
    }
    free(whole);
    free(path);
}

enum tp_status tp_output_recover(const struct tp_options *options,
                                 struct tp_error *err)
{
    enum tp_status status = tp_staging_recover(options->output_dir, err);
    if (status == TP_OK)
        tp_file_remove_abandoned(options->output_dir);
    return status;
}

static void remove_folder_of(const char *path)
{
    char *folder;
    if (tp_output_folder_of(path, &folder, NULL) == TP_OK && folder)
        rmdir(folder);
    free(folder);
}

void tp_output_undo(const struct tp_options *options,
                    const struct tp_output_made *made)
{
    if (made->json)
        remove_folder_of(options->output_json);
    if (made->annotated)
        remove_folder_of(options->annotate);
    if (made->output_dir)
        rmdir(options->output_dir);
}

enum tp_status tp_output_write(const struct tp_options *options,
                               const char *name, const struct tp_text *text,
                               struct tp_error *err)
{
    char *path = tp_file_join(options->staging, name);
    enum tp_status status = path && !text->failed ? TP_OK : tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_file_write(path, tp_text_get(text), text->length, err);
    free(path);
    return status;
}

enum tp_status tp_output_csv(const struct tp_options *options, const char *name,
                             const struct tp_table *table, struct tp_error *err)
{
    struct tp_text text = {0};
    tp_csv_table(table, &text);
    enum tp_status status = tp_output_write(options, name, &text, err);
    tp_text_clear(&text);
    return status;
}

void tp_output_replace_figure(struct tp_text *names, const char *category,
                              const char *id)
{
    tp_plot_names(names, category, id);
    tp_text_add(names, "%s/" WHY_EMPTY, category);
    tp_text_bytes(names, "", 1);
}

/* Whether a figure's file with that ending was written. */
static enum tp_status look_for(const struct tp_options *options,
                               const struct tp_figure *figure,
                               const char *ending, bool *there,
                               struct tp_error *err)
{
    struct tp_text path = {0};
    tp_text_add(&path, "%s/%s/%s.%s", options->staging, figure->category,
                figure->id, ending);
    enum tp_status status = path.failed
                                ? tp_fail_memory(err)
                                : tp_file_look(tp_text_get(&path), there, err);
    tp_text_clear(&path);
    return status;
}

/* Makes the folder of figures that are all empty, with a file that says of each
 * what it needs. */
static enum tp_status explain_folder(const struct tp_options *options,
                                     const struct tp_figure *figures,
                                     size_t count, struct tp_error *err)
{
    const char *category = figures[0].category;
    struct tp_text name = {0}, text = {0};
    tp_text_add(&name, "%s/" WHY_EMPTY, category);
    tp_text_add(&text, "This folder has no figure of this input:\n\n");
    for (size_t i = 0; i < count; i++)
        tp_text_add(&text, "  %-30s %s\n", figures[i].id,
                    figures[i].empty_reason);
    char *folder = tp_file_join(options->staging, category);
    enum tp_status status =
        folder ? tp_file_make_directories(folder, err) : tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_output_write(options, tp_text_get(&name), &text, err);
    free(folder);
    tp_text_clear(&name);
    tp_text_clear(&text);
    return status;
}

/* Explains each folder in which nothing is drawn; figures of a folder stand
 * together. */
static enum tp_status explain_folders(const struct tp_options *options,
                                      const struct tp_figure_set *set,
                                      struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < set->count && status == TP_OK; i = end) {
        const struct tp_figure *first = &set->figures[i];
        size_t panels = 0;
        for (end = i; end < set->count &&
                      !strcmp(set->figures[end].category, first->category);
             end++)
            panels += set->figures[end].panel_count;
        if (panels == 0)
            status = explain_folder(options, first, end - i, err);
    }
    return status;
}

/* Why there is no picture, "" when there is one. */
static enum tp_status why_not_drawn(const struct tp_options *options,
                                    const struct tp_figure *figure,
                                    const char **why, struct tp_error *err)
{
    bool drawn = false, scripted = false;
    *why = figure->empty_reason;
    if (figure->panel_count == 0)
        return TP_OK;
    enum tp_status status =
        look_for(options, figure, tp_plot_format_name(options->plot_format),
                 &drawn, err);
    if (status == TP_OK && !drawn)
        status = look_for(options, figure, "gp", &scripted, err);
    *why = status != TP_OK ? "it cannot be looked for"
           : drawn         ? ""
           : scripted      ? "gnuplot did not draw it; its script is there"
                           : "it could not be written";
    return status;
}

/* What the report says of each figure. */
static enum tp_status describe(const struct tp_options *options,
                               const struct tp_figure_set *set,
                               struct tp_arena *arena, struct tp_drawn *drawn,
                               struct tp_error *err)
{
    drawn->lines = calloc(set->count + 1, sizeof *drawn->lines);
    if (!drawn->lines)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < set->count; i++) {
        const struct tp_figure *figure = &set->figures[i];
        struct tp_report_figure *line = &drawn->lines[i];
        struct tp_text path = {0};
        tp_text_add(&path, "%s/%s.%s", figure->category, figure->id,
                    tp_plot_format_name(options->plot_format));
        line->path = tp_arena_take(arena, &path);
        line->title = figure->caption;
        if (!line->path)
            return tp_fail_memory(err);
        enum tp_status looked = why_not_drawn(options, figure, &line->reason,
                                              status == TP_OK ? err : NULL);
        status = status == TP_OK ? looked : status;
    }
    drawn->count = set->count;
    return status;
}

enum tp_status tp_output_forget(const struct tp_options *options,
                                const struct tp_drawn *drawn,
                                struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < drawn->count && status == TP_OK; i++)
        status = tp_plot_forget(options->staging, drawn->lines[i].path, err);
    return status;
}

static struct tp_plot_options plot_options(const struct tp_options *options)
{
    return (struct tp_plot_options){.output_dir = options->staging,
                                    .format = options->plot_format,
                                    .jobs = tp_options_jobs(options),
                                    .draw = true,
                                    .starter = options->starter,
                                    .stop = &tp_interrupted};
}

enum tp_status tp_output_draw_again(const struct tp_options *options,
                                    const struct tp_figure_set *set,
                                    struct tp_error *err)
{
    const struct tp_plot_options how = plot_options(options);
    struct tp_plot_result result = {.warning = ""};
    const enum tp_status status =
        tp_plot_again(set->figures, set->count, &how, &result, err);
    if (status == TP_OK && result.warning[0])
        tp_print_warning(options, "%s", result.warning);
    return status;
}

enum tp_status tp_output_draw(const struct tp_options *options,
                              const struct tp_figure_set *set,
                              struct tp_arena *arena, struct tp_drawn *drawn,
                              struct tp_error *err)
{
    const struct tp_plot_options how = plot_options(options);
    struct tp_plot_result result = {.warning = ""};
    *drawn = (struct tp_drawn){.count = 0};
    enum tp_status status = explain_folders(options, set, err);
    if (status == TP_OK)
        status = tp_plot_write(set->figures, set->count, &how, &result, err);
    if (status != TP_OK && status != TP_E_IO)
        return status;
    snprintf(drawn->warning, sizeof drawn->warning, "%s",
             status == TP_OK ? result.warning : err->message);
    tp_staging_hide(options->staging, drawn->warning);
    if (result.warning[0])
        tp_print_warning(options, "%s", drawn->warning);
    enum tp_status described =
        describe(options, set, arena, drawn, status == TP_OK ? err : NULL);
    return status == TP_OK ? described : status;
}

bool tp_reaches_fail_on(const struct tp_options *options, int worst)
{
    return options->fail_on && worst >= options->fail_on;
}
