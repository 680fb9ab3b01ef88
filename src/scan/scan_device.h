/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_DEVICE_H
#define TP_SCAN_SCAN_DEVICE_H

#include "cuda/session.h"
#include "scan/pass.h"

enum {
    /* What is sent to a device at a time: some 80 us of its link, of which a
     * few are for what each copy and each kernel takes to start. */
    TP_STAGE_BYTES = 4 << 20
};

/* Has a lane of readers->device do the ranges of a pass whose sinks can be fed
 * by one. What it says of a failure to read does not depend on devices, since
 * the host then reads again, in pieces of its own. */
extern const struct tp_pass_device tp_scan_device;

/* The lane of a worker; false when it has none, or the device failed. */
bool tp_scan_device_lane(const struct tp_readers *readers,
                         const struct tp_reader *reader,
                         struct tp_device_lane *lane);

/* Elements [first, end) of a walk, which fit TP_STAGE_BYTES + TP_EARLY_BYTES,
 * each of `size` bytes. Light sinks of a range, if there is one, are given
 * those from `fresh` on. */
struct tp_stage {
    const struct tp_walk *walk;
    size_t size;
    int64_t first, end;
    int64_t fresh;
    const struct tp_range *range;
};

/* Reads them into the next stage of a lane and sends them. Returns where their
 * codes lie, or would lie if the host had gathered them; NULL when they could
 * not be read or the device failed. */
const unsigned char *tp_scan_device_send(const struct tp_readers *readers,
                                         struct tp_reader *reader,
                                         const struct tp_stage *stage,
                                         const struct tp_device_lane *lane);

#endif
