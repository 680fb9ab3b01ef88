/* SPDX-License-Identifier: MIT */
/*
 * Fused operators of torch_npu, by what its documentation says they are made
 * of; where it has a gradient of its own, that of the whole.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/point_math.h"
#include "replay/softmax_math.h"

/* --- rotary_mul: r1 x + r2 turned(x) -------------------------------------- */

struct rotary {
    const struct tp_array *x, *cosine, *sine;
    struct tp_array_walk walk; /* of x, the cosine and the sine             */
    int64_t width;
    bool interleaved;
};

static enum tp_status bind_rotary(const struct tp_replay_call *call,
                                  struct rotary *r, struct tp_error *err)
{
    const char *mode = tp_arg_text(call, "rotary_mode", "half");
    enum tp_status status = tp_arg_tensor(call, "input", &r->x, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "r1", &r->cosine, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "r2", &r->sine, err);
    if (status != TP_OK)
        return status;
    r->interleaved = !strcmp(mode, "interleave");
    r->walk = (struct tp_array_walk){.dims = r->x->dims, .shape = r->x->shape};
    r->width = r->x->dims ? r->x->shape[r->x->dims - 1] : 0;
    return r->width % 2 == 0 && (r->interleaved || !strcmp(mode, "half")) &&
                   r->width > 0 &&
                   tp_array_broadcast(r->cosine, r->x->dims, r->x->shape,
                                      r->walk.strides[1]) &&
                   tp_array_broadcast(r->sine, r->x->dims, r->x->shape,
                                      r->walk.strides[2])
               ? TP_OK
               : tp_replay_fail_shapes(err);
}

/* The element that stands for element i when it is turned, and its sign. */
static int64_t partner_of(const struct rotary *r, int64_t i, double *sign)
{
    const int64_t at = i % r->width, half = r->width / 2;
    const bool first = r->interleaved ? at % 2 == 0 : at < half;
    *sign = first ? -1 : 1;
    return i + (r->interleaved ? 1 : half) * (first ? 1 : -1);
}

TP_KERNEL(tp_run_rotary)
{
    struct rotary r;
    struct tp_array *output;
    (void)row;
    enum tp_status status = bind_rotary(replay, &r, err);
    if (status == TP_OK)
        status =
            tp_replay_make_bounded(replay, r.x->dims, r.x->shape, &output, err);
    for (int64_t i = 0; status == TP_OK && i < r.x->count; i++) {
        double sign;
        const int64_t partner = partner_of(&r, i, &sign);
        const double a = r.cosine->value[r.walk.at[1]] * r.x->value[i];
        const double b =
            sign * r.sine->value[r.walk.at[2]] * r.x->value[partner];
        output->value[i] = a + b;
        output->bound[i] = 2 * replay->unit * (fabs(a) + fabs(b));
        tp_array_walk_next(&r.walk);
    }
    return status;
}

/* (input, r1, r2); a turned element takes from its partner with its sign. */
static void rotary_slopes(const struct rotary *r, const struct tp_array *given,
                          double unit, struct tp_array *made)
{
    struct tp_array_walk walk = r->walk;
    double gamma =
        unit * ((double)r->x->count /
                    (double)(r->cosine->count ? r->cosine->count : 1) +
                2);
    walk.shape = r->x->shape;
    for (int64_t i = 0; i < r->x->count; i++) {
        double sign;
        const int64_t partner = partner_of(r, i, &sign);
        const int64_t c = walk.at[1], s = walk.at[2];
        const double g = given->value[i], x = r->x->value[i];
        const double turned = sign * r->x->value[partner];
        const double own = g * r->cosine->value[c];
        const double other = sign * g * r->sine->value[s];
        made[0].value[i] += own;
        made[0].bound[i] += 2 * unit * fabs(own);
        made[0].value[partner] += other;
        made[0].bound[partner] += 2 * unit * fabs(other);
        made[1].value[c] += g * x;
        made[1].bound[c] += gamma * fabs(g * x);
        made[2].value[s] += g * turned;
        made[2].bound[s] += gamma * fabs(g * turned);
        tp_array_walk_next(&walk);
    }
}

TP_BACKWARD(tp_back_rotary)
{
    struct rotary r;
    struct tp_array *next;
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = bind_rotary(backward->forward, &r, err);
    if (status == TP_OK && given->count != r.x->count)
        status = tp_replay_fail_shapes(err);
    const struct tp_array *const sides[3] = {r.x, r.cosine, r.sine};
    for (int i = 0; i < 3 && status == TP_OK; i++)
        status = tp_backward_make_like(backward, sides[i], &next, err);
    if (status == TP_OK)
        rotary_slopes(&r, given, backward->call->unit, backward->made);
    return status;
}

/* --- swiglu: silu(a) b of the halves of an axis --------------------------- */

struct halves {
    const struct tp_array *x;
    int64_t length, inner; /* of a half, and behind the axis                */
    int axis;
};

static enum tp_status bind_halves(const struct tp_replay_call *call,
                                  struct halves *h, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(call, "input", &h->x, err);
    if (status == TP_OK)
        status = tp_arg_axis(call, "dim", -1, h->x->dims, &h->axis, err);
    if (status != TP_OK)
        return status;
    if (h->x->dims < 1 || h->x->shape[h->axis] % 2)
        return tp_replay_fail_shapes(err);
    h->length = h->x->shape[h->axis] / 2;
    h->inner = 1;
    for (int i = h->axis + 1; i < h->x->dims; i++)
        h->inner *= h->x->shape[i];
    return TP_OK;
}

/* The place of element i of the result in the first half. */
static int64_t first_half(const struct halves *h, int64_t i)
{
    const int64_t part = h->length * h->inner;
    return i / part * 2 * part + i % part;
}

static double sigmoid(double x)
{
    const double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

enum { SIGMOID_ROUNDINGS = TP_FUNCTION_ROUNDINGS + 3 };

TP_KERNEL(tp_run_swiglu)
{
    struct halves h;
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = bind_halves(replay, &h, err);
    if (status != TP_OK)
        return status;
    for (int i = 0; i < h.x->dims; i++)
        shape[i] = i == h.axis ? h.length : h.x->shape[i];
    status = tp_replay_make_bounded(replay, h.x->dims, shape, &output, err);
    for (int64_t i = 0; status == TP_OK && i < output->count; i++) {
        const int64_t at = first_half(&h, i);
        const double a = h.x->value[at];
        const double b = h.x->value[at + h.length * h.inner];
        const double value = a * sigmoid(a) * b;
        output->value[i] = value;
        output->bound[i] =
            replay->unit * (SIGMOID_ROUNDINGS + 2 + fabs(a)) * fabs(value);
    }
    return status;
}

TP_BACKWARD(tp_back_swiglu)
{
    struct halves h;
    struct tp_array *gradient;
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = bind_halves(backward->forward, &h, err);
    if (status == TP_OK && 2 * given->count != h.x->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, h.x, &gradient, err);
    const double unit = backward->call->unit;
    for (int64_t i = 0; status == TP_OK && i < given->count; i++) {
        const int64_t at = first_half(&h, i);
        const int64_t second = at + h.length * h.inner;
        const double a = h.x->value[at], b = h.x->value[second];
        const double g = given->value[i], s = sigmoid(a), rest = sigmoid(-a);
        const double off = unit * (SIGMOID_ROUNDINGS + 5 + fabs(a));
        gradient->value[at] = g * b * s * (1 + a * rest);
        gradient->bound[at] = 2 * off * fabs(g * b) * s * (1 + fabs(a) * rest);
        gradient->value[second] = g * a * s;
        gradient->bound[second] = off * fabs(gradient->value[second]);
    }
    return status;
}

/* --- glu: a sigmoid(b) of the halves ------------------------------------- */

TP_KERNEL(tp_run_glu)
{
    struct halves h;
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = bind_halves(replay, &h, err);
    if (status != TP_OK)
        return status;
    for (int i = 0; i < h.x->dims; i++)
        shape[i] = i == h.axis ? h.length : h.x->shape[i];
    status = tp_replay_make_bounded(replay, h.x->dims, shape, &output, err);
    for (int64_t i = 0; status == TP_OK && i < output->count; i++) {
        const int64_t at = first_half(&h, i);
        const double b = h.x->value[at + h.length * h.inner];
        output->value[i] = h.x->value[at] * sigmoid(b);
        output->bound[i] = replay->unit * (SIGMOID_ROUNDINGS + 1 + fabs(b)) *
                           fabs(output->value[i]);
    }
    return status;
}

TP_BACKWARD(tp_back_glu)
{
    struct halves h;
    struct tp_array *gradient;
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = bind_halves(backward->forward, &h, err);
    if (status == TP_OK && 2 * given->count != h.x->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, h.x, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < given->count; i++) {
        const int64_t at = first_half(&h, i);
        const int64_t second = at + h.length * h.inner;
        const double a = h.x->value[at], b = h.x->value[second];
        const double off =
            backward->call->unit * (SIGMOID_ROUNDINGS + 4 + fabs(b));
        const double of_a = given->value[i] * sigmoid(b);
        gradient->value[at] = of_a;
        gradient->value[second] = of_a * a * sigmoid(-b);
        gradient->bound[at] = off * fabs(of_a);
        /* kernels take 1 - sigmoid(b), of which little is left near 1 */
        gradient->bound[second] = 2 * off * fabs(gradient->value[second]) +
                                  off * sigmoid(b) * fabs(of_a * a);
    }
    return status;
}

/* --- scaled_masked_softmax ------------------------------------------------ */

/* What a hidden score becomes. */
static const double HIDDEN = -10000;

struct scaled {
    const struct tp_array *x, *mask;
    struct tp_array_walk walk;
    double scale;
    bool triangle; /* above the diagonal of the last axes, whatever mask is */
};

static enum tp_status bind_scaled(const struct tp_replay_call *call,
                                  struct scaled *s, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(call, "x", &s->x, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "mask", &s->mask, err);
    if (status != TP_OK)
        return status;
    s->scale = tp_arg_real(call, "scale", 1);
    s->triangle = tp_arg_integer(call, "fixed_triu_mask", 0);
    s->walk = (struct tp_array_walk){.dims = s->x->dims, .shape = s->x->shape};
    return s->x->dims >= 2 &&
                   tp_array_broadcast(s->mask, s->x->dims, s->x->shape,
                                      s->walk.strides[0])
               ? TP_OK
               : tp_replay_fail_shapes(err);
}

/* Whether the element where the walk is is hidden. */
static bool is_hidden(const struct scaled *s, const struct tp_array_walk *walk)
{
    const int last = s->x->dims - 1;
    return s->triangle ? walk->index[last] > walk->index[last - 1]
                       : s->mask->value[walk->at[0]] != 0;
}

TP_KERNEL(tp_run_scaled_softmax)
{
    struct scaled s;
    struct tp_array *output;
    (void)row;
    enum tp_status status = bind_scaled(replay, &s, err);
    if (status == TP_OK)
        status =
            tp_replay_make_bounded(replay, s.x->dims, s.x->shape, &output, err);
    if (status != TP_OK || s.x->count == 0)
        return status;
    const int64_t length = s.x->shape[s.x->dims - 1];
    struct tp_array_walk walk = s.walk;
    for (int64_t i = 0; i < s.x->count; i++) {
        const double scaled = s.scale * s.x->value[i];
        const bool hidden = is_hidden(&s, &walk);
        output->value[i] = hidden ? HIDDEN : scaled;
        output->bound[i] = hidden ? 0 : replay->unit * fabs(scaled);
        tp_array_walk_next(&walk);
    }
    double *bound = malloc(((size_t)length + 1) * sizeof *bound);
    for (int64_t at = 0; bound && at < s.x->count; at += length) {
        memcpy(bound, output->bound + at, (size_t)length * sizeof *bound);
        const struct tp_softmax_line line = {output->value + at, bound, length,
                                             1, replay->unit};
        tp_softmax_line(&line, output->value + at, output->bound + at);
    }
    status = bound ? TP_OK : tp_fail_memory(err);
    free(bound);
    return status;
}

/* scale y (g - sum g y), and 0 where it is hidden. */
TP_BACKWARD(tp_back_scaled_softmax)
{
    struct scaled s;
    struct tp_array *gradient;
    const struct tp_array *given, *y;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &y, err);
    if (status == TP_OK)
        status = bind_scaled(backward->forward, &s, err);
    if (status == TP_OK &&
        (given->count != s.x->count || y->count != s.x->count))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, s.x, &gradient, err);
    if (status != TP_OK || s.x->count == 0)
        return status;
    const int64_t length = s.x->shape[s.x->dims - 1];
    const double unit = backward->call->unit;
    struct tp_array_walk walk = s.walk;
    walk.shape = s.x->shape;
    for (int64_t at = 0; at < s.x->count; at += length) {
        double sum = 0, size = 0;
        for (int64_t i = at; i < at + length; i++) {
            sum += given->value[i] * y->value[i];
            size += fabs(given->value[i] * y->value[i]);
        }
        size *= unit * (double)(length + 1);
        for (int64_t i = at; i < at + length; i++) {
            const double g = given->value[i];
            const double factor =
                is_hidden(&s, &walk) ? 0 : s.scale * y->value[i];
            gradient->value[i] = factor * (g - sum);
            gradient->bound[i] =
                fabs(factor) * (size + 4 * unit * (fabs(g) + fabs(sum)));
            tp_array_walk_next(&walk);
        }
    }
    return TP_OK;
}
