/* SPDX-License-Identifier: MIT */
/*
 * The axes whose indices lie furthest apart; those of few values an index,
 * which chance sets apart, come last. A list of six is kept in order while all
 * axes of all rows pass by; of one place of the model (the same tensor and axis
 * over iterations) only the widest stays, so that six iterations of one outlier
 * do not fill the figure. Sorting all axes first would cost more and need the
 * same weeding. Of an axis the indices at both ends are shown, those that are
 * all zero left out, as a log axis has no place for them. O(6 x axes).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/fig_builders.h"
#include "figures/fig_dump.h"
#include "scan/dim_rank.h"
#include "series/series.h"

enum { AXES = 6, SHOWN_LARGE = 12, SHOWN_SMALL = 8 };

/* One axis of one row. */
struct wide {
    const struct tp_row *row;
    const struct tp_dim_axis *axis;
};

static bool same_place(const struct wide *a, const struct wide *b)
{
    return a->axis->axis == b->axis->axis &&
           !strcmp(a->row->path, b->row->path) && tp_same_place(a->row, b->row);
}

/* Whether what was chosen stays before a candidate. */
static bool stays_before(const struct wide *chosen, const struct wide *other)
{
    bool few = tp_dim_has_few(chosen->axis);
    return few == tp_dim_has_few(other->axis)
               ? chosen->axis->ratio >= other->axis->ratio
               : !few;
}

/* Puts a candidate among the chosen, one for each place of the model, by
 * falling ratio; of equal ones the first row stays. */
static void choose(struct wide chosen[AXES], size_t *count,
                   const struct wide *candidate)
{
    size_t at = 0;
    for (size_t i = 0; i < *count; i++) {
        if (!same_place(&chosen[i], candidate))
            continue;
        if (stays_before(&chosen[i], candidate))
            return;
        memmove(&chosen[i], &chosen[i + 1], (*count - i - 1) * sizeof *chosen);
        (*count)--;
        break;
    }
    while (at < *count && stays_before(&chosen[at], candidate))
        at++;
    if (at == AXES)
        return;
    size_t moved = *count < AXES ? *count - at : AXES - 1 - at;
    memmove(&chosen[at + 1], &chosen[at], moved * sizeof *chosen);
    chosen[at] = *candidate;
    *count += *count < AXES;
}

static size_t find_widest(const struct tp_run *run, struct wide chosen[AXES])
{
    size_t count = 0;
    for (size_t r = 0; r < run->row_count; r++) {
        const struct tp_dims *dims = run->rows[r].dims;
        for (size_t i = 0; dims && i < dims->count; i++) {
            const struct wide candidate = {&run->rows[r], &dims->axes[i]};
            if (dims->axes[i].kept > 0 && isfinite(dims->axes[i].ratio))
                choose(chosen, &count, &candidate);
        }
    }
    return count;
}

/* The kept indices that are shown: the largest, and the smallest that are
 * not dead; they are kept by falling abs_max. */
static size_t shown_indices(const struct tp_dim_axis *axis,
                            const struct tp_dim_index **shown)
{
    size_t alive = 0, n = 0;
    while (alive < axis->kept && tp_dim_abs_max(&axis->worst[alive]) > 0)
        alive++;
    for (size_t i = 0; i < alive; i++) {
        bool small = i + SHOWN_SMALL >= alive;
        if (i < SHOWN_LARGE || small)
            shown[n++] = &axis->worst[i];
    }
    return n;
}

static const char *number_of(struct tp_fig *fig, const char *name,
                             int64_t number)
{
    return number < 0 ? "" : tp_fig_text(fig, "%s%" PRId64, name, number);
}

/* Rank and iteration stand at the axis: in the title they would cut names. */
static const char *title_of(struct tp_fig *fig, const struct wide *wide)
{
    const struct tp_label *label = &wide->row->label;
    const char *type = label->quant_type;
    const char *name = label->tensor_name[0] ? label->tensor_name
                       : wide->row->path[0]  ? wide->row->path
                                             : "tensor";
    const char *pass = label->direction == TP_BACKWARD ? "grad " : "";
    const char *layer = number_of(fig, "L", label->layer_idx);
    double ratio = wide->axis->ratio;
    return tp_fig_text(fig,
                       ratio < 1024 ? "%s%s%s%s%s%s: ratio %.0f"
                                    : "%s%s%s%s%s%s: ratio 2^%.0f",
                       type, *type ? " " : "", layer, *layer ? " " : "", pass,
                       name, ratio < 1024 ? ratio : log2(ratio));
}

static void wide_panel(struct tp_fig *fig, const struct wide *wide)
{
    const struct tp_dim_index *shown[SHOWN_LARGE + SHOWN_SMALL];
    size_t n = shown_indices(wide->axis, shown);
    double *values = tp_fig_alloc(fig, 2 * n + 1, sizeof *values);
    struct tp_tic *tics = tp_fig_alloc(fig, n + 1, sizeof *tics);
    struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
    struct tp_mark *mark = tp_fig_alloc(fig, 1, sizeof *mark);
    if (fig->failed || n < 2)
        return;
    for (size_t i = 0; i < n; i++) {
        tics[i] =
            (struct tp_tic){(double)i, tp_fig_text(fig, "index %lld",
                                                   (long long)shown[i]->index)};
        values[2 * i] = (double)i;
        values[2 * i + 1] = tp_dim_abs_max(shown[i]);
    }
    *series = (struct tp_panel_series){.name = "", .values = values, .rows = n};
    *mark = (struct tp_mark){wide->axis->median, "median"};
    const struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = title_of(fig, wide),
        .x = {.label = tp_fig_text(
                  fig, "abs_max, axis %d%s%s [value]", wide->axis->axis,
                  number_of(fig, ", rank ", wide->row->label.rank),
                  number_of(fig, ", it. ", wide->row->label.iteration)),
              .scale = TP_SCALE_LOG2},
        .y = {.scale = TP_SCALE_ROWS, .tics = tics, .tic_count = n},
        .series = series,
        .series_count = 1,
        .marks = mark,
        .mark_count = wide->axis->median > 0,
    };
    tp_fig_add(fig, &panel);
}

void tp_fig_index_amax(struct tp_fig *fig)
{
    struct wide chosen[AXES + 1];
    size_t count = find_widest(fig->facts->run, chosen);
    for (size_t i = 0; i < count; i++)
        wide_panel(fig, &chosen[i]);
}
