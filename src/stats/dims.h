/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DIMS_H
#define TP_STATS_DIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "data/dtype.h"

/*
 * Statistics of the slices of a tensor: one cell for each index of an axis.
 *
 * A matrix of codes is added a strip of TP_DIM_STRIP columns and TP_DIM_ROWS
 * rows at a time. Its values are summed as distances from the first value of
 * their column (for the columns) and of their row (for the rows), and so are
 * the squares: from a value of the slice itself the squares cannot grow
 * beyond TP_DIM_STRIP times what they are about the mean, so no more than
 * that many rounding errors stand between the variance and the truth,
 * whatever the mean. Strips are merged by the pairwise formulas of Chan,
 * Golub and LeVeque. No step depends on the instruction set.
 */
enum { TP_DIM_STRIP = 512, TP_DIM_ROWS = 64 };

/* One slice: over its finite values. All-zero bytes are empty. */
struct tp_dim_cell {
    double n;        /* values; whole, below 2^53                          */
    double mean, m2; /* times 2^-scale of the tensor; m2 is a sum          */
    double min, max; /* true values; meaningless while n is 0              */
};

/* The slices of an axis, as arrays; memory is the caller's. */
struct tp_dim_cells {
    size_t length;
    double *n, *mean, *m2, *min, *max;
};

/* Doubles of memory that so many cells take. */
size_t tp_dim_cells_room(size_t length);

/* Lays `cells` out in `memory`, of tp_dim_cells_room(length) doubles: zeros,
 * or what was laid out there before. */
void tp_dim_cells_place(struct tp_dim_cells *cells, size_t length,
                        double *memory);

/* The cell of one index. */
struct tp_dim_cell tp_dim_cells_get(const struct tp_dim_cells *cells,
                                    size_t index);

/* Adds `from` to `into`; empty cells change nothing. Merge in a fixed order,
 * since sums round. */
void tp_dim_cell_merge(struct tp_dim_cell *into,
                       const struct tp_dim_cell *from);

/* The same for the cell of one index, and for all of them: cell i of `from`
 * is added to cell first + i of `into`. */
void tp_dim_cells_add(struct tp_dim_cells *into, size_t index,
                      const struct tp_dim_cell *from);
void tp_dim_cells_merge(struct tp_dim_cells *into, size_t first,
                        const struct tp_dim_cells *from);

/* So many rows may lie across the codes. */
enum { TP_DIM_ACROSS = 16 };

/* A matrix under way: rows of `columns` real numbers, one after the other. */
struct tp_dim_matrix {
    enum tp_dtype dtype; /* of one real number                             */
    int64_t scale;       /* tp_moments_scale of the tensor                 */
    bool finite;         /* no NaN and no infinity is among the codes      */
    const void *codes;   /* native byte order, any alignment               */
    size_t rows, columns;
    enum tp_isa isa; /* whose loops; unknown: the best, asked each time    */
    bool across; /* columns of `rows` numbers (at most TP_DIM_ACROSS), one
                    after the other: many short rows, seen as columns       */
};

/*
 * Adds each column of the matrix to cell first_column + i of `columns`, and
 * each row to rows[i]. Cannot fail.
 */
void tp_dims_add(const struct tp_dim_matrix *matrix,
                 struct tp_dim_cells *columns, size_t first_column,
                 struct tp_dim_cell *rows);

#endif
