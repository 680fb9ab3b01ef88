/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "figures/fig.h"

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

const char *tp_fig_note(struct tp_fig *fig, const struct tp_choice *choice)
{
    if (choice->count == choice->total)
        return "";
    return tp_fig_text(fig, " (%zu of %zu)", choice->count, choice->total);
}

unsigned tp_fig_colour(const struct tp_fig *fig, enum tp_key key,
                       int32_t code)
{
    bool few = fig->facts->keys[key].count <= TP_PANEL_SERIES_MAX;
    return few ? (unsigned)code + 1 : 0;
}

bool tp_fig_add(struct tp_fig *fig, const struct tp_panel *panel)
{
    if (fig->failed || fig->count == TP_FIGURE_PANELS_MAX ||
        !tp_panel_has_data(panel))
        return false;
    fig->panels[fig->count++] = *panel;
    return true;
}

struct tp_axis tp_fig_rows(struct tp_fig *fig, enum tp_key key,
                           const struct tp_choice *choice)
{
    struct tp_tic *tics = tp_fig_alloc(fig, choice->count + 1, sizeof *tics);
    for (size_t i = 0; tics && i < choice->count; i++) {
        const char *name = fig->facts->keys[key].names[choice->codes[i]];
        const char *word = key == TP_KEY_LAYER
                               ? "layer "
                               : key == TP_KEY_RANK
                                     ? "rank "
                                     : key == TP_KEY_SAMPLE
                                           ? "sample "
                                           : key == TP_KEY_BATCH ? "batch "
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

void tp_fig_bars(struct tp_fig *fig, const struct tp_bars *bars)
{
    size_t count = bars->choice->count, rows = bars->row_count;
    struct tp_axis names = tp_fig_rows(fig, bars->key, bars->choice);
    struct tp_panel_series *series =
        tp_fig_alloc(fig, count + 1, sizeof *series);
    struct tp_tic *tics = tp_fig_alloc(fig, rows + 1, sizeof *tics);
    if (fig->failed)
        return;
    for (size_t r = 0; r < rows; r++)
        tics[r] = (struct tp_tic){(double)r, bars->rows[r]};
    for (size_t s = 0; s < count; s++) {
        double *table = tp_fig_alloc(fig, 2 * rows, sizeof *table);
        double shift = 0.8 * ((double)s + 0.5) / (double)count - 0.4;
        for (size_t r = 0; table && r < rows; r++) {
            table[2 * r] = (double)r + shift;
            table[2 * r + 1] = bars->values[s * rows + r];
        }
        series[s] = (struct tp_panel_series){
            .name = names.tics[s].text,
            .values = table,
            .rows = table ? rows : 0,
            .colour = tp_fig_colour(fig, bars->key, bars->choice->codes[s]),
        };
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = bars->title,
        .x = bars->x,
        .y = {.scale = TP_SCALE_ROWS, .tics = tics, .tic_count = rows},
        .series = series,
        .series_count = count,
    };
    tp_fig_add(fig, &panel);
}
