/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_FIGURE_H
#define TP_DATA_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * A figure as plain values: panels of small tables. Who builds one knows what
 * the numbers mean; who draws one needs only what stands here. All memory
 * belongs to whoever built the figure.
 */

/* How a panel is drawn, and the columns of each of its blocks. */
enum tp_panel_kind {
    TP_PANEL_LINES,  /* x y: one curve per block                          */
    TP_PANEL_STEPS,  /* x y: a histogram per block; a bin begins at x      */
    TP_PANEL_BANDS,  /* x q01 q05 q25 q50 q75 q95 q99: nested bands       */
    TP_PANEL_BOXES,  /* row min q05 q25 q50 q75 q95 max n: lying boxes    */
    TP_PANEL_BARS,   /* row value: lying bars, one colour per block       */
    TP_PANEL_SHARES, /* row from to: stacked lying bars; losses stand out  */
    TP_PANEL_STACKS, /* row from to: the same in the colours of series     */
    TP_PANEL_HEAT,   /* x y value: one coloured cell each                 */
    TP_PANEL_CLOUD,  /* x y count: cells of a 2-D histogram               */
    TP_PANEL_SPREAD, /* x min q25 q50 q75 max: standing boxes             */
    TP_PANEL_WATCH,  /* x value expected low high alarm: a baseline       */
    TP_PANEL_POINTS, /* x y: single points, a shape and colour per block   */
    TP_PANEL_KINDS
};

enum {
    TP_PANEL_ROWS_MAX = 2000, /* rows of all blocks of a panel together   */
    TP_PANEL_SERIES_MAX = 8,  /* as many colours as can be told apart     */
    TP_PANEL_COLOURS = 50,    /* of all figures; figures/trace_colours.h  */
    TP_FIGURE_PANELS_MAX = 9,
    TP_PANEL_COLUMNS_MAX = 9,
    TP_FIGURE_TEXT_MAX = 160 /* bytes of a text that are shown           */
};

/* One row of the kind table. */
struct tp_panel_info {
    const char *name; /* of the kind, and of its template in plots/    */
    unsigned columns;
    const char *columns_help; /* names of the columns, tab separated      */
};

/* The row of a kind; never NULL. */
const struct tp_panel_info *tp_panel_info(enum tp_panel_kind kind);

enum tp_scale {
    TP_SCALE_LINEAR,
    TP_SCALE_INTEGER, /* linear, tics at integers only                */
    TP_SCALE_LOG2,    /* positive values, or zero                    */
    TP_SCALE_LOG10,
    TP_SCALE_SIGNED_LOG2, /* two log2 axes, back to back; |v| >= 2^inner  */
    TP_SCALE_ROWS         /* 0, 1, 2 ... from the top, named by tics      */
};

struct tp_tic {
    double at;
    const char *text;
};

/* All-zero bytes are a linear axis with automatic limits. */
struct tp_axis {
    const char *label; /* with its unit; NULL: rows that name themselves */
    enum tp_scale scale;
    bool limited; /* min and max are given                          */
    double min, max;
    int inner; /* TP_SCALE_SIGNED_LOG2: exponent at the centre   */
    const struct tp_tic *tics; /* instead of automatic ones               */
    size_t tic_count;
    bool tree; /* TP_SCALE_ROWS: blanks before a name indent it  */
};

/* A series of a panel: one block of values, row-major, with the columns of the
 * panel's kind. A number over iterations is another thing: series/series.h. */
struct tp_panel_series {
    const char *name; /* for the legend; may hold anything              */
    const double *values;
    size_t rows;
    unsigned colour; /* 1 .. TP_PANEL_COLOURS; 0: by its place         */
};

/* A vertical line at x, with a word. */
struct tp_mark {
    double x;
    const char *text;
};

enum tp_palette {
    TP_PALETTE_MAGNITUDE, /* zeros are white                              */
    TP_PALETTE_VALUE,     /* the same colours; zero is a value of the scale*/
    TP_PALETTE_BUSY,      /* shares of time that the device works          */
    TP_PALETTE_DEVIATION
};

struct tp_panel {
    enum tp_panel_kind kind;
    const char *title;
    struct tp_axis x, y, z; /* z: the colours of heat maps and clouds */
    enum tp_palette palette;
    const struct tp_panel_series *series;
    size_t series_count;
    size_t bounds; /* of points: so many series first are lines        */
    const struct tp_mark *marks;
    size_t mark_count;
    bool diagonal;                  /* CLOUD, POINTS: where x equals y        */
    double cell_width, cell_height; /* HEAT, CLOUD; in units of the axis
                                       (log axes: in powers of the base)  */
};

struct tp_figure {
    const char *id;       /* [a-z0-9_]+: the file's name without ending   */
    const char *category; /* [a-z0-9_]+: the folder                       */
    const char *caption;
    const struct tp_panel *panels;
    size_t panel_count;       /* 0: not drawn, and empty_reason says why      */
    const char *empty_reason; /* "" when there are panels                 */
};

/* Whether some row of the panel has all its numbers, so that it shows. */
bool tp_panel_has_data(const struct tp_panel *panel);

/*
 * Checks what a drawer relies on: limits of panels, series and rows, at least
 * one row in each panel, units, tidy ids. TP_E_LIMIT or TP_E_DAMAGED with
 * the figure named; a figure without panels is in order.
 */
enum tp_status tp_figure_check(const struct tp_figure *figure,
                               struct tp_error *err);

#endif
