/* SPDX-License-Identifier: MIT */
/*
 * interpolate: along each of the last one to three axes an element of the
 * result is a sum of up to four of the input, nearest, linear or cubic (Keys,
 * a = -0.75), with the coordinates of torch (half pixels, or aligned corners);
 * "area" is the mean of a part. The weights of each axis are made once, and
 * the gradient hands back with the same weights. A coordinate is rounded as
 * often as it is large, which moves a weight by as much. Cost: outputs x taps.
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
    *taps = (struct taps){1, {clip((int64_t)floorf(at), axis->in)}, {1}, 0};
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
    const int64_t low = clip((int64_t)floor(at), axis->in);
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
        taps->place[k] = clip((int64_t)low - 1 + k, axis->in);
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
    if (!axis->said || r->aligned)
        axis->scale = !r->aligned ? (double)axis->in / (double)axis->out
                      : axis->out > 1
                          ? (double)(axis->in - 1) / (double)(axis->out - 1)
                          : 0;
    for (int64_t i = 0; i < axis->out; i++) {
        if (is(r, "area"))
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
    double last = 0;
    int count = 0;
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item =
            &replay->place->items[replay->call->first + i];
        if (!tp_arg_is(replay, i, "scale_factor") ||
            item->kind != TP_DUMP_VALUE || !tp_json_is_number(item->value))
            continue;
        last = item->value->real;
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
    return (count == 0 || count == 1 || count == r->axes) &&
           (count == 0 || last > 0);
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
        if (own < 0)
            r->axis[i].scale = 1;
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

/* --- elements ------------------------------------------------------------- */

/* One tap on each axis. */
struct tap {
    int64_t place;
    double weight, off;
};

static struct tap tap_of(const struct resize *r, const int64_t *at,
                         const int64_t *k)
{
    struct tap tap = {0, 1, 0};
    for (int i = 0; i < AXES; i++) {
        const struct taps *taps = &r->axis[i].taps[at[i]];
        const bool mean = is(r, "area");
        const double weight =
            mean ? 1 / (double)taps->count : taps->weight[k[i]];
        tap.place = tap.place * r->axis[i].in +
                    (mean ? taps->place[0] + k[i] : taps->place[k[i]]);
        tap.off = tap.off * fabs(weight) + taps->off * fabs(tap.weight);
        tap.weight *= weight;
    }
    return tap;
}

static bool step(int64_t *at, const int64_t *lengths)
{
    for (int i = AXES; i-- > 0;) {
        if (++at[i] < lengths[i])
            return true;
        at[i] = 0;
    }
    return false;
}

/* Forward, the result takes; backward, it gives. */
static void visit_all(const struct resize *r, const struct tp_array *from,
                      struct tp_array *to, bool back)
{
    const int64_t out[AXES] = {r->axis[0].out, r->axis[1].out, r->axis[2].out};
    const int64_t in = r->axis[0].in * r->axis[1].in * r->axis[2].in;
    const double unit = r->replay->unit;
    int64_t element = 0;
    for (int64_t plane = 0; plane < r->planes; plane++) {
        int64_t at[AXES] = {0};
        do {
            int64_t k[AXES] = {0}, counts[AXES];
            for (int i = 0; i < AXES; i++)
                counts[i] = r->axis[i].taps[at[i]].count;
            const double terms =
                (double)(counts[0] * counts[1] * counts[2]) + 4;
            const double rounding = is(r, "nearest") || r->half
                                        ? (back ? unit * terms : 0)
                                        : unit * terms;
            do {
                const struct tap tap = tap_of(r, at, k);
                const int64_t place = plane * in + tap.place;
                const int64_t source = back ? element : place;
                const int64_t target = back ? place : element;
                const double x = from->value[source];
                to->value[target] += tap.weight == 1 ? x : tap.weight * x;
                to->bound[target] +=
                    fabs(x) * (tap.off + rounding * fabs(tap.weight));
            } while (step(k, counts));
            element++;
        } while (step(at, out));
    }
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
        visit_all(&r, r.input, output, false);
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
        visit_all(&r, given, gradient, true);
    clear(&r);
    return status;
}
