/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REDUCE_AXES_H
#define TP_REPLAY_REDUCE_AXES_H

#include "replay/replay_call.h"

/* The axes of a reduction, and where results are. */
struct tp_axes {
    const struct tp_array *input;
    bool reduced[TP_LIMIT_DIMS];
    int dims; /* of the result                                              */
    int64_t shape[TP_LIMIT_DIMS];
    double count;  /* elements of a cell                                    */
    int64_t cells; /* of the result                                         */
    struct tp_array_walk walk; /* at[0] in the input, at[1] in the result   */
};

/* From the arguments input, dim (all axes without) and keepdim.
 * TP_E_UNSUPPORTED: there is no tensor, or no such axis. */
enum tp_status tp_axes_find(const struct tp_replay_call *replay,
                            struct tp_axes *axes, struct tp_error *err);

#endif
