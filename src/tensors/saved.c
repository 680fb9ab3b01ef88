/* SPDX-License-Identifier: MIT */
#include "tensors/saved.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"

int64_t tp_usual_step(const int64_t *all, size_t count, int64_t *steps)
{
    size_t alike = 0;
    if (count < 3)
        return 0;
    for (size_t i = 1; i < count; i++)
        steps[i - 1] = all[i] - all[i - 1];
    tp_sort_int64(steps, count - 1);
    int64_t median = steps[(count - 1) / 2];
    for (size_t i = 0; i + 1 < count; i++)
        alike += steps[i] == median;
    return 2 * alike > count - 1 ? median : 0;
}

int tp_compare_runs(const struct tp_row *a, const struct tp_row *b)
{
    int result = tp_order_text(a->label.quant_type, b->label.quant_type);
    bool left = a->label.sample_idx >= 0, right = b->label.sample_idx >= 0;
    return result ? result : left - right;
}

int tp_compare_layers(const struct tp_row *a, const struct tp_row *b)
{
    int result = tp_compare_runs(a, b);
    if (!result)
        result = tp_order_int64(a->label.layer_idx, b->label.layer_idx);
    return result ? result
                  : tp_order_text(a->label.layer_type, b->label.layer_type);
}

int tp_compare_tensors(const struct tp_row *a, const struct tp_row *b)
{
    const char *const left[] = {a->label.operation, a->label.phase,
                                a->label.component, a->label.tensor_name,
                                a->path};
    const char *const right[] = {b->label.operation, b->label.phase,
                                 b->label.component, b->label.tensor_name,
                                 b->path};
    int result = tp_compare_layers(a, b);
    for (size_t i = 0; !result && i < sizeof left / sizeof *left; i++)
        result = tp_order_text(left[i], right[i]);
    return result ? result
                  : tp_order_int64(a->label.group_idx, b->label.group_idx);
}

int tp_compare_times(const struct tp_row *a, const struct tp_row *b)
{
    int result = tp_order_int64(a->label.iteration, b->label.iteration);
    return result ? result
                  : tp_order_int64(a->label.sample_idx, b->label.sample_idx);
}

int tp_compare_ranks(const struct tp_row *a, const struct tp_row *b)
{
    return tp_order_int64(a->label.rank, b->label.rank);
}

static int by_cell(const void *left, const void *right)
{
    const struct tp_row *a = ((const struct tp_cell *)left)->row;
    const struct tp_row *b = ((const struct tp_cell *)right)->row;
    int result = tp_compare_tensors(a, b);
    if (!result)
        result = tp_compare_ranks(a, b);
    return result ? result : tp_compare_times(a, b);
}

static int compare_moments(const struct tp_row *a, const struct tp_row *b)
{
    int result = tp_compare_runs(a, b);
    if (!result)
        result = tp_compare_ranks(a, b);
    return result ? result : tp_compare_times(a, b);
}

/* Rows in the order in which each rank saved them. */
static int by_saving(const void *left, const void *right)
{
    const struct tp_row *a = *(const struct tp_row *const *)left;
    const struct tp_row *b = *(const struct tp_row *const *)right;
    int result = compare_moments(a, b);
    if (!result)
        result = tp_order_int64(a->label.counter, b->label.counter);
    return result ? result : tp_order_place(a, b);
}

size_t tp_saved_find(const struct tp_saved *saved, const struct tp_row *row)
{
    size_t at;
    TP_PARTITION_POINT(at, saved->count,
                       compare_moments(saved->moments[at], row) < 0);
    return at;
}

/* Sorts and joins the rows with an iteration. */
static void take_rows(struct tp_saved *saved, const struct tp_run *run)
{
    size_t n = 0, cells = 0, moments = 0;
    for (size_t i = 0; i < run->row_count; i++) {
        if (run->rows[i].label.iteration < 0)
            continue;
        saved->rows[n] = &run->rows[i];
        saved->cells[n++] = (struct tp_cell){&run->rows[i], 1, 0};
    }
    if (n == 0)
        return;
    qsort(saved->rows, n, sizeof *saved->rows, by_saving);
    qsort(saved->cells, n, sizeof *saved->cells, by_cell);
    for (size_t i = 0; i < n; i++) {
        if (!moments ||
            compare_moments(saved->moments[moments - 1], saved->rows[i])) {
            saved->first[moments] = i;
            saved->moments[moments++] = saved->rows[i];
        }
        if (!cells || by_cell(&saved->cells[cells - 1], &saved->cells[i]))
            saved->cells[cells++] = saved->cells[i];
        else
            saved->cells[cells - 1].count++;
    }
    saved->cell_count = cells;
    saved->count = moments;
    saved->first[moments] = n;
    for (size_t i = 0; i < cells; i++)
        saved->cells[i].moment = tp_saved_find(saved, saved->cells[i].row);
}

size_t tp_saved_size(const struct tp_saved *saved, size_t moment)
{
    return saved->first[moment + 1] - saved->first[moment];
}

bool tp_saved_same_rank(const struct tp_saved *saved, size_t a, size_t b)
{
    return !tp_compare_runs(saved->moments[a], saved->moments[b]) &&
           !tp_compare_ranks(saved->moments[a], saved->moments[b]);
}

enum tp_status tp_saved_make(const struct tp_run *run, struct tp_saved *made,
                             struct tp_error *err)
{
    size_t n = run->row_count + 1;
    *made = (struct tp_saved){.cells = calloc(n, sizeof *made->cells),
                              .rows = calloc(n, sizeof *made->rows),
                              .moments = calloc(n, sizeof *made->moments),
                              .first = calloc(n, sizeof *made->first)};
    if (!made->cells || !made->rows || !made->moments || !made->first)
        return tp_fail_memory(err);
    take_rows(made, run);
    return TP_OK;
}

void tp_saved_clear(struct tp_saved *saved)
{
    free(saved->cells);
    free(saved->rows);
    free(saved->moments);
    free(saved->first);
    memset(saved, 0, sizeof *saved);
}
