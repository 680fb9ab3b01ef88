/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_OUTPUT_H
#define TP_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "data/table.h"
#include "figures/figures.h"
#include "report/plot.h"
#include "report/report.h"

/* The output directory, as the analysing commands share it. */

/* The command line in one text, for the header of a summary. */
void tp_note_command_line(int argc, char **argv, struct tp_text *text);

/* Which folders were not there before. */
struct tp_output_made {
    bool output_dir, json, annotated; /* of --output_json, --annotate      */
};

/*
 * Makes the directory, and the folders of --output_json and --annotate, and
 * checks that it can be written, before the work, so that this is not learned
 * after an hour. *made is filled in also after a failure.
 */
enum tp_status tp_output_prepare(const struct tp_options *options,
                                 struct tp_output_made *made,
                                 struct tp_error *err);

/* The path of the directory without links, to be freed: NULL where it has
 * none. TP_E_MEMORY. */
enum tp_status tp_output_whole(const struct tp_options *options, char **path,
                               struct tp_error *err);

/* "Open FILE" of the directory: on a terminal as a link where colours are
 * wanted, elsewhere as plain text. Nothing where there is no such file. */
void tp_output_link(const struct tp_options *options, const char *name,
                    struct tp_text *text);

/* Ends in the directory what a run that was killed began. */
enum tp_status tp_output_recover(const struct tp_options *options,
                                 struct tp_error *err);

/* The folder that the last name of a path is in, to be freed; NULL: no
 * memory. */
char *tp_output_parent(const char *path);

/* The folder that a file is to lie in, to be freed: NULL where its path, which
 * may be NULL, names none. TP_E_MEMORY. */
enum tp_status tp_output_folder_of(const char *path, char **folder,
                                   struct tp_error *err);

/* Whether a path that an option names stands for a folder, which is there or is
 * to be made: it ends with a slash. */
bool tp_output_is_folder(const char *path);

/* Removes the folders that were made, as far as they are empty. */
void tp_output_undo(const struct tp_options *options,
                    const struct tp_output_made *made);

/* Writes a text as a file of the directory: as all that is written there, into
 * what report/staging.h moves into place at the end. */
enum tp_status tp_output_write(const struct tp_options *options,
                               const char *name, const struct tp_text *text,
                               struct tp_error *err);

/* Writes a table as a CSV file of the directory. */
enum tp_status tp_output_csv(const struct tp_options *options, const char *name,
                             const struct tp_table *table,
                             struct tp_error *err);

/* Adds every form of a figure, and what says why its folder is empty, to the
 * names of what a run replaces (report/staging.h). */
void tp_output_replace_figure(struct tp_text *names, const char *category,
                              const char *id);

/* What became of the figures. */
struct tp_drawn {
    struct tp_report_figure *lines; /* [count]: path of each, and why it was
                                       not drawn; released with free()     */
    size_t count;
    char warning[TP_ERROR_MESSAGE_MAX];
};

/*
 * Writes and draws the figures of a command; a folder for which there is none
 * is made, with a file that says why. *drawn is filled in also after a failure,
 * but has lines only after TP_OK and TP_E_IO, which leaves what could be
 * written; the paths are the arena's. A warning was printed, and is handed on
 * for the report, as is what failed; "": there was none.
 */
enum tp_status tp_output_draw(const struct tp_options *options,
                              const struct tp_figure_set *set,
                              struct tp_arena *arena, struct tp_drawn *drawn,
                              struct tp_error *err);

/* Draws the figures once more, as what the page may have instead: the smaller
 * picture. A warning is printed. TP_E_MEMORY, TP_E_INTERRUPTED. */
enum tp_status tp_output_draw_again(const struct tp_options *options,
                                    const struct tp_figure_set *set,
                                    struct tp_error *err);

/* Removes what was drawn for the page alone, once that has it. TP_E_IO,
 * TP_E_MEMORY. */
enum tp_status tp_output_forget(const struct tp_options *options,
                                const struct tp_drawn *drawn,
                                struct tp_error *err);

/* Whether a finding of this severity reaches --fail_on. */
bool tp_reaches_fail_on(const struct tp_options *options, int worst);

#endif
