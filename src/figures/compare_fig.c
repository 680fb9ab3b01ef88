/* SPDX-License-Identifier: MIT */
#include "figures/compare_fig.h"

#include <math.h>

bool tp_compare_fig_is_backward(const struct tp_compare_figure_input *input,
                                const struct tp_compare_call *call)
{
    const struct tp_dump_place *place =
        input->comparison->pairs[call->pair].a.place;
    const struct tp_dump_call *its = &place->calls[call->order];
    return its->known && its->name.direction == TP_BACKWARD;
}

double tp_compare_fig_infinite(const struct tp_compare_calls *calls)
{
    double most = 0;
    bool infinite = false;
    for (size_t i = 0; i < calls->count; i++) {
        const double errors[] = {calls->rows[i].error_in,
                                 calls->rows[i].error_out};
        for (int k = 0; k < 2 && tp_compare_is_judged(calls->rows[i].name);
             k++) {
            infinite = infinite || isinf(errors[k]);
            if (isfinite(errors[k]))
                most = fmax(most, errors[k]);
        }
    }
    return !infinite ? 0 : most > 0 ? pow(10, ceil(log10(most)) + 1) : 1;
}
