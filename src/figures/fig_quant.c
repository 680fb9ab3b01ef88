/* SPDX-License-Identifier: MIT */
/*
 * What number formats do to the run: SQNR, losses, scales, advice; the numbers
 * are those of the groups (quant/quant_groups.h), here they only find their
 * place. Names become rows in the order of appearance, as many as can be read.
 * The SQNR is clamped to 5 .. 45 dB, so that colours tell apart the range in
 * which formats are chosen; where finite elements were lost the cell is white,
 * since the SQNR of the others would make a destroyed tensor look good. Linear
 * in the groups, times the names of a panel.
 */
#include <math.h>
#include <string.h>

#include "figures/fig_builders.h"
#include "figures/fig_dump.h"
#include "quant/quant_sweep.h"

enum { LAYERS_MAX = 60, FORMATS_MAX = 24, NAMES_MAX = 16, OPERATIONS_MAX = 4 };

/* Above this the rounding of the stored values hides all differences. */
static const double sqnr_shown = 45;

/* Below this nothing is left worth telling apart. */
static const double sqnr_least = 5;

/* The same where there is no colour to save. */
static const double sweep_shown = 60;

/* --- what stands where ------------------------------------------------- */

/* Distinct texts in order of appearance, as rows or columns of a panel. */
struct words {
    const char *of[NAMES_MAX];
    size_t count;
    bool more; /* some did not fit */
};

/* The place of a word, appended when it is new; `limit` when full. */
static size_t place_word(struct words *words, const char *word, size_t limit)
{
    for (size_t i = 0; i < words->count; i++) {
        if (!strcmp(words->of[i], word))
            return i;
    }
    words->more |= words->count == limit;
    if (words->count == limit)
        return limit;
    words->of[words->count] = word;
    return words->count++;
}

static struct words operations_of(const struct tp_quant *quant,
                                  enum tp_quant_grouping grouping)
{
    struct words operations = {.count = 0};
    for (size_t i = 0; i < quant->group_count; i++) {
        if (quant->groups[i].place.grouping == grouping)
            place_word(&operations, quant->groups[i].place.operation,
                       OPERATIONS_MAX);
    }
    return operations;
}

/* The casts that every tensor has, plain ones first, as far as they fit. */
struct shown_casts {
    size_t of[FORMATS_MAX];
    size_t count, total;
};

static struct shown_casts listed_casts(const struct tp_quant_plan *plan,
                                       size_t end, size_t limit)
{
    struct shown_casts casts = {.count = 0};
    for (size_t i = 0; i < end; i++) {
        if (!plan->casts[i].listed)
            continue;
        if (casts.count < limit)
            casts.of[casts.count++] = i;
        casts.total++;
    }
    return casts;
}

/* For the end of a title when not all fit, else "". */
static const char *casts_note(struct tp_fig *fig,
                              const struct shown_casts *casts)
{
    return casts->count == casts->total
               ? ""
               : tp_fig_text(fig, " (%zu of %zu formats)", casts->count,
                             casts->total);
}

static const char *cast_name(struct tp_fig *fig,
                             const struct tp_quant_plan *plan, size_t cast)
{
    return cast < plan->scaled
               ? plan->casts[cast].format
               : tp_fig_text(fig, "%s scaled", plan->casts[cast].format);
}

static struct tp_axis name_axis(struct tp_fig *fig, const char *const *names,
                                size_t count, enum tp_scale scale)
{
    struct tp_tic *tics = tp_fig_alloc(fig, count + 1, sizeof *tics);
    for (size_t i = 0; tics && i < count; i++)
        tics[i] = (struct tp_tic){(double)i, names[i]};
    return (struct tp_axis){
        .scale = scale,
        .limited = true,
        .min = -0.5,
        .max = (double)count - 0.5,
        .tics = tics,
        .tic_count = tics ? count : 0,
    };
}

/* What a tensor of a backward pass is really called. */
static const char *shown_name(const struct tp_quant_place *place)
{
    return place->direction == TP_BACKWARD
               ? tp_backward_name(place->tensor_name)
               : place->tensor_name;
}

/* --- SQNR by layer and format ------------------------------------------ */

/* 0, a white cell, where finite elements are lost: the SQNR is that of the
 * others, and would show a destroyed tensor as a good one. */
static double shown_sqnr(const struct tp_cast_group *group)
{
    return group->nonfinite_out
               ? 0
               : fmax(fmin(group->metrics.sqnr_db, sqnr_shown), sqnr_least);
}

/* Whether there is something to say of a group. */
static bool has_sqnr(const struct tp_cast_group *group)
{
    return group->nonfinite_out || !isnan(group->metrics.sqnr_db);
}

static void add_sqnr_cell(const struct tp_cast_group *group,
                          const struct shown_casts *casts,
                          struct tp_panel_series *cells)
{
    double *row = (double *)cells->values + 3 * cells->rows;
    for (size_t f = 0; f < casts->count; f++) {
        if (casts->of[f] != group->cast || !has_sqnr(group) ||
            cells->rows == TP_PANEL_ROWS_MAX)
            continue;
        row[0] = (double)group->place.layer_idx;
        row[1] = (double)f;
        row[2] = shown_sqnr(group);
        cells->rows++;
    }
}

static struct tp_axis layer_axis(const struct tp_panel_series *cells)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < cells->rows; i++) {
        low = fmin(low, cells->values[3 * i]);
        high = fmax(high, cells->values[3 * i]);
    }
    return (struct tp_axis){.label = "layer [index]",
                            .scale = TP_SCALE_INTEGER,
                            .limited = true,
                            .min = low - 0.5,
                            .max = high + 0.5};
}

static void add_sqnr_panel(struct tp_fig *fig, const char *operation)
{
    const struct tp_quant *quant = fig->facts->input->quant;
    const struct tp_quant_plan *plan = &fig->facts->input->run->plan;
    const char *names[FORMATS_MAX];
    struct shown_casts casts = listed_casts(plan, plan->count, FORMATS_MAX);
    struct tp_panel_series *cells = tp_fig_alloc(fig, 1, sizeof *cells);
    double *table =
        tp_fig_alloc(fig, 3 * TP_PANEL_ROWS_MAX + 3, sizeof *table);
    if (!cells || !table)
        return;
    *cells = (struct tp_panel_series){.name = "", .values = table};
    for (size_t f = 0; f < casts.count; f++)
        names[f] = cast_name(fig, plan, casts.of[f]);
    for (size_t i = 0; i < quant->group_count; i++) {
        const struct tp_cast_group *group = &quant->groups[i];
        if (group->place.grouping == TP_QUANT_BY_LAYER &&
            !strcmp(group->place.operation, operation))
            add_sqnr_cell(group, &casts, cells);
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_HEAT,
        .title = tp_fig_text(fig, "%s%s",
                             *operation ? operation : "all operations",
                             casts_note(fig, &casts)),
        .x = layer_axis(cells),
        .y = name_axis(fig, names, casts.count, TP_SCALE_ROWS),
        .z = {.label = "SQNR [dB, all below 5 and above 45 alike]",
              .limited = true, .min = sqnr_least, .max = sqnr_shown},
        .series = cells,
        .series_count = 1,
        .cell_width = 1,
        .cell_height = 1,
    };
    tp_fig_add(fig, &panel);
}

void tp_fig_sqnr_by_layer(struct tp_fig *fig)
{
    struct words operations =
        operations_of(fig->facts->input->quant, TP_QUANT_BY_LAYER);
    for (size_t i = 0; i < operations.count; i++)
        add_sqnr_panel(fig, operations.of[i]);
}

/* --- underflow and overflow by tensor name and format ------------------- */

/* A loss of a group, and how it is called. */
struct loss {
    const char *title, *label;
    size_t offset; /* in struct tp_quant_metrics */
};

static const struct loss losses[] = {
    {"underflow", "share that becomes zero [%]",
     offsetof(struct tp_quant_metrics, underflow_ratio)},
    {"overflow (blocks: saturation)", "share that overflows [%]",
     offsetof(struct tp_quant_metrics, overflow_ratio)},
};

static double loss_of(const struct tp_cast_group *group,
                      const struct loss *loss)
{
    double value;
    memcpy(&value, (const char *)&group->metrics + loss->offset, sizeof value);
    return 100 * value;
}

/* Bars of one operation: rows are names, colours are formats. */
static void add_loss_panel(struct tp_fig *fig, const char *operation,
                           const struct loss *loss)
{
    const struct tp_quant *quant = fig->facts->input->quant;
    const struct tp_quant_plan *plan = &fig->facts->input->run->plan;
    struct shown_casts casts =
        listed_casts(plan, plan->scaled, TP_PANEL_SERIES_MAX);
    size_t formats = casts.count;
    struct words names = {.count = 0};
    struct tp_panel_series *series =
        tp_fig_alloc(fig, formats + 1, sizeof *series);
    for (size_t f = 0; f < formats && series; f++) {
        series[f].name = plan->casts[casts.of[f]].format;
        series[f].values =
            tp_fig_alloc(fig, 2 * NAMES_MAX + 2, sizeof(double));
    }
    for (size_t i = 0; i < quant->group_count && !fig->failed; i++) {
        const struct tp_cast_group *group = &quant->groups[i];
        if (group->place.grouping != TP_QUANT_BY_NAME ||
            strcmp(group->place.operation, operation))
            continue;
        size_t at = place_word(&names, shown_name(&group->place), NAMES_MAX);
        for (size_t f = 0; f < formats && at < NAMES_MAX; f++) {
            double *row = (double *)series[f].values + 2 * series[f].rows;
            if (casts.of[f] != group->cast || isnan(loss_of(group, loss)))
                continue;
            double lane = 0.8 * ((double)f + 0.5) / (double)formats - 0.4;
            row[0] = (double)at + lane;
            row[1] = loss_of(group, loss);
            series[f].rows++;
        }
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_BARS,
        .title = tp_fig_text(fig, "%s%s%s%s%s", operation,
                             *operation ? ", " : "", loss->title,
                             casts_note(fig, &casts),
                             names.more ? " (not all names)" : ""),
        .x = {.label = loss->label},
        .y = name_axis(fig, names.of, names.count, TP_SCALE_ROWS),
        .series = series,
        .series_count = series ? formats : 0,
    };
    tp_fig_add(fig, &panel);
}

void tp_fig_loss_by_format(struct tp_fig *fig)
{
    struct words operations =
        operations_of(fig->facts->input->quant, TP_QUANT_BY_NAME);
    size_t shown = operations.count < 4 ? operations.count : 4;
    for (size_t i = 0; i < shown; i++) {
        for (int l = 0; l < 2; l++)
            add_loss_panel(fig, operations.of[i], &losses[l]);
    }
}

/* --- error against the scale ------------------------------------------- */

static void add_sweep(struct tp_fig *fig, const struct tp_quant_sweep *sweep)
{
    const struct tp_row *row = &fig->facts->run->rows[sweep->row];
    struct tp_panel_series *series = tp_fig_alloc(fig, 3, sizeof *series);
    struct tp_mark *mark = tp_fig_alloc(fig, 1, sizeof *mark);
    struct tp_text words = {0};
    size_t kept = 0;
    for (int f = 0; f < 3 && series; f++) {
        double *table =
            tp_fig_alloc(fig, 2 * sweep->count + 2, sizeof *table);
        size_t n = 0;
        for (size_t i = 0; i < sweep->count && table; i++) {
            table[2 * n] = (double)sweep->first + (double)i;
            table[2 * n++ + 1] = isnan(sweep->sqnr[f][i])
                                     ? NAN /* ends the curve */
                                     : fmin(sweep->sqnr[f][i], sweep_shown);
        }
        if (n)
            series[kept++] = (struct tp_panel_series){
                .name = tp_quant_sweep_formats[f], .values = table, .rows = n};
    }
    if (mark)
        *mark = (struct tp_mark){0, "as stored"};
    tp_quant_place_words(&sweep->place, &words);
    if (row->label.iteration >= 0)
        tp_text_add(&words, " it. %lld",
                    (long long)row->label.iteration);
    if (row->label.rank >= 0)
        tp_text_add(&words, " rank %lld", (long long)row->label.rank);
    struct tp_panel panel = {
        .kind = TP_PANEL_LINES,
        .title = tp_fig_text(fig, "%s", tp_text_get(&words)),
        .x = {.label = "scale exponent s of 2^s [log2]",
              .scale = TP_SCALE_INTEGER},
        .y = {.label = "SQNR [dB, 60 and above alike]"},
        .series = series,
        .series_count = kept,
        .marks = mark,
        .mark_count = mark ? 1 : 0,
    };
    fig->failed |= words.failed;
    tp_text_clear(&words);
    tp_fig_add(fig, &panel);
}

void tp_fig_scale_sweep(struct tp_fig *fig)
{
    const struct tp_quant *quant = fig->facts->input->quant;
    for (size_t i = 0; i < quant->sweep_count; i++)
        add_sweep(fig, &quant->sweeps[i]);
}

/* --- advice by layer and tensor name ------------------------------------ */

/* Row of a place in the map: operation, then name. */
static const char *map_row(struct tp_fig *fig,
                           const struct tp_quant_place *place)
{
    return tp_fig_text(fig, "%s %s", place->operation, shown_name(place));
}

/* One quant type; advice is numbered from 1, since heat maps show zeros as
 * white, and all panels have the same colours. */
static void add_map(struct tp_fig *fig, const char *quant_type,
                    struct words *advice)
{
    const struct tp_quant *quant = fig->facts->input->quant;
    struct words rows = {.count = 0};
    struct tp_panel_series *cells = tp_fig_alloc(fig, 1, sizeof *cells);
    double *table =
        tp_fig_alloc(fig, 3 * TP_PANEL_ROWS_MAX + 3, sizeof *table);
    if (!cells || !table)
        return;
    *cells = (struct tp_panel_series){.name = "", .values = table};
    for (size_t i = 0; i < quant->recommendation_count; i++) {
        const struct tp_recommendation *its = &quant->recommendations[i];
        double *cell = table + 3 * cells->rows;
        if (its->place.grouping != TP_QUANT_BY_PLACE ||
            strcmp(its->place.quant_type, quant_type) ||
            its->place.layer_idx < 0 || cells->rows == TP_PANEL_ROWS_MAX)
            continue;
        size_t row =
            place_word(&rows, map_row(fig, &its->place), NAMES_MAX);
        size_t what = place_word(advice, its->advice, NAMES_MAX);
        if (row == NAMES_MAX || what == NAMES_MAX)
            continue;
        cell[0] = (double)its->place.layer_idx;
        cell[1] = (double)row;
        cell[2] = (double)what + 1;
        cells->rows++;
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_HEAT,
        .title = tp_fig_text(fig, "%s%s",
                             *quant_type ? quant_type : "all tensors",
                             rows.more ? " (not all names)" : ""),
        .x = layer_axis(cells),
        .y = name_axis(fig, rows.of, rows.count, TP_SCALE_ROWS),
        .z = name_axis(fig, advice->of, advice->count, TP_SCALE_LINEAR),
        .series = cells,
        .series_count = 1,
        .cell_width = 1,
        .cell_height = 1,
    };
    panel.z.label = "recommended format [name]";
    panel.z.min += 1;
    panel.z.max += 1;
    for (size_t i = 0; i < panel.z.tic_count; i++)
        ((struct tp_tic *)panel.z.tics)[i].at += 1;
    tp_fig_add(fig, &panel);
}

void tp_fig_recommendation_map(struct tp_fig *fig)
{
    const struct tp_quant *quant = fig->facts->input->quant;
    struct words types = {.count = 0}, advice = {.count = 0};
    for (size_t i = 0; i < quant->recommendation_count; i++) {
        const struct tp_recommendation *its = &quant->recommendations[i];
        if (its->place.grouping != TP_QUANT_BY_PLACE ||
            its->place.layer_idx < 0)
            continue;
        place_word(&types, its->place.quant_type, 4);
        place_word(&advice, its->advice, NAMES_MAX);
    }
    for (size_t i = 0; i < types.count; i++)
        add_map(fig, types.of[i], &advice);
}
