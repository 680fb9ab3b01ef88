/* SPDX-License-Identifier: MIT */
/*
 * A pass over a tensor, or two in step, with one sink: the cells are the
 * scratch of a worker, added up in any order; the rest is the part of a range,
 * merged in order. The order is that of memory, as stretches of it are looked
 * for; axes along which nothing is stored (stride 0) are left out. Cost: one
 * reading.
 */
#include "damage/damage_scan.h"

#include <stdlib.h>
#include <string.h>

struct state {
    const struct tp_damage_plan *plan;
    struct tp_damage *damage;
    int64_t *cells;
};

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct state *its = state;
    const struct tp_span x = tp_piece_span(pass, piece);
    const int64_t first = piece->fresh * (int64_t)pass->parts;
    if (pass->beside) {
        const struct tp_span pair[2] = {x, tp_piece_span_beside(pass, piece)};
        tp_damage_add_pair(its->plan, pair, first, part, scratch);
    } else {
        tp_damage_add(its->plan, &x, first, part, scratch);
    }
}

static void flush_cells(void *state, void *scratch)
{
    const struct state *its = state;
    int64_t *cells = scratch;
    if (cells[0] == 0)
        return;
    for (size_t i = 0; i < its->plan->cells; i++)
        its->cells[i] += cells[i];
    memset(cells, 0, its->plan->cells * sizeof *cells);
}

static void merge_part(void *state, const void *part)
{
    const struct state *its = state;
    tp_damage_merge(its->damage, part);
}

void tp_damage_found_clear(struct tp_damage_found *found)
{
    free(found->cells);
    memset(found, 0, sizeof *found);
}

/* The axis of the tensor whose indices are so many elements apart. */
static int axis_of(const struct tp_tensor *tensor, int64_t place)
{
    int64_t step = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] > 1 && step == place)
            return i;
        step *= tensor->shape[i];
    }
    return 0; /* of no tensor a view is made of */
}

static void plan_view(const struct tp_tensor *tensor,
                      const struct tp_pair_view *view, unsigned kinds,
                      struct tp_damage_plan *plan)
{
    const struct tp_dtype_info *info = tp_dtype_info(view->y.dtype);
    struct tp_damage_view axes;
    tp_damage_view_plain(tensor->ndim, tensor->shape, &axes);
    axes.ndim = view->x.ndim;
    for (int i = 0; i < view->x.ndim; i++) {
        axes.shape[i] = view->x.shape[i];
        axes.axis[i] = axis_of(tensor, view->place[i]);
    }
    if (info->parts > 1) {
        axes.shape[axes.ndim] = info->parts;
        axes.axis[axes.ndim++] = tensor->ndim;
        axes.tensor_shape[axes.tensor_ndim++] = info->parts;
    }
    tp_damage_plan_make(info->real, kinds, &axes, plan);
    plan->repeat = view->repeat;
}

static enum tp_status read_view(struct tp_readers *readers, unsigned worker,
                                const struct tp_pair_view *view, bool pair,
                                struct tp_damage_found *found,
                                struct tp_error *err)
{
    const struct tp_dtype_info *info = tp_dtype_info(view->y.dtype);
    struct tp_beside beside = {.real = info->real, .size = info->size};
    struct tp_pass pass;
    struct state state = {&found->plan, &found->damage, NULL};
    const struct tp_sink sink = {.scratch_size =
                                     found->plan.cells * sizeof *found->cells,
                                 .part_size = sizeof(struct tp_damage),
                                 .piece = take_piece,
                                 .flush = flush_cells,
                                 .merge = merge_part};
    const struct tp_sink_use use = {&sink, &state, 1};
    state.cells = found->cells =
        calloc(found->plan.cells, sizeof *found->cells);
    if (!found->cells)
        return tp_fail_memory(err);
    tp_pass_init(&pass, readers, worker, &view->x, err);
    tp_walk_ordered(&view->x, &pass.walk);
    tp_walk_ordered(&view->y, &beside.walk);
    pass.beside = pair ? &beside : NULL;
    return tp_pass_run(&pass, &use, 1);
}

static enum tp_status scan(struct tp_readers *readers, unsigned worker,
                           const struct tp_tensor *pair[2], unsigned kinds,
                           struct tp_damage_found *found, struct tp_error *err)
{
    struct tp_pair_view view;
    enum tp_status status = tp_pair_view_make(pair[0], pair[1], &view, err);
    if (status != TP_OK)
        return status;
    plan_view(pair[0], &view, kinds, &found->plan);
    return read_view(readers, worker, &view, kinds == 0, found, err);
}

enum tp_status tp_damage_scan(struct tp_readers *readers, unsigned worker,
                              const struct tp_tensor *tensor, unsigned kinds,
                              struct tp_damage_found *found,
                              struct tp_error *err)
{
    const struct tp_tensor *pair[2] = {tensor, tensor};
    return scan(readers, worker, pair, kinds, found, err);
}

enum tp_status tp_damage_scan_pair(struct tp_readers *readers, unsigned worker,
                                   const struct tp_tensor *x,
                                   const struct tp_tensor *y,
                                   struct tp_damage_found *found,
                                   struct tp_error *err)
{
    const struct tp_tensor *pair[2] = {x, y};
    return scan(readers, worker, pair, 0, found, err);
}
