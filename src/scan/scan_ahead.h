/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_AHEAD_H
#define TP_SCAN_SCAN_AHEAD_H

#include "cuda/session.h"
#include "scan/pass.h"

/* Small tensors of a worker whose codes a device has counted. */
struct tp_ahead {
    size_t count, next;
    const struct tp_tensor *tensor[TP_DEVICE_LISTS];
    struct tp_device_list list[TP_DEVICE_LISTS];
};

/*
 * Has the lane of a reader count those of the next `count` tensors that are
 * small and narrow, as many as it takes; *ahead is made where there is such a
 * lane, and what it had is forgotten. Returns how many tensors were looked at.
 */
size_t tp_ahead_count(struct tp_ahead **ahead,
                      const struct tp_readers *readers,
                      struct tp_reader *reader,
                      const struct tp_tensor *tensors, size_t count);

/* What there is of this tensor, once; or NULL. Takes NULL. */
const struct tp_device_list *tp_ahead_take(struct tp_ahead *ahead,
                                           const struct tp_tensor *tensor);

#endif
