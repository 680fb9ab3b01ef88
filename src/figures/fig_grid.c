/* SPDX-License-Identifier: MIT */
/*
 * Rows sorted into the cells of a grid, x by series. A label with more values
 * than there is room for is folded: as many neighbouring codes share each slot,
 * so that no row is left out; showing some of the values would hide what
 * happens at the others. Samples are sorted by cell, then value, then row: a
 * cell is a run of sorted values, from which quantiles are read off, and the
 * order does not depend on the sort. O(rows log rows) for samples; pooled
 * numbers need no sort and take a pass over the rows and one set of counts for
 * each cell.
 */
#include "figures/fig_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

struct tp_slots tp_slots_chosen(struct tp_fig *fig, enum tp_key key,
                                const struct tp_choice *choice)
{
    struct tp_slots slots = {.key = key, .count = 1, .fold = 1};
    if (key == TP_KEY_COUNT)
        return slots;
    size_t codes = fig->facts->keys[key].count;
    int32_t *of_code = tp_fig_alloc(fig, codes + 1, sizeof *of_code);
    if (!of_code)
        return slots;
    memset(of_code, -1, codes * sizeof *of_code);
    for (size_t i = 0; i < choice->count; i++)
        of_code[choice->codes[i]] = (int32_t)i;
    slots.of_code = of_code;
    slots.count = choice->count;
    return slots;
}

struct tp_slots tp_slots_folded(struct tp_fig *fig, enum tp_key key,
                                size_t limit)
{
    size_t codes = fig->facts->keys[key].count;
    size_t fold = codes ? (codes + limit - 1) / limit : 1;
    struct tp_slots slots = {.key = key, .fold = fold};
    int32_t *of_code = tp_fig_alloc(fig, codes + 1, sizeof *of_code);
    if (!of_code)
        return slots;
    for (size_t i = 0; i < codes; i++)
        of_code[i] = (int32_t)(i / fold);
    slots.of_code = of_code;
    slots.count = (codes + fold - 1) / fold;
    return slots;
}

struct tp_slots tp_slots_picked(struct tp_fig *fig, const struct tp_pick *pick,
                                enum tp_key key, size_t limit)
{
    const struct tp_facts *facts = fig->facts;
    const size_t codes = facts->keys[key].count;
    struct tp_slots slots = {.key = key, .fold = 1};
    int32_t *of_code = tp_fig_alloc(fig, codes + 1, sizeof *of_code);
    if (!of_code)
        return slots;
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (facts->code[key][r] >= 0 && tp_picked(facts, pick, r))
            of_code[facts->code[key][r]] = 1;
    }
    size_t there = 0;
    for (size_t i = 0; i < codes; i++)
        there += of_code[i] > 0;
    slots.fold = there ? (there + limit - 1) / limit : 1;
    slots.count = (there + slots.fold - 1) / slots.fold;
    there = 0;
    for (size_t i = 0; i < codes; i++)
        of_code[i] = of_code[i] ? (int32_t)(there++ / slots.fold) : -1;
    slots.of_code = of_code;
    return slots;
}

double tp_slot_number(const struct tp_fig *fig, const struct tp_slots *slots,
                      size_t slot)
{
    const struct tp_key_values *key = &fig->facts->keys[slots->key];
    size_t first = slot * slots->fold, last = first + slots->fold - 1;
    if (last >= key->count)
        last = key->count - 1;
    return ((double)key->numbers[first] + (double)key->numbers[last]) / 2;
}

/* A word for every slot: the name of its first code. */
static struct tp_axis slots_axis(struct tp_fig *fig,
                                 const struct tp_slots *slots)
{
    const struct tp_key_values *values = &fig->facts->keys[slots->key];
    size_t count = slots->count;
    struct tp_tic *tics = tp_fig_alloc(fig, count + 1, sizeof *tics);
    for (size_t c = values->count; tics && c-- > 0;) {
        const int32_t i = slots->of_code[c];
        if (i >= 0)
            tics[i] = (struct tp_tic){i, values->names[c]};
    }
    return (struct tp_axis){
        .label = values->axis,
        .limited = true, /* cells without data show, too */
        .min = -0.5,
        .max = (double)count - 0.5,
        .tics = tics,
        .tic_count = tics ? count : 0,
    };
}

struct tp_matrix tp_slots_matrix(struct tp_fig *fig, const struct tp_slots *x,
                                 const struct tp_slots *y, const double *values)
{
    return (struct tp_matrix){
        .x = slots_axis(fig, x),
        .y = slots_axis(fig, y),
        .columns = x->count,
        .rows = y->count,
        .values = values,
    };
}

static int32_t slot_of(const struct tp_facts *facts,
                       const struct tp_slots *slots, size_t row)
{
    if (slots->key == TP_KEY_COUNT)
        return 0;
    int32_t code = facts->code[slots->key][row];
    return code < 0 || !slots->of_code ? -1 : slots->of_code[code];
}

/* The row's cell, -1 when it has none. */
static int64_t cell_of(const struct tp_facts *facts, const struct tp_slots *x,
                       const struct tp_slots *series, size_t row)
{
    int32_t at = slot_of(facts, x, row), which = slot_of(facts, series, row);
    return at < 0 || which < 0 ? -1 : which * (int64_t)x->count + at;
}

static int compare_samples(const void *left, const void *right)
{
    const struct tp_sample *a = left, *b = right;
    if (a->cell != b->cell)
        return a->cell < b->cell ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return tp_order_size(a->row, b->row);
}

void tp_fig_sample(struct tp_fig *fig, const struct tp_ask *ask,
                   const struct tp_slots *x, const struct tp_slots *series,
                   struct tp_samples *samples)
{
    const struct tp_facts *facts = fig->facts;
    size_t rows = facts->run->row_count;
    *samples = (struct tp_samples){.rows = calloc(rows + 1,
                                                  sizeof *samples->rows)};
    if (!samples->rows) {
        fig->failed = true;
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        int64_t cell = cell_of(facts, x, series, r);
        if (cell < 0 || !tp_picked(facts, &ask->pick, r))
            continue;
        double value =
            ask->metric ? tp_metric_of_row(ask->metric, facts, r) : 0;
        if (isfinite(value))
            samples->rows[samples->count++] =
                (struct tp_sample){(uint32_t)cell, (uint32_t)r, value};
    }
    qsort(samples->rows, samples->count, sizeof *samples->rows,
          compare_samples);
}

size_t tp_samples_end(const struct tp_samples *samples, size_t first)
{
    size_t end = first;
    while (end < samples->count &&
           samples->rows[end].cell == samples->rows[first].cell)
        end++;
    return end;
}

double *tp_fig_pool(struct tp_fig *fig, const struct tp_ask *ask,
                    const struct tp_slots *x, const struct tp_slots *series)
{
    const struct tp_facts *facts = fig->facts;
    size_t cells = x->count * series->count;
    double *values = tp_fig_alloc(fig, cells, sizeof *values);
    struct tp_pooled *pooled = calloc(cells + 1, sizeof *pooled);
    if (!values || !pooled) {
        fig->failed = true;
        free(pooled);
        return NULL;
    }
    for (size_t r = 0; r < facts->run->row_count; r++) {
        int64_t cell = cell_of(facts, x, series, r);
        if (cell >= 0 && tp_picked(facts, &ask->pick, r))
            tp_pooled_add(&pooled[cell], facts->run->rows[r].packed);
    }
    for (size_t i = 0; i < cells; i++) {
        struct tp_numbers numbers;
        tp_pooled_numbers(&pooled[i], &numbers);
        values[i] = tp_metric_of(ask->metric, &numbers);
    }
    free(pooled);
    return values;
}
