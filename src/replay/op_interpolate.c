/* SPDX-License-Identifier: MIT */
/*
 * interpolate: along each of the last one to three axes an element of the
 * result is a sum of up to four of the input, nearest, linear or cubic (Keys,
 * a = -0.75), with the coordinates of torch (half pixels, or aligned corners);
 * "area" is the mean of a part. The weights of each axis are made once, and
 * the gradient hands back with the same weights. A coordinate is rounded as
 * often as it is large, which moves a weight by as much. A plane goes through
 * one axis after the other, which costs the sum of their taps an element where
 * a sum over all at once costs the product; with it go the magnitudes of its
 * terms, and how far they may be off.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"
#include "replay/said_shape.h"

enum { AXES = 3, TAPS = 4 };

/* What one index of the result takes along an axis: `count` elements from
 * place[0] on, or, of at most TAPS, with their weights. */
struct taps {
    int64_t count, place[TAPS];
    double weight[TAPS];
    double off; /* how far a weight may be off                              */
};

struct axis {
    int64_t in, out;
    double factor; /* that was said; 0: none                                 */
    double scale;
    bool said; /* the scale was an argument                                  */
    bool idle; /* the operator does not have it                              */
    bool mean; /* of the elements from place[0] on                           */
    struct taps *taps; /* [out]                                              */
};

struct resize {
    const struct tp_replay_call *replay;
    const struct tp_array *input;
    int axes;
    int64_t planes;
    struct axis axis[AXES];
    bool aligned, half; /* corners, half pixels of the nearest               */
    const char *mode;
};

static bool is(const struct resize *r, const char *mode)
{
    return !strcmp(r->mode, mode);
}

/* --- weights -------------------------------------------------------------- */

static int64_t clip(int64_t place, int64_t length)
{
    return place < 0 ? 0 : place >= length ? length - 1 : place;
}

/* torch finds the nearest in fp32. */
static void nearest(const struct resize *r, const struct axis *axis, int64_t i,
                    struct taps *taps)
{
    const float scale = (float)axis->scale;
    const float at = ((float)i + (r->half ? 0.5f : 0)) * scale;
    *taps = (struct taps){
        1, {clip(tp_value_integer(floorf(at)), axis->in)}, {1}, 0};
}

static double coordinate(const struct resize *r, const struct axis *axis,
                         int64_t i, bool cubic)
{
    if (r->aligned)
        return axis->scale * (double)i;
    const double at = axis->scale * ((double)i + 0.5) - 0.5;
    return at < 0 && !cubic ? 0 : at;
}

static void linear(const struct resize *r, const struct axis *axis, int64_t i,
                   struct taps *taps)
{
    const double at = coordinate(r, axis, i, false);
    const int64_t low = clip(tp_value_integer(floor(at)), axis->in);
    const double part = fmin(fmax(at - (double)low, 0), 1);
    *taps = (struct taps){2,
                          {low, clip(low + 1, axis->in)},
                          {1 - part, part},
                          4 * r->replay->unit * (1 + at)};
}

/* Keys' kernel within 1, and between 1 and 2. */
static double inner(double x)
{
    return ((-0.75 + 2) * x - (-0.75 + 3)) * x * x + 1;
}

static double outer(double x)
{
    return ((-0.75 * x - 5 * -0.75) * x + 8 * -0.75) * x - 4 * -0.75;
}

static void cubic(const struct resize *r, const struct axis *axis, int64_t i,
                  struct taps *taps)
{
    const double at = coordinate(r, axis, i, true), low = floor(at);
    const double part = at - low;
    *taps = (struct taps){
        TAPS,
        {0},
        {outer(part + 1), inner(part), inner(1 - part), outer(2 - part)},
        16 * r->replay->unit * (2 + fabs(at))};
    for (int k = 0; k < TAPS; k++)
        taps->place[k] = clip(tp_value_integer(low - 1 + k), axis->in);
}

static void area(const struct axis *axis, int64_t i, struct taps *taps)
{
    const int64_t first = i * axis->in / axis->out;
    const int64_t end = ((i + 1) * axis->in + axis->out - 1) / axis->out;
    *taps = (struct taps){end - first, {first}, {0}, 0};
}

static enum tp_status weigh(const struct resize *r, struct axis *axis,
                            struct tp_error *err)
{
    axis->taps = calloc((size_t)axis->out + 1, sizeof *axis->taps);
    if (!axis->taps)
        return tp_fail_memory(err);
    axis->mean = is(r, "area");
    if (axis->idle) {
        *axis->taps = (struct taps){1, {0}, {1}, 0};
        return TP_OK;
    }
    if (!axis->said || r->aligned)
        axis->scale = !r->aligned ? (double)axis->in / (double)axis->out
                      : axis->out > 1
                          ? (double)(axis->in - 1) / (double)(axis->out - 1)
                          : 0;
    for (int64_t i = 0; i < axis->out; i++) {
        if (axis->mean)
            area(axis, i, &axis->taps[i]);
        else if (is(r, "bicubic"))
            cubic(r, axis, i, &axis->taps[i]);
        else if (strncmp(r->mode, "nearest", 7) != 0)
            linear(r, axis, i, &axis->taps[i]);
        else
            nearest(r, axis, i, &axis->taps[i]);
        if (is(r, "nearest") && axis->out == 2 * axis->in &&
            axis->taps[i].place[0] != i / 2)
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "kernels differ where the lengths double and the "
                           "factor is another one");
    }
    return TP_OK;
}

/* --- what is asked for ---------------------------------------------------- */

static bool is_mode(const struct resize *r)
{
    static const char *const modes[] = {"nearest", "nearest-exact", "area",
                                        "linear",  "bilinear",      "trilinear",
                                        "bicubic"};
    static const int axes[] = {0, 0, 0, 1, 2, 3, 2};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (is(r, modes[i]))
            return axes[i] == 0 || axes[i] == r->axes;
    return false;
}

/* One factor, or one for each axis; the item of a list has its number behind
 * a point. */
static bool set_scales(struct resize *r)
{
    const struct tp_replay_call *replay = r->replay;
    bool right = true;
    double last = 0;
    int count = 0;
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item =
            &replay->place->items[replay->call->first + i];
        if (!tp_arg_is(replay, i, "scale_factor") ||
            item->kind != TP_DUMP_VALUE || !tp_json_is_number(item->value))
            continue;
        last = item->value->real;
        right &= last > 0 && isfinite(last);
        if (count < r->axes)
            r->axis[AXES - r->axes + count++].factor = last;
    }
    for (int i = 0; i < r->axes && count == 1; i++)
        r->axis[AXES - r->axes + i].factor = last;
    for (int i = 0; i < AXES; i++)
        r->axis[i].scale = 1 / r->axis[i].factor;
    const bool used =
        count > 0 && !tp_arg_integer(replay, "recompute_scale_factor", 0);
    for (int i = 0; i < AXES; i++)
        r->axis[i].said = used && i >= AXES - r->axes;
    return (count == 0 || count == 1 || count == r->axes) && right;
}

/* Whether size or factors are those of the result. */
static bool said_lengths(const struct resize *r)
{
    int64_t said[AXES];
    tp_said_each(r->replay, "size", r->axes, said);
    for (int i = 0; i < r->axes; i++) {
        const struct axis *axis = &r->axis[AXES - r->axes + i];
        if ((said[i] >= 0 && said[i] != axis->out) ||
            (axis->factor > 0 &&
             floor((double)axis->in * axis->factor) != (double)axis->out))
            return false;
    }
    return true;
}

static enum tp_status begin(const struct tp_replay_call *replay,
                            const int64_t *shape, int dims, struct resize *r,
                            struct tp_error *err)
{
    enum tp_status status = TP_OK;
    r->axes = dims - 2;
    r->aligned = tp_arg_integer(replay, "align_corners", 0) != 0;
    r->mode = tp_arg_text(replay, "mode", "nearest");
    r->half = is(r, "nearest-exact");
    if (r->axes < 1 || r->axes > AXES || r->input->dims != dims ||
        r->input->shape[0] != shape[0] || r->input->shape[1] != shape[1] ||
        (r->input->count == 0 && shape[0] && shape[1]) || !set_scales(r))
        return tp_replay_fail_shapes(err);
    if (!is_mode(r) || tp_arg_integer(replay, "antialias", 0))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "this mode of it is not replayed");
    r->planes = shape[0] * shape[1];
    for (int i = 0; i < AXES; i++) {
        const int own = i - (AXES - r->axes);
        r->axis[i].in = own < 0 ? 1 : r->input->shape[2 + own];
        r->axis[i].out = own < 0 ? 1 : shape[2 + own];
        r->axis[i].idle = own < 0;
    }
    if (!said_lengths(r))
        return tp_replay_fail_result(err);
    for (int i = 0; i < AXES && status == TP_OK; i++)
        status = weigh(r, &r->axis[i], err);
    return status;
}

static void clear(struct resize *r)
{
    for (int i = 0; i < AXES; i++)
        free(r->axis[i].taps);
}

/* --- planes --------------------------------------------------------------- */

/* A plane on its way through the axes. */
struct plane {
    int64_t lengths[AXES];
    double *value, *size; /* |value| of all terms                           */
    double *off;          /* by what weights may be off                     */
};

static int64_t volume(const int64_t *lengths)
{
    return lengths[0] * lengths[1] * lengths[2];
}

static enum tp_status make_plane(struct plane *plane, int64_t count,
                                 struct tp_error *err)
{
    plane->value = malloc(3 * (size_t)(count + 1) * sizeof *plane->value);
    if (!plane->value)
        return tp_fail_memory(err);
    plane->size = plane->value + count;
    plane->off = plane->size + count;
    return TP_OK;
}

/* Stretches of `inner` elements of a tap, to be added from one to another. */
struct stretch {
    int64_t from, to, inner;
    double weight, off;
};

static void add_stretch(const struct stretch *s, const struct plane *from,
                        const struct plane *to)
{
    const double weight = s->weight, share = fabs(s->weight), off = s->off;
    const double *value = from->value + s->from, *size = from->size + s->from;
    const double *moved = from->off + s->from;
    double *to_value = to->value + s->to, *to_size = to->size + s->to;
    double *to_moved = to->off + s->to;
    for (int64_t i = 0; i < s->inner; i++) {
        to_value[i] += weight * value[i];
        to_size[i] += share * size[i];
        to_moved[i] += share * moved[i] + off * size[i];
    }
}

/* Takes a plane through one axis; backward the result gives what it took. */
static void run_axis(const struct axis *axis, int number, bool back,
                     const struct plane *from, struct plane *to)
{
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < AXES; i++)
        if (i != number)
            *(i < number ? &outer : &inner) *= from->lengths[i];
    memcpy(to->lengths, from->lengths, sizeof to->lengths);
    to->lengths[number] = back ? axis->in : axis->out;
    const size_t bytes = (size_t)volume(to->lengths) * sizeof *to->value;
    memset(to->value, 0, bytes);
    memset(to->size, 0, bytes);
    memset(to->off, 0, bytes);
    for (int64_t n = 0; n < outer; n++)
        for (int64_t i = 0; i < axis->out; i++) {
            const struct taps *taps = &axis->taps[i];
            for (int64_t k = 0; k < taps->count; k++) {
                const int64_t place =
                    (n * axis->in +
                     (axis->mean ? taps->place[0] + k : taps->place[k])) *
                    inner;
                const int64_t element = (n * axis->out + i) * inner;
                const struct stretch stretch = {
                    back ? element : place, back ? place : element, inner,
                    axis->mean ? 1 / (double)taps->count : taps->weight[k],
                    taps->off};
                add_stretch(&stretch, from, to);
            }
        }
}

/* Roundings of the sum that element `at` of the result is. */
static double terms_of(const struct resize *r, int64_t at)
{
    double terms = 1;
    for (int i = AXES; i-- > 0; at /= r->axis[i].out)
        terms *= (double)r->axis[i].taps[at % r->axis[i].out].count;
    return terms + 4;
}

/* What of a plane is rounded; the nearest is as it was. */
static double rounding_of(const struct resize *r, bool back, int64_t at)
{
    return is(r, "nearest") || r->half ? (back ? 5 * r->replay->unit : 0)
                                       : r->replay->unit * terms_of(r, at);
}

/* Axes that grow come last, so that no plane is larger than both ends. */
static void run_axes(const struct resize *r, bool back, struct plane planes[2])
{
    for (int grows = 0; grows < 2; grows++)
        for (int i = AXES; i-- > 0;) {
            const struct axis *axis = &r->axis[i];
            const bool larger =
                back ? axis->in > axis->out : axis->out > axis->in;
            if (axis->idle || larger != grows)
                continue;
            run_axis(axis, i, back, &planes[0], &planes[1]);
            const struct plane done = planes[1];
            planes[1] = planes[0];
            planes[0] = done;
        }
}

/* One plane; backward what came is rounded as the sum that it belongs to. */
static void visit(const struct resize *r, bool back, const double *from,
                  struct plane planes[2])
{
    struct plane *plane = &planes[0];
    for (int i = 0; i < AXES; i++)
        plane->lengths[i] = back ? r->axis[i].out : r->axis[i].in;
    const int64_t count = volume(plane->lengths);
    for (int64_t i = 0; i < count; i++) {
        plane->value[i] = from[i];
        plane->size[i] = fabs(from[i]);
        plane->off[i] = back ? rounding_of(r, back, i) * plane->size[i] : 0;
    }
    run_axes(r, back, planes);
}

/* Forward, the result takes; backward, it gives. */
static enum tp_status visit_all(const struct resize *r,
                                const struct tp_array *from,
                                struct tp_array *to, bool back,
                                struct tp_error *err)
{
    const int64_t before = from->count / r->planes;
    const int64_t behind = to->count / r->planes;
    const int64_t most = before > behind ? before : behind;
    struct plane planes[2] = {{.value = NULL}, {.value = NULL}};
    enum tp_status status = make_plane(&planes[0], most, err);
    if (status == TP_OK)
        status = make_plane(&planes[1], most, err);
    for (int64_t n = 0; n < r->planes && status == TP_OK; n++) {
        double *value = to->value + n * behind, *bound = to->bound + n * behind;
        visit(r, back, from->value + n * before, planes);
        memcpy(value, planes[0].value, (size_t)behind * sizeof *value);
        for (int64_t i = 0; i < behind; i++)
            bound[i] = planes[0].off[i] +
                       (back ? 0 : rounding_of(r, back, i) * planes[0].size[i]);
    }
    free(planes[0].value);
    free(planes[1].value);
    return status;
}

TP_KERNEL(tp_run_interpolate)
{
    struct resize r = {.replay = replay};
    struct tp_array *output;
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &r.input, err);
    if (status == TP_OK)
        status = tp_replay_make_like_dumped(replay, &output, err);
    if (status == TP_OK)
        status = tp_array_bounds(output, err);
    if (status == TP_OK)
        status = begin(replay, output->shape, output->dims, &r, err);
    if (status == TP_OK && output->count)
        status = visit_all(&r, r.input, output, false, err);
    clear(&r);
    return status;
}

TP_BACKWARD(tp_back_interpolate)
{
    struct resize r = {.replay = backward->forward};
    const struct tp_array *given;
    struct tp_array *gradient;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_arg_tensor(backward->forward, "input", &r.input, err);
    if (status == TP_OK)
        status = begin(backward->forward, given->shape, given->dims, &r, err);
    if (status == TP_OK && is(&r, "area") && r.axes == 1) {
        clear(&r);
        return tp_backward_view(backward, given, 0, err);
    }
    if (status == TP_OK)
        status = tp_backward_make_like(backward, r.input, &gradient, err);
    if (status == TP_OK && given->count)
        status = visit_all(&r, given, gradient, true, err);
    clear(&r);
    return status;
}
