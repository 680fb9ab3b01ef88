/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_H
#define TP_SERIES_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series/baseline_tails.h"

/*
 * What a number normally is over the iterations of a run, and where it ceases
 * to be normal. Pure functions of one series; safe on any thread.
 *
 * Two methods: *online* replays the adaptive threshold of a live monitor,
 * *retro* looks at the whole run at once.
 */

/* How values of a metric are compared. */
enum tp_baseline_scale {
    TP_BASELINE_LOG,   /* magnitudes >= 0: by log2; zero has no logarithm
                          and counts as vanished                           */
    TP_BASELINE_LINEAR,/* signed numbers and decibels: as they are         */
    TP_BASELINE_RATIO  /* 0 to 1: by their arcsine, which evens the spread
                          of a share                                       */
};

/* One series. Arrays have `count` entries and are borrowed. */
struct tp_baseline_series {
    size_t count;
    const int64_t *at;    /* iterations, strictly ascending, gaps allowed  */
    const double *value;  /* NaN where it does not exist; Inf is bad       */
    const double *floor;  /* smallest spread that means anything, in units
                             of value: one ulp of the stored dtype at the
                             value; NULL: 0                                */
    enum tp_baseline_scale scale;
    bool steady; /* retro: it has no trend while it is healthy            */
    int freedom; /* retro: what tp_tails_freedom says of series of its kind;
                    0: not known                                          */
};

struct tp_baseline_options {
    bool online;
    size_t warmup_steps;  /* at most half the iterations are used          */
    size_t alert_window;  /* alarms within so many iterations are one      */
    double sigma;         /* online: limit in standard deviations. retro:
                             at least so many, see `tests`                 */
    double tests;         /* retro: how many series are tested in the run;
                             the limit rises so that the expected number of
                             false alarms of a healthy run stays as stated
                             in baseline.c                                 */
};

enum tp_change {
    TP_CHANGE_NONE,
    TP_CHANGE_SPIKE,  /* some iterations, then back                        */
    TP_CHANGE_SHIFT,  /* a new level that stays                            */
    TP_CHANGE_DRIFT,  /* leaves its level gradually                        */
    TP_CHANGE_VANISH, /* becomes zero, or as good as                       */
    TP_CHANGES
};

/* "none", "spike", "shift", "drift", "vanish". */
const char *tp_change_name(enum tp_change change);

struct tp_baseline {
    double center, spread;   /* of the healthy part, at first_bad if there is
                                one, in units of value; spread > 0 or NaN  */
    enum tp_change kind;
    bool weak;               /* too few points for a firm statement        */
    size_t alarms;           /* points beyond the limit, joined by window  */
    size_t first;            /* index of the first bad point, if kind: where
                                it most likely began                       */
    size_t shown;            /* of the first one that is beyond the limit: a
                                change that grows has begun before         */
    int64_t onset_from, onset_to; /* it began after the one and not after the
                                     other of these iterations             */
    double deviation;        /* at `first`, in spreads                     */
    double later;            /* the same 16 points later, or at the end    */
    double worst;            /* largest deviation                          */
    size_t warmup;           /* online: points of the warm-up              */
};

/* Per point, for figures; arrays of `count`, or NULL. */
struct tp_baseline_trace {
    double *expected, *low, *high; /* the band, in units of value          */
    uint8_t *alarm;                /* 1: beyond the limit                  */
};

/* Adds to the tails of a kind of series those of one of them; see
 * baseline_tails.h. `scratch` as for tp_baseline_fit. */
void tp_baseline_tails(const struct tp_baseline_series *series,
                       double *scratch, struct tp_tails *tails);

/* Spreads from what is expected to the edges of the band, in retro traces. */
double tp_baseline_band(const struct tp_baseline_options *options);

/* How many spreads a value is away from a center, both as a baseline has
 * them. */
double tp_baseline_deviation(enum tp_baseline_scale scale, double value,
                             double center, double spread);

/* Doubles of scratch memory for a series of `count` points. */
size_t tp_baseline_scratch(size_t count);

/* Fits one series. `scratch` has tp_baseline_scratch(count) doubles; `trace`
 * may be NULL. */
void tp_baseline_fit(const struct tp_baseline_series *series,
                     const struct tp_baseline_options *options,
                     double *scratch, struct tp_baseline *baseline,
                     const struct tp_baseline_trace *trace);

#endif
