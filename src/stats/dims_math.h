/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DIMS_MATH_H
#define TP_STATS_DIMS_MATH_H

#include <stddef.h>

#include "base/host_device.h"
#include "stats/dims.h"

/*
 * The part of stats/dims.h that processor and devices share. The order of
 * additions, which each has in its own loops, is a definition: a column is
 * added from the first row of its strip to the last. A row of a strip is
 * added to 8 sums in turn. Without gaps these are folded as
 * ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)) and make one cell; with gaps each
 * makes a cell, and these are merged in turn.
 */

/* Values of a strip whose rows lie across: at least half as many columns as
 * usual. */
enum { TP_DIM_ACROSS_ROOM = TP_DIM_STRIP * TP_DIM_ACROSS / 2 };

/* Columns of a strip. */
TP_HOST_DEVICE static inline size_t
tp_dim_strip_width(const struct tp_dim_matrix *matrix)
{
    const size_t width = TP_DIM_STRIP;
    return matrix->across && width * matrix->rows > TP_DIM_ACROSS_ROOM
               ? TP_DIM_ACROSS_ROOM / matrix->rows
               : width;
}

/* Turns sums of n distances from `shift`, and of their squares, into a cell
 * without extrema. */
TP_HOST_DEVICE static inline struct tp_dim_cell
tp_close_dim_cell(double n, double shift, double sum, double square)
{
    const double mean = sum / n, m2 = square - sum * mean;
    struct tp_dim_cell cell = {n, shift + mean, m2 > 0 ? m2 : 0, 0, 0};
    return cell;
}

TP_HOST_DEVICE static inline void
tp_merge_dim_cell(struct tp_dim_cell *into, const struct tp_dim_cell *from)
{
    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    double share = from->n / (into->n + from->n);
    double d = from->mean - into->mean;
    into->m2 += from->m2 + d * d * (into->n * share);
    into->mean += d * share;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->n += from->n;
}

#endif
