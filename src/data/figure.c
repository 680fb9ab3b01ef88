/* SPDX-License-Identifier: MIT */
/*
 * What a figure holds is checked here, before it is written: that ids fit a
 * file's name, that axes and series agree with the kind of panel. A kind is
 * one row of a table, with the columns that its template in plots/ reads, so
 * that the writer needs no case for it. The alternative, to trust the
 * builders, would show a mistake as an error of gnuplot in the user's run.
 */
#include "data/figure.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct tp_panel_info kinds[TP_PANEL_KINDS] = {
    [TP_PANEL_LINES] = {"lines", 2, "x\ty"},
    [TP_PANEL_STEPS] = {"steps", 2, "x\ty"},
    [TP_PANEL_BANDS] = {"bands", 8, "x\tq01\tq05\tq25\tq50\tq75\tq95\tq99"},
    [TP_PANEL_BOXES] = {"boxes", 9,
                        "row\tmin\tq05\tq25\tq50\tq75\tq95\tmax\tn"},
    [TP_PANEL_BARS] = {"bars", 2, "row\tvalue"},
    [TP_PANEL_SHARES] = {"shares", 3, "row\tfrom\tto"},
    [TP_PANEL_STACKS] = {"stacks", 3, "row\tfrom\tto"},
    [TP_PANEL_HEAT] = {"heat", 3, "x\ty\tvalue"},
    [TP_PANEL_CLOUD] = {"cloud", 3, "x\ty\tcount"},
    [TP_PANEL_SPREAD] = {"spread", 6, "x\tmin\tq25\tq50\tq75\tmax"},
    [TP_PANEL_WATCH] = {"watch", 6, "x\tvalue\texpected\tlow\thigh\talarm"},
    [TP_PANEL_POINTS] = {"points", 2, "x\ty"},
};

const struct tp_panel_info *tp_panel_info(enum tp_panel_kind kind)
{
    assert((unsigned)kind < TP_PANEL_KINDS);
    return &kinds[kind];
}

static bool is_tidy(const char *id)
{
    return id && id[0] &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(id);
}

static bool has_label(const struct tp_axis *axis)
{
    return axis->scale == TP_SCALE_ROWS || (axis->label && axis->label[0]);
}

bool tp_panel_has_data(const struct tp_panel *panel)
{
    unsigned columns = tp_panel_info(panel->kind)->columns;
    for (size_t s = 0; s < panel->series_count; s++) {
        const struct tp_panel_series *series = &panel->series[s];
        for (size_t r = 0; r < series->rows; r++) {
            bool finite = true;
            for (unsigned c = 0; c < columns; c++)
                finite &= isfinite(series->values[r * columns + c]);
            if (finite)
                return true;
        }
    }
    return false;
}

static enum tp_status check_panel(const struct tp_figure *figure, size_t p,
                                  struct tp_error *err)
{
    const struct tp_panel *panel = &figure->panels[p];
    size_t rows = 0;
    for (size_t s = 0; s < panel->series_count; s++)
        rows += panel->series[s].rows;
    if (rows > TP_PANEL_ROWS_MAX || panel->series_count > TP_PANEL_SERIES_MAX)
        return tp_fail(err, TP_E_LIMIT, -1,
                       "figure %s: panel %zu has %zu rows in %zu series",
                       figure->id, p + 1, rows, panel->series_count);
    if (!tp_panel_has_data(panel))
        return tp_fail(err, TP_E_DAMAGED, -1, "figure %s: panel %zu is empty",
                       figure->id, p + 1);
    bool coloured =
        panel->kind == TP_PANEL_HEAT || panel->kind == TP_PANEL_CLOUD;
    if (!panel->title || !has_label(&panel->x) || !has_label(&panel->y) ||
        (coloured && !has_label(&panel->z)))
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "figure %s: panel %zu lacks a title or a unit",
                       figure->id, p + 1);
    return TP_OK;
}

enum tp_status tp_figure_check(const struct tp_figure *figure,
                               struct tp_error *err)
{
    if (!is_tidy(figure->id) || !is_tidy(figure->category))
        return tp_fail(err, TP_E_DAMAGED, -1, "a figure's id is not tidy");
    if (figure->panel_count > TP_FIGURE_PANELS_MAX)
        return tp_fail(err, TP_E_LIMIT, -1, "figure %s: %zu panels", figure->id,
                       figure->panel_count);
    for (size_t p = 0; p < figure->panel_count; p++) {
        enum tp_status status = check_panel(figure, p, err);
        if (status != TP_OK)
            return status;
    }
    return TP_OK;
}
