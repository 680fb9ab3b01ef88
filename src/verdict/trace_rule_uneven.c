/* SPDX-License-Identifier: MIT */
/*
 * Steps that take much longer than most: what they cost, and what they have
 * more of than the others; and a first step of which that holds.
 *
 * Windows of steps follow each other without a gap or overlap, so that what
 * the slow ones take beyond the median is time of the run; each moment of a
 * window is charged to one part (trace_step_parts.h), and the part whose mean
 * differs most between slow steps and others is named. The mean of the typical
 * steps, which leaves slow ones out, does not show them. Steps that get slower
 * and slower are another rule's (trace_rule_steps.c). n log n for the median.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "stats/quantile.h"
#include "verdict/trace_first_step.h"
#include "verdict/trace_rule_costs.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_step_parts.h"
#include "verdict/trace_verdict.h"

/* Fewer steps have no median that one slow step leaves alone. */
enum { LEAST_STEPS = 4 };

/* The first step of a recording is none: it may warm up. */
static bool counts(const struct tp_trace *trace, size_t step)
{
    return step > 0 && trace->steps.rows[step].steady;
}

/* As far off the median as a step is that is not typical (trace_steps.c). */
static const double slow_medians = 1.5;

struct uneven {
    double median_us, steps_us, lost_us;
    size_t count, slow;
    int64_t every; /* from one slow step to the next, where always the same */
    int64_t first, before; /* slow steps: the first, the one before        */
};

static bool is_slow(const struct uneven *uneven, const struct tp_step_row *row)
{
    return row->window_us > slow_medians * uneven->median_us;
}

static void add_slow(struct uneven *uneven, const struct tp_step_row *row)
{
    uneven->lost_us += row->window_us - uneven->median_us;
    if (uneven->slow == 0)
        uneven->first = row->step;
    else if (uneven->slow == 1)
        uneven->every = row->step - uneven->before;
    else if (row->step - uneven->before != uneven->every)
        uneven->every = 0;
    uneven->before = row->step;
    uneven->slow++;
}

static enum tp_status find_slow(const struct tp_trace *trace,
                                struct uneven *uneven, struct tp_error *err)
{
    double *windows = malloc((trace->steps.count + 1) * sizeof *windows);
    if (!windows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        if (counts(trace, i)) {
            windows[uneven->count++] = row->window_us;
            uneven->steps_us += row->window_us;
        }
    }
    if (uneven->count)
        uneven->median_us = tp_median(windows, uneven->count);
    free(windows);
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        if (counts(trace, i) && is_slow(uneven, row))
            add_slow(uneven, row);
    }
    return TP_OK;
}

/* The part of which slow steps have most more than the others, and how much in
 * the mean. */
static const struct tp_step_part *find_part(const struct tp_trace *trace,
                                            const struct uneven *uneven,
                                            double *more_us)
{
    const struct tp_step_part *most = &tp_step_parts[0];
    *more_us = 0;
    for (size_t i = 0; i < TP_STEP_PARTS; i++) {
        double sums[2] = {0};
        for (size_t j = 0; j < trace->steps.count; j++) {
            const struct tp_step_row *row = &trace->steps.rows[j];
            if (counts(trace, j))
                sums[is_slow(uneven, row)] +=
                    tp_step_part_us(row, &tp_step_parts[i]);
        }
        const double more =
            sums[true] / (double)uneven->slow -
            sums[false] / (double)(uneven->count - uneven->slow);
        if (more > *more_us) {
            *more_us = more;
            most = &tp_step_parts[i];
        }
    }
    return most;
}

/* " (step 7)", " (steps 3 to 15, every 4)", " (steps 3 to 12)" */
static const char *steps_in_words(const struct tp_trace_case *it,
                                  const struct uneven *uneven)
{
    if (uneven->slow == 1)
        return tp_judge_text(it->judged, " (step %" PRId64 ")", uneven->first);
    if (uneven->slow == 2 || uneven->every <= 1)
        return tp_judge_text(it->judged,
                             " (the first is %" PRId64 ", the last %" PRId64
                             ")",
                             uneven->first, uneven->before);
    return tp_judge_text(it->judged,
                         " (from step %" PRId64 " on every %" PRId64
                         " steps)",
                         uneven->first, uneven->every);
}

/* Whether slow steps may be most of what is lost: what they take beyond the
 * median may be part of what the verdict is about, and is most of it where it
 * is more than half as much. A verdict that is no loss has no more to say than
 * a finding of twice the limit. */
static bool is_most(const struct tp_trace_case *it, double share)
{
    const struct tp_trace_verdict *verdict =
        &it->judged->verdicts[it->trace - it->run->traces];
    return tp_verdict_is_loss(verdict->verdict)
               ? share > 100 * verdict->share / 2
               : share >= 2 * it->limits[TP_TRACE_UNEVEN];
}

/* Whether they are: half of the verdict's loss if that is what they have more
 * of, else more than all of it; anything, where nothing else is a limit. */
static bool leads(const struct tp_trace_case *it,
                  const struct tp_step_part *part, double share)
{
    const struct tp_trace_verdict *verdict =
        &it->judged->verdicts[it->trace - it->run->traces];
    const bool same = part->verdicts >> verdict->verdict & 1;
    if (verdict->verdict == TP_VERDICT_NO_LIMIT)
        return share >= 2 * it->limits[TP_TRACE_UNEVEN];
    return tp_verdict_is_loss(verdict->verdict) &&
           share > 100 * verdict->share * (same ? 0.5 : 1);
}

/* Whether it is the last part, what is in nothing recorded: frames would tell
 * whose it is. */
static bool of_python(const struct tp_step_part *part)
{
    return part == &tp_step_parts[TP_STEP_PARTS - 1];
}

enum tp_status tp_trace_rule_uneven_steps(const struct tp_trace_case *it,
                                          struct tp_error *err)
{
    struct uneven uneven = {0};
    if (!tp_trace_has_steps(it->trace) ||
        tp_trace_is_found(it, tp_trace_rule_rising_steps))
        return TP_OK;
    const enum tp_status status = find_slow(it->trace, &uneven, err);
    const double share = 100 * uneven.lost_us / uneven.steps_us;
    if (status != TP_OK || uneven.count < LEAST_STEPS || uneven.slow == 0 ||
        share < it->limits[TP_TRACE_UNEVEN])
        return status;
    double more_us;
    const struct tp_step_part *part = find_part(it->trace, &uneven, &more_us);
    struct tp_trace_finding finding = {
        .level = is_most(it, share) ? TP_SEVERITY_HIGH : TP_SEVERITY_MEDIUM,
        .step = uneven.slow == 1 ? uneven.first : -1,
        .metric = "slow steps beyond the median, % of the steps' time",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_UNEVEN],
        .leads = leads(it, part, share)};
    finding.evidence = tp_judge_text(
        it->judged,
        "%zu of %zu steps%s take%s over 1.5 times the median of %.2f ms, "
        "%.2f ms beyond it in all: %.1f %% of the steps' time; most of what "
        "they have more, %.2f ms a step, is in %s%s",
        uneven.slow, uneven.count, steps_in_words(it, &uneven),
        uneven.slow == 1 ? "s" : "", uneven.median_us / 1e3,
        uneven.lost_us / 1e3, share, more_us / 1e3, part->words,
        of_python(part) && finding.leads
            ? tp_trace_frames_words(it, TP_FRAME_HOST)
            : "");
    finding.suggestion = tp_judge_text(
        it->judged, "%s%s%s",
        uneven.slow > 2 && uneven.every > 1
            ? "if only these steps reduce gradients and run the optimizer "
              "(gradient accumulation), this is as it should be; if not: "
            : "",
        part->varies,
        of_python(part) && it->trace->frames.count == 0
            ? "; with_stack=True records who it is"
            : "");
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

/* --- the first step ---------------------------------------------------- */

enum tp_status tp_trace_rule_first_step(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    const struct tp_first_step first = tp_trace_first_step(it->trace);
    const double share = 100 * first.share;
    if (!(share >= it->limits[TP_TRACE_UNEVEN]) ||
        200 * tp_trace_start_up_share(it->trace) >= share)
        return TP_OK; /* cold_start and first_launch tell why */
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_LOW,
        .step = first.step,
        .metric = "first step beyond typical ones, % of window",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_UNEVEN],
        .evidence = tp_judge_text(
            it->judged,
            "%s: what it takes longer is %.1f %% of the window; most of it, "
            "%.2f ms, is in %s",
            tp_first_step_words(it->judged, &first), share, first.part_us / 1e3,
            first.part->words),
        .suggestion =
            "what only a first step does (torch.compile, searches for the "
            "fastest kernel, workers that start, ranks that wait for each "
            "other) does not go on: record after some steps of warm-up, "
            "schedule(wait=1, warmup=3, active=...)"};
    return tp_trace_finding_add(it, TP_VERDICT_COLD_START, finding, err);
}
