/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_RETRO_H
#define TP_SERIES_BASELINE_RETRO_H

#include "series/baseline_parts.h"
#include "series/baseline_tails.h"

/* The baseline of a whole run: as tp_baseline_live, with scratch memory as
 * for tp_baseline_fit. */
void tp_baseline_retro(const struct tp_baseline_series *series,
                       const struct tp_baseline_options *options,
                       double *scratch, struct tp_baseline *baseline,
                       const struct tp_baseline_trace *trace);

/*
 * Looks at one series of a kind, healthy or not: adds its tails to those of the
 * kind (baseline_tails.h), and gives the error of each single prediction, in
 * spreads: [series->count], 0 where there is none. Returns the spread of the
 * straightened values; 0: the series is constant or too short. `scratch` as for
 * tp_baseline_fit.
 */
double tp_baseline_look(const struct tp_baseline_series *series,
                        double *scratch, struct tp_tails *tails,
                        double *error);

/* Spreads from what is expected to the edges of the band, in retro traces. */
double tp_baseline_band(const struct tp_baseline_options *options);

#endif
