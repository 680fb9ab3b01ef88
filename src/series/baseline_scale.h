/* SPDX-License-Identifier: MIT */
#ifndef TP_SERIES_BASELINE_SCALE_H
#define TP_SERIES_BASELINE_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series/baseline_chance.h"

/* A series, and how its values are compared. */

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
    const double *zeros;  /* retro: the share of the tensor's elements that
                             are zero; NULL: not known                     */
    enum tp_baseline_scale scale;
    bool errors; /* live: what is above 0 is not normal if any is 0        */
    bool sparse; /* retro: tensors of its run are zero here and there     */
    bool steady; /* retro: it has no trend while it is healthy            */
    size_t suspect; /* retro: one more than the number of a point that is
                       asked by itself for what it is a part of, by
                       options.lone; 0: none                               */
    struct tp_freedom freedom; /* retro: what tp_tails_freedom says of
                                  series of its kind                      */
};

/* A value as it is compared: log2, arcsine or itself; NaN where it has no
 * such number. */
double tp_baseline_straight(enum tp_baseline_scale scale, double value);

/* The value again. */
double tp_baseline_bent(enum tp_baseline_scale scale, double straight);

/* A straight spread around a straight level in units of value: half of what one
 * spread up and one down are apart. */
double tp_baseline_width(enum tp_baseline_scale scale, double level,
                         double spread);

/* The smallest spread that means anything at a point, straightened. */
double tp_baseline_floor(const struct tp_baseline_series *series, size_t i);

/* How many spreads a value is away from a center, both as a baseline has
 * them. */
double tp_baseline_deviation(enum tp_baseline_scale scale, double value,
                             double center, double spread);

#endif
