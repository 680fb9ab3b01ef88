/* SPDX-License-Identifier: MIT */
/*
 * Softmax along an axis (softmax_math.h), and losses. A loss of log-probabili-
 * ties may have these rounded to their dtype before they are summed, and the
 * sum before it is divided: own * |each|, and own * |result|. One pass a line;
 * cross entropy keeps the logarithms, as large as its input.
 */
#include "replay/operators.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "replay/softmax_math.h"

typedef void line_fn(const struct tp_softmax_line *line, double *value,
                     double *bound);

/* Elements before and after an axis. */
static int64_t inner_of(const struct tp_array *array, int axis)
{
    int64_t inner = 1;
    for (int i = axis + 1; i < array->dims; i++)
        inner *= array->shape[i];
    return inner;
}

/* All lines along an axis. */
static void run_lines(const struct tp_array *input, int axis, double unit,
                      line_fn *run, struct tp_array *output)
{
    const int64_t length = input->dims ? input->shape[axis] : 1;
    const int64_t inner = inner_of(input, axis);
    for (int64_t at = 0; at < input->count; at += length * inner)
        for (int64_t i = at; i < at + inner; i++) {
            const struct tp_softmax_line line = {input->value + i, NULL, length,
                                                 inner, unit};
            run(&line, output->value + i, output->bound + i);
        }
}

static enum tp_status run_axis(struct tp_replay_call *replay, line_fn *run,
                               struct tp_error *err)
{
    const struct tp_array *input;
    struct tp_array *output;
    int axis;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK && !tp_arg(replay, "dim"))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1, "its axis is not said");
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", -1, input->dims, &axis, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, input->dims, input->shape,
                                        &output, err);
    if (status == TP_OK)
        run_lines(input, axis, replay->unit, run, output);
    return status;
}

TP_KERNEL(tp_run_softmax)
{
    (void)row;
    return run_axis(replay, tp_softmax_line, err);
}

TP_KERNEL(tp_run_log_softmax)
{
    (void)row;
    return run_axis(replay, tp_log_softmax_line, err);
}

/* --- means and sums of losses --------------------------------------------- */

enum reduction { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static enum tp_status reduction_of(const struct tp_replay_call *replay,
                                   enum reduction *reduction,
                                   struct tp_error *err)
{
    const char *word = tp_arg_text(replay, "reduction", "mean");
    if (tp_arg(replay, "size_average") || tp_arg(replay, "reduce"))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "size_average and reduce are not replayed");
    *reduction = !strcmp(word, "none")  ? REDUCE_NONE
                 : !strcmp(word, "sum") ? REDUCE_SUM
                                        : REDUCE_MEAN;
    return TP_OK;
}

/* Losses one after the other, each of a weight. */
struct losses {
    const struct tp_replay_call *replay;
    enum reduction reduction;
    struct tp_array *output;
    double sum, magnitude, off, weight;
    int64_t count;
};

static void add_loss(struct losses *losses, double value, double bound,
                     double weight)
{
    if (losses->reduction == REDUCE_NONE) {
        losses->output->value[losses->count] = value;
        losses->output->bound[losses->count] = bound;
    }
    losses->sum += value;
    losses->magnitude += fabs(value);
    losses->off += bound;
    losses->weight += weight;
    losses->count++;
}

static void finish_losses(struct losses *losses)
{
    const double n = (double)losses->count;
    if (losses->reduction == REDUCE_NONE)
        return;
    const bool mean = losses->reduction == REDUCE_MEAN;
    const double divisor = mean ? losses->weight : 1;
    const double value = losses->sum / divisor;
    losses->output->value[0] = value;
    losses->output->bound[0] =
        (losses->off +
         tp_replay_gamma(losses->replay, n + 1) * losses->magnitude) /
            divisor +
        (mean ? (n + 1) * losses->replay->unit + losses->replay->own : 0) *
            fabs(value);
}

static enum tp_status begin_losses(struct tp_replay_call *replay,
                                   struct losses *losses, int dims,
                                   const int64_t *shape, struct tp_error *err)
{
    *losses = (struct losses){.replay = replay};
    enum tp_status status = reduction_of(replay, &losses->reduction, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(
            replay, losses->reduction == REDUCE_NONE ? dims : 0, shape,
            &losses->output, err);
    return status;
}

TP_KERNEL(tp_run_pair_loss)
{
    const struct tp_array *input, *target;
    struct losses losses;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "target", &target, err);
    if (status == TP_OK &&
        (input->count != target->count || input->dims != target->dims))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the shapes of its arguments differ");
    if (status == TP_OK)
        status = begin_losses(replay, &losses, input->dims, input->shape, err);
    if (status != TP_OK)
        return status;
    for (int64_t i = 0; i < input->count; i++) {
        const double x[2] = {input->value[i], target->value[i]};
        double terms;
        const double value = row->point(x, &terms);
        const bool rounded = losses.reduction != REDUCE_NONE;
        add_loss(&losses, value,
                 replay->unit * terms +
                     (rounded ? replay->own * fabs(value) : 0),
                 1);
    }
    finish_losses(&losses);
    return TP_OK;
}

/* --- losses of classes ---------------------------------------------------- */

struct classes {
    const struct tp_array *logs; /* of probabilities, with bounds           */
    const struct tp_array *target, *weight;
    int axis;
    int64_t count, inner; /* classes; elements behind their axis            */
    int64_t ignored;
    double smoothing;
    double rounding; /* of a logarithm before it is used                    */
};

static double weight_of(const struct classes *classes, int64_t k)
{
    return classes->weight ? classes->weight->value[k] : 1;
}

/* The loss of one element of the target. */
static enum tp_status add_class(const struct classes *c, int64_t at,
                                struct losses *losses, struct tp_error *err)
{
    const double class = c->target->value[at];
    const int64_t target =
        fabs(class) < TP_LIMIT_REPLAY_VALUES ? (int64_t) class : -1;
    const int64_t first = at / c->inner * c->inner * c->count + at % c->inner;
    if (class == (double)c->ignored) {
        add_loss(losses, 0, 0, 0);
        return TP_OK;
    }
    if (target < 0 || target >= c->count)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its target is none of the classes");
    double value = 0, bound = 0;
    const double share = c->smoothing / (double)c->count;
    for (int64_t k = 0; k < c->count; k++) {
        const double factor = (k == target ? 1 - c->smoothing : 0) + share;
        const double w = weight_of(c, k) * factor;
        const int64_t i = first + k * c->inner;
        if (w == 0)
            continue;
        value -= w * c->logs->value[i];
        bound +=
            w * (c->logs->bound[i] + c->rounding * fabs(c->logs->value[i]));
    }
    bound += tp_replay_gamma(losses->replay,
                             c->smoothing > 0 ? (double)c->count + 2 : 2) *
             fabs(value);
    add_loss(losses, value, bound, weight_of(c, target));
    return TP_OK;
}

static enum tp_status run_classes(struct tp_replay_call *replay,
                                  struct classes *c, struct tp_error *err)
{
    struct losses losses;
    enum tp_status status = tp_arg_tensor(replay, "target", &c->target, err);
    if (status != TP_OK)
        return status;
    c->axis = c->logs->dims > 1 ? 1 : 0;
    c->count = c->logs->dims ? c->logs->shape[c->axis] : 0;
    c->inner = inner_of(c->logs, c->axis);
    c->weight = tp_arg_array(replay, "weight");
    c->ignored = tp_arg_integer(replay, "ignore_index", -100);
    if (c->count < 1 || c->target->count != c->logs->count / c->count ||
        tp_dtype_rounding(c->target->dtype) > 0 ||
        (c->weight && c->weight->count != c->count))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its target is no list of classes");
    status =
        begin_losses(replay, &losses, c->target->dims, c->target->shape, err);
    for (int64_t i = 0; i < c->target->count && status == TP_OK; i++)
        status = add_class(c, i, &losses, err);
    if (status == TP_OK)
        finish_losses(&losses);
    return status;
}

TP_KERNEL(tp_run_cross_entropy)
{
    const struct tp_array *input;
    struct tp_array logs = {.dims = 0};
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_array_make(&logs, input->dims, input->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&logs, err);
    if (status == TP_OK) {
        struct classes classes = {.logs = &logs,
                                  .smoothing =
                                      tp_arg_real(replay, "label_smoothing", 0),
                                  .rounding = replay->own};
        run_lines(input, input->dims > 1 ? 1 : 0, replay->unit,
                  tp_log_softmax_line, &logs);
        status = run_classes(replay, &classes, err);
    }
    tp_array_clear(&logs);
    return status;
}

TP_KERNEL(tp_run_nll)
{
    struct tp_array *input = tp_arg_array(replay, "input");
    struct classes classes = {.logs = input};
    (void)row;
    if (!input)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its input is no tensor");
    enum tp_status status = tp_array_bounds(input, err);
    return status == TP_OK ? run_classes(replay, &classes, err) : status;
}
