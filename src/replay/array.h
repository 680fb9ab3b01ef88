/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_ARRAY_H
#define TP_REPLAY_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "data/dtype.h"
#include "dump/dump.h"

struct tp_addends;

/* A tensor in memory: doubles in row-major order, without gaps. */
struct tp_array {
    enum tp_dtype dtype; /* of the elements where they were dumped          */
    int dims;
    int64_t shape[TP_LIMIT_DIMS];
    int64_t count;
    double *value;   /* [count]                                             */
    double *bound;   /* [count]: how far the value may be off; NULL: exact  */
    uint64_t digest; /* of the bits that were read, with their dtype        */
    bool loose;      /* several values are right; not to be judged          */
    struct tp_addends *addends; /* of a result: addends.h; NULL: not known  */
    bool lost;       /* memory ended for them                               */
};

/* Releases the values; empty afterwards. */
void tp_array_clear(struct tp_array *array);

/* Whether a tensor may be as large; TP_E_UNSUPPORTED beyond
 * TP_LIMIT_REPLAY_VALUES, lengths of 0 not counted. */
enum tp_status tp_array_check(int dims, const int64_t *shape,
                              struct tp_error *err);

/* Sets the shape, and makes room for as many values, zero. TP_E_UNSUPPORTED
 * beyond TP_LIMIT_REPLAY_VALUES, TP_E_MEMORY. */
enum tp_status tp_array_make(struct tp_array *array, int dims,
                             const int64_t *shape, struct tp_error *err);

/* Makes room for bounds, zero, unless there is. */
enum tp_status tp_array_bounds(struct tp_array *array, struct tp_error *err);

/*
 * Reads the tensor of an item into `array`, which is empty. TP_E_NOT_FOUND: no
 * file has it; TP_E_UNSUPPORTED: of a dtype or size that is not replayed;
 * TP_E_DAMAGED: its file has no tensors, or one of another shape; else as
 * reading its file fails. The file is named.
 */
enum tp_status tp_array_read(const struct tp_dump_item *item,
                             struct tp_array *array, struct tp_error *err);

/* Elements from one index to the next, of each axis. */
void tp_array_strides(const struct tp_array *array, int64_t *strides);

/*
 * Strides as seen from a larger shape: axes are matched from the last, those
 * of length 1 repeat. False where the shapes do not fit.
 */
bool tp_array_broadcast(const struct tp_array *array, int dims,
                        const int64_t *shape, int64_t *strides);

/* A walk through a shape in row-major order, with places in several arrays. */
enum { TP_ARRAY_STEPS = 4 };
struct tp_array_walk {
    int dims;
    const int64_t *shape;
    int64_t index[TP_LIMIT_DIMS];
    int64_t strides[TP_ARRAY_STEPS][TP_LIMIT_DIMS]; /* of unused ones 0      */
    int64_t at[TP_ARRAY_STEPS];
};

/* Goes to the next element; behind the last one, to the first. */
void tp_array_walk_next(struct tp_array_walk *walk);

/* Half the step between 1 and the next number of a dtype, the largest relative
 * error of rounding to it; 0 of integers. */
double tp_dtype_rounding(enum tp_dtype dtype);

/* gamma_n, which bounds the relative error of n roundings one after the other
 * (Higham, Accuracy and Stability, 3.1); INFINITY where that bounds nothing. */
double tp_rounding_gamma(double rounding, double n);

/* What is lost where numbers end, absolute: half the least number of fp16, the
 * least normal one of others, as devices may flush what is below to 0. */
double tp_dtype_underflow(enum tp_dtype dtype);

/* A value without what is behind the point; the nearest integer there is of
 * what is beyond all, 0 of NaN. */
int64_t tp_value_integer(double value);

/* The largest finite number of a floating dtype. */
double tp_dtype_largest(enum tp_dtype dtype);

#endif
