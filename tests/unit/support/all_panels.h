/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_ALL_PANELS_H
#define TP_TESTS_ALL_PANELS_H

#include <stdbool.h>

#include "data/figure.h"

/* Figures with a panel of every kind, and names that attack gnuplot. */

static const double xy[] = {1, 0.5, 2, 0.25, 3, 0};
static const double bands[] = {1, -3, -2, -1, 0, 1, 2, 3,
                               2, -3, -2, -1, 0, 1, 2, 4};
static const double boxes[] = {0, 1, 2, 3, 4, 5, 6, 70, 9};
static const double bars[] = {0, 0.5, 1, 0};
static const double shares[] = {0, 0, 0.25, 1, 0, 1};
static const double cells[] = {0, 0, 1, 1, 0, 8, 0, 1, 0};
static const double spreads[] = {0, 0, 1, 2, 3, 9, 1, 0, 1, 2, 4, 8};
static const double watch[] = {0, 1, 1, 0.5, 2, 0, 1, 8, 1, 0.5, 2, 1};
static const struct tp_tic rows[] = {{0, "first"}, {1, "second"}};

static inline struct tp_panel make_panel(enum tp_panel_kind kind,
                                         const char *title,
                                         const struct tp_panel_series *series,
                                         size_t count)
{
    return (struct tp_panel){
        .kind = kind,
        .title = title,
        .x = {.label = "x [1]"},
        .y = {.label = "y [1]"},
        .z = {.label = "z [1]"},
        .series = series,
        .series_count = count,
        .cell_width = 1,
        .cell_height = 1,
    };
}

/* Fills panels[TP_PANEL_KINDS]; series[TP_PANEL_KINDS] belongs to them. */
static inline void make_all(struct tp_panel *panels,
                            struct tp_panel_series *series, const char *name)
{
    const struct tp_panel_series all[TP_PANEL_KINDS] = {
        [TP_PANEL_LINES] = {name, xy, 3, 0},
        [TP_PANEL_STEPS] = {name, xy, 3, 0},
        [TP_PANEL_BANDS] = {name, bands, 2, 0},
        [TP_PANEL_BOXES] = {name, boxes, 1, 0},
        [TP_PANEL_BARS] = {name, bars, 2, 0},
        [TP_PANEL_SHARES] = {name, shares, 2, 0},
        [TP_PANEL_STACKS] = {name, shares, 2, 0},
        [TP_PANEL_HEAT] = {name, cells, 3, 0},
        [TP_PANEL_CLOUD] = {name, cells, 3, 0},
        [TP_PANEL_SPREAD] = {name, spreads, 2, 0},
        [TP_PANEL_WATCH] = {name, watch, 2, 0},
        [TP_PANEL_POINTS] = {name, xy, 3, 0},
    };
    for (int k = 0; k < TP_PANEL_KINDS; k++) {
        series[k] = all[k];
        panels[k] = make_panel((enum tp_panel_kind)k, name, &series[k], 1);
        bool lying = k == TP_PANEL_BOXES || k == TP_PANEL_BARS ||
                     k == TP_PANEL_SHARES || k == TP_PANEL_STACKS;
        if (lying)
            panels[k].y = (struct tp_axis){
                .scale = TP_SCALE_ROWS, .tics = rows, .tic_count = 2};
    }
}

static inline struct tp_figure make_figure(const char *id,
                                           const struct tp_panel *panels,
                                           size_t count)
{
    return (struct tp_figure){.id = id,
                              .category = "statistics",
                              .caption = "A caption",
                              .panels = panels,
                              .panel_count = count,
                              .empty_reason = count ? "" : "needs data"};
}

static const char *const hostile[] = {
    "'; system('touch broken'); print '",
    "`touch broken`",
    "\"; system \"touch broken\" #",
    "line\nsystem('touch broken')\n",
    "back\\",
    "\\'; system('touch broken')",
    "@macro",
    "%s%n%d %",
    "{/Bold x}_a^b",
    "\xe4\xbd\xa0\xe5\xa5\xbd",
    "\xff\xfe",
    "",
    "a\tb",
    "$1 ${x}",
    "!touch broken",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

#endif
