/* SPDX-License-Identifier: MIT */
#include "scan/dim_slab.h"

#include <stdlib.h>
#include <string.h>

/*
 * The axes the walk loops over are taken in storage order, fastest last. The
 * last ones are joined to columns (the parts of complex numbers are one more
 * axis there), all before them are rows; a matrix of rows and columns is
 * added to both at once. A row is then added to the index of the axis before
 * the columns, and all rows of one index of the next axis, once they are
 * together, to that, and so on. So one reading serves all axes, and each
 * element is touched once; a reading for each axis would be simpler, and as
 * many times as slow.
 *
 * A large tensor is cut into slabs along one axis. A slab has cells of its
 * own, which are merged in order. Of the axis that is cut, no two slabs share
 * an index: it is ranked slab by slab, and its cells are never in memory all
 * at once. An axis that is longer than LONG is always the one that is cut: of
 * the others none is longer than the root of the number of elements.
 *
 * Axes of stride 0 are not walked: all their indices are the same.
 */
enum {
    /* The longest axis whose cells (40 bytes each) are kept as a whole where
     * another axis can be cut. */
    LONG = 1 << 16
};

/* --- the plan ------------------------------------------------------------- */

/* As the walk sorts them; there is at least one. */
static void take_axes(struct tp_slab_plan *plan, const struct tp_pass *pass)
{
    const struct tp_tensor *tensor = pass->walk.tensor;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->stride[i] == 0 || tensor->shape[i] == 1)
            continue;
        int at = plan->count++;
        for (; at > 0 && plan->axes[at - 1].stride < tensor->stride[i]; at--)
            plan->axes[at] = plan->axes[at - 1];
        plan->axes[at] =
            (struct tp_slab_axis){i, tensor->shape[i], tensor->stride[i]};
    }
    int64_t parts = (int64_t)pass->parts;
    if (parts > 1 || plan->count == 0)
        plan->axes[plan->count++] = (struct tp_slab_axis){-1, parts, 0};
}

static uint64_t bytes_of_index(const struct tp_slab_plan *plan,
                               const struct tp_pass *pass, int axis)
{
    return (uint64_t)(pass->walk.count / plan->axes[axis].length) * pass->size;
}

static void choose_cut(struct tp_slab_plan *plan, const struct tp_pass *pass,
                       bool whole)
{
    int longest = 0, first = -1;
    for (int i = 0; i < plan->count && plan->axes[i].number >= 0; i++) {
        if (plan->axes[i].length > plan->axes[longest].length)
            longest = i;
        if (first < 0 && bytes_of_index(plan, pass, i) <= TP_RANGE_BYTES)
            first = i;
    }
    bool lengthy = plan->axes[longest].length > LONG;
    plan->cut = lengthy || first < 0 ? longest : first;
    const struct tp_slab_axis *cut = &plan->axes[plan->cut];
    plan->share = cut->length;
    if (cut->number < 0 || whole) /* a single number, or in memory */
        return;
    uint64_t bytes = bytes_of_index(plan, pass, plan->cut);
    int64_t share = bytes < TP_RANGE_BYTES ? (int64_t)(TP_RANGE_BYTES / bytes) : 1;
    share = share < LONG ? share : LONG;
    plan->share = share < cut->length ? share : cut->length;
}

static int64_t length_in_slab(const struct tp_slab_plan *plan, int axis)
{
    return axis == plan->cut ? plan->share : plan->axes[axis].length;
}

/* Columns are as many axes as fit a strip, and at least one. */
static void choose_columns(struct tp_slab_plan *plan)
{
    int64_t columns = 1;
    int at = plan->count;
    bool real = false;
    while (at > 0) {
        int64_t length = length_in_slab(plan, at - 1);
        if (real && columns * length > TP_DIM_STRIP)
            break;
        columns *= length;
        at--;
        real = real || plan->axes[at].number >= 0;
    }
    plan->inner = at;
}

void tp_slab_plan_make(struct tp_slab_plan *plan, const struct tp_pass *pass,
                       bool whole)
{
    memset(plan, 0, sizeof *plan);
    take_axes(plan, pass);
    choose_cut(plan, pass, whole);
    choose_columns(plan);
}

/* --- slabs ---------------------------------------------------------------- */

size_t tp_slab_count(const struct tp_slab_plan *plan)
{
    const int64_t length = plan->axes[plan->cut].length;
    return (size_t)((length + plan->share - 1) / plan->share);
}

void tp_slab_measure(const struct tp_slab_plan *plan, size_t number,
                     struct tp_slab *slab)
{
    for (int i = 0; i < plan->count; i++)
        slab->length[i] = plan->axes[i].length;
    int64_t left = plan->axes[plan->cut].length -
                   (int64_t)number * plan->share;
    slab->length[plan->cut] = left < plan->share ? left : plan->share;
}

int64_t tp_slab_columns(const struct tp_slab_plan *plan,
                        const struct tp_slab *slab)
{
    int64_t columns = 1;
    for (int i = plan->inner; i < plan->count; i++)
        columns *= slab->length[i];
    return columns;
}

static bool columns_are_an_axis(const struct tp_slab_plan *plan)
{
    return plan->inner == plan->count - 1;
}

size_t tp_slab_room(const struct tp_slab_plan *plan,
                    const struct tp_slab *slab)
{
    size_t room = 0;
    for (int i = 0; i < plan->count; i++)
        room += tp_dim_cells_room((size_t)slab->length[i]);
    if (!columns_are_an_axis(plan))
        room += tp_dim_cells_room((size_t)tp_slab_columns(plan, slab));
    return room;
}

bool tp_slab_lay_out(const struct tp_slab_plan *plan, struct tp_slab *slab)
{
    size_t room = tp_slab_room(plan, slab);
    if (slab->memory)
        memset(slab->memory, 0, room * sizeof *slab->memory);
    else
        slab->memory = calloc(room, sizeof *slab->memory);
    double *at = slab->memory;
    if (!at)
        return false;
    for (int i = 0; i < plan->count; i++) {
        tp_dim_cells_place(&slab->cells[i], (size_t)slab->length[i], at);
        at += tp_dim_cells_room((size_t)slab->length[i]);
    }
    if (columns_are_an_axis(plan))
        slab->columns = slab->cells[plan->inner];
    else
        tp_dim_cells_place(&slab->columns, (size_t)tp_slab_columns(plan, slab), at);
    return true;
}

void tp_slab_add_row(struct tp_slab *slab, int axis, struct tp_slab_rows *rows,
                     struct tp_dim_cell row)
{
    for (int i = axis; i >= 0; i--) {
        tp_dim_cells_add(&slab->cells[i], (size_t)rows->index[i], &row);
        if (i > 0)
            tp_dim_cell_merge(&rows->sum[i], &row);
        if (++rows->index[i] < slab->length[i])
            return;
        rows->index[i] = 0;
        row = rows->sum[i];
        rows->sum[i] = (struct tp_dim_cell){0};
    }
}

void tp_slab_part_columns(const struct tp_slab_plan *plan, struct tp_slab *slab)
{
    if (columns_are_an_axis(plan))
        return;
    for (size_t c = 0; c < slab->columns.length; c++) {
        const struct tp_dim_cell cell = tp_dim_cells_get(&slab->columns, c);
        int64_t left = (int64_t)c;
        for (int i = plan->count - 1; i >= plan->inner; i--) {
            tp_dim_cells_add(&slab->cells[i],
                             (size_t)(left % slab->length[i]), &cell);
            left /= slab->length[i];
        }
    }
}
