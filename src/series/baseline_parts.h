/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_PARTS_H
#define TP_SERIES_BASELINE_PARTS_H

#include "series/baseline_scale.h"

/* What both methods of series/baseline.h take and give. */

/* How the usual level of a number is found. */
enum tp_baseline_method {
    TP_BASELINE_RETRO,  /* from the whole run                              */
    TP_BASELINE_ONLINE, /* live: from a warm-up                            */
    TP_BASELINE_ROLLING /* live: from the last points that were no alarm   */
};

/* "retro", "online", "rolling", then NULL. */
extern const char *const tp_baseline_method_words[];

struct tp_baseline_options {
    enum tp_baseline_method method;
    size_t warmup_steps;  /* live: at most half the iterations are used    */
    size_t alert_window;  /* alarms within so many iterations are one;
                             rolling: and so many points are the baseline  */
    double sigma;         /* live: limit in standard deviations. retro:
                             at least so many, see `tests`                 */
    double tests;         /* retro: how many series are tested in the run;
                             the limit rises so that the expected number of
                             false alarms of a healthy run stays as stated
                             in baseline_retro.c                           */
    double lone;          /* retro: the probability by which noise makes a
                             point that is told because it lies apart from
                             all others; 0: none is                        */
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
    double min, max;         /* least and largest value that the baseline is
                                made from; NaN: none                       */
    size_t warmup;           /* live: points of the warm-up                */
    size_t beyond;           /* live: points beyond the limit, not joined  */
    double chance;           /* live: how many noise alone is expected to put
                                there                                      */
};

/* Per point, for figures; arrays of `count`, or NULL. */
struct tp_baseline_trace {
    double *expected, *low, *high; /* the band, in units of value          */
    double *spread;                /* in units of value                    */
    uint8_t *alarm;                /* 1: beyond the limit                  */
};

/* Alarms that lie further apart than `window` iterations. */
size_t tp_baseline_joined(const struct tp_baseline_series *series,
                          const uint8_t *alarm, size_t window);

#endif
