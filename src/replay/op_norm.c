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
 * large, and says truly that nothing is known of the result. The gradient, with
 * h = (x - mean) s, off by eh, and g what came times w:
 *
 *     dx:    s (g - mean g - h mean(g h)), or without mean g
 *            |dx| es / s + s (e(mean g) + |h| e(mean g h) + eh |mean g h|
 *            + 4 u (|g| + |mean g| + |h mean g h|))
 *     dw:    sum of g h; db: sum of g, over what has this weight
 *
 * Two passes over each set, no memory but the result.
 */
#include "replay/operators.h"

#include <math.h>

#include "replay/backward.h"

/* A set of elements: `outer` stretches of `inner`, `step` apart. */
struct set {
    int64_t first, outer, step, inner;
};

/* What a set is normalised with. */
struct scale {
    double mean, mean_bound;
    double scale, scale_bound;
};

/* How sets lie: `set`, and `next` elements on the next; element `at` has
 * weight at / inner % weights. */
struct layout {
    struct set set;
    int64_t sets, next;
    int64_t inner, weights;
};

/* How a norm is taken. */
struct norm {
    const struct tp_array *input, *weight, *bias;
    const struct tp_array *mean, *variance; /* that training kept; or NULL  */
    struct tp_array *output;
    struct layout layout;
    double unit, eps;
    bool centered;   /* the mean is subtracted                              */
    double rounding; /* of the result before the weight                     */
};

#define FOR_SET(set, at)                                     \
    for (int64_t line = 0; line < (set)->outer; line++)      \
        for (int64_t at = (set)->first + line * (set)->step, \
                     end = at + (set)->inner;                \
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

/* How far x - mean is off. */
static double deviation_bound(const struct norm *norm,
                              const struct scale *scale, double x)
{
    return norm->centered
               ? scale->mean_bound + norm->unit * (fabs(x) + fabs(scale->mean))
               : 0;
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
        const double ed = deviation_bound(norm, scale, x[at]);
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
    const double ed = deviation_bound(norm, scale, x);
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

static struct layout rows_of(const struct tp_array *input, int64_t length)
{
    const int64_t rows = length ? input->count / length : 0;
    return (struct layout){{0, 1, length, length}, rows, length, 1, length};
}

/* [batch][channels][inner], `groups` sets in each of a batch. */
static struct layout groups_of(const struct tp_array *input, int64_t groups)
{
    const int64_t channels = input->dims > 1 ? input->shape[1] : 1;
    const int64_t inner = behind_channels(input);
    const int64_t size = channels / groups * inner;
    return (struct layout){
        {0, 1, size, size}, input->shape[0] * groups, size, inner, channels};
}

/* A set for each channel, over all of the batch. */
static struct layout channels_of(const struct tp_array *input)
{
    const int64_t channels = input->dims > 1 ? input->shape[1] : 1;
    const int64_t inner = behind_channels(input);
    return (struct layout){{0, input->shape[0], channels * inner, inner},
                           channels,
                           inner,
                           inner,
                           channels};
}

static enum tp_status bind(const struct tp_replay_call *replay,
                           struct norm *norm, double eps, struct tp_error *err)
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
static enum tp_status check_lengths(const struct norm *norm,
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
                                struct norm *norm, double eps,
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
                                struct norm *norm, struct tp_error *err)
{
    enum tp_status status =
        tp_arg_tensor(replay, "running_mean", &norm->mean, err);
    norm->layout = channels_of(norm->input);
    return status == TP_OK
               ? tp_arg_tensor(replay, "running_var", &norm->variance, err)
               : status;
}

typedef enum tp_status bind_fn(const struct tp_replay_call *replay,
                               struct norm *norm, struct tp_error *err);

static enum tp_status bind_layer(const struct tp_replay_call *replay,
                                 struct norm *norm, struct tp_error *err)
{
    norm->centered = true;
    return bind_rows(replay, norm, 1e-5, err);
}

/* torch takes the eps of the dtype where none is given. */
static enum tp_status bind_rms(const struct tp_replay_call *replay,
                               struct norm *norm, struct tp_error *err)
{
    norm->rounding = replay->own;
    return bind_rows(replay, norm, 2 * replay->own, err);
}

/* As long as its weight: torch_npu, npu_rms_norm(self, gamma, epsilon). */
static enum tp_status bind_npu_rms(const struct tp_replay_call *replay,
                                   struct norm *norm, struct tp_error *err)
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

static enum tp_status bind_group(const struct tp_replay_call *replay,
                                 struct norm *norm, struct tp_error *err)
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

static enum tp_status bind_batch(const struct tp_replay_call *replay,
                                 struct norm *norm, struct tp_error *err)
{
    norm->centered = true;
    enum tp_status status = bind(replay, norm, 1e-5, err);
    if (status == TP_OK && tp_arg_integer(replay, "training", 0))
        norm->layout = channels_of(norm->input);
    else if (status == TP_OK)
        status = bind_kept(replay, norm, err);
    return status == TP_OK ? check_lengths(norm, err) : status;
}

static enum tp_status bind_instance(const struct tp_replay_call *replay,
                                    struct norm *norm, struct tp_error *err)
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

/* --- results -------------------------------------------------------------- */

static void scale_of_set(const struct norm *norm, int64_t number,
                         struct set *set, struct scale *scale)
{
    *set = norm->layout.set;
    set->first = number * norm->layout.next;
    *scale = (struct scale){.mean = 0};
    if (!norm->variance) {
        measure(norm, set, scale);
        return;
    }
    scale->mean = norm->mean->value[number];
    set_scale(norm, norm->variance->value[number], 0, scale);
}

static int64_t weight_at(const struct norm *norm, int64_t at)
{
    return at / norm->layout.inner % norm->layout.weights;
}

static void normalize_all(const struct norm *norm)
{
    for (int64_t i = 0; i < norm->layout.sets && norm->input->count; i++) {
        struct set set;
        struct scale scale;
        scale_of_set(norm, i, &set, &scale);
        FOR_SET(&set, at)
        {
            const int64_t k = weight_at(norm, at);
            normalize(norm, element(norm->weight, k, 1),
                      element(norm->bias, k, 0), &scale, at);
        }
    }
}

static enum tp_status run(struct tp_replay_call *replay, bind_fn *bind_all,
                          struct tp_error *err)
{
    struct norm norm = {.input = NULL};
    enum tp_status status = bind_all(replay, &norm, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, norm.input->dims,
                                        norm.input->shape, &norm.output, err);
    if (status == TP_OK)
        normalize_all(&norm);
    return status;
}

TP_KERNEL(tp_run_layer_norm)
{
    (void)row;
    return run(replay, bind_layer, err);
}

TP_KERNEL(tp_run_rms_norm)
{
    (void)row;
    return run(replay, bind_rms, err);
}

TP_KERNEL(tp_run_group_norm)
{
    (void)row;
    return run(replay, bind_group, err);
}

TP_KERNEL(tp_run_batch_norm)
{
    (void)row;
    return run(replay, bind_batch, err);
}

TP_KERNEL(tp_run_instance_norm)
{
    (void)row;
    return run(replay, bind_instance, err);
}

/* Beside the result 1 / sqrt(mean square + eps), of each row. */
TP_KERNEL(tp_run_npu_rms_norm)
{
    struct norm norm = {.input = NULL};
    struct tp_array *roots;
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status = run(replay, bind_npu_rms, err);
    (void)row;
    if (status == TP_OK)
        status = bind_npu_rms(replay, &norm, err);
    if (status != TP_OK || !tp_replay_result(replay, 1))
        return status;
    const int dims = norm.input->dims;
    for (int i = 0; i < dims; i++)
        shape[i] = i < dims - norm.weight->dims ? norm.input->shape[i] : 1;
    status = tp_replay_make_bounded(replay, dims, shape, &roots, err);
    for (int64_t i = 0; status == TP_OK && i < roots->count; i++) {
        struct set set;
        struct scale scale;
        scale_of_set(&norm, i, &set, &scale);
        roots->value[i] = scale.scale;
        roots->bound[i] = scale.scale_bound;
    }
    return status;
}

/* --- gradients: (input, weight, bias) ------------------------------------- */

struct gradients {
    const struct tp_array *given;
    struct tp_array input, weight, bias; /* filled side by side             */
};

/* What a set's gradient has in common. */
struct means {
    double g, gh, g_bound, gh_bound;
};

/* (x - mean) s and how far it is off. */
static double normal_at(const struct norm *norm, const struct scale *scale,
                        int64_t at, double *bound)
{
    const double x = norm->input->value[at], d = x - scale->mean;
    const double h = d * scale->scale;
    *bound = fabs(d) * scale->scale_bound +
             deviation_bound(norm, scale, x) * scale->scale +
             2 * norm->unit * fabs(h);
    return h;
}

static double given_at(const struct norm *norm, const struct gradients *to,
                       int64_t at)
{
    return to->given->value[at] * element(norm->weight, weight_at(norm, at), 1);
}

static struct means means_of(const struct norm *norm, const struct set *set,
                             const struct scale *scale,
                             const struct gradients *to)
{
    struct means m = {0};
    const double count = (double)(set->outer * set->inner);
    double size = 0, off = 0;
    if (norm->variance) /* constants */
        return m;
    FOR_SET(set, at)
    {
        double eh;
        const double h = normal_at(norm, scale, at, &eh);
        const double g = given_at(norm, to, at);
        m.g += g;
        m.gh += g * h;
        m.g_bound += fabs(g);
        size += fabs(g * h);
        off += fabs(g) * eh;
    }
    m.g = norm->centered ? m.g / count : 0;
    m.g_bound =
        norm->centered ? norm->unit * (count + 2) * m.g_bound / count : 0;
    m.gh /= count;
    m.gh_bound = (norm->unit * (count + 3) * size + off) / count;
    return m;
}

static void gradient_of_set(const struct norm *norm, const struct set *set,
                            const struct scale *scale, struct gradients *to)
{
    const struct means m = means_of(norm, set, scale, to);
    const double s = scale->scale;
    const double terms =
        (double)(norm->input->count / norm->layout.weights) + 2;
    FOR_SET(set, at)
    {
        double eh;
        const double h = normal_at(norm, scale, at, &eh);
        const double g = given_at(norm, to, at);
        const double part = norm->variance ? 0 : h; /* that mean and s have */
        const double inner = g - m.g - part * m.gh;
        const int64_t k = weight_at(norm, at);
        const double came = to->given->value[at];
        to->input.value[at] = inner * s;
        to->input.bound[at] =
            fabs(inner) * scale->scale_bound +
            s * (m.g_bound + fabs(part) * m.gh_bound +
                 (norm->variance ? 0 : eh * fabs(m.gh)) +
                 4 * norm->unit * (fabs(g) + fabs(m.g) + fabs(part * m.gh)));
        to->weight.value[k] += came * h;
        to->weight.bound[k] +=
            fabs(came) * eh + norm->unit * terms * fabs(came * h);
        to->bias.value[k] += came;
        to->bias.bound[k] += norm->unit * terms * fabs(came);
    }
}

static enum tp_status make_gradients(const struct norm *norm,
                                     struct gradients *to, struct tp_error *err)
{
    const int64_t length[1] = {norm->layout.weights};
    const struct tp_array *input = norm->input;
    enum tp_status status =
        tp_array_make(&to->input, input->dims, input->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&to->input, err);
    if (status == TP_OK)
        status = tp_array_make(&to->weight, 1, length, err);
    if (status == TP_OK)
        status = tp_array_bounds(&to->weight, err);
    if (status == TP_OK)
        status = tp_array_make(&to->bias, 1, length, err);
    if (status == TP_OK)
        status = tp_array_bounds(&to->bias, err);
    for (int64_t i = 0;
         status == TP_OK && input->count && i < norm->layout.sets; i++) {
        struct set set;
        struct scale scale;
        scale_of_set(norm, i, &set, &scale);
        gradient_of_set(norm, &set, &scale, to);
    }
    return status;
}

/* The next gradient is `from`, in the shape of an argument; none without. */
static enum tp_status hand_over(struct tp_backward *backward,
                                const struct tp_array *argument,
                                struct tp_array *from, struct tp_error *err)
{
    struct tp_array *gradient;
    if (!argument)
        return TP_OK;
    enum tp_status status =
        tp_backward_make_like(backward, argument, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        gradient->value[i] = from->value[i];
        gradient->bound[i] = from->bound[i];
    }
    return status;
}

static enum tp_status back(struct tp_backward *backward, bind_fn *bind_all,
                           struct tp_error *err)
{
    struct norm norm = {.input = NULL};
    struct gradients to = {.given = NULL};
    enum tp_status status = tp_backward_single(backward, &to.given, err);
    if (status == TP_OK && tp_backward_arity(backward) == 1)
        return tp_backward_view(backward, to.given, 0, err);
    if (status == TP_OK)
        status = bind_all(backward->forward, &norm, err);
    if (status == TP_OK && to.given->count != norm.input->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = make_gradients(&norm, &to, err);
    if (status == TP_OK)
        status = hand_over(backward, norm.input, &to.input, err);
    if (status == TP_OK)
        status = hand_over(backward, norm.weight, &to.weight, err);
    if (status == TP_OK)
        status = hand_over(backward, norm.bias, &to.bias, err);
    tp_array_clear(&to.input);
    tp_array_clear(&to.weight);
    tp_array_clear(&to.bias);
    return status;
}

TP_BACKWARD(tp_back_layer_norm)
{
    (void)row;
    return back(backward, bind_layer, err);
}

TP_BACKWARD(tp_back_group_norm)
{
    (void)row;
    return back(backward, bind_group, err);
}

TP_BACKWARD(tp_back_batch_norm)
{
    (void)row;
    return back(backward, bind_batch, err);
}

TP_BACKWARD(tp_back_npu_rms_norm)
{
    (void)row;
    return back(backward, bind_npu_rms, err);
}
