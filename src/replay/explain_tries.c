/* SPDX-License-Identifier: MIT */
#include "replay/explain_tries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds the squares of the differences of a result. */
static double squares_off(const struct tp_array *made,
                          const struct tp_array *dumped)
{
    double off = 0;
    for (int64_t i = 0; i < made->count; i++) {
        const double d = dumped->value[i] - made->value[i];
        off += isfinite(d) ? d * d : 0;
    }
    return off;
}

/* Runs the call; false: there are no results, or not as many as were dumped. */
static bool make_outputs(struct tp_tries *t)
{
    struct tp_error err = {0};
    tp_replay_outputs_clear(&t->call);
    const enum tp_status status =
        tp_replay_run(&t->call, t->verdict->operator, & err);
    bool made =
        tp_replay_did(&t->call, status) && t->call.output_count == t->count;
    for (size_t i = 0; made && i < t->count; i++)
        made = t->call.outputs[i].count == t->dumped[i].count;
    if (!made)
        tp_replay_outputs_clear(&t->call);
    return made;
}

bool tp_tries_run(struct tp_tries *t, double *off)
{
    double worst = 0;
    *off = 0;
    if (!make_outputs(t))
        return false;
    for (size_t i = 0; i < t->count; i++) {
        if (t->call.outputs[i].loose)
            continue;
        worst =
            fmax(worst, tp_replay_excess(&t->call.outputs[i], &t->dumped[i]));
        *off += squares_off(&t->call.outputs[i], &t->dumped[i]);
    }
    *off = sqrt(*off);
    return worst <= 1;
}

double tp_tries_misfit(const struct tp_tries *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct tp_array *dumped = &t->dumped[i];
        const double u = tp_dtype_rounding(dumped->dtype);
        double size = 0;
        for (int64_t k = 0; k < dumped->count; k++)
            size += isfinite(dumped->value[k]) ? pow(dumped->value[k], 2) : 0;
        if (u > 0 && size > 0)
            sum += squares_off(&t->call.outputs[i], dumped) / (u * u * size);
    }
    return sqrt(sum);
}

bool tp_tries_fit(struct tp_tries *t)
{
    double off;
    return tp_tries_run(t, &off) && off <= t->off / 2;
}

struct tp_replay_call *tp_tries_subject(struct tp_tries *t)
{
    return t->call.forward ? t->call.forward : &t->call;
}

bool tp_tries_fit_with(struct tp_tries *t, struct tp_array *array,
                       const double *values)
{
    double *const kept = array->value;
    const size_t size = (size_t)array->count * sizeof *kept;
    if (!memcmp(kept, values, size))
        return false; /* that is what was computed                          */
    double *copy = tp_replay_room(&t->call, array->count, sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, values, size);
    array->value = copy;
    t->call.anew = true;
    const bool fit = tp_tries_fit(t);
    t->call.anew = false;
    array->value = kept;
    free(copy);
    return fit;
}
