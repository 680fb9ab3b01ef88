/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_PLOT_H
#define TP_REPORT_PLOT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "data/figure.h"

/*
 * Figures to files: for each one with panels CATEGORY/NAME.tsv (its numbers),
 * CATEGORY/NAME.gp (the script that draws them) and, drawn by gnuplot, the
 * picture CATEGORY/NAME.png, .svg or .pdf.
 */

enum tp_plot_format { TP_PLOT_PNG, TP_PLOT_SVG, TP_PLOT_PDF };

/* "png", "svg", "pdf", then NULL. */
extern const char *const tp_plot_format_words[];

/* The word of one format: also the ending of the file. */
const char *tp_plot_format_name(enum tp_plot_format format);

struct tp_gnuplot_starter;

struct tp_plot_options {
    const char *output_dir; /* made if it is not there                */
    enum tp_plot_format format;
    unsigned jobs;       /* gnuplot processes at once              */
    bool draw;           /* false: tables and scripts only         */
    unsigned patience_s; /* a gnuplot that takes longer for one
                            figure is killed; 0: two minutes       */
    const volatile sig_atomic_t *stop;  /* not zero: give up; may be NULL  */
    struct tp_gnuplot_starter *starter; /* NULL: this process starts it   */
};

struct tp_plot_result {
    size_t written;    /* figures whose table and script are there        */
    size_t drawn;      /* figures whose picture is there                  */
    size_t failed;     /* figures that should have been drawn and are not */
    char warning[512]; /* "" or one sentence for the user: why not        */
};

/* Adds the names of every form of a figure, each with a NUL behind it: table,
 * script, and pictures of all formats. */
void tp_plot_names(struct tp_text *names, const char *category, const char *id);

/*
 * Writes and draws. Every file is written aside and renamed. Nothing is
 * removed: of a figure that is empty, or whose picture cannot be drawn, what
 * was there stays. A missing or failing gnuplot is a warning
 * in *result; a table, script or picture that cannot be written is TP_E_IO,
 * which names the first and counts the others: of pictures all that could be
 * drawn are there. After *stop: TP_E_INTERRUPTED, with the figures that were
 * there already and no half-drawn one. Call from the thread that owns the
 * process's children.
 */
enum tp_status tp_plot_write(const struct tp_figure *figures, size_t count,
                             const struct tp_plot_options *options,
                             struct tp_plot_result *result,
                             struct tp_error *err);

/*
 * Draws the figures that are drawn again for a page, which shows the smaller of
 * two pictures: CATEGORY/NAME.svg of each, and CATEGORY/NAME.png of those whose
 * SVG takes more than a PNG mostly does, unless `format` is that one already.
 * SVG costs about a tenth of what PNG does. What fails is a warning in *result,
 * which counts these pictures alone; tp_plot_forget removes them.
 * TP_E_INTERRUPTED, TP_E_MEMORY. Call as tp_plot_write.
 */
enum tp_status tp_plot_again(const struct tp_figure *figures, size_t count,
                             const struct tp_plot_options *options,
                             struct tp_plot_result *result,
                             struct tp_error *err);

/* Removes of a picture, a path below `output_dir`, what has the same name in
 * another format. TP_E_IO, TP_E_MEMORY. */
enum tp_status tp_plot_forget(const char *output_dir, const char *path,
                              struct tp_error *err);

#endif
