/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_RANK_GRID_H
#define TP_TENSORS_RANK_GRID_H

#include "tensors/run.h"

/*
 * Ranks of files that are named by several (formats/saved_place.h): of tensors,
 * pipeline, experts, data. They are numbered as processes usually are: tensors
 * fastest, then experts, data, pipeline, each as many as the run has. A note
 * says so.
 *
 * And parts (label.part), where a name is another parameter on another rank:
 * layers of a stage of the pipeline, experts, and what ZeRO and FSDP cut out of
 * all parameters laid end to end.
 */
void tp_rank_grid(struct tp_run *run);

#endif
