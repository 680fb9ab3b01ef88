/* SPDX-License-Identifier: MIT */
/*
 * What limits a trace: the first line of trace_verdict.h that holds, by shares
 * of the window and thresholds of trace_limits.h.
 *
 * Each idle moment has one cause (trace_idle.c), so shares add up and the
 * largest cause is a fair answer; scores or learned weights would need traces
 * with known answers and could not be read off a report. The verdict on a run
 * is that of most of its traces, ties to the longest windows. Constant time
 * for a trace.
 */
#include "verdict/trace_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "trace/trace_facts.h"
#include "verdict/trace_first_step.h"
#include "verdict/trace_rule_costs.h"
#include "verdict/trace_rule_host.h"
#include "verdict/trace_straggling.h"
#include "verdict/trace_untimed.h"
#include "verdict/trace_verdict_words.h"

const struct tp_trace_verdict_info tp_trace_verdict_table[TP_VERDICTS + 1] = {
    [TP_VERDICT_CPU_ONLY] = {"CPU only", "cpu_only",
                             "no device events were recorded"},
    [TP_VERDICT_GPU_BOUND] = {"GPU-bound", "gpu_bound",
                              "the GPU is busy nearly all the time: healthy"},
    [TP_VERDICT_ALLOCATION] = {"allocation", TP_SCENARIO_CHURN,
                               "the GPU waits for memory from the driver"},
    [TP_VERDICT_COLD_START] =
        {"cold start", "cold_start",
         "start-up was recorded, and takes most of what is lost"},
    [TP_VERDICT_QUEUED] = {"queued work does not start", "queued",
                           "the GPU idles although work was launched for it"},
    [TP_VERDICT_DATA_LOADING] = {"data loading", "dataloader",
                                 "the GPU waits for the DataLoader"},
    [TP_VERDICT_SYNCHRONISATION] =
        {"synchronisation", "sync",
         "the host waits for the GPU, which then idles"},
    [TP_VERDICT_COMMUNICATION] = {"communication", "communication",
                                  "communication that no computation hides"},
    [TP_VERDICT_COPIES] =
        {"copies", "copies",
         "copies to or from the GPU that neither computation nor "
         "communication hides"},
    [TP_VERDICT_TURNS] = {"GPUs take turns", "turns",
                          "of several GPUs of a process some wait for others"},
    [TP_VERDICT_LAUNCH_BOUND] =
        {"launch-bound", "tiny_ops",
         "the host cannot launch so many tiny kernels as fast "
         "as the GPU runs them"},
    [TP_VERDICT_HOST_BOUND] = {"host-bound", "host_bound",
                               "the GPU waits for operators and Python"},
    [TP_VERDICT_UNEVEN] = {"uneven steps", "uneven",
                           "some steps take much longer than most"},
    [TP_VERDICT_TINY_OPERATORS] =
        {"tiny operators", "tiny_ops",
         "no GPU was recorded; operators are so short that calling them takes "
         "the time"},
    [TP_VERDICT_CPU_BOUND] =
        {"CPU-bound", "cpu_bound",
         "no GPU was recorded; operators take most of the time"},
    [TP_VERDICT_NO_LIMIT] = {"no single limit", "none",
                             "nothing reaches its threshold"},
    [TP_VERDICT_UNKNOWN] = {"unknown", "unknown",
                            "too little was recorded to tell"},
    [TP_VERDICTS] = {NULL, NULL, NULL},
};

struct cause {
    enum tp_verdict verdict;
    double share, limit;
};

/* What nobody can tell from the trace: without steps W is what the device's
 * events span, so that a few of them keep it busy by construction. */
static bool is_unknown(const struct tp_trace *trace,
                       const struct tp_trace_limits *limits)
{
    const struct tp_trace_facts *facts = &trace->facts;
    const double busy = 100 * trace->idle.busy;
    if (!(trace->idle.window_us > 0))
        return true;
    return !tp_trace_has_steps(trace) &&
           (double)facts->device_events < limits->values[TP_TRACE_EVENTS] &&
           busy >= limits->values[TP_TRACE_BUSY];
}

/* Without steps W is what the operators span, so that a few of them fill it by
 * construction; with a device whose events cannot be read, what the host does
 * is not what limits the run. */
static bool tells_nothing(const struct tp_trace *trace,
                          const struct tp_trace_limits *limits)
{
    return tp_trace_untimed_device(trace).lost > 0 ||
           (!tp_trace_has_steps(trace) &&
            (double)trace->facts.host.operators <
                limits->values[TP_TRACE_EVENTS]);
}

/* What steps would win without waits, which empty the queue, so that the host's
 * work between them shows; what DataLoader or driver take then is theirs, and
 * communication may have to be waited for on the device. */
static double waits_cost(const struct tp_trace *trace)
{
    const double won = tp_trace_won_without_waits(trace) -
                       trace->idle.dataloader - trace->idle.alloc -
                       tp_trace_exposed_communication(trace);
    return isfinite(won) && won > 0 ? won : 0;
}

/* Without a device: what takes most of the window of what reaches its
 * threshold. Operators so short that calling them takes the time are those of
 * which it is said that they take it. */
static enum tp_verdict pick_without_device(const struct tp_trace *trace,
                                           const struct tp_trace_limits *limits,
                                           double *share)
{
    const struct tp_trace_means means = tp_trace_step_means(trace, 1);
    const double wait = means.data_wait_s / means.profiler_step_s;
    const double *limit = limits->values;
    const double tiny = tp_trace_tiny_operators(trace);
    const bool calls = 100 * tiny >= limit[TP_TRACE_HOST_TINY];
    const struct cause causes[] = {
        {TP_VERDICT_DATA_LOADING,
         1e3 * means.data_wait_s >= limit[TP_TRACE_LOADER_WAIT] ? wait : 0,
         limit[TP_TRACE_LOADER]},
        {TP_VERDICT_COMMUNICATION, tp_trace_host_communicates(trace),
         limit[TP_TRACE_COMM]},
        {TP_VERDICT_TINY_OPERATORS, tiny, limit[TP_TRACE_HOST_TINY]},
        {TP_VERDICT_CPU_BOUND, calls ? 0 : tp_trace_host_works(trace),
         limit[TP_TRACE_HOST_BUSY]},
        {TP_VERDICT_HOST_BOUND, tp_trace_host_outside(trace),
         limit[TP_TRACE_HOST]},
    };
    enum tp_verdict best = TP_VERDICT_CPU_ONLY;
    if (trace->events.truncated_at >= 0)
        return TP_VERDICT_UNKNOWN;
    *share = 0;
    if (tells_nothing(trace, limits))
        return best;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (!(100 * causes[i].share >= causes[i].limit) ||
            causes[i].share <= *share)
            continue;
        best = causes[i].verdict;
        *share = causes[i].share;
    }
    return best;
}

enum tp_verdict tp_trace_verdict_pick(const struct tp_trace *trace,
                                      const struct tp_trace_limits *limits,
                                      double *share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double *limit = limits->values;
    const struct cause causes[] = { /* of line 3 */
        {tp_trace_keeps_allocating(trace) ? TP_VERDICT_ALLOCATION
                                          : TP_VERDICT_COLD_START,
         idle->alloc, limit[TP_TRACE_ALLOC]},
        {TP_VERDICT_COLD_START,
         tp_trace_keeps_loading(trace) ||
                 100 * idle->first_launch < limit[TP_TRACE_FIRST_LAUNCH]
             ? 0
             : tp_trace_start_up_share(trace),
         limit[TP_TRACE_FIRST_LAUNCH]},
        {TP_VERDICT_QUEUED, idle->queued, limit[TP_TRACE_QUEUED]},
        {TP_VERDICT_DATA_LOADING, idle->dataloader, limit[TP_TRACE_LOADER]},
        {TP_VERDICT_SYNCHRONISATION, idle->blocking, limit[TP_TRACE_SYNC]},
        {TP_VERDICT_COMMUNICATION, tp_trace_exposed_communication(trace),
         limit[TP_TRACE_COMM]},
        {TP_VERDICT_COPIES, tp_trace_exposed_transfers(trace),
         limit[TP_TRACE_COPY]},
        {TP_VERDICT_TURNS, tp_trace_turns(trace), limit[TP_TRACE_TURNS]},
    };
    enum tp_verdict best = TP_VERDICT_NO_LIMIT;
    *share = 1;
    if (tp_trace_is_untimed(trace))
        return TP_VERDICT_UNKNOWN;
    if (trace->facts.device_events == 0)
        return pick_without_device(trace, limits, share);
    if (is_unknown(trace, limits))
        return TP_VERDICT_UNKNOWN;
    /* A GPU that only waits for others, or for data, is busy, too, and of
     * several one may be. */
    bool computes =
        100 * tp_trace_exposed_communication(trace) < limit[TP_TRACE_COMM] &&
        100 * tp_trace_exposed_transfers(trace) < limit[TP_TRACE_COPY] &&
        100 * tp_trace_turns(trace) < limit[TP_TRACE_TURNS];
    *share = idle->busy;
    if (100 * idle->busy >= limit[TP_TRACE_BUSY] && computes)
        return TP_VERDICT_GPU_BOUND;
    *share = 0;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (100 * causes[i].share < causes[i].limit ||
            causes[i].share <= *share)
            continue;
        best = causes[i].verdict;
        *share = causes[i].share;
    }
    const double host = tp_trace_host_share(trace);
    const double waits = waits_cost(trace);
    const bool is_host = 100 * host >= limit[TP_TRACE_HOST] && host > *share;
    if (100 * waits >= limit[TP_TRACE_SYNC] && waits > (is_host ? host : 0) &&
        (is_host || best == TP_VERDICT_NO_LIMIT)) {
        *share = waits;
        return TP_VERDICT_SYNCHRONISATION;
    }
    if (!is_host) {
        *share = best == TP_VERDICT_NO_LIMIT ? host : *share;
        return best;
    }
    *share = host;
    if (trace->facts.host_events == 0) /* nobody knows what it waits for */
        return TP_VERDICT_UNKNOWN;
    return 100 * trace->short_share >= limit[TP_TRACE_TINY]
               ? TP_VERDICT_LAUNCH_BOUND
               : TP_VERDICT_HOST_BOUND;
}

bool tp_verdict_is_loss(enum tp_verdict verdict)
{
    return verdict != TP_VERDICT_GPU_BOUND && verdict != TP_VERDICT_CPU_BOUND &&
           verdict != TP_VERDICT_CPU_ONLY && verdict != TP_VERDICT_NO_LIMIT &&
           verdict != TP_VERDICT_UNKNOWN;
}

/* A first step that takes longer than the others by half of what is lost is
 * that loss. */
static enum tp_verdict pick(const struct tp_trace *trace,
                            const struct tp_trace_limits *limits, double *share)
{
    const enum tp_verdict verdict = tp_trace_verdict_pick(trace, limits, share);
    const double first = tp_trace_first_step(trace).share;
    if (!tp_verdict_is_loss(verdict) || verdict == TP_VERDICT_COLD_START ||
        2 * first < *share)
        return verdict;
    *share = first;
    return TP_VERDICT_COLD_START;
}

static struct tp_trace_verdict judge(struct tp_trace_judged *judged,
                                     const struct tp_trace *trace)
{
    double share;
    const enum tp_verdict verdict = pick(trace, &judged->limits, &share);
    const char *sentence =
        tp_trace_verdict_words(judged, trace, verdict, share);
    const char *untimed = tp_trace_untimed_words(judged, trace);
    if (*untimed)
        sentence = tp_judge_text(judged, "%s (%s)", sentence, untimed);
    if (trace->events.truncated_at >= 0)
        sentence = tp_judge_text(judged,
                                 "%s (of what is left: the trace is %s "
                                 "byte %" PRId64 ")",
                                 sentence,
                                 trace->events.repairs[TP_REPAIR_LIMIT]
                                     ? "read up to"
                                     : "cut off at",
                                 trace->events.truncated_at);
    return (struct tp_trace_verdict){
        verdict, sentence, tp_trace_verdict_table[verdict].scenario, share};
}

/* How much of the run a verdict holds for. */
struct votes {
    size_t traces, worst; /* worst: trace with the longest window */
    double window_us, low, high;
};

static void vote(const struct tp_trace_run *run, size_t i, double share,
                 struct votes *votes)
{
    const double window_us = run->traces[i].idle.window_us;
    votes->low = votes->traces == 0 || share < votes->low ? share : votes->low;
    votes->high = share > votes->high ? share : votes->high;
    if (votes->traces++ == 0 ||
        window_us > run->traces[votes->worst].idle.window_us)
        votes->worst = i;
    votes->window_us += window_us;
}

/* "; stragglers: ranks 2 7 (without: steps 12.1 % shorter)", where something
 * could be won from them. */
static void add_stragglers(const struct tp_trace_judged *judged,
                           struct tp_text *text)
{
    const double won = tp_straggling_won(judged, -1);
    size_t count = 0;
    for (size_t i = 0; i < judged->ranks.count; i++)
        count += tp_straggling_is_own(judged, &judged->ranks.rows[i]);
    if (count)
        tp_text_add(text, "; straggler%s: rank%s", count == 1 ? "" : "s",
                    count == 1 ? "" : "s");
    for (size_t i = 0; i < judged->ranks.count; i++) {
        if (tp_straggling_is_own(judged, &judged->ranks.rows[i]))
            tp_text_add(text, " %" PRId64, judged->ranks.rows[i].rank);
    }
    if (count && isfinite(won))
        tp_text_add(text, " (without: steps %.1f %% shorter)", 100 * won);
}

/* How many traces the verdict of a run holds for, and of the longest. */
static void describe_run(const struct tp_trace_run *run, enum tp_verdict best,
                         const struct votes *votes,
                         struct tp_trace_judged *judged)
{
    struct tp_text text = {0};
    const struct tp_trace *worst = &run->traces[votes->worst];
    const char *some = votes->traces < run->trace_count ? " of these" : "";
    tp_text_add(&text, "%zu of %zu traces", votes->traces, run->trace_count);
    if (best != TP_VERDICT_CPU_ONLY && best != TP_VERDICT_NO_LIMIT &&
        best != TP_VERDICT_UNKNOWN)
        tp_text_add(&text, " (%.1f to %.1f %% of their %s)", 100 * votes->low,
                    100 * votes->high,
                    best == TP_VERDICT_UNEVEN ? "steps' time" : "windows");
    add_stragglers(judged, &text);
    if (worst->rank >= 0)
        tp_text_add(&text, "; the longest%s, rank %" PRId64 ": ", some,
                    worst->rank);
    else
        tp_text_add(&text, "; the longest%s, %s: ", some, worst->path);
    tp_text_add(&text, "%s", judged->verdict.sentence);
    judged->verdict.sentence = tp_arena_words(&judged->arena, &text);
}

void tp_trace_verdict_of_run(const struct tp_trace_run *run,
                             struct tp_trace_judged *judged)
{
    struct votes votes[TP_VERDICTS] = {0};
    enum tp_verdict best = TP_VERDICT_NO_LIMIT;
    for (size_t i = 0; i < run->trace_count; i++)
        vote(run, i, judged->verdicts[i].share,
             &votes[judged->verdicts[i].verdict]);
    for (enum tp_verdict v = 0; v < TP_VERDICTS; v++) {
        if (votes[v].traces > votes[best].traces ||
            (votes[v].traces == votes[best].traces &&
             votes[v].window_us > votes[best].window_us))
            best = v;
    }
    judged->verdict = judged->verdicts[votes[best].worst];
    if (run->trace_count > 1)
        describe_run(run, best, &votes[best], judged);
}

enum tp_status tp_trace_verdicts_make(const struct tp_trace_run *run,
                                      struct tp_trace_judged *judged,
                                      struct tp_error *err)
{
    judged->verdicts = calloc(run->trace_count + 1, sizeof *judged->verdicts);
    if (!judged->verdicts)
        return tp_fail_memory(err);
    for (size_t i = 0; i < run->trace_count; i++)
        judged->verdicts[i] = judge(judged, &run->traces[i]);
    if (run->trace_count)
        tp_trace_verdict_of_run(run, judged);
    return TP_OK;
}
