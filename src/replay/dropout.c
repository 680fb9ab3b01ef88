/* SPDX-License-Identifier: MIT */
/*
 * A mask cannot be computed again, and yet not everything is one: each element
 * is zero or x / (1 - p), and of n elements about p n are zero. By Bernstein's
 * inequality, which holds for few elements as well as for many, independent
 * draws are t off that with a chance of at most
 * 2 exp(-t^2 / (2 (n p (1 - p) + t / 3))). The scale is rounded once, the
 * product once, and the result once.
 */
#include "replay/dropout.h"

#include <math.h>

#include "dump/dump_call.h"

/* Roundings between x and the result. */
enum { ROUNDINGS = 3 };

static void judge_element(const struct tp_array *output, double x, int64_t i,
                          struct tp_dropout *dropout)
{
    const double expected = x / (1 - dropout->p);
    const double y = output->value[i];
    const double limit =
        ROUNDINGS * tp_dtype_rounding(output->dtype) * fabs(expected) +
        tp_dtype_underflow(output->dtype);
    if (x == 0 || !isfinite(x) ||
        fabs(expected) >= tp_dtype_largest(output->dtype))
        return;
    dropout->count++;
    if (y == 0 && dropout->p > 0) {
        dropout->zeros++;
        return;
    }
    if (fabs(y - expected) <= limit)
        return;
    if (dropout->wrong++ > 0)
        return;
    dropout->at = i;
    dropout->dumped = y;
    dropout->computed = expected;
}

static void judge(const struct tp_array *input, const struct tp_array *output,
                  struct tp_dropout *dropout)
{
    for (int64_t i = 0; i < input->count; i++)
        judge_element(output, input->value[i], i, dropout);
    const double n = (double)dropout->count, p = dropout->p;
    const double off = fabs((double)dropout->zeros - n * p);
    const double spread = n * p * (1 - p) + off / 3;
    dropout->chance =
        spread > 0 ? fmin(1, 2 * exp(-off * off / (2 * spread))) : 1;
    dropout->judged = true;
}

static enum tp_status read_and_judge(struct tp_replay_call *replay,
                                     struct tp_dropout *dropout,
                                     struct tp_error *err)
{
    struct tp_array output = {.dims = 0};
    const struct tp_dump_item *item = tp_replay_result(replay, 0);
    enum tp_status status = tp_replay_call_load(replay, err);
    if (status != TP_OK || !item)
        return status;
    const struct tp_array *input = tp_arg_array(replay, "input");
    const bool trains = tp_arg_integer(replay, "training", 1) != 0;
    dropout->p = trains ? tp_arg_real(replay, "p", 0.5) : 0;
    status = tp_array_read(item, &output, err);
    if (status == TP_OK && input && input->count == output.count &&
        dropout->p >= 0 && dropout->p < 1)
        judge(input, &output, dropout);
    tp_array_clear(&output);
    return status;
}

enum tp_status tp_dropout_judge(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                struct tp_dropout *dropout,
                                struct tp_error *err)
{
    struct tp_error own = {0};
    struct tp_replay_call replay = {
        .place = place, .call = call, .signature = "input,p,training"};
    *dropout = (struct tp_dropout){.at = -1};
    if (!tp_dump_call_is(call, "dropout"))
        return TP_OK;
    enum tp_status status = read_and_judge(&replay, dropout, &own);
    tp_replay_call_clear(&replay);
    return status == TP_E_MEMORY ? tp_fail_memory(err) : TP_OK;
}
