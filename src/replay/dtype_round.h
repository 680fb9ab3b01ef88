/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_DTYPE_ROUND_H
#define TP_REPLAY_DTYPE_ROUND_H

#include "data/dtype.h"

/* The number of a dtype that is nearest to a value, ties to even; beyond the
 * largest infinity, or NaN without one. Of integers and bool the value as it
 * is. */
double tp_dtype_round(enum tp_dtype dtype, double value);

/* The number whose code differs in the last bit. TP_FLOAT64, TP_FLOAT32,
 * TP_FLOAT16 and TP_BFLOAT16; the value must be a number of the dtype. */
double tp_dtype_flip_last(enum tp_dtype dtype, double value);

/* The distance to the next number of the dtype away from zero: a unit in the
 * last place. Of the same four; of 0, NaN and infinity 0. */
double tp_dtype_step(enum tp_dtype dtype, double value);

/* The least normal number of these four. */
double tp_dtype_least_normal(enum tp_dtype dtype);

#endif
