/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_FIRST_STEP_H
#define TP_VERDICT_TRACE_FIRST_STEP_H

#include "verdict/judged.h"
#include "verdict/trace_step_parts.h"

/* A first step that takes longer than the others because the run starts. */
struct tp_first_step {
    int64_t step;
    double us, usual_us; /* its window; that of typical steps, on average  */
    double share;        /* what it takes longer, of W; 0: it does not     */
    const struct tp_step_part *part; /* of which it has most more ...      */
    double part_us;      /* ... so much                                    */
};

/* Of a trace with three typical steps and more whose first does not count as
 * steady; else all is 0. */
struct tp_first_step tp_trace_first_step(const struct tp_trace *trace);

/* "the first step (3) takes 450.12 ms, the others 4.04 ms"; owned by
 * `judged`. */
const char *tp_first_step_words(struct tp_trace_judged *judged,
                                const struct tp_first_step *first);

#endif
