/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIG_H
#define TP_FIGURES_FIG_H

#include "base/memory.h"
#include "data/figure.h"

/*
 * A figure in the making: what every builder draws on, of a dump (fig_dump.h)
 * or of traces (trace_fig.h). Nothing here fails but by running out of memory,
 * which fig->failed says; a panel without data is left out.
 */

struct tp_facts;

struct tp_fig {
    const struct tp_facts *facts; /* of a dump, fig_dump.h; NULL: of traces */
    struct tp_arena *arena;  /* owns panels and tables                       */
    struct tp_panel panels[TP_FIGURE_PANELS_MAX];
    size_t count;
    bool failed;             /* out of memory; later calls do nothing harmful */
};

/* Memory from the figure's arena, zeroed; NULL sets `failed`. */
void *tp_fig_alloc(struct tp_fig *fig, size_t count, size_t size);

/* A formatted text in the figure's arena; never NULL. */
const char *tp_fig_text(struct tp_fig *fig, const char *format, ...)
    TP_PRINTF(2, 3);

/* Adds a panel unless it is empty, or the figure full. True if it was added. */
bool tp_fig_add(struct tp_fig *fig, const struct tp_panel *panel);

/*
 * The figure that was made, without its names: the panels copied, as many as
 * there are, or none and "needs ..." for why.
 */
struct tp_figure tp_fig_finish(struct tp_fig *fig, const char *needs);

/* An axis of rows named by `names`, from the top; the names are borrowed. */
struct tp_axis tp_fig_named_rows(struct tp_fig *fig, const char *const *names,
                                 size_t count);

/* Lying bars: named rows, in each a bar for every series. */
struct tp_bars {
    const char *title;
    const char *const *rows; /* row_count names, constant              */
    size_t row_count;
    struct tp_panel_series *series; /* named; get their rows here      */
    size_t series_count;
    const double *values;    /* [series_count][row_count]              */
    struct tp_axis x;
};

/* Adds bars; bars->series belongs to the figure's arena. */
void tp_fig_bars(struct tp_fig *fig, const struct tp_bars *bars);

/* A matrix as colours: columns x rows values, NaN: nothing there. */
struct tp_matrix {
    struct tp_axis x, y;
    size_t columns, rows;
    const double *values;    /* [rows * columns]          */
};

/* Adds a heat map with a cell for every value of the matrix. */
void tp_fig_matrix(struct tp_fig *fig, const char *title,
                   const struct tp_matrix *matrix, struct tp_axis colour,
                   enum tp_palette palette);

/*
 * Gives the heat maps from panel `first` on one range of colours, so that
 * they can be compared. All must have the scale of that panel; ranges that
 * were given before are widened.
 */
void tp_fig_share_colours(struct tp_fig *fig, size_t first);

/* A linear colour scale that reaches as far to both sides of zero. */
struct tp_axis tp_fig_signed_colour(const struct tp_matrix *matrix,
                                    const char *label);

#endif
