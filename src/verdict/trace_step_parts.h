/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_STEP_PARTS_H
#define TP_VERDICT_TRACE_STEP_PARTS_H

#include "verdict/judged.h"

/*
 * What steps are made of: members of /steps, which cost each moment of a step
 * once, in the words of findings, and what to do where a part is to blame.
 */
struct tp_step_part {
    const char *words;
    size_t first, second; /* members of a row that add up; 0: none         */
    const char *grows;    /* advice: it grows from step to step; NULL: it
                             is no part of a step without its data wait    */
    const char *varies;   /* advice: some steps have more of it            */
    uint32_t verdicts;    /* 1 << enum tp_verdict: it is what these lose   */
};

enum { TP_STEP_PARTS = 7 };
extern const struct tp_step_part tp_step_parts[TP_STEP_PARTS];

/* The time of a part in a step, us. */
double tp_step_part_us(const struct tp_step_row *row,
                       const struct tp_step_part *part);

#endif
