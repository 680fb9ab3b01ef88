/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_EVENTS_GPU_H
#define TP_DATA_EVENTS_GPU_H

#include "data/events.h"

/* The row of tp_events.gpu that has these arguments: one that is there, if it
 * was asked for not long ago, or a new one, for which there is room. */
uint32_t tp_events_gpu(struct tp_events *events,
                       const struct tp_gpu_detail *gpu);

#endif
