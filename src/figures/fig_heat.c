/* SPDX-License-Identifier: MIT */
/*
 * A number by two labels as colours, one cell for each pair of values. When a
 * panel's table cannot hold all cells, neighbouring values share one, and the
 * number is that of all their elements pooled: an average of cells would weigh
 * a small tensor like a large one, and leaving cells out would lose incidents.
 * Numbers of both signs get a scale that reaches as far to both sides of zero.
 * O(rows) and one set of counts for each cell.
 */
#include "figures/fig_grid.h"

enum {
    CELLS_MAX = TP_PANEL_ROWS_MAX, /* one row of the table each      */
    LINES_MAX = 60                 /* of a heat map in a small panel */
};

void tp_fig_heat(struct tp_fig *fig, const struct tp_ask *ask)
{
    const struct tp_key_values *keys = fig->facts->keys;
    if (keys[ask->by].count == 0 || keys[ask->series].count == 0)
        return;
    /* lines of names are those there are; numbers stand at one height */
    struct tp_slots y =
        keys[ask->series].numbers
            ? tp_slots_folded(fig, ask->series, LINES_MAX)
            : tp_slots_picked(fig, &ask->pick, ask->series, LINES_MAX);
    struct tp_slots x =
        tp_slots_folded(fig, ask->by, CELLS_MAX / (y.count ? y.count : 1));
    if (fig->failed)
        return;
    const double *values = tp_fig_pool(fig, ask, &x, &y);
    struct tp_matrix matrix = tp_slots_matrix(fig, &x, &y, values);
    const char *note =
        x.fold > 1 || y.fold > 1
            ? tp_fig_text(fig, " (a cell is %zu x %zu)", x.fold, y.fold)
            : "";
    struct tp_axis colour = {.label = ask->metric->label,
                             .scale = ask->metric->scale};
    bool both_signs = colour.scale == TP_SCALE_SIGNED_LOG2;
    if (values && both_signs)
        colour = tp_fig_signed_colour(
            &matrix,
            tp_fig_text(fig, "%s [tensor units]", ask->metric->title));
    if (values)
        tp_fig_matrix(fig, tp_fig_text(fig, "%s%s", ask->title, note), &matrix,
                      colour,
                      both_signs ? TP_PALETTE_DEVIATION
                                 : TP_PALETTE_MAGNITUDE);
}
