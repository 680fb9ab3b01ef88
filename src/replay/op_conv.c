/* SPDX-License-Identifier: MIT */
/*
 * Windows that slide over the last one to three axes. Fewer axes than three
 * are taken as three with leading ones of length 1, so that there is one loop.
 * Cost: outputs x size of the kernel.
 */
#include "replay/operators.h"

#include <math.h>
#include <string.h>

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

/* The input's place under element `k` of a window; -1: in the padding. */
static int64_t place_of(const struct window *w, const int64_t *at,
                        const int64_t *k)
{
    int64_t place = 0;
    for (int i = 0; i < AXES; i++) {
        const int64_t x =
            at[i] * w->stride[i] - w->pad[i] + k[i] * w->dilation[i];
        if (x < 0 || x >= w->in[i])
            return -1;
        place = place * w->in[i] + x;
    }
    return place;
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

/* --- pooling -------------------------------------------------------------- */

struct pool {
    const struct tp_replay_call *replay;
    struct window window;
    const struct tp_array *input;
    struct tp_array *output;
};

static int axes_of(const struct tp_operator *row)
{
    const char *digit = strpbrk(row->names, "123");
    return digit ? *digit - '0' : 0;
}

/* Which elements of a window lie on the input: `count` from `first` on, of
 * each axis. A kernel may be said to be of any size. */
static bool clip(const struct window *w, const int64_t *at, int64_t *first,
                 int64_t *count)
{
    for (int i = 0; i < AXES; i++) {
        const int64_t begin = at[i] * w->stride[i] - w->pad[i];
        const int64_t step = w->dilation[i], last = w->in[i] - 1 - begin;
        first[i] = begin < 0 ? (-begin + step - 1) / step : 0;
        const int64_t most = last < 0 ? 0 : last / step + 1;
        count[i] = (most < w->kernel[i] ? most : w->kernel[i]) - first[i];
        if (count[i] <= 0)
            return false;
    }
    return true;
}

/* Sets how windows lie; false: the arguments do not fit. */
typedef bool tp_fit_fn(const struct tp_replay_call *replay, struct window *w);

/* The arguments and the result of a pooling; `fit` may be NULL: the result
 * alone says what its windows are. */
static enum tp_status begin_pool(struct tp_replay_call *replay,
                                 const struct tp_operator *row, tp_fit_fn *fit,
                                 struct pool *pool, struct tp_error *err)
{
    struct window *w = &pool->window;
    pool->replay = replay;
    enum tp_status status = tp_arg_tensor(replay, "input", &pool->input, err);
    if (status == TP_OK &&
        !(set_input(pool->input, axes_of(row), w) && (!fit || fit(replay, w))))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = make_output(replay, pool->input, w, w->channels, &pool->output,
                             err);
    return status;
}

/* Makes an element of the result from the window at `at` of a plane, x. */
typedef void tp_pool_fn(const struct pool *pool, const double *x,
                        const int64_t *at, int64_t element);

static void pool_all(const struct pool *pool, tp_pool_fn *make)
{
    const struct window *w = &pool->window;
    const int64_t size = volume(w->in), planes = w->batch * w->channels;
    int64_t element = 0;
    for (int64_t plane = 0; plane < planes; plane++) {
        int64_t at[AXES] = {0};
        do
            make(pool, pool->input->value + plane * size, at, element++);
        while (step(at, w->out));
    }
}

/* --- the largest of a window ---------------------------------------------- */

static void largest_in(const struct pool *pool, const double *x,
                       const int64_t *at, int64_t element)
{
    const struct window *w = &pool->window;
    int64_t first[AXES], count[AXES], k[AXES] = {0};
    double *most = &pool->output->value[element];
    *most = -INFINITY;
    if (!clip(w, at, first, count))
        return;
    do {
        const int64_t in[AXES] = {first[0] + k[0], first[1] + k[1],
                                  first[2] + k[2]};
        const double value = x[place_of(w, at, in)];
        if (!(value <= *most) && !isnan(*most))
            *most = value;
    } while (step(k, count));
}

static bool fit_windows(const struct tp_replay_call *replay, struct window *w)
{
    const int axes = w->axes;
    if (!set_numbers(replay, &kernels_of, axes, w->kernel) ||
        !set_numbers(replay, &paddings_of, axes, w->pad) ||
        !set_numbers(replay, &dilations_of, axes, w->dilation))
        return false;
    memcpy(w->stride, w->kernel, sizeof w->stride);
    return !tp_arg(replay, "stride") ||
           set_numbers(replay, &strides_of, axes, w->stride);
}

TP_KERNEL(tp_run_max_pool)
{
    struct pool pool;
    enum tp_status status = begin_pool(replay, row, fit_windows, &pool, err);
    if (status == TP_OK && pool.output->count > 0)
        pool_all(&pool, largest_in);
    return status;
}

/* --- the mean of a part --------------------------------------------------- */

/* The mean of the part [i in / out, ceil((i + 1) in / out)) of each axis. */
static void average_part(const struct pool *pool, const double *x,
                         const int64_t *at, int64_t element)
{
    const struct window *w = &pool->window;
    int64_t first[AXES], length[AXES], k[AXES] = {0};
    double sum = 0, magnitude = 0;
    for (int i = 0; i < AXES; i++) {
        first[i] = at[i] * w->in[i] / w->out[i];
        length[i] =
            ((at[i] + 1) * w->in[i] + w->out[i] - 1) / w->out[i] - first[i];
    }
    do {
        int64_t place = 0;
        for (int i = 0; i < AXES; i++)
            place = place * w->in[i] + first[i] + k[i];
        sum += x[place];
        magnitude += fabs(x[place]);
    } while (step(k, length));
    const double count = (double)volume(length), mean = sum / count;
    pool->output->value[element] = mean;
    pool->output->bound[element] =
        tp_replay_gamma(pool->replay, count + 1) * magnitude / count +
        pool->replay->own * fabs(mean);
}

TP_KERNEL(tp_run_adaptive_average)
{
    struct pool pool;
    enum tp_status status = begin_pool(replay, row, NULL, &pool, err);
    if (status != TP_OK || pool.output->count == 0)
        return status;
    if (volume(pool.window.in) == 0)
        return tp_replay_fail_shapes(err);
    pool_all(&pool, average_part);
    return TP_OK;
}
