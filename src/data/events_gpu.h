/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_EVENTS_GPU_H
#define TP_DATA_EVENTS_GPU_H

#include <stddef.h>
#include <stdint.h>

#define TP_NO_DETAIL UINT32_MAX

/* Arguments of kernels, copies and memsets. Absent numbers: -1, NaN. */
struct tp_gpu_detail {
    int64_t bytes;
    int32_t device, stream;
    float bandwidth;     /* GB/s                                           */
    float occupancy;     /* est. achieved occupancy, percent               */
    float blocks_per_sm, warps_per_sm;
    uint32_t grid[3], block[3];   /* 0: absent                             */
    uint32_t comm;       /* row of tp_events.comms, or TP_NO_DETAIL        */
};

/* Such rows; owned by whom they belong to. */
struct tp_gpu_rows {
    struct tp_gpu_detail *rows;
    size_t *count;
    uint32_t **recent; /* made by the first call, released with free()     */
};

/* The number of the row that has these arguments: one that is there, if it was
 * asked for not long ago, or a new one, for which there is room. */
uint32_t tp_gpu_rows_add(const struct tp_gpu_rows *all,
                         const struct tp_gpu_detail *gpu);

#endif
