/* SPDX-License-Identifier: MIT */
/*
 * A set of k elements. How far a device may be off, with rounding u, to first
 * order:
 *
 *     mean:  gamma_k mean|x|                                        =: em
 *     x - mean, or x s - mean s as fused kernels have it:
 *            em + u (|x| + |mean|)                                  =: ed
 *     var:   2 mean(|x - mean| ed) + gamma_(k+2) var                =: ev
 *     s = 1/sqrt(var + eps): the largest it becomes with var - ev, and 4 u
 *
 * em and ed are what Welford's method, two passes and chunks of it have in
 * common. Where a set is all but constant, ev reaches var, the bound becomes
 * large, and says truly that nothing is known of the result. Two passes over
 * each set, no memory.
 */
#include "replay/norm.h"

#include <math.h>

static double scale_of(double variance, double eps)
{
    return 1 / sqrt(variance + eps);
}

/* 1/sqrt(var + eps) with its bound, from a variance that is off by `off`. */
static void set_scale(const struct tp_norm *norm, double variance, double off,
                      struct tp_norm_scale *scale)
{
    const double least = variance > off ? variance - off : 0;
    scale->scale = scale_of(variance, norm->eps);
    scale->scale_bound = scale_of(least, norm->eps) - scale->scale +
                         4 * norm->unit * scale->scale;
}

/* How far x - mean is off. */
double tp_norm_deviation_bound(const struct tp_norm *norm,
                               const struct tp_norm_scale *scale, double x)
{
    return norm->centered
               ? scale->mean_bound + norm->unit * (fabs(x) + fabs(scale->mean))
               : 0;
}

static void measure(const struct tp_norm *norm, const struct tp_norm_set *set,
                    struct tp_norm_scale *scale)
{
    const double count = (double)(set->outer * set->inner);
    const double *x = norm->input->value;
    double sum = 0, magnitude = 0, square = 0, off = 0;
    TP_NORM_SET(set, at)
    {
        sum += x[at];
        magnitude += fabs(x[at]);
    }
    scale->mean = norm->centered ? sum / count : 0;
    scale->mean_bound = norm->centered ? norm->unit * magnitude : 0;
    TP_NORM_SET(set, at)
    {
        const double d = x[at] - scale->mean;
        const double ed = tp_norm_deviation_bound(norm, scale, x[at]);
        square += d * d;
        off += 2 * fabs(d) * ed;
    }
    const double variance = square / count;
    set_scale(norm, variance, off / count + norm->unit * (count + 2) * variance,
              scale);
}

/* --- arguments ------------------------------------------------------------ */

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

/* Elements behind the axis of channels. */
static int64_t behind_channels(const struct tp_array *input)
{
    int64_t inner = 1;
    for (int i = 2; i < input->dims; i++)
        inner *= input->shape[i];
    return inner;
}

static struct tp_norm_layout rows_of(const struct tp_array *input,
                                     int64_t length)
{
    const int64_t rows = length ? input->count / length : 0;
    return (struct tp_norm_layout){
        {0, 1, length, length}, rows, length, 1, length};
}

/* [batch][channels][inner], `groups` sets in each of a batch. */
static struct tp_norm_layout groups_of(const struct tp_array *input,
                                       int64_t groups)
{
    const int64_t channels = input->dims > 1 ? input->shape[1] : 1;
    const int64_t inner = behind_channels(input);
    const int64_t size = channels / groups * inner;
    return (struct tp_norm_layout){
        {0, 1, size, size}, input->shape[0] * groups, size, inner, channels};
}

/* A set for each channel, over all of the batch. */
static struct tp_norm_layout channels_of(const struct tp_array *input)
{
    const int64_t channels = input->dims > 1 ? input->shape[1] : 1;
    const int64_t inner = behind_channels(input);
    return (struct tp_norm_layout){
        {0, input->shape[0], channels * inner, inner},
        channels,
        inner,
        inner,
        channels};
}

static enum tp_status bind(const struct tp_replay_call *replay,
                           struct tp_norm *norm, double eps,
                           struct tp_error *err)
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
    return TP_OK;
}

/* Whether weight and bias are as long as they must be. */
static enum tp_status check_lengths(const struct tp_norm *norm,
                                    struct tp_error *err)
{
    const int64_t length = norm->layout.weights;
    if ((norm->weight && norm->weight->count != length) ||
        (norm->bias && norm->bias->count != length) ||
        (norm->mean && norm->mean->count != length) ||
        (norm->variance && norm->variance->count != length) || length < 1)
        return tp_replay_fail_shapes(err);
    return TP_OK;
}

static enum tp_status bind_rows(const struct tp_replay_call *replay,
                                struct tp_norm *norm, double eps,
                                struct tp_error *err)
{
    enum tp_status status = bind(replay, norm, eps, err);
    if (status != TP_OK)
        return status;
    norm->layout = rows_of(norm->input, last_axes(replay, norm->input));
    return check_lengths(norm, err);
}

/* The mean and variance that training kept, rather than the input's. */
static enum tp_status bind_kept(const struct tp_replay_call *replay,
                                struct tp_norm *norm, struct tp_error *err)
{
    enum tp_status status =
        tp_arg_tensor(replay, "running_mean", &norm->mean, err);
    norm->layout = channels_of(norm->input);
    return status == TP_OK
               ? tp_arg_tensor(replay, "running_var", &norm->variance, err)
               : status;
}

enum tp_status tp_norm_bind_layer(const struct tp_replay_call *replay,
                                  struct tp_norm *norm, struct tp_error *err)
{
    norm->centered = true;
    return bind_rows(replay, norm, 1e-5, err);
}

/* How far the squares of a dumped result are from those that an eps gives, by
 * row and element, as logarithms: the worst one. */
static double distance(const struct tp_norm *norm,
                       const struct tp_array *dumped, double eps)
{
    const int64_t length = norm->layout.weights;
    double worst = 0;
    for (int64_t row = 0; row < dumped->count / length; row++) {
        const double *x = norm->input->value + row * length;
        double squares = 0, made = 0, given = 0;
        for (int64_t i = 0; i < length; i++) {
            const double w = norm->weight ? norm->weight->value[i] : 1;
            const double y = dumped->value[row * length + i];
            squares += x[i] * x[i];
            made += x[i] * x[i] * w * w;
            given += y * y;
        }
        made /= squares / (double)length + eps;
        if (made > 0 && given > 0 && isfinite(made) && isfinite(given))
            worst = fmax(worst, fabs(log(given / made)));
    }
    return worst;
}

/* Where no eps is given, torch takes that of the dtype, later releases that of
 * float32 for half precision: the one that the result is nearer to. */
static void choose_eps(const struct tp_replay_call *replay,
                       struct tp_norm *norm)
{
    static const double single = 0x1p-23;
    struct tp_array dumped = {.dims = 0};
    struct tp_error err = {0};
    const struct tp_dump_item *item = tp_replay_result(replay, 0);
    if (item && tp_array_read(item, &dumped, &err) == TP_OK &&
        dumped.count == norm->input->count &&
        distance(norm, &dumped, single) < distance(norm, &dumped, norm->eps))
        norm->eps = single;
    tp_array_clear(&dumped);
}

enum tp_status tp_norm_bind_rms(const struct tp_replay_call *replay,
                                struct tp_norm *norm, struct tp_error *err)
{
    norm->rounding = replay->own;
    const enum tp_status status =
        bind_rows(replay, norm, 2 * replay->own, err);
    if (status == TP_OK && replay->own > 0x1p-24 &&
        isnan(tp_arg_real(replay, "eps", NAN)))
        choose_eps(replay, norm);
    return status;
}

/* As long as its weight: torch_npu, npu_rms_norm(self, gamma, epsilon). */
enum tp_status tp_norm_bind_npu_rms(const struct tp_replay_call *replay,
                                    struct tp_norm *norm, struct tp_error *err)
{
    enum tp_status status = bind(replay, norm, 1e-6, err);
    norm->weight = tp_arg_array(replay, "gamma");
    if (status == TP_OK && !norm->weight)
        status = tp_replay_fail_shapes(err);
    if (status != TP_OK)
        return status;
    norm->eps = tp_arg_real(replay, "epsilon", 1e-6);
    norm->rounding = replay->own;
    const struct tp_array *weight = norm->weight;
    const int ahead = norm->input->dims - weight->dims;
    bool last = ahead >= 0;
    for (int i = 0; last && i < weight->dims; i++)
        last = weight->shape[i] == norm->input->shape[ahead + i];
    norm->layout = rows_of(norm->input, last ? weight->count : 0);
    return check_lengths(norm, err);
}

enum tp_status tp_norm_bind_group(const struct tp_replay_call *replay,
                                  struct tp_norm *norm, struct tp_error *err)
{
    const int64_t groups = tp_arg_integer(replay, "num_groups", 0);
    norm->centered = true;
    enum tp_status status = bind(replay, norm, 1e-5, err);
    if (status != TP_OK)
        return status;
    const int64_t channels = norm->input->dims > 1 ? norm->input->shape[1] : 1;
    if (groups < 1 || channels % groups)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its groups do not divide its channels");
    norm->layout = groups_of(norm->input, groups);
    return check_lengths(norm, err);
}

enum tp_status tp_norm_bind_batch(const struct tp_replay_call *replay,
                                  struct tp_norm *norm, struct tp_error *err)
{
    norm->centered = true;
    enum tp_status status = bind(replay, norm, 1e-5, err);
    if (status == TP_OK && tp_arg_integer(replay, "training", 0))
        norm->layout = channels_of(norm->input);
    else if (status == TP_OK)
        status = bind_kept(replay, norm, err);
    return status == TP_OK ? check_lengths(norm, err) : status;
}

enum tp_status tp_norm_bind_instance(const struct tp_replay_call *replay,
                                     struct tp_norm *norm, struct tp_error *err)
{
    norm->centered = true;
    enum tp_status status = bind(replay, norm, 1e-5, err);
    if (status == TP_OK && norm->input->dims < 2)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK && tp_arg_integer(replay, "use_input_stats", 1))
        norm->layout = groups_of(
            norm->input, norm->input->shape[1] ? norm->input->shape[1] : 1);
    else if (status == TP_OK)
        status = bind_kept(replay, norm, err);
    return status == TP_OK ? check_lengths(norm, err) : status;
}

/* --- sets ----------------------------------------------------------------- */

double tp_norm_element(const struct tp_array *array, int64_t at, double absent)
{
    return array ? array->value[at] : absent;
}

void tp_norm_scale_of(const struct tp_norm *norm, int64_t number,
                      struct tp_norm_set *set, struct tp_norm_scale *scale)
{
    *set = norm->layout.set;
    set->first = number * norm->layout.next;
    *scale = (struct tp_norm_scale){.mean = 0};
    if (!norm->variance) {
        measure(norm, set, scale);
        return;
    }
    scale->mean = norm->mean->value[number];
    set_scale(norm, norm->variance->value[number], 0, scale);
}

int64_t tp_norm_place(const struct tp_norm *norm, int64_t at)
{
    return at / norm->layout.inner % norm->layout.weights;
}
