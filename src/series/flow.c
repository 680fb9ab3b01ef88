/* SPDX-License-Identifier: MIT */
/*
 * Which of two tensors the data reaches first within an iteration. Where the
 * saver counted both in that iteration, its counter decides: it is the order in
 * which they were saved. Otherwise their labels do: forward before backward,
 * layers upwards then downwards, layer type, ordinal, pre before post, and the
 * name.
 *
 * The graph of the model would be the better answer, but a dump has none.
 * Finding a series' point of an iteration is a binary search, O(log points);
 * all else takes constant time.
 */
#include "series/flow.h"

#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "tensors/run.h"

int tp_series_compare_runs(const struct tp_run_series *a,
                           const struct tp_run_series *b)
{
    return strcmp(a->label.quant_type, b->label.quant_type);
}

int tp_series_compare_flow(const struct tp_run_series *a,
                           const struct tp_run_series *b)
{
    bool back = a->label.direction == TP_BACKWARD;
    int result = back - (b->label.direction == TP_BACKWARD);
    if (!result)
        result = back ? tp_order_int64(b->label.layer_idx, a->label.layer_idx)
                      : tp_order_int64(a->label.layer_idx, b->label.layer_idx);
    if (!result)
        result = strcmp(a->label.layer_type, b->label.layer_type);
    if (!result)
        result = tp_order_int64(a->ordinal, b->ordinal);
    if (!result)
        result = -strcmp(a->label.phase, b->label.phase);
    return result ? result : strcmp(a->label.tensor_name, b->label.tensor_name);
}

int64_t tp_series_counter(const struct tp_series_set *set,
                          const struct tp_run_series *series, size_t point)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(set, series, point, &count);
    return count ? rows[0]->label.counter : -1;
}

size_t tp_series_point_at(const struct tp_series_set *set,
                          const struct tp_run_series *series, int64_t iteration)
{
    const int64_t *at = tp_series_at(set, series);
    size_t point;
    TP_PARTITION_POINT(point, series->count, at[point] < iteration);
    return point;
}

/* The saver's counter in an iteration; -1: none. */
static int64_t counter_at(const struct tp_series_set *set,
                          const struct tp_run_series *series, int64_t iteration)
{
    size_t i = tp_series_point_at(set, series, iteration);
    return i < series->count && tp_series_at(set, series)[i] == iteration
               ? tp_series_counter(set, series, i)
               : -1;
}

bool tp_series_upstream(const struct tp_series_set *set,
                        const struct tp_run_series *a,
                        const struct tp_run_series *b, int64_t iteration)
{
    int64_t first = counter_at(set, a, iteration),
            next = counter_at(set, b, iteration);
    return first >= 0 && next >= 0 ? first < next
                                   : tp_series_compare_flow(a, b) < 0;
}
