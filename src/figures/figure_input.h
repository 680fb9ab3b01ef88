/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIGURE_INPUT_H
#define TP_FIGURES_FIGURE_INPUT_H

#include "incidents/incidents.h"
#include "quant/quant_groups.h"
#include "series/monitor.h"
#include "tensors/pairs.h"
#include "tensors/run.h"

/* What the figures of a dump are made from, borrowed. A stage that was left out
 * is zeroed, never NULL. */
struct tp_figure_input {
    const struct tp_run *run;
    const struct tp_quant *quant;
    const struct tp_pairs *pairs;
    const struct tp_monitor *monitor;
    const struct tp_incidents *incidents;
};

#endif
