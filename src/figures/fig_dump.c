/* SPDX-License-Identifier: MIT */
#include "figures/fig_dump.h"

const char *tp_fig_note(struct tp_fig *fig, const struct tp_choice *choice)
{
    if (choice->count == choice->total)
        return "";
    return tp_fig_text(fig, " (%zu of %zu)", choice->count, choice->total);
}

unsigned tp_fig_colour(const struct tp_fig *fig, enum tp_key key, int32_t code)
{
    bool few = fig->facts->keys[key].count <= TP_PANEL_SERIES_MAX;
    return few ? (unsigned)code + 1 : 0;
}

struct tp_axis tp_fig_rows(struct tp_fig *fig, enum tp_key key,
                           const struct tp_choice *choice)
{
    struct tp_tic *tics = tp_fig_alloc(fig, choice->count + 1, sizeof *tics);
    for (size_t i = 0; tics && i < choice->count; i++) {
        const char *name = fig->facts->keys[key].names[choice->codes[i]];
        const char *word = key == TP_KEY_LAYER    ? "layer "
                           : key == TP_KEY_RANK   ? "rank "
                           : key == TP_KEY_SAMPLE ? "sample "
                           : key == TP_KEY_BATCH  ? "batch "
                                                  : "";
        tics[i] = (struct tp_tic){
            (double)i, word[0] ? tp_fig_text(fig, "%s%s", word, name) : name};
    }
    return (struct tp_axis){
        .scale = TP_SCALE_ROWS,
        .tics = tics,
        .tic_count = tics ? choice->count : 0,
    };
}

struct tp_panel_series *tp_fig_series(struct tp_fig *fig, enum tp_key key,
                                      const struct tp_choice *choice)
{
    struct tp_axis names = tp_fig_rows(fig, key, choice);
    struct tp_panel_series *series =
        tp_fig_alloc(fig, choice->count + 1, sizeof *series);
    for (size_t s = 0; series && s < names.tic_count; s++) {
        series[s].name = names.tics[s].text;
        series[s].colour = tp_fig_colour(fig, key, choice->codes[s]);
    }
    return series;
}

void tp_fig_shares(struct tp_fig *fig, const struct tp_shares *shares)
{
    struct tp_pick all = tp_pick_all();
    struct tp_choice choice;
    size_t rows = shares->row_count;
    tp_choose(fig->facts, &all, TP_KEY_QUANT, TP_PANEL_SERIES_MAX, &choice);
    double *values = tp_fig_alloc(fig, rows * choice.count + 1, sizeof *values);
    for (size_t i = 0; values && i < choice.count; i++) {
        struct tp_pick pick = tp_pick_with(all, TP_KEY_QUANT, choice.codes[i]);
        struct tp_counts counts = tp_picked_counts(fig->facts, &pick);
        shares->of(&counts, values + rows * i);
    }
    struct tp_bars bars = {
        .title = shares->title,
        .rows = shares->rows,
        .row_count = rows,
        .series = tp_fig_series(fig, TP_KEY_QUANT, &choice),
        .series_count = choice.count,
        .values = values,
        .x = {.label = "share of elements [1, log10]", .scale = TP_SCALE_LOG10},
    };
    tp_fig_bars(fig, &bars);
}
