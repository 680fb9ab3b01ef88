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

/* Adds to the tails of a kind of series those of one of them; see
 * baseline_tails.h. `scratch` as for tp_baseline_fit. */
void tp_baseline_tails(const struct tp_baseline_series *series,
                       double *scratch, struct tp_tails *tails);

/* Spreads from what is expected to the edges of the band, in retro traces. */
double tp_baseline_band(const struct tp_baseline_options *options);

#endif
