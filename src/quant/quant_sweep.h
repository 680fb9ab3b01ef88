/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_QUANT_SWEEP_H
#define TP_QUANT_QUANT_SWEEP_H

#include "base/pool.h"
#include "quant/quant_groups.h"

/*
 * Reads the worst tensors of a run again, at most TP_QUANT_SWEEPS, each of
 * another place, and casts them with many scales: quant->sweeps. Which
 * tensors are worst follows from the groups, so those have to be there. One
 * that cannot be read any more is left out, with a note in `run`, which is
 * quant->run. TP_E_MEMORY only.
 */
enum tp_status tp_quant_sweeps_make(struct tp_quant *quant, struct tp_run *run,
                                    struct tp_pool *pool, struct tp_error *err);

enum { TP_QUANT_SWEEPS = 6 };

/* The formats of tp_quant_sweep.sqnr. */
extern const char *const tp_quant_sweep_formats[3];

#endif
