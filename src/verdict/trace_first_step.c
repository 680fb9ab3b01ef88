/* SPDX-License-Identifier: MIT */
/*
 * A first step that takes much longer than those behind it: what is compiled,
 * searched for, loaded and connected once is no loss of training, but W has it
 * and so has what the device idles in W.
 *
 * Shares of steady steps alone would hide it; but the device does not end a
 * step with the host, so that W cannot begin at the second one without cutting
 * the first one's work. So the excess over the typical steps is held against
 * what a cause takes of W. Linear in the steps.
 */
#include "verdict/trace_first_step.h"

#include <inttypes.h>

#include "trace/trace_facts.h"

/* With fewer typical steps nobody knows what is usual. */
enum { LEAST_STEPS = 3 };

/* The mean of a part over the typical steps; NULL: of their windows. */
static double usual(const struct tp_trace *trace,
                    const struct tp_step_part *part, size_t *count)
{
    double sum = 0;
    *count = 0;
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        if (!row->typical)
            continue;
        sum += part ? tp_step_part_us(row, part) : row->window_us;
        ++*count;
    }
    return *count ? sum / (double)*count : 0;
}

struct tp_first_step tp_trace_first_step(const struct tp_trace *trace)
{
    struct tp_first_step first = {.part = &tp_step_parts[0]};
    size_t count;
    if (!tp_trace_has_steps(trace) || trace->steps.rows[0].steady ||
        !(trace->idle.window_us > 0))
        return first;
    const struct tp_step_row *row = &trace->steps.rows[0];
    first.step = row->step;
    first.us = row->window_us;
    first.usual_us = usual(trace, NULL, &count);
    if (count < LEAST_STEPS || first.us <= first.usual_us)
        return first;
    first.share = (first.us - first.usual_us) / trace->idle.window_us;
    for (size_t i = 0; i < TP_STEP_PARTS; i++) {
        const struct tp_step_part *part = &tp_step_parts[i];
        const double more =
            tp_step_part_us(row, part) - usual(trace, part, &count);
        if (more > first.part_us) {
            first.part = part;
            first.part_us = more;
        }
    }
    return first;
}

const char *tp_first_step_words(struct tp_trace_judged *judged,
                                const struct tp_first_step *first)
{
    return tp_judge_text(judged,
                         "the first step (%" PRId64 ") takes %.2f ms, typical "
                         "ones %.2f ms",
                         first->step, first->us / 1e3, first->usual_us / 1e3);
}
