/* SPDX-License-Identifier: MIT */
#include "report/plot_table.h"

#include <math.h>

#include "report/plot_quote.h"

/* A text in a comment of the table. */
static void comment(struct tp_text *out, const char *what, const char *text)
{
    tp_text_add(out, "# %s", what);
    tp_plot_escape(out, text, TP_FIGURE_TEXT_MAX);
    tp_text_add(out, "\n");
}

static void add_number(struct tp_text *out, double value)
{
    if (isfinite(value))
        tp_text_add(out, "%.9g", value == 0 ? 0.0 : value);
    else
        tp_text_add(out, "NaN");
}

static void add_rows(struct tp_text *out, const struct tp_panel_series *series,
                     unsigned columns)
{
    for (size_t r = 0; r < series->rows; r++) {
        for (unsigned c = 0; c < columns; c++) {
            if (c)
                tp_text_bytes(out, "\t", 1);
            add_number(out, series->values[r * columns + c]);
        }
        tp_text_bytes(out, "\n", 1);
    }
}

/* What the numbers of a rows axis stand for. */
static void add_row_names(struct tp_text *out, const struct tp_axis *axis)
{
    for (size_t i = 0; i < axis->tic_count; i++) {
        tp_text_add(out, "# row %g: ", axis->tics[i].at);
        tp_plot_escape(out, axis->tics[i].text, TP_FIGURE_TEXT_MAX);
        tp_text_bytes(out, "\n", 1);
    }
}

static void add_block(struct tp_text *out, const struct tp_panel *panel,
                      size_t number, const struct tp_panel_series *series)
{
    const struct tp_panel_info *info = tp_panel_info(panel->kind);
    tp_text_add(out, "# panel %zu (%s): ", number, info->name);
    tp_plot_escape(out, panel->title, TP_FIGURE_TEXT_MAX);
    tp_text_add(out, "\n");
    if (series->name)
        comment(out, "series: ", series->name);
    if (panel->x.label)
        comment(out, "x: ", panel->x.label);
    if (panel->y.label)
        comment(out, "y: ", panel->y.label);
    if (panel->z.label)
        comment(out, "value: ", panel->z.label);
    if (panel->y.tics)
        add_row_names(out, &panel->y);
    tp_text_add(out, "# %s\n", info->columns_help);
    add_rows(out, series, info->columns);
}

void tp_plot_table(const struct tp_figure *figure, struct tp_text *out)
{
    bool first = true;
    tp_text_add(out, "# %s/%s\n", figure->category, figure->id);
    comment(out, "", figure->caption);
    for (size_t p = 0; p < figure->panel_count; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        for (size_t s = 0; s < panel->series_count; s++) {
            if (!first)
                tp_text_add(out, "\n\n");
            first = false;
            add_block(out, panel, p + 1, &panel->series[s]);
        }
    }
}
