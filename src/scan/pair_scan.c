/* SPDX-License-Identifier: MIT */
/*
 * The walk over two tensors: a pass with a second walk beside its own
 * (scan/pass.h), fed to sinks that take both. Axes of both are put into the
 * order in which the first lies in its storage, the same for both, so that
 * transposed tensors are read front to back, too; then each is walked in that
 * order. A tensor stored in another order than the first is gathered piece by
 * piece, which is slower; blocks of both (as in a transposition) would help.
 * Where a tensor is stored does not change which elements are summed together,
 * unless the first one's strides change.
 */
#include "scan/pair_scan.h"
#include "data/tensor_axes.h"

#include <inttypes.h>
#include <string.h>

/* --- the view ------------------------------------------------------------- */

static enum tp_status check(const struct tp_tensor *x,
                            const struct tp_tensor *y, struct tp_error *err)
{
    bool same = x->ndim == y->ndim;
    for (int i = 0; same && i < x->ndim; i++)
        same = x->shape[i] == y->shape[i];
    if (!same)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "the shapes differ");
    if (tp_dtype_info(x->dtype)->parts != tp_dtype_info(y->dtype)->parts)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "one is complex, the other is not");
    return TP_OK;
}

/* Whether axis a comes before axis b: the larger step in storage first. */
static bool is_before(const struct tp_tensor *x, const struct tp_tensor *y,
                      int a, int b)
{
    if (x->stride[a] != x->stride[b])
        return x->stride[a] > x->stride[b];
    return y->stride[a] > y->stride[b];
}

/* Adds an axis to the view, behind those that come before it. */
static void add_axis(const struct tp_tensor *x, const struct tp_tensor *y,
                     int axis, int *order, int count)
{
    int at = count;
    for (; at > 0 && is_before(x, y, axis, order[at - 1]); at--)
        order[at] = order[at - 1];
    order[at] = axis;
}

/* Elements that a tensor has in its storage, as far as axes of stride 0 are
 * concerned. */
static int64_t stored(const struct tp_tensor *tensor)
{
    struct tp_walk walk;
    tp_walk_any_order(tensor, &walk);
    return walk.count;
}

enum tp_status tp_pair_view_make(const struct tp_tensor *x,
                                 const struct tp_tensor *y,
                                 struct tp_pair_view *view,
                                 struct tp_error *err)
{
    int order[TP_LIMIT_DIMS], count = 0;
    int64_t step[TP_LIMIT_DIMS], all = 1;
    enum tp_status status = check(x, y, err);
    if (status != TP_OK)
        return status;
    *view = (struct tp_pair_view){.x = *x, .y = *y, .repeat = 1};
    if (x->numel == 0)
        return TP_OK;
    for (int i = x->ndim - 1; i >= 0; i--) {
        step[i] = all;
        all *= x->shape[i];
        if (x->shape[i] == 1)
            continue;
        if (x->stride[i] == 0 && y->stride[i] == 0)
            view->repeat *= (uint64_t)x->shape[i];
        else
            add_axis(x, y, i, order, count++);
    }
    view->x = *x;
    view->y = *y;
    tp_tensor_permute(&view->x, order, count, &view->axes[0]);
    tp_tensor_permute(&view->y, order, count, &view->axes[1]);
    for (int i = 0; i < count; i++)
        view->place[i] = step[order[i]];
    if (view->x.numel / TP_LIMIT_OVERLAP > stored(x) + stored(y))
        return tp_fail(err, TP_E_LIMIT, -1,
                       "%" PRId64 " pairs of elements of expanded tensors "
                       "that store far fewer",
                       view->x.numel);
    return TP_OK;
}

int64_t tp_pair_view_element(const struct tp_pair_view *view, int64_t at)
{
    int64_t element = 0;
    for (int i = view->x.ndim - 1; i >= 0; i--) {
        element += at % view->x.shape[i] * view->place[i];
        at /= view->x.shape[i];
    }
    return element;
}

/* --- sinks ---------------------------------------------------------------- */

struct sum_state {
    struct tp_pair_scale scale;
    struct tp_pair_sums sums;
};

static void sum_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, void *part, void *scratch)
{
    const struct sum_state *its = state;
    const struct tp_span x = tp_piece_span(pass, piece);
    const struct tp_span y = tp_piece_span_beside(pass, piece);
    (void)scratch;
    tp_pair_add(&x, &y, piece->fresh * (int64_t)pass->parts, &its->scale, part);
}

static void sum_merge(void *state, const void *part)
{
    struct sum_state *its = state;
    tp_pair_merge(&its->sums, part);
}

static const struct tp_sink sink_sums = {.part_size =
                                             sizeof(struct tp_pair_sums),
                                         .piece = sum_piece,
                                         .merge = sum_merge};

enum { CELLS = TP_PAIR_CELLS * TP_PAIR_CELLS };

struct cell_state {
    const struct tp_pair_axis *axis;
    uint64_t *cells;
};

static void count_piece(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        void *part, void *scratch)
{
    const struct cell_state *its = state;
    const struct tp_span x = tp_piece_span(pass, piece);
    const struct tp_span y = tp_piece_span_beside(pass, piece);
    (void)part;
    tp_pair_count(&x, &y, its->axis, scratch);
}

static void count_flush(void *state, void *scratch)
{
    const struct cell_state *its = state;
    uint32_t *counted = scratch;
    for (int i = 0; i < CELLS; i++)
        its->cells[i] += counted[i];
    memset(counted, 0, CELLS * sizeof *counted);
}

static const struct tp_sink sink_cells = {.scratch_size =
                                              CELLS * sizeof(uint32_t),
                                          .piece = count_piece,
                                          .flush = count_flush};

/* --- the reading ---------------------------------------------------------- */

enum tp_status tp_pair_read(struct tp_readers *readers, unsigned worker,
                            const struct tp_pair_view *view,
                            const struct tp_sink_use *use, struct tp_error *err)
{
    const struct tp_dtype_info *info = tp_dtype_info(view->y.dtype);
    struct tp_beside beside = {.real = info->real, .size = info->size};
    struct tp_pass pass;
    if (view->x.numel == 0)
        return TP_OK;
    tp_pass_init(&pass, readers, worker, &view->x, err);
    tp_walk_ordered(&view->x, &pass.walk);
    tp_walk_ordered(&view->y, &beside.walk);
    pass.beside = &beside;
    return tp_pass_run(&pass, use, 1);
}

enum tp_status tp_pair_scan(struct tp_readers *readers, unsigned worker,
                            const struct tp_pair_view *view,
                            const struct tp_pair_scale *scale,
                            struct tp_pair_sums *sums, struct tp_error *err)
{
    const int parts = tp_dtype_info(view->x.dtype)->parts;
    struct sum_state state = {.scale = *scale};
    const struct tp_sink_use use = {&sink_sums, &state, 1};
    enum tp_status status = tp_pair_read(readers, worker, view, &use, err);
    *sums = state.sums;
    if (status != TP_OK || view->x.numel == 0)
        return status;
    tp_pair_repeat(sums, view->repeat);
    sums->max_d_at = tp_pair_view_element(view, sums->max_d_at / parts);
    sums->max_relative_at =
        tp_pair_view_element(view, sums->max_relative_at / parts);
    return TP_OK;
}

enum tp_status tp_pair_scan_cells(struct tp_readers *readers, unsigned worker,
                                  const struct tp_pair_view *view,
                                  const struct tp_pair_axis *axis,
                                  uint64_t *cells, struct tp_error *err)
{
    struct cell_state state = {.axis = axis, .cells = cells};
    const struct tp_sink_use use = {&sink_cells, &state, 1};
    memset(cells, 0, CELLS * sizeof *cells);
    enum tp_status status = tp_pair_read(readers, worker, view, &use, err);
    for (int i = 0; i < CELLS; i++)
        cells[i] *= view->repeat;
    return status;
}
