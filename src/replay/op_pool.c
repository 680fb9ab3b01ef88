/* SPDX-License-Identifier: MIT */
/*
 * Pooling over the last one to three axes: the largest or the mean of a window.
 * Fewer axes than three are taken as three with leading ones of length 1, so
 * that there is one loop. Where several elements of a window are the largest,
 * the gradient of each may be all or nothing. Cost: outputs x size of a window,
 * forward and backward.
 */
#include "replay/operators.h"

#include <math.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/said_shape.h"

enum { AXES = 3 };

/* One window on three axes. */
struct window {
    int axes; /* of the operator: 1 to 3                                    */
    int64_t batch, channels;
    int64_t in[AXES], kernel[AXES], stride[AXES], pad[AXES], dilation[AXES];
    int64_t out[AXES];
};

/* What an argument of one number for each axis may be. */
struct numbers {
    const char *name;
    int64_t absent; /* where it is not given                                */
    int64_t least;
    int64_t idle; /* for axes that the operator does not have               */
};

static const struct numbers strides_of = {"stride", 1, 1, 1},
                            paddings_of = {"padding", 0, 0, 0},
                            dilations_of = {"dilation", 1, 1, 1},
                            kernels_of = {"kernel_size", 0, 1, 1};

/* One number for all axes, or one for each; false: another list. */
static bool set_numbers(const struct tp_replay_call *replay,
                        const struct numbers *what, int axes,
                        int64_t numbers[AXES])
{
    int64_t list[TP_LIMIT_DIMS];
    const int count = tp_arg_integers(replay, what->name, list);
    if (count != 0 && count != 1 && count != axes)
        return false;
    for (int i = 0; i < AXES; i++) {
        const int own = i - (AXES - axes);
        numbers[i] = own < 0      ? what->idle
                     : count == 0 ? what->absent
                                  : list[count == 1 ? 0 : own];
        if (numbers[i] < what->least || numbers[i] > INT32_MAX)
            return false;
    }
    return true;
}

/* Batch, channels and lengths of an input that may lack the batch. */
static bool set_input(const struct tp_array *input, int axes, struct window *w)
{
    const int lead = input->dims - axes;
    if (axes < 1 || axes > AXES || lead < 1 || lead > 2)
        return false;
    w->axes = axes;
    w->batch = lead == 2 ? input->shape[0] : 1;
    w->channels = input->shape[lead - 1];
    for (int i = 0; i < AXES; i++) {
        const int own = i - (AXES - axes);
        w->in[i] = own < 0 ? 1 : input->shape[lead + own];
        w->kernel[i] = w->stride[i] = w->dilation[i] = w->out[i] = 1;
        w->pad[i] = 0;
    }
    return true;
}

/* The result, with the lengths of its last axes. */
static enum tp_status make_output(struct tp_replay_call *replay,
                                  const struct tp_array *input,
                                  struct window *w, int64_t channels,
                                  struct tp_array **output,
                                  struct tp_error *err)
{
    enum tp_status status = tp_replay_make_like_dumped(replay, output, err);
    if (status == TP_OK)
        status = tp_array_bounds(*output, err);
    if (status != TP_OK)
        return status;
    const int lead = input->dims - w->axes;
    if ((*output)->dims != input->dims ||
        (*output)->shape[lead - 1] != channels ||
        (lead == 2 && (*output)->shape[0] != w->batch))
        return tp_replay_fail_shapes(err);
    for (int i = 0; i < w->axes; i++)
        w->out[AXES - w->axes + i] = (*output)->shape[lead + i];
    return TP_OK;
}

/* The next index of three; false: that was the last one. */
static bool step(int64_t *at, const int64_t *lengths)
{
    for (int i = AXES; i-- > 0;) {
        if (++at[i] < lengths[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static int64_t volume(const int64_t *lengths)
{
    return lengths[0] * lengths[1] * lengths[2];
}

/* --- windows -------------------------------------------------------------- */

struct pool {
    const struct tp_replay_call *replay;
    struct window window;
    const struct tp_array *input;
    bool adaptive;   /* windows are parts of the input, as many as results  */
    bool largest;    /* or the mean                                         */
    bool with_pad;   /* a mean counts what is padded                        */
    double override; /* what a mean is divided by; 0: by the count          */
};

/* The elements of one window: `count` from `first` on, `step` apart. */
struct range {
    int64_t first[AXES], count[AXES], step[AXES];
    double divisor;
};

static int axes_of(const struct tp_operator *row)
{
    const char *digit = strpbrk(row->names, "123");
    return digit ? *digit - '0' : 0;
}

/* The part [i in / out, ceil((i + 1) in / out)) of each axis. */
static bool find_part(const struct window *w, const int64_t *at,
                      struct range *range)
{
    for (int i = 0; i < AXES; i++) {
        range->first[i] = at[i] * w->in[i] / w->out[i];
        range->count[i] = ((at[i] + 1) * w->in[i] + w->out[i] - 1) / w->out[i] -
                          range->first[i];
        range->step[i] = 1;
    }
    range->divisor = (double)volume(range->count);
    return volume(range->count) > 0;
}

/* What of a kernel lies on the input; a kernel may be said to be of any size.
 * What is padded counts up to the end of the padding. */
static bool find_window(const struct pool *pool, const int64_t *at,
                        struct range *range)
{
    const struct window *w = &pool->window;
    double padded = 1;
    for (int i = 0; i < AXES; i++) {
        const int64_t begin = at[i] * w->stride[i] - w->pad[i];
        const int64_t step = w->dilation[i], last = w->in[i] - 1 - begin;
        const int64_t skip = begin < 0 ? (-begin + step - 1) / step : 0;
        const int64_t most = last < 0 ? 0 : last / step + 1;
        const int64_t end = w->in[i] + w->pad[i] - begin;
        padded *= (double)(end < w->kernel[i] ? end : w->kernel[i]);
        range->step[i] = step;
        range->first[i] = begin + skip * step;
        range->count[i] = (most < w->kernel[i] ? most : w->kernel[i]) - skip;
        if (range->count[i] <= 0)
            return false;
    }
    range->divisor = pool->override != 0 ? pool->override
                     : pool->with_pad    ? padded
                                         : (double)volume(range->count);
    return true;
}

static bool find_range(const struct pool *pool, const int64_t *at,
                       struct range *range)
{
    return pool->adaptive ? find_part(&pool->window, at, range)
                          : find_window(pool, at, range);
}

/* The place in a plane of element `k` of a window. */
static int64_t place_in(const struct pool *pool, const struct range *range,
                        const int64_t *k)
{
    int64_t place = 0;
    for (int i = 0; i < AXES; i++)
        place = place * pool->window.in[i] + range->first[i] +
                k[i] * range->step[i];
    return place;
}

/* The first largest element of a window, a NaN before all others; and how many
 * there are of it. */
static int64_t find_largest(const struct pool *pool, const double *x,
                            const struct range *range, int64_t *equals)
{
    int64_t k[AXES] = {0}, best = -1;
    *equals = 0;
    do {
        const int64_t place = place_in(pool, range, k);
        const double value = x[place], most = best < 0 ? 0 : x[best];
        const bool same =
            best >= 0 && (value == most || (isnan(value) && isnan(most)));
        *equals += same;
        if (best < 0 || (!same && !isnan(most) && !(value < most))) {
            best = place;
            *equals = 1;
        }
    } while (step(k, range->count));
    return best;
}

static bool set_windows(struct pool *pool)
{
    const struct tp_replay_call *replay = pool->replay;
    struct window *w = &pool->window;
    const int axes = w->axes;
    pool->with_pad = tp_arg_integer(replay, "count_include_pad", 1) != 0;
    pool->override = tp_arg_real(replay, "divisor_override", 0);
    if (!set_numbers(replay, &kernels_of, axes, w->kernel) ||
        !set_numbers(replay, &paddings_of, axes, w->pad) ||
        !set_numbers(replay, &dilations_of, axes, w->dilation))
        return false;
    memcpy(w->stride, w->kernel, sizeof w->stride);
    return !tp_arg(replay, "stride") ||
           set_numbers(replay, &strides_of, axes, w->stride);
}

/* The arguments of a call. */
static enum tp_status begin(const struct tp_replay_call *replay,
                            const struct tp_operator *row, struct pool *pool,
                            struct tp_error *err)
{
    *pool = (struct pool){.replay = replay,
                          .adaptive = strstr(row->names, "adaptive"),
                          .largest = strstr(row->names, "max")};
    enum tp_status status = tp_arg_tensor(replay, "input", &pool->input, err);
    if (status == TP_OK &&
        !(set_input(pool->input, axes_of(row), &pool->window) &&
          (pool->adaptive || set_windows(pool))))
        status = tp_replay_fail_shapes(err);
    return status;
}

/* Whether windows begin as often as torch has them begin: the last one on the
 * input or what is padded in front of it, and it ends there too unless lengths
 * are rounded up. */
static bool said_windows(const struct window *w, bool up)
{
    for (int i = 0; i < AXES; i++) {
        const int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
        const int64_t free = w->in[i] + 2 * w->pad[i] - reach;
        const int64_t step = w->stride[i];
        if (w->in[i] > INT32_MAX || free < 0)
            return false;
        int64_t count = (free + (up ? step - 1 : 0)) / step + 1;
        count -= up && (count - 1) * step >= w->in[i] + w->pad[i];
        if (count != w->out[i])
            return false;
    }
    return true;
}

/* Whether the arguments allow the lengths of the result. */
static bool said_lengths(const struct pool *pool)
{
    const struct window *w = &pool->window;
    int64_t said[AXES];
    if (!pool->adaptive)
        return said_windows(w, tp_arg_integer(pool->replay, "ceil_mode", 0));
    tp_said_each(pool->replay, "output_size", w->axes, said);
    for (int i = 0; i < w->axes; i++)
        if (said[i] >= 0 && said[i] != w->out[AXES - w->axes + i])
            return false;
    return true;
}

/* Takes the lengths of the last axes from a result, or its gradient. */
static bool set_output(struct pool *pool, const struct tp_array *output)
{
    struct window *w = &pool->window;
    const int lead = pool->input->dims - w->axes;
    if (output->dims != pool->input->dims)
        return false;
    for (int i = 0; i < lead; i++)
        if (output->shape[i] != pool->input->shape[i])
            return false;
    for (int i = 0; i < w->axes; i++)
        w->out[AXES - w->axes + i] = output->shape[lead + i];
    return (output->count == 0 || volume(w->in) > 0) && said_lengths(pool);
}

/* --- forward -------------------------------------------------------------- */

/* One element of the results; of the largest also where it is. */
static void pool_element(const struct pool *pool, const double *x,
                         const int64_t *at, struct tp_array *to[2],
                         int64_t element)
{
    struct range range;
    int64_t k[AXES] = {0}, equals;
    double sum = 0, magnitude = 0;
    to[0]->value[element] = pool->largest ? -INFINITY : 0;
    if (!find_range(pool, at, &range))
        return;
    if (pool->largest) {
        const int64_t best = find_largest(pool, x, &range, &equals);
        to[0]->value[element] = x[best];
        if (to[1])
            to[1]->value[element] = (double)best;
        return;
    }
    do {
        const double value = x[place_in(pool, &range, k)];
        sum += value;
        magnitude += fabs(value);
    } while (step(k, range.count));
    const double mean = sum / range.divisor;
    to[0]->value[element] = mean;
    to[0]->bound[element] =
        tp_replay_gamma(pool->replay, (double)volume(range.count) + 1) *
            magnitude / fabs(range.divisor) +
        pool->replay->own * fabs(mean);
}

TP_KERNEL(tp_run_pool)
{
    struct pool pool;
    struct tp_array *to[2] = {NULL, NULL};
    enum tp_status status = begin(replay, row, &pool, err);
    if (status == TP_OK)
        status = make_output(replay, pool.input, &pool.window,
                             pool.window.channels, &to[0], err);
    if (status == TP_OK && tp_replay_result(replay, 1)) {
        status = tp_replay_make_indices(replay, &to[0], &to[1], err);
    }
    if (status == TP_OK && !set_output(&pool, to[0]))
        status = tp_replay_fail_result(err);
    if (status != TP_OK || to[0]->count == 0)
        return status;
    const struct window *w = &pool.window;
    int64_t element = 0;
    for (int64_t plane = 0; plane < w->batch * w->channels; plane++) {
        int64_t at[AXES] = {0};
        do
            pool_element(&pool, pool.input->value + plane * volume(w->in), at,
                         to, element++);
        while (step(at, w->out));
    }
    return TP_OK;
}

/* --- backward ------------------------------------------------------------- */

/* A plane of the input, and of its gradient. */
struct plane {
    const double *x;
    double *to, *bound;
};

/* Gives the gradient of one result to the elements of its window. */
static void spread(const struct pool *pool, const struct plane *plane,
                   const int64_t *at, double given)
{
    const double *x = plane->x;
    double *to = plane->to, *bound = plane->bound;
    struct range range;
    int64_t k[AXES] = {0}, equals = 1, best = -1;
    if (!find_range(pool, at, &range))
        return;
    if (pool->largest)
        best = find_largest(pool, x, &range, &equals);
    const double share = pool->largest ? given : given / range.divisor;
    const double rounding = pool->largest ? 0 : 2 * pool->replay->unit;
    if (best >= 0)
        to[best] += share;
    if (equals == 1 && best >= 0) {
        bound[best] += pool->replay->unit * fabs(share);
        return;
    }
    do {
        const int64_t place = place_in(pool, &range, k);
        if (best < 0)
            to[place] += share;
        if (best < 0 || x[place] == x[best] || isnan(x[place]))
            bound[place] += best < 0
                                ? (rounding + pool->replay->unit) * fabs(share)
                                : fabs(share);
    } while (step(k, range.count));
}

/* Elements that windows share are sums, of as many as overlap. */
static void spread_all(const struct pool *pool, const struct tp_array *given,
                       struct tp_array *gradient)
{
    const struct window *w = &pool->window;
    const int64_t size = volume(w->in);
    int64_t element = 0;
    for (int64_t plane = 0; plane < w->batch * w->channels; plane++) {
        const struct plane here = {pool->input->value + plane * size,
                                   gradient->value + plane * size,
                                   gradient->bound + plane * size};
        int64_t at[AXES] = {0};
        do
            spread(pool, &here, at, given->value[element++]);
        while (step(at, w->out));
    }
    for (int64_t i = 0; i < gradient->count; i++)
        gradient->bound[i] *= pool->adaptive ? 2 : (double)volume(w->kernel);
}

/* Of one axis it is done as of two, and the node is that of the view of it. */
static bool is_view(const struct pool *pool, const struct tp_backward *backward)
{
    const struct tp_dump_item *item = tp_replay_result(backward->call, 0);
    return pool->window.axes == 1 && item && item->has_shape &&
           item->dims != pool->input->dims;
}

TP_BACKWARD(tp_back_pool)
{
    struct pool pool;
    const struct tp_array *given;
    struct tp_array *gradient;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = begin(backward->forward, row, &pool, err);
    if (status == TP_OK && is_view(&pool, backward))
        return tp_backward_view(backward, given, 0, err);
    if (status == TP_OK && !set_output(&pool, given))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, pool.input, &gradient, err);
    if (status == TP_OK && given->count)
        spread_all(&pool, given, gradient);
    return status;
}
