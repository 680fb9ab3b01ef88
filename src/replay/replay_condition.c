/* SPDX-License-Identifier: MIT */
/*
 * The condition of a call is measured: all that goes in is moved by a rounding
 * of its dtype, some elements up, some down, and the call computed again. The
 * alternative, formulas of condition numbers, needs one for each operator.
 * Cost: a run of the kernel.
 */
#include "replay/replay_condition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

/* Makes each element larger or smaller by a rounding of its dtype, or puts it
 * back. Neighbours go different ways: what is constant does not stay so. */
static void turn(struct tp_replay_call *call, size_t item, double **saved,
                 bool back)
{
    struct tp_array *array = &call->arrays[item];
    const double u = tp_dtype_rounding(array->dtype);
    const size_t size = (size_t)array->count * sizeof *array->value;
    if (!array->value || u == 0)
        return;
    if (back && *saved)
        memcpy(array->value, *saved, size);
    if (back) {
        free(*saved);
        return;
    }
    *saved = tp_replay_room(call, array->count, sizeof **saved);
    if (!*saved)
        return;
    memcpy(*saved, array->value, size);
    for (int64_t k = 0; k < array->count; k++)
        array->value[k] *= 1 + ((k * 2654435761) >> 16 & 1 ? u : -u);
}

static void turn_all(struct tp_replay_call *call, double **saved, bool back)
{
    const size_t count = call->call->count;
    for (size_t i = 0; i < count; i++)
        turn(call, i, &saved[i], back);
    if (call->forward)
        turn_all(call->forward, saved + count, back);
}

double tp_condition_change(struct tp_replay_call *call,
                           const struct tp_operator *row)
{
    const size_t all = call->call->count +
                       (call->forward ? call->forward->call->count : 0);
    double **saved = tp_replay_room(call, (int64_t)all, sizeof *saved);
    struct tp_error err = {0};
    struct tp_array *plain = call->outputs;
    const size_t count = call->output_count;
    double change = 0;
    if (!saved)
        return NAN;
    call->outputs = NULL;
    call->output_count = call->output_capacity = 0;
    turn_all(call, saved, false);
    call->anew = true;
    if (!tp_replay_did(call, tp_replay_run(call, row, &err)) ||
        call->output_count != count)
        change = NAN;
    call->anew = false;
    for (size_t i = 0; i < count; i++) {
        for (int64_t k = 0;
             !isnan(change) && k < plain[i].count && k < call->outputs[i].count;
             k++) {
            const double d = plain[i].value[k] - call->outputs[i].value[k];
            change += isfinite(d) ? d * d : 0;
        }
        tp_array_clear(&plain[i]);
    }
    free(plain);
    turn_all(call, saved, true);
    free(saved);
    return sqrt(change);
}
