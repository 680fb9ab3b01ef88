/* SPDX-License-Identifier: MIT */
/*
 * Softmax along an axis (softmax_math.h). Its gradient starts from the result
 * y that the device kept: y (g - sum g y), and g - e^y sum g of the logarithm;
 * off by gamma of the sum, and the roundings of each step. One pass a line.
 */
#include "replay/operators.h"

#include <math.h>

#include "replay/backward.h"
#include "replay/point_math.h"
#include "replay/softmax_math.h"

typedef void tp_line_fn(const struct tp_softmax_line *line, double *value,
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
                      tp_line_fn *run, struct tp_array *output)
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

static enum tp_status run_axis(struct tp_replay_call *replay, tp_line_fn *run,
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

/* The same of what is negated. */
TP_KERNEL(tp_run_softmin)
{
    struct tp_array *input = tp_arg_array(replay, "input");
    (void)row;
    for (int64_t i = 0; input && i < input->count; i++)
        input->value[i] = -input->value[i];
    enum tp_status status = run_axis(replay, tp_softmax_line, err);
    for (int64_t i = 0; input && i < input->count; i++)
        input->value[i] = -input->value[i];
    return status;
}

void tp_log_softmax(const struct tp_array *input, int axis, double unit,
                    struct tp_array *output)
{
    run_lines(input, axis, unit, tp_log_softmax_line, output);
}

/* --- gradients ------------------------------------------------------------ */

/* A line of what came, of the result, and of the gradient. */
struct tp_slope_line {
    const double *given, *result;
    double *value, *bound;
    int64_t count, step;
    double unit;
};

typedef void tp_slope_line_fn(const struct tp_slope_line *line);

static void softmax_slope(const struct tp_slope_line *line)
{
    const double unit = line->unit;
    double sum = 0, size = 0;
    for (int64_t i = 0; i < line->count * line->step; i += line->step) {
        sum += line->given[i] * line->result[i];
        size += fabs(line->given[i] * line->result[i]);
    }
    size *= ((double)line->count + 1) * unit;
    for (int64_t i = 0; i < line->count * line->step; i += line->step) {
        const double g = line->given[i], y = line->result[i];
        line->value[i] = y * (g - sum);
        line->bound[i] = fabs(y) * (size + 3 * unit * (fabs(g) + fabs(sum)));
    }
}

static void log_softmax_slope(const struct tp_slope_line *line)
{
    const double unit = line->unit;
    double sum = 0, size = 0;
    for (int64_t i = 0; i < line->count * line->step; i += line->step) {
        sum += line->given[i];
        size += fabs(line->given[i]);
    }
    size *= (double)line->count * unit;
    for (int64_t i = 0; i < line->count * line->step; i += line->step) {
        const double g = line->given[i], y = line->result[i];
        const double p = exp(y), off = TP_FUNCTION_ROUNDINGS + fabs(y) + 2;
        line->value[i] = g - p * sum;
        line->bound[i] =
            p * (size + off * unit * fabs(sum)) + 2 * unit * fabs(g);
    }
}

static enum tp_status back_axis(struct tp_backward *backward,
                                tp_slope_line_fn *slope, struct tp_error *err)
{
    const struct tp_array *given, *result;
    struct tp_array *gradient;
    int axis;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = tp_backward_result(backward, 0, &result, err);
    if (status == TP_OK && given->count != result->count)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status =
            tp_arg_axis(backward->forward, "dim", -1, result->dims, &axis, err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, result, &gradient, err);
    if (status != TP_OK || result->count == 0)
        return status;
    const int64_t length = result->dims ? result->shape[axis] : 1;
    const int64_t inner = inner_of(result, axis);
    for (int64_t at = 0; at < result->count; at += length * inner)
        for (int64_t i = at; i < at + inner; i++) {
            const struct tp_slope_line line = {given->value + i,
                                               result->value + i,
                                               gradient->value + i,
                                               gradient->bound + i,
                                               length,
                                               inner,
                                               backward->call->unit};
            slope(&line);
        }
    return TP_OK;
}

TP_BACKWARD(tp_back_softmax)
{
    (void)row;
    return back_axis(backward, softmax_slope, err);
}

TP_BACKWARD(tp_back_log_softmax)
{
    (void)row;
    return back_axis(backward, log_softmax_slope, err);
}
