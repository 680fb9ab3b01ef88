/* SPDX-License-Identifier: MIT */
/*
 * Rules about how step times go on: they should neither rise within a
 * recording, nor from one recording of a process to the next.
 *
 * A line is put through the times of the typical steps, without their data
 * wait (trend.h), or through the medians of the recordings: steps of one
 * recording are alike, so that pooling those of several would take what
 * differs between recordings for a trend. The same line through each kind of
 * cost tells what grows. Quadratic in the steps up to 512.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantile.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_step_parts.h"
#include "verdict/trend.h"

/* Typical steps of a trace, in values[steps.count]. */
struct series {
    const struct tp_trace *trace;
    double *values;
    size_t count;
    const struct tp_step_row *first, *last;
};

/* The time of a part, or, for NULL, the step without its data wait. */
static void fill(struct series *series, const struct tp_step_part *part)
{
    series->count = 0;
    for (size_t i = 0; i < series->trace->steps.count; i++) {
        const struct tp_step_row *row = &series->trace->steps.rows[i];
        if (row->step < 0 || !row->typical)
            continue;
        series->first = series->count ? series->first : row;
        series->last = row;
        series->values[series->count++] =
            part ? tp_step_part_us(row, part) : row->compute_us;
    }
}

static bool rises(const struct tp_trace_case *it, const struct tp_trend *trend)
{
    return tp_trend_rises(trend, it->limits[TP_TRACE_RISE],
                          it->limits[TP_TRACE_RISE_SPREADS]);
}

/* The part that grows most, and by how much. */
static enum tp_status find_part(struct series *series,
                                const struct tp_step_part **most,
                                double *rise_us,
                                struct tp_error *err)
{
    enum tp_status status = TP_OK;
    *rise_us = 0;
    *most = &tp_step_parts[0];
    for (size_t i = 0; i < TP_STEP_PARTS && !status; i++) {
        struct tp_trend trend;
        if (!tp_step_parts[i].grows)
            continue;
        fill(series, &tp_step_parts[i]);
        status = tp_trend_fit(series->values, series->count, &trend, err);
        if (status == TP_OK && trend.rise > *rise_us) {
            *rise_us = trend.rise;
            *most = &tp_step_parts[i];
        }
    }
    return status;
}

static struct tp_trace_finding finding_of(const struct tp_trace_case *it,
                                          const struct tp_trend *trend)
{
    return (struct tp_trace_finding){
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "rise of the step time, % of its start",
        .value = 100 * trend->rise / trend->start,
        .limit = it->limits[TP_TRACE_RISE]};
}

static enum tp_status judge_steps(const struct tp_trace_case *it,
                                  struct series *series, struct tp_error *err)
{
    struct tp_trend trend;
    const struct tp_step_part *part;
    double part_us;
    fill(series, NULL);
    if (series->count < TP_TREND_LEAST)
        return TP_OK;
    enum tp_status status =
        tp_trend_fit(series->values, series->count, &trend, err);
    if (status != TP_OK || !rises(it, &trend))
        return status;
    status = find_part(series, &part, &part_us, err);
    if (status != TP_OK)
        return status;
    struct tp_trace_finding finding = finding_of(it, &trend);
    finding.evidence = tp_judge_text(
        it->judged,
        "steps get slower: from %.2f ms (step %" PRId64 ") to %.2f ms (step "
        "%" PRId64 ") without the data wait, on a line through %zu steps that "
        "are %.2f ms off it; most of the rise, %.2f ms, is in %s",
        trend.start / 1e3, series->first->step,
        (trend.start + trend.rise) / 1e3, series->last->step, series->count,
        trend.spread / 1e3, part_us / 1e3, part->words);
    finding.suggestion = part->grows;
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

enum tp_status tp_trace_rule_rising_steps(const struct tp_trace_case *it,
                                          struct tp_error *err)
{
    if (!tp_trace_has_steps(it->trace))
        return TP_OK;
    struct series series = {
        .trace = it->trace,
        .values = malloc(it->trace->steps.count * sizeof(double))};
    if (!series.values)
        return tp_fail_memory(err);
    const enum tp_status status = judge_steps(it, &series, err);
    free(series.values);
    return status;
}

/* --- over recordings ---------------------------------------------------- */

/* Recordings of one process: traces are sorted by rank, worker, span. */
static bool same_process(const struct tp_trace *a, const struct tp_trace *b)
{
    return a->rank == b->rank && *a->worker && !strcmp(a->worker, b->worker) &&
           a->span < b->span;
}

/* The median step of each of the traces that have one, in medians[count]. */
static enum tp_status find_medians(const struct tp_trace *traces, size_t count,
                                   double *medians, size_t *found,
                                   struct tp_error *err)
{
    *found = 0;
    for (size_t i = 0; i < count; i++) {
        struct series series = {
            .trace = &traces[i],
            .values = malloc((traces[i].steps.count + 1) * sizeof(double))};
        if (!series.values)
            return tp_fail_memory(err);
        fill(&series, NULL);
        if (series.count)
            medians[(*found)++] = tp_median(series.values, series.count);
        free(series.values);
    }
    return TP_OK;
}

static enum tp_status judge_recordings(const struct tp_trace_case *it,
                                       const struct tp_trace *traces,
                                       size_t count, struct tp_error *err)
{
    struct tp_trend trend = {.real = false};
    size_t found;
    double *medians = malloc(count * sizeof *medians);
    if (!medians)
        return tp_fail_memory(err);
    enum tp_status status = find_medians(traces, count, medians, &found, err);
    if (status == TP_OK && found >= TP_TREND_LEAST)
        status = tp_trend_fit(medians, found, &trend, err);
    free(medians);
    if (status != TP_OK || !rises(it, &trend))
        return status;
    struct tp_trace_finding finding = finding_of(it, &trend);
    finding.rank = traces[0].rank;
    finding.window = "recordings";
    finding.file = traces[count - 1].path;
    finding.evidence = tp_judge_text(
        it->judged,
        "steps get slower from one recording of %s to the next: from %.2f ms "
        "to %.2f ms without the data wait, on a line through the medians of "
        "%zu recordings that are %.2f ms off it",
        traces[0].worker, trend.start / 1e3, (trend.start + trend.rise) / 1e3,
        found, trend.spread / 1e3);
    finding.suggestion =
        "hold the first recording against the last one (trace --compare): GPU "
        "work and synchronisation first";
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

enum tp_status tp_trace_rule_rising_traces(const struct tp_trace_case *it,
                                               struct tp_error *err)
{
    const struct tp_trace_run *run = it->run;
    enum tp_status status = TP_OK;
    for (size_t i = 0, next; i < run->trace_count && !status; i = next) {
        next = i + 1;
        while (next < run->trace_count &&
               same_process(&run->traces[next - 1], &run->traces[next]))
            next++;
        if (next - i >= TP_TREND_LEAST)
            status = judge_recordings(it, &run->traces[i], next - i, err);
    }
    return status;
}
