/* SPDX-License-Identifier: MIT */
#include "scan/difference_scan.h"

#include <string.h>

/* What a range adds to. */
struct state {
    const struct tp_difference_plan *plan;
    struct tp_difference *difference;
    int64_t *totals;
};

static void piece(const struct tp_pass *pass, const struct tp_piece *piece,
                  const void *state, void *part, void *scratch)
{
    const struct state *its = state;
    const struct tp_span x = tp_piece_span(pass, piece);
    const struct tp_span y = tp_piece_span_beside(pass, piece);
    const struct tp_difference_spans spans = {
        x.codes, y.codes, x.n, piece->fresh * (int64_t)pass->parts};
    tp_difference_add(its->plan, &spans, part, scratch);
}

static void flush(void *state, void *scratch)
{
    struct state *its = state;
    tp_difference_flush(scratch, its->difference, its->totals);
}

static void merge(void *state, const void *part)
{
    struct state *its = state;
    tp_difference_merge(its->difference, part);
}

static const struct tp_sink sink = {.scratch_size =
                                        sizeof(struct tp_difference_cells),
                                    .part_size = sizeof(struct tp_difference),
                                    .piece = piece,
                                    .flush = flush,
                                    .merge = merge};

/* The element of the tensors for an element of the walk plus 1; 0: none. */
static int64_t element(const struct tp_pair_view *view, int64_t at)
{
    const int parts = tp_dtype_info(view->x.dtype)->parts;
    return at == 0 ? 0 : 1 + tp_pair_view_element(view, (at - 1) / parts);
}

enum tp_status tp_difference_scan(struct tp_readers *readers, unsigned worker,
                                  const struct tp_pair_view *view,
                                  struct tp_difference_scan *scan,
                                  struct tp_error *err)
{
    struct tp_difference *difference = &scan->difference;
    struct state state = {&scan->plan, difference, scan->totals};
    const struct tp_sink_use use = {&sink, &state, 1};
    memset(scan, 0, sizeof *scan);
    tp_difference_plan_make(tp_dtype_info(view->x.dtype)->real,
                            tp_dtype_info(view->y.dtype)->real, readers->isa,
                            &scan->plan);
    enum tp_status status = tp_pair_read(readers, worker, view, &use, err);
    if (status != TP_OK)
        return status;
    tp_difference_close(&scan->plan, difference, scan->totals);
    tp_difference_repeat(difference, view->repeat);
    for (size_t i = 0; view->repeat > 1 && i < TP_DIFFERENCE_CELLS; i++)
        scan->totals[i] *= (int64_t)view->repeat;
    difference->first_at = element(view, difference->first_at);
    return TP_OK;
}
