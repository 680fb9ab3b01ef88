/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_DIM_SLAB_H
#define TP_SCAN_DIM_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/pass.h"
#include "stats/dims.h"

/* How statistics by index are taken of a tensor: which axes are rows, which
 * are columns, and along which one it is cut into slabs. */
struct tp_slab_axis {
    int number; /* of the tensor; -1: parts of complex numbers            */
    int64_t length, stride;
};

struct tp_slab_plan {
    struct tp_slab_axis axes[TP_LIMIT_DIMS + 1]; /* fastest last          */
    int count;     /* of the axes                                         */
    int inner;     /* the first that is among the columns                 */
    int cut;       /* the one that is cut                                 */
    int64_t share; /* of it in a slab                                     */
};

/* A part of a tensor, with the cells of its indices. */
struct tp_slab {
    int64_t length[TP_LIMIT_DIMS + 1]; /* of the axes; of one, its share  */
    struct tp_dim_cells cells[TP_LIMIT_DIMS + 1];
    struct tp_dim_cells columns; /* of the cells, where these are one axis */
    double *memory;              /* released with free()                  */
};

/* Makes the plan for the tensor of a pass; `whole`: of a single slab. */
void tp_slab_plan_make(struct tp_slab_plan *plan, const struct tp_pass *pass,
                       bool whole);

/* How many slabs there are. */
size_t tp_slab_count(const struct tp_slab_plan *plan);

/* Sets the lengths of slab `number`. */
void tp_slab_measure(const struct tp_slab_plan *plan, size_t number,
                     struct tp_slab *slab);

/* Doubles of all cells of a slab that is measured. */
size_t tp_slab_room(const struct tp_slab_plan *plan,
                    const struct tp_slab *slab);

/* Lays out the cells of a slab that is measured, all zero; in the memory it
 * has, if any, since no slab is larger than the first. False: no memory. */
bool tp_slab_lay_out(const struct tp_slab_plan *plan, struct tp_slab *slab);

/* How many columns a slab has, in real numbers. */
int64_t tp_slab_columns(const struct tp_slab_plan *plan,
                        const struct tp_slab *slab);

/* Where the rows of a slab have got to. All-zero is the begin. */
struct tp_slab_rows {
    int64_t index[TP_LIMIT_DIMS];
    struct tp_dim_cell sum[TP_LIMIT_DIMS]; /* of the index of the axis before */
};

/* Adds a row, or rows of all indices beyond `axis`, to this axis, and what
 * that completes to those before it. */
void tp_slab_add_row(struct tp_slab *slab, int axis, struct tp_slab_rows *rows,
                     struct tp_dim_cell row);

/* Adds columns that several axes were joined to, to each of these; nothing is
 * to be done where they are one axis. */
void tp_slab_part_columns(const struct tp_slab_plan *plan,
                          struct tp_slab *slab);

#endif
