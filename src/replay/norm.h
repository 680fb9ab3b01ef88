/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_NORM_H
#define TP_REPLAY_NORM_H

#include "replay/replay_call.h"

/* A set of elements: `outer` stretches of `inner`, `step` apart. */
struct tp_norm_set {
    int64_t first, outer, step, inner;
};

/* What a set is normalised with. */
struct tp_norm_scale {
    double mean, mean_bound;
    double scale, scale_bound;
};

/* How sets lie: `set`, and `next` elements on the next; element `at` has
 * weight at / inner % weights. */
struct tp_norm_layout {
    struct tp_norm_set set;
    int64_t sets, next;
    int64_t inner, weights;
};

/* How a norm is taken. */
struct tp_norm {
    const struct tp_array *input, *weight, *bias;
    const struct tp_array *mean, *variance; /* that training kept; or NULL  */
    struct tp_norm_layout layout;
    double unit, eps;
    bool centered;   /* the mean is subtracted                              */
    double rounding; /* of the result before the weight                     */
};

#define TP_NORM_SET(set, at)                                 \
    for (int64_t line = 0; line < (set)->outer; line++)      \
        for (int64_t at = (set)->first + line * (set)->step, \
                     end = at + (set)->inner;                \
             at < end; at++)

/* 1/sqrt(var + eps) and the mean of set `number`, and where it lies. */
void tp_norm_scale_of(const struct tp_norm *norm, int64_t number,
                      struct tp_norm_set *set, struct tp_norm_scale *scale);

/* How far x - mean is off. */
double tp_norm_deviation_bound(const struct tp_norm *norm,
                               const struct tp_norm_scale *scale, double x);

/* Which weight element `at` has. */
int64_t tp_norm_place(const struct tp_norm *norm, int64_t at);

/* Element `at` of an argument that may be absent. */
double tp_norm_element(const struct tp_array *array, int64_t at, double absent);

/* Take the arguments of a call. TP_E_UNSUPPORTED: they do not fit. */
typedef enum tp_status tp_norm_bind_fn(const struct tp_replay_call *replay,
                                       struct tp_norm *norm,
                                       struct tp_error *err);
tp_norm_bind_fn tp_norm_bind_layer, tp_norm_bind_rms, tp_norm_bind_npu_rms,
    tp_norm_bind_group, tp_norm_bind_batch, tp_norm_bind_instance;

#endif
