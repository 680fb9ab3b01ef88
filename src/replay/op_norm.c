/* SPDX-License-Identifier: MIT */
/*
 * Normalisation: y = (x - mean) / sqrt(var + eps) * w + b over a set of k
 * elements. How far a device may be off, with rounding u, to first order:
 *
 *     mean:  gamma_k mean|x|                                        =: em
 *     x - mean, or x s - mean s as fused kernels have it:
 *            em + u (|x| + |mean|)                                  =: ed
 *     var:   2 mean(|x - mean| ed) + gamma_(k+2) var                =: ev
 *     1/sqrt(var + eps): the largest it becomes with var - ev, and 4 u
 *     y:     |w| (|x - mean| es + ed s) + 3 u (|x| + |mean|) s |w| + 2 u |b|
 *
 * em and ed are what Welford's method, two passes and chunks of it have in
 * common. Where a set is all but constant, ev reaches var, the bound becomes
 * large, and says truly that nothing is known of the result. Two passes over
 * each set, no memory but the result.
 */
#include "replay/operators.h"

#include <math.h>

/* A set of elements: `outer` stretches of `inner`, `step` apart. */
struct set {
    int64_t first, outer, step, inner;
};

/* What a set is normalised with. */
struct scale {
    double mean, mean_bound;
    double scale, scale_bound;
};

/* How a norm is taken. */
struct norm {
    const struct tp_array *input, *weight, *bias;
    struct tp_array *output;
    double unit, eps;
    bool centered;   /* the mean is subtracted                              */
    double rounding; /* of the result before the weight                     */
};

#define FOR_SET(set, at)                                    \
    for (int64_t row = 0; row < (set)->outer; row++)        \
        for (int64_t at = (set)->first + row * (set)->step, \
                     end = at + (set)->inner;               \
             at < end; at++)

static double scale_of(double variance, double eps)
{
    return 1 / sqrt(variance + eps);
}

/* 1/sqrt(var + eps) with its bound, from a variance that is off by `off`. */
static void set_scale(const struct norm *norm, double variance, double off,
                      struct scale *scale)
{
    const double least = variance > off ? variance - off : 0;
    scale->scale = scale_of(variance, norm->eps);
    scale->scale_bound = scale_of(least, norm->eps) - scale->scale +
                         4 * norm->unit * scale->scale;
}

static void measure(const struct norm *norm, const struct set *set,
                    struct scale *scale)
{
    const double count = (double)(set->outer * set->inner);
    const double *x = norm->input->value;
    double sum = 0, magnitude = 0, square = 0, off = 0;
    FOR_SET(set, at)
    {
        sum += x[at];
        magnitude += fabs(x[at]);
    }
    scale->mean = norm->centered ? sum / count : 0;
    scale->mean_bound = norm->centered ? norm->unit * magnitude : 0;
    FOR_SET(set, at)
    {
        const double d = x[at] - scale->mean;
        const double ed =
            norm->centered ? scale->mean_bound +
                                 norm->unit * (fabs(x[at]) + fabs(scale->mean))
                           : 0;
        square += d * d;
        off += 2 * fabs(d) * ed;
    }
    const double variance = square / count;
    set_scale(norm, variance, off / count + norm->unit * (count + 2) * variance,
              scale);
}

static void normalize(const struct norm *norm, double w, double b,
                      const struct scale *scale, int64_t at)
{
    const double x = norm->input->value[at];
    const double size = fabs(x) + fabs(scale->mean), d = x - scale->mean;
    const double ed =
        norm->centered ? scale->mean_bound + norm->unit * size : 0;
    const double y = d * scale->scale;
    norm->output->value[at] = y * w + b;
    norm->output->bound[at] =
        fabs(w) *
            (fabs(d) * scale->scale_bound + ed * scale->scale +
             3 * norm->unit * size * scale->scale + norm->rounding * fabs(y)) +
        2 * norm->unit * fabs(b);
}

static double element(const struct tp_array *array, int64_t at, double absent)
{
    return array ? array->value[at] : absent;
}

/* --- arguments ------------------------------------------------------------ */

static enum tp_status bind(struct tp_replay_call *replay, struct norm *norm,
                           double eps, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(replay, "input", &norm->input, err);
    if (status != TP_OK)
        return status;
    norm->weight = tp_arg_array(replay, "weight");
    norm->bias = tp_arg_array(replay, "bias");
    norm->unit = replay->unit;
    norm->eps = tp_arg_real(replay, "eps", eps);
    if (norm->input->dims < 1)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its input has no axis");
    return tp_replay_make_bounded(replay, norm->input->dims, norm->input->shape,
                                  &norm->output, err);
}

/* Whether weight and bias are as long as they must be. */
static enum tp_status check_lengths(const struct norm *norm, int64_t length,
                                    struct tp_error *err)
{
    if ((norm->weight && norm->weight->count != length) ||
        (norm->bias && norm->bias->count != length) || length < 1)
        return tp_replay_fail_shapes(err);
    return TP_OK;
}

/* --- the last axes -------------------------------------------------------- */

/* Elements that the list of the last axes has; 0: it is none of the input. */
static int64_t last_axes(const struct tp_replay_call *replay,
                         const struct tp_array *input)
{
    int64_t list[TP_LIMIT_DIMS], length = 1;
    const int count = tp_arg_integers(replay, "normalized_shape", list);
    if (count < 1 || count > input->dims)
        return 0;
    for (int i = 0; i < count; i++) {
        if (list[i] != input->shape[input->dims - count + i])
            return 0;
        length *= list[i];
    }
    return length;
}

static enum tp_status run_rows(struct tp_replay_call *replay, struct norm *norm,
                               struct tp_error *err)
{
    const int64_t length = last_axes(replay, norm->input);
    enum tp_status status = check_lengths(norm, length, err);
    if (status != TP_OK)
        return status;
    for (int64_t at = 0; at < norm->input->count; at += length) {
        const struct set set = {at, 1, length, length};
        struct scale scale;
        measure(norm, &set, &scale);
        for (int64_t i = 0; i < length; i++)
            normalize(norm, element(norm->weight, i, 1),
                      element(norm->bias, i, 0), &scale, at + i);
    }
    return TP_OK;
}

TP_KERNEL(tp_run_layer_norm)
{
    struct norm norm = {.centered = true};
    (void)row;
    enum tp_status status = bind(replay, &norm, 1e-5, err);
    return status == TP_OK ? run_rows(replay, &norm, err) : status;
}

/* torch takes the eps of the dtype where none is given. */
TP_KERNEL(tp_run_rms_norm)
{
    struct norm norm = {.centered = false, .rounding = replay->own};
    (void)row;
    enum tp_status status = bind(replay, &norm, 2 * replay->own, err);
    return status == TP_OK ? run_rows(replay, &norm, err) : status;
}

/* --- channels ------------------------------------------------------------- */

/* [batch][channels][inner]. */
struct channels {
    int64_t batch, count, inner;
};

static struct channels channels_of(const struct tp_array *input)
{
    struct channels c = {input->shape[0], 1, 1};
    if (input->dims > 1)
        c.count = input->shape[1];
    for (int i = 2; i < input->dims; i++)
        c.inner *= input->shape[i];
    return c;
}

/* Channels, each with a weight and a bias. */
static enum tp_status bind_channels(struct tp_replay_call *replay,
                                    struct norm *norm, struct channels *c,
                                    struct tp_error *err)
{
    enum tp_status status = bind(replay, norm, 1e-5, err);
    if (status != TP_OK)
        return status;
    *c = channels_of(norm->input);
    return check_lengths(norm, c->count, err);
}

static void normalize_channel(const struct norm *norm, const struct set *set,
                              int64_t channel, const struct scale *scale)
{
    const double w = element(norm->weight, channel, 1);
    const double b = element(norm->bias, channel, 0);
    FOR_SET(set, at)
    normalize(norm, w, b, scale, at);
}

TP_KERNEL(tp_run_group_norm)
{
    struct norm norm = {.centered = true};
    struct channels c;
    const int64_t groups = tp_arg_integer(replay, "num_groups", 0);
    (void)row;
    enum tp_status status = bind_channels(replay, &norm, &c, err);
    if (status == TP_OK && (groups < 1 || c.count % groups))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "its groups do not divide its channels");
    if (status != TP_OK || norm.input->count == 0)
        return status;
    const int64_t size = c.count / groups * c.inner;
    for (int64_t at = 0; at < norm.input->count; at += size) {
        const struct set set = {at, 1, size, size};
        struct scale scale;
        measure(&norm, &set, &scale);
        for (int64_t i = at; i < at + size; i += c.inner) {
            const struct set part = {i, 1, c.inner, c.inner};
            normalize_channel(&norm, &part, i / c.inner % c.count, &scale);
        }
    }
    return TP_OK;
}

/* The mean and variance that training kept, rather than the input's. */
static enum tp_status run_kept(struct tp_replay_call *replay,
                               const struct norm *norm,
                               const struct channels *c, struct tp_error *err)
{
    const struct tp_array *mean, *variance;
    enum tp_status status = tp_arg_tensor(replay, "running_mean", &mean, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "running_var", &variance, err);
    if (status == TP_OK &&
        (mean->count != c->count || variance->count != c->count))
        status = tp_replay_fail_shapes(err);
    for (int64_t i = 0; i < c->count && status == TP_OK; i++) {
        struct scale scale = {.mean = mean->value[i]};
        const struct set set = {i * c->inner, c->batch, c->count * c->inner,
                                c->inner};
        set_scale(norm, variance->value[i], 0, &scale);
        normalize_channel(norm, &set, i, &scale);
    }
    return status;
}

TP_KERNEL(tp_run_batch_norm)
{
    struct norm norm = {.centered = true};
    struct channels c;
    (void)row;
    enum tp_status status = bind_channels(replay, &norm, &c, err);
    if (status != TP_OK)
        return status;
    if (!tp_arg_integer(replay, "training", 0))
        return run_kept(replay, &norm, &c, err);
    for (int64_t i = 0; i < c.count; i++) {
        const struct set set = {i * c.inner, c.batch, c.count * c.inner,
                                c.inner};
        struct scale scale;
        measure(&norm, &set, &scale);
        normalize_channel(&norm, &set, i, &scale);
    }
    return TP_OK;
}
