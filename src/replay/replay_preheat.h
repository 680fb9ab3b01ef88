/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_PREHEAT_H
#define TP_REPLAY_REPLAY_PREHEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Limits of msprobe's ratio that are found in the first steps of a run. */

/* A call in the order of the run. Texts are borrowed. */
struct tp_preheat_call {
    const char *api; /* "Functional.relu", of so many bytes                 */
    size_t api_length;
    const char *dtype;   /* of its first result                             */
    int64_t rank, step;  /* steps that the rank dumped are counted from 0   */
    bool compared;       /* it was run again, and its results float         */
    double ratio;        /* of the worst result; infinite: a sign changes   */
    bool cpu_consistent; /* by to_cpu                                       */
    double least;        /* the limit of its dtype, which none goes below   */
    /* what is found: */
    double limit;    /* that counts for this call; INFINITY: it only counts */
    uint64_t sample; /* it is sampled, as which call of the step; 0: not    */
    uint64_t total;  /* calls of the API in the first step                  */
};

/* Fills in what is found. TP_E_MEMORY. */
enum tp_status tp_preheat(struct tp_preheat_call *calls, size_t count,
                          int64_t steps, int64_t most, struct tp_error *err);

#endif
