/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_ACCUMULATE_H
#define TP_REPLAY_ACCUMULATE_H

#include <stdint.h>

#include "data/dtype.h"

/* What a sum comes to when every step of it is rounded to a dtype. */

enum tp_accumulate_scheme {
    TP_ACCUMULATE_SEQUENCE, /* one after the other                          */
    TP_ACCUMULATE_CHUNKS,   /* TP_ACCUMULATE_CHUNK at a time, then these    */
    TP_ACCUMULATE_KAHAN,    /* with what each step lost carried along       */
    TP_ACCUMULATE_FLOAT32,  /* in float32, rounded at the end               */
    TP_ACCUMULATE_SCHEMES
};

enum { TP_ACCUMULATE_CHUNK = 64 };

/* The sum of `count` terms, which are exact, by a scheme. */
double tp_accumulate(const double *terms, int64_t count, enum tp_dtype dtype,
                     enum tp_accumulate_scheme scheme);

/* How far a sum of terms is off that is added with steps of rounding `unit`: by
 * the worst case, or in float32, if that is less, by what its orders lose. */
double tp_accumulate_bound(const double *terms, int64_t count, double unit);

#endif
