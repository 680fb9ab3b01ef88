/* SPDX-License-Identifier: MIT */
#include "replay/loss_terms.h"

#include <stdlib.h>

bool tp_loss_terms(const struct tp_replay_call *call,
                   const struct tp_operator *row, struct tp_tape *tape)
{
    struct tp_replay_call again = *call;
    struct tp_error err = {0};
    *tape = (struct tp_tape){.divisor = 0};
    if (call->forward || call->output_count != 1 ||
        call->outputs[0].count != 1)
        return false;
    again.outputs = NULL;
    again.output_count = again.output_capacity = 0;
    again.tape = tape;
    const bool ran = row->run(&again, row, &err) == TP_OK;
    tp_replay_outputs_clear(&again);
    const bool single = call->unit > tp_dtype_rounding(TP_FLOAT64);
    for (size_t i = 0; i < tape->count && single; i++)
        tape->values[i] = (double)(float)tape->values[i];
    if (ran && !tape->failed && tape->count && tape->divisor > 0)
        return true;
    free(tape->values);
    *tape = (struct tp_tape){.divisor = 0};
    return false;
}
