/* SPDX-License-Identifier: MIT */
/*
 * A figure in the making. Builders add panels and never look at errors: running
 * out of memory sets `failed`, after which nothing is added, and a panel
 * without data or beyond the last place is dropped. Everything lives in the
 * figure's arena and is released at once. Heat maps that are to be compared get
 * one range of colours, whole powers on a log scale; a range for each panel
 * would show more of each but make equal colours mean different numbers. All is
 * linear in the values drawn.
 */
#include "figures/fig.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *tp_fig_alloc(struct tp_fig *fig, size_t count, size_t size)
{
    void *memory = size && count > SIZE_MAX / size
                       ? NULL
                       : tp_arena_alloc(fig->arena, count * size);
    if (!memory)
        fig->failed = true;
    return memory;
}

const char *tp_fig_text(struct tp_fig *fig, const char *format, ...)
{
    char text[TP_FIGURE_TEXT_MAX * 2];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return "";
    size_t kept = (size_t)length < sizeof text ? (size_t)length
                                               : sizeof text - 1;
    const char *copy = tp_arena_text(fig->arena, text, kept);
    if (!copy)
        fig->failed = true;
    return copy ? copy : "";
}

bool tp_fig_add(struct tp_fig *fig, const struct tp_panel *panel)
{
    if (fig->failed || fig->count == TP_FIGURE_PANELS_MAX ||
        !tp_panel_has_data(panel))
        return false;
    fig->panels[fig->count++] = *panel;
    return true;
}

struct tp_figure tp_fig_finish(struct tp_fig *fig, const char *needs)
{
    struct tp_panel *panels = tp_fig_alloc(fig, fig->count + 1, sizeof *panels);
    if (panels)
        memcpy(panels, fig->panels, fig->count * sizeof *panels);
    return (struct tp_figure){
        .panels = panels,
        .panel_count = fig->count,
        .empty_reason = fig->count ? "" : tp_fig_text(fig, "needs %s", needs),
    };
}

struct tp_axis tp_fig_named_rows(struct tp_fig *fig, const char *const *names,
                                 size_t count)
{
    struct tp_tic *tics = tp_fig_alloc(fig, count + 1, sizeof *tics);
    for (size_t r = 0; tics && r < count; r++)
        tics[r] = (struct tp_tic){(double)r, names[r]};
    return (struct tp_axis){.scale = TP_SCALE_ROWS,
                            .tics = tics,
                            .tic_count = tics ? count : 0};
}

void tp_fig_bars(struct tp_fig *fig, const struct tp_bars *bars)
{
    size_t count = bars->series_count, rows = bars->row_count;
    struct tp_axis names = tp_fig_named_rows(fig, bars->rows, rows);
    for (size_t s = 0; s < count && !fig->failed; s++) {
        double *table = tp_fig_alloc(fig, 2 * rows, sizeof *table);
        double shift = 0.8 * ((double)s + 0.5) / (double)count - 0.4;
        for (size_t r = 0; table && r < rows; r++) {
            table[2 * r] = (double)r + shift;
            table[2 * r + 1] = bars->values[s * rows + r];
        }
        bars->series[s].values = table;
        bars->series[s].rows = table ? rows : 0;
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = bars->title,
        .x = bars->x,
        .y = names,
        .series = bars->series,
        .series_count = count,
    };
    tp_fig_add(fig, &panel);
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
        .x = matrix->x,
        .y = matrix->y,
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
