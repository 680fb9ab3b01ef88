/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_PAIR_SCAN_H
#define TP_SCAN_PAIR_SCAN_H

#include "data/tensor_axes.h"
#include "scan/pass.h"
#include "stats/pair.h"
#include "stats/pair_cells.h"

/*
 * Two tensors of equal shape in one reading of each, in step: what their
 * elements have to do with each other.
 */

/* Two tensors as they are walked: copies whose axes are in another order and
 * without what both repeat. It stays where it was made. */
struct tp_pair_view {
    struct tp_tensor x, y;
    struct tp_tensor_axes axes[2];
    uint64_t repeat; /* each element stands for so many                    */
    int64_t place[TP_LIMIT_DIMS]; /* of an axis of the view: elements of the
                                     tensors, row-major, from one index to
                                     the next                              */
};

/*
 * Views two tensors (borrowed) so that the first is read front to back. Axes
 * along which both have stride 0 become `repeat`. TP_E_UNSUPPORTED when shapes
 * differ, or one is complex; TP_E_LIMIT when axes of stride 0 in different
 * places claim TP_LIMIT_OVERLAP times more pairs than elements are stored.
 */
enum tp_status tp_pair_view_make(const struct tp_tensor *x,
                                 const struct tp_tensor *y,
                                 struct tp_pair_view *view,
                                 struct tp_error *err);

/* The element of the tensors, counted row-major, that is element `at` of the
 * view. */
int64_t tp_pair_view_element(const struct tp_pair_view *view, int64_t at);

/* Reads both once, in step, for one sink of pieces that have codes beside them;
 * nothing is read of views without elements. Called and failing as below. */
enum tp_status tp_pair_read(struct tp_readers *readers, unsigned worker,
                            const struct tp_pair_view *view,
                            const struct tp_sink_use *use,
                            struct tp_error *err);

/*
 * Reads both once and sums them up; elements of complex tensors count as two,
 * and *_at are elements, not parts. Called from a task of the pool as `worker`,
 * or by the thread that made it. Fails as a scan does: TP_E_DAMAGED, TP_E_IO,
 * TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_pair_scan(struct tp_readers *readers, unsigned worker,
                            const struct tp_pair_view *view,
                            const struct tp_pair_scale *scale,
                            struct tp_pair_sums *sums, struct tp_error *err);

/* Reads both once and counts where they lie:
 * cells[TP_PAIR_CELLS * TP_PAIR_CELLS], as tp_pair_count. The same otherwise.
 */
enum tp_status tp_pair_scan_cells(struct tp_readers *readers, unsigned worker,
                                  const struct tp_pair_view *view,
                                  const struct tp_pair_axis *axis,
                                  uint64_t *cells, struct tp_error *err);

#endif
