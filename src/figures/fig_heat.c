/* SPDX-License-Identifier: MIT */
#include "figures/fig_grid.h"

enum {
    CELLS_MAX = TP_PANEL_ROWS_MAX, /* one row of the table each      */
    LINES_MAX = 60,                /* of a heat map in a small panel */
    TICS_MAX = CELLS_MAX
};

/* A word for every slot: the name of its first code. */
static struct tp_axis slot_axis(struct tp_fig *fig, enum tp_key key,
                                size_t count, size_t fold)
{
    const struct tp_key_values *values = &fig->facts->keys[key];
    size_t shown = count < TICS_MAX ? count : TICS_MAX;
    struct tp_tic *tics = tp_fig_alloc(fig, shown + 1, sizeof *tics);
    for (size_t i = 0; tics && i < shown; i++)
        tics[i] = (struct tp_tic){(double)i, values->names[i * fold]};
    return (struct tp_axis){
        .label = values->axis,
        .limited = true, /* cells without data show, too */
        .min = -0.5,
        .max = (double)count - 0.5,
        .tics = tics,
        .tic_count = tics ? shown : 0,
    };
}

void tp_fig_matrix(struct tp_fig *fig, const char *title,
                   const struct tp_matrix *matrix, struct tp_axis colour,
                   enum tp_palette palette)
{
    size_t cells = matrix->columns * matrix->rows;
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    double *table = tp_fig_alloc(fig, cells * 3 + 1, sizeof *table);
    if (!series || !table)
        return;
    size_t rows = 0;
    for (size_t i = 0; i < cells; i++) {
        if (!isfinite(matrix->values[i]))
            continue;
        table[3 * rows] = (double)(i % matrix->columns);
        table[3 * rows + 1] = (double)(i / matrix->columns);
        table[3 * rows++ + 2] = matrix->values[i];
    }
    *series =
        (struct tp_panel_series){.name = "", .values = table, .rows = rows};
    struct tp_panel panel = {
        .kind = TP_PANEL_HEAT,
        .title = title,
        .x = slot_axis(fig, matrix->x, matrix->columns, matrix->x_fold),
        .y = slot_axis(fig, matrix->y, matrix->rows, matrix->y_fold),
        .z = colour,
        .palette = palette,
        .series = series,
        .series_count = 1,
        .cell_width = 1,
        .cell_height = 1,
    };
    tp_fig_add(fig, &panel);
}

struct tp_axis tp_fig_signed_colour(const struct tp_matrix *matrix,
                                    const char *label)
{
    double reach = 0;
    for (size_t i = 0; i < matrix->columns * matrix->rows; i++) {
        if (isfinite(matrix->values[i]))
            reach = fmax(reach, fabs(matrix->values[i]));
    }
    reach = reach > 0 ? reach : 1;
    return (struct tp_axis){
        .label = label, .limited = true, .min = -reach, .max = reach};
}

/* The extent of the values that have a colour; zeros of a log axis do not. */
static void widen(const struct tp_panel *panel, double *low, double *high)
{
    bool linear = panel->z.scale == TP_SCALE_LINEAR;
    if (panel->z.limited) {
        *low = fmin(*low, panel->z.min);
        *high = fmax(*high, panel->z.max);
    }
    for (size_t i = 2; i < 3 * panel->series->rows; i += 3) {
        double value = panel->series->values[i];
        if (linear || value > 0) {
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    }
}

void tp_fig_share_colours(struct tp_fig *fig, size_t first)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t p = first; p < fig->count; p++)
        widen(&fig->panels[p], &low, &high);
    if (!(low <= high))
        return; /* all zero: white, on no scale */
    double base = fig->panels[first].z.scale == TP_SCALE_LOG10 ? 10 : 2;
    if (fig->panels[first].z.scale != TP_SCALE_LINEAR) {
        /* whole powers that differ: a range without width has no colours */
        double bottom = floor(log2(low) / log2(base));
        double top = fmax(ceil(log2(high) / log2(base)), bottom + 1);
        low = pow(base, bottom);
        high = pow(base, top);
    } else if (low == high) {
        high = low + fmax(fabs(low), 1);
    }
    for (size_t p = first; p < fig->count; p++) {
        fig->panels[p].z.limited = true;
        fig->panels[p].z.min = low;
        fig->panels[p].z.max = high;
    }
}

void tp_fig_heat(struct tp_fig *fig, const struct tp_ask *ask)
{
    const struct tp_key_values *keys = fig->facts->keys;
    if (keys[ask->by].count == 0 || keys[ask->series].count == 0)
        return;
    struct tp_slots y = tp_slots_folded(fig, ask->series, LINES_MAX);
    struct tp_slots x =
        tp_slots_folded(fig, ask->by, CELLS_MAX / (y.count ? y.count : 1));
    if (fig->failed)
        return;
    const double *values = tp_fig_pool(fig, ask, &x, &y);
    struct tp_matrix matrix = {
        .x = ask->by,
        .y = ask->series,
        .columns = x.count,
        .rows = y.count,
        .x_fold = x.fold,
        .y_fold = y.fold,
        .values = values,
    };
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
