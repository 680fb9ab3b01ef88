/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_PAIR_CELLS_H
#define TP_STATS_PAIR_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/code_key.h"

/* Where the elements of two tensors lie: a 2-D histogram, x against y. */

/* Cells of a 2-D histogram along an axis: 40 * 40 fit the rows of a panel. */
enum { TP_PAIR_CELLS = 40 };

/*
 * One axis for both. Linear from low to high; or, signed, both signs on log2
 * axes, back to back: half the cells a sign, of `binades` binades each, from
 * 2^inner up. What lies outside is in the cell at the end, smaller magnitudes
 * in those at the centre.
 */
struct tp_pair_axis {
    bool is_signed;
    double low, high;
    int inner, binades;
};

/* The axis for values in [low, high] whose spread is `std`: linear, unless
 * some lie so far out that the rest would fill a few cells. */
struct tp_pair_axis tp_pair_axis_of(double low, double high, double std);

/* Counts elements that are finite in both in cells[TP_PAIR_CELLS *
 * TP_PAIR_CELLS], rows of equal y. Cells hold up to 2^32 - 1. */
void tp_pair_count(const struct tp_span *x, const struct tp_span *y,
                   const struct tp_pair_axis *axis, uint32_t *cells);

/* The value at the middle of a cell; of a log2 axis the geometric one. */
double tp_pair_middle(const struct tp_pair_axis *axis, int cell);

#endif
