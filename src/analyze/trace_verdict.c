/* SPDX-License-Identifier: MIT */
#include "analyze/trace_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace_facts.h"
#include "analyze/trace_run.h"

enum verdict {
    CPU_ONLY,
    GPU_BOUND,
    ALLOCATION,
    COLD_START,
    DATA_LOADING,
    SYNCHRONISATION,
    COMMUNICATION,
    LAUNCH_BOUND,
    HOST_BOUND,
    NO_LIMIT,
    VERDICTS
};

const struct tp_trace_verdict_info tp_trace_verdict_table[VERDICTS + 1] = {
    [CPU_ONLY] = {"CPU only", "cpu_only", "no device events were recorded"},
    [GPU_BOUND] = {"GPU-bound", "gpu_bound",
                   "the GPU is busy nearly all the time: healthy"},
    [ALLOCATION] = {"allocation", "allocation",
                    "the GPU waits for memory from the driver"},
    [COLD_START] = {"cold start", "cold_start",
                    "the same, but in no steady step: start-up was recorded"},
    [DATA_LOADING] = {"data loading", "dataloader",
                      "the GPU waits for the DataLoader"},
    [SYNCHRONISATION] = {"synchronisation", "sync",
                         "the host waits for the GPU, which then idles"},
    [COMMUNICATION] = {"communication", "communication",
                       "communication that no computation hides"},
    [LAUNCH_BOUND] = {"launch-bound", "tiny_ops",
                      "the host cannot launch so many tiny kernels as fast "
                      "as the GPU runs them"},
    [HOST_BOUND] = {"host-bound", "host_bound",
                    "the GPU waits for operators and Python"},
    [NO_LIMIT] = {"no single limit", "none", "nothing reaches its threshold"},
    [VERDICTS] = {NULL, NULL, NULL},
};

bool tp_trace_verdict_is(const struct tp_trace_verdict *verdict,
                         const char *scenario)
{
    return !strcmp(verdict->scenario, scenario);
}

/* Shares of W behind what belongs to no specific cause. */
static double host_share(const struct tp_idle_row *idle)
{
    return idle->launch + idle->cpu_op + idle->none;
}

struct cause {
    enum verdict verdict;
    double share, limit;
};

/* The first four lines are specific causes. */
static enum verdict pick(const struct tp_trace *trace,
                         const struct tp_trace_limits *limits, double *share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double *limit = limits->values;
    const struct cause causes[] = {
        {trace->facts.steady_driver_calls ? ALLOCATION : COLD_START,
         idle->alloc, limit[TP_TRACE_ALLOC]},
        {DATA_LOADING, idle->dataloader, limit[TP_TRACE_LOADER]},
        {SYNCHRONISATION, idle->blocking, limit[TP_TRACE_SYNC]},
        {COMMUNICATION, tp_trace_exposed_communication(trace),
         limit[TP_TRACE_COMM]},
    };
    enum verdict best = NO_LIMIT;
    *share = 1;
    if (trace->facts.device_events == 0)
        return CPU_ONLY;
    /* A GPU that only waits for others is busy, too. */
    bool computes = 100 * tp_trace_exposed_communication(trace) <
                    limit[TP_TRACE_COMM];
    *share = idle->busy;
    if (100 * idle->busy >= limit[TP_TRACE_BUSY] && computes)
        return GPU_BOUND;
    *share = 0;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (100 * causes[i].share < causes[i].limit ||
            causes[i].share <= *share)
            continue;
        best = causes[i].verdict;
        *share = causes[i].share;
    }
    if (best != NO_LIMIT)
        return best;
    *share = host_share(idle);
    if (trace->facts.host_events == 0) /* nobody knows what it waits for */
        return NO_LIMIT;
    if (100 * *share >= limit[TP_TRACE_HOST])
        return 100 * trace->short_share >= limit[TP_TRACE_TINY] ? LAUNCH_BOUND
                                                                : HOST_BOUND;
    return NO_LIMIT;
}

/* The largest share of W, in words. */
static const char *largest(const struct tp_trace *trace, double *share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const struct {
        const char *words;
        double share;
    } shares[] = {
        {"GPU work", idle->busy},
        {"the GPU idle behind driver allocations", idle->alloc},
        {"the GPU idle behind the DataLoader", idle->dataloader},
        {"the GPU idle behind blocking calls", idle->blocking},
        {"the GPU idle behind launch calls", idle->launch},
        {"the GPU idle behind operators on the host", idle->cpu_op},
        {"the GPU idle with nothing recorded on the host", idle->none},
    };
    size_t best = 0;
    for (size_t i = 1; i < sizeof shares / sizeof *shares; i++)
        best = shares[i].share > shares[best].share ? i : best;
    *share = shares[best].share;
    return shares[best].words;
}

/* The largest idle share that is the host's own work. */
static const char *busiest_host(const struct tp_idle_row *idle)
{
    if (idle->none >= idle->cpu_op && idle->none >= idle->launch)
        return "mostly with nothing recorded on the host (Python)";
    return idle->cpu_op >= idle->launch ? "mostly inside operators"
                                        : "mostly inside launch calls";
}

static const char *describe(struct tp_trace_run *run,
                            const struct tp_trace *trace, enum verdict verdict,
                            double share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double percent = 100 * share, busy = 100 * idle->busy;
    double most;
    switch (verdict) {
    case CPU_ONLY:
        return "no device events were recorded, so nothing can be said about "
               "a GPU";
    case GPU_BOUND:
        return tp_trace_text(run,
                             "the GPU is busy %.1f %% of the window; what is "
                             "left to win is in its kernels",
                             busy);
    case ALLOCATION:
        return tp_trace_text(run,
                             "the GPU idles %.1f %% of the window behind "
                             "driver allocations, %" PRId64
                             " of them in steady steps",
                             percent, trace->facts.steady_driver_calls);
    case COLD_START:
        return tp_trace_text(run,
                             "the GPU idles %.1f %% of the window behind "
                             "driver allocations, none in a steady step: this "
                             "is how allocation starts, not how training runs",
                             percent);
    case DATA_LOADING:
        return tp_trace_text(run,
                             "the GPU idles %.1f %% of the window behind the "
                             "DataLoader and is busy %.1f %% of it",
                             percent, busy);
    case SYNCHRONISATION:
        return tp_trace_text(run,
                             "the GPU idles %.1f %% of the window behind "
                             "calls that wait for it (%" PRId64
                             " calls) and is busy %.1f %% of it",
                             percent, idle->blocking_calls, busy);
    case COMMUNICATION:
        return tp_trace_text(run,
                             "communication that no computation hides takes "
                             "%.1f %% of the window",
                             percent);
    case LAUNCH_BOUND:
        return tp_trace_text(
            run,
            "the GPU idles %.1f %% of the window behind the host, %s; kernels "
            "below 10 us have %.1f %% of the kernels' time, the median lasts "
            "%.1f us",
            percent, busiest_host(idle), 100 * trace->short_share,
            trace->median_kernel_us);
    case HOST_BOUND:
        return tp_trace_text(run,
                             "the GPU idles %.1f %% of the window behind the "
                             "host, %s, and is busy %.1f %% of it",
                             percent, busiest_host(idle), busy);
    case NO_LIMIT:
    case VERDICTS:
        break;
    }
    const char *words = largest(trace, &most);
    return tp_trace_text(run,
                         "nothing reaches its threshold; the largest part of "
                         "the window, %.1f %%, is %s",
                         100 * most, words);
}

static struct tp_trace_verdict judge(struct tp_trace_run *run,
                                     const struct tp_trace *trace)
{
    double share;
    const enum verdict verdict = pick(trace, &run->limits, &share);
    const struct tp_trace_verdict_info *info = &tp_trace_verdict_table[verdict];
    const char *sentence = describe(run, trace, verdict, share);
    if (trace->events.truncated_at >= 0)
        sentence = tp_trace_text(run,
                                 "%s (of what is left: the trace is cut off at "
                                 "byte %" PRId64 ")",
                                 sentence, trace->events.truncated_at);
    return (struct tp_trace_verdict){info->id, info->scenario, sentence,
                                     share};
}

/* How much of the run a verdict holds for. */
struct votes {
    size_t traces, worst; /* worst: trace with the longest window */
    double window_us, low, high;
};

static void vote(const struct tp_trace_run *run, size_t i, struct votes *votes)
{
    const double window_us = run->traces[i].idle.window_us;
    const double share = run->verdicts[i].share;
    votes->low = votes->traces == 0 || share < votes->low ? share : votes->low;
    votes->high = share > votes->high ? share : votes->high;
    if (votes->traces++ == 0 ||
        window_us > run->traces[votes->worst].idle.window_us)
        votes->worst = i;
    votes->window_us += window_us;
}

/* "; stragglers: ranks 2 7" */
static void add_stragglers(const struct tp_trace_run *run, struct tp_text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < run->ranks.count; i++)
        count += run->ranks.rows[i].straggler != 0;
    if (count)
        tp_text_add(text, "; straggler%s: rank%s", count == 1 ? "" : "s",
                    count == 1 ? "" : "s");
    for (size_t i = 0; i < run->ranks.count; i++) {
        if (run->ranks.rows[i].straggler)
            tp_text_add(text, " %" PRId64, run->ranks.rows[i].rank);
    }
}

static void judge_run(struct tp_trace_run *run)
{
    struct votes votes[VERDICTS] = {0};
    enum verdict best = NO_LIMIT;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t v = 0; v < VERDICTS; v++) {
            if (run->verdicts[i].id == tp_trace_verdict_table[v].id)
                vote(run, i, &votes[v]);
        }
    }
    for (enum verdict v = 0; v < VERDICTS; v++) {
        if (votes[v].traces > votes[best].traces ||
            (votes[v].traces == votes[best].traces &&
             votes[v].window_us > votes[best].window_us))
            best = v;
    }
    run->verdict = run->verdicts[votes[best].worst];
    if (run->trace_count < 2)
        return;
    struct tp_text text = {0};
    const struct tp_trace *worst = &run->traces[votes[best].worst];
    tp_text_add(&text, "%zu of %zu traces", votes[best].traces,
                run->trace_count);
    if (best != CPU_ONLY && best != NO_LIMIT)
        tp_text_add(&text, " (%.1f to %.1f %% of their windows)",
                    100 * votes[best].low, 100 * votes[best].high);
    add_stragglers(run, &text);
    if (worst->rank >= 0)
        tp_text_add(&text, "; the longest, rank %" PRId64 ": ", worst->rank);
    else
        tp_text_add(&text, "; the longest, %s: ", worst->path);
    tp_text_add(&text, "%s", run->verdict.sentence);
    run->verdict.sentence = tp_trace_text(run, "%s", tp_text_get(&text));
    tp_text_clear(&text);
}

enum tp_status tp_trace_judge(struct tp_trace_run *run, struct tp_error *err)
{
    run->verdicts = calloc(run->trace_count + 1, sizeof *run->verdicts);
    if (!run->verdicts)
        return tp_fail_memory(err);
    for (size_t i = 0; i < run->trace_count; i++)
        run->verdicts[i] = judge(run, &run->traces[i]);
    if (run->trace_count)
        judge_run(run);
    return TP_OK;
}
