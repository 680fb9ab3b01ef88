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
#include "trace/trace_frames.h"
#include "verdict/trace_rule_host.h"
#include "verdict/trace_untimed.h"

const struct tp_trace_verdict_info tp_trace_verdict_table[TP_VERDICTS + 1] = {
    [TP_VERDICT_CPU_ONLY] = {"CPU only", "cpu_only",
                             "no device events were recorded"},
    [TP_VERDICT_GPU_BOUND] = {"GPU-bound", "gpu_bound",
                              "the GPU is busy nearly all the time: healthy"},
    [TP_VERDICT_ALLOCATION] = {"allocation", TP_SCENARIO_CHURN,
                               "the GPU waits for memory from the driver"},
    [TP_VERDICT_COLD_START] =
        {"cold start", "cold_start",
         "the same, but in no steady step: start-up was recorded"},
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
    [TP_VERDICT_LAUNCH_BOUND] =
        {"launch-bound", "tiny_ops",
         "the host cannot launch so many tiny kernels as fast "
         "as the GPU runs them"},
    [TP_VERDICT_HOST_BOUND] = {"host-bound", "host_bound",
                               "the GPU waits for operators and Python"},
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

bool tp_trace_keeps_loading(const struct tp_trace *trace)
{
    const int64_t steps = (int64_t)trace->steps.count;
    return tp_trace_has_steps(trace) && steps >= 4 &&
           2 * trace->idle.first_launch_steps > steps;
}

double tp_trace_host_share(const struct tp_trace *trace)
{
    const struct tp_idle_row *idle = &trace->idle;
    return idle->launch + idle->cpu_op + idle->none -
           (tp_trace_keeps_loading(trace) ? 0 : idle->first_launch);
}

/* Idle time of a start-up: memory that is taken and code that is loaded, where
 * that does not go on. */
static double start_up_share(const struct tp_trace *trace)
{
    return (tp_trace_keeps_allocating(trace) ? 0 : trace->idle.alloc) +
           (tp_trace_keeps_loading(trace) ? 0 : trace->idle.first_launch);
}

struct cause {
    enum tp_verdict verdict;
    double share, limit;
};

/*
 * Driver allocations that are no start-up: some lie in steady steps or,
 * without steps, a quarter of their time after half of the device's work; in
 * a start-up that was recorded as a whole that is 3 %.
 */
bool tp_trace_keeps_allocating(const struct tp_trace *trace)
{
    const struct tp_trace_facts *facts = &trace->facts;
    if (tp_trace_has_steps(trace))
        return facts->steady_driver_calls > 0;
    return facts->late_driver_us > 0 &&
           4 * facts->late_driver_us >= facts->driver_us;
}

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
             : start_up_share(trace),
         limit[TP_TRACE_FIRST_LAUNCH]},
        {TP_VERDICT_QUEUED, idle->queued, limit[TP_TRACE_QUEUED]},
        {TP_VERDICT_DATA_LOADING, idle->dataloader, limit[TP_TRACE_LOADER]},
        {TP_VERDICT_SYNCHRONISATION, idle->blocking, limit[TP_TRACE_SYNC]},
        {TP_VERDICT_COMMUNICATION, tp_trace_exposed_communication(trace),
         limit[TP_TRACE_COMM]},
        {TP_VERDICT_COPIES, tp_trace_exposed_transfers(trace),
         limit[TP_TRACE_COPY]},
    };
    enum tp_verdict best = TP_VERDICT_NO_LIMIT;
    *share = 1;
    if (tp_trace_is_untimed(trace))
        return TP_VERDICT_UNKNOWN;
    if (trace->facts.device_events == 0)
        return pick_without_device(trace, limits, share);
    if (is_unknown(trace, limits))
        return TP_VERDICT_UNKNOWN;
    /* A GPU that only waits for others, or for data, is busy, too. */
    bool computes =
        100 * tp_trace_exposed_communication(trace) < limit[TP_TRACE_COMM] &&
        100 * tp_trace_exposed_transfers(trace) < limit[TP_TRACE_COPY];
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
    if (100 * host < limit[TP_TRACE_HOST] || host <= *share) {
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

/* The largest share of W, in words. */
static const char *largest(const struct tp_trace *trace, double *share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const struct {
        const char *words;
        double share;
    } shares[] = {
        {"GPU work", idle->busy},
        {"the GPU idle with work pending", idle->queued},
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

/* The innermost function that holds half of the idle time behind the host, and
 * of a builtin the one that calls it; NULL: no frame does. */
static const struct tp_frame_row *blamed_frame(const struct tp_trace *trace)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double us =
        (idle->launch + idle->cpu_op + idle->none) * idle->window_us;
    const struct tp_frame_blame blame =
        tp_trace_blame(trace, TP_FRAME_HOST, us);
    return blame.caller && blame.inner->what == TP_FRAME_BUILTIN ? blame.caller
                                                                 : blame.inner;
}

const char *tp_trace_unrecorded_words(const struct tp_trace *trace)
{
    return blamed_frame(trace) ? "Python outside of operators"
                               : "what was not recorded";
}

/* The largest idle share that is the host's own work, and whose it is: of a
 * function with what it calls, operators and launches included. */
static const char *busiest_host(struct tp_trace_judged *judged,
                                const struct tp_trace *trace)
{
    const struct tp_idle_row *idle = &trace->idle;
    const struct tp_frame_row *frame = blamed_frame(trace);
    const char *where = "mostly where nothing was recorded on the host";
    double share = idle->none;
    if (idle->none < idle->cpu_op || idle->none < idle->launch) {
        share = fmax(idle->cpu_op, idle->launch);
        where = idle->cpu_op >= idle->launch ? "mostly inside operators"
                                             : "mostly inside launch calls";
    } else if (frame) {
        where = "mostly in Python outside of operators";
    }
    if (!frame)
        return where;
    return tp_judge_text(judged,
                         "%s (%.1f %% of the window; %.1f %% within %s, with "
                         "what it calls)",
                         where, 100 * share,
                         100 * frame->idle_us[TP_FRAME_HOST] / idle->window_us,
                         frame->name);
}

static const char *describe_allocation(struct tp_trace_judged *judged,
                                       const struct tp_trace *trace,
                                       double percent)
{
    const struct tp_trace_facts *facts = &trace->facts;
    if (facts->steady_driver_calls)
        return tp_judge_text(judged,
                             "the GPU idles %.1f %% of the window behind "
                             "driver allocations, %" PRId64
                             " of them in steady steps",
                             percent, facts->steady_driver_calls);
    return tp_judge_text(judged,
                         "the GPU idles %.1f %% of the window behind driver "
                         "allocations, which go on after half of its work "
                         "(%.2f of %.2f ms)",
                         percent, facts->late_driver_us / 1e3,
                         facts->driver_us / 1e3);
}

static const char *describe_cold_start(struct tp_trace_judged *judged,
                                       const struct tp_trace *trace,
                                       double percent)
{
    const struct tp_idle_row *idle = &trace->idle;
    const char *when = tp_trace_has_steps(trace)
                           ? "none in a steady step"
                           : "nearly all before half of the GPU's work";
    if (100 * idle->first_launch < judged->limits.values[TP_TRACE_FIRST_LAUNCH])
        return tp_judge_text(judged,
                             "the GPU idles %.1f %% of the window behind "
                             "driver allocations, %s: this is how a run "
                             "starts, not how training goes on",
                             percent, when);
    const double alloc = percent - 100 * idle->first_launch;
    const char *and = alloc < 0.05 ? ""
                                   : tp_judge_text(judged,
                                                   " and %.1f %% behind its "
                                                   "allocations",
                                                   alloc);
    return tp_judge_text(judged,
                         "the GPU idles %.1f %% of the window while the driver "
                         "loads the code of kernels (%" PRId64
                         " first launch%s)%s: this is how a run starts, not "
                         "how training goes on",
                         100 * idle->first_launch, idle->first_launches,
                         idle->first_launches == 1 ? "" : "es", and);
}

static const char *describe_busy(struct tp_trace_judged *judged,
                                 const struct tp_trace *trace)
{
    const double copies = 100 * (tp_trace_exposed_memory(trace) -
                                 tp_trace_exposed_transfers(trace));
    const char *with =
        copies >= judged->limits.values[TP_TRACE_COPY]
            ? tp_judge_text(judged,
                            ", %.1f %% of it with nothing but copies within "
                            "its memory",
                            copies)
            : "";
    return tp_judge_text(judged,
                         "the GPU is busy %.1f %% of the window%s; what is "
                         "left to win is in its %s",
                         100 * trace->idle.busy, with,
                         *with ? "copies and kernels" : "kernels");
}

static const char *describe_launches(struct tp_trace_judged *judged,
                                     const struct tp_trace *trace,
                                     double percent)
{
    return tp_judge_text(judged,
                         "the GPU idles %.1f %% of the window behind the host, "
                         "%s; kernels below 10 us have %.1f %% of the kernels' "
                         "time, the median lasts %.1f us",
                         percent, busiest_host(judged, trace),
                         100 * trace->short_share, trace->median_kernel_us);
}

static const char *describe_unknown(struct tp_trace_judged *judged,
                                    const struct tp_trace *trace)
{
    const double busy = 100 * trace->idle.busy;
    if (tp_trace_is_untimed(trace))
        return "how long the GPU was busy is not known";
    if (trace->facts.device_events == 0)
        return "there are no device events, so nothing can be said about a "
               "GPU";
    if (!(trace->idle.window_us > 0))
        return "all that the GPU did lasts no time at all, so there are no "
               "shares of it";
    if (trace->facts.host_events == 0)
        return tp_judge_text(judged,
                             "the GPU is busy %.1f %% of the window; what it "
                             "waits for in the rest is not known without host "
                             "events",
                             busy);
    return tp_judge_text(judged,
                         "%" PRId64 " device event%s, over %.3f ms, tell "
                         "nothing: record whole training steps",
                         trace->facts.device_events,
                         trace->facts.device_events == 1 ? "" : "s",
                         trace->idle.window_us / 1e3);
}

static const char *describe(struct tp_trace_judged *judged,
                            const struct tp_trace *trace,
                            enum tp_verdict verdict, double share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double percent = 100 * share, busy = 100 * idle->busy;
    double most;
    if (trace->facts.device_events == 0 && verdict != TP_VERDICT_UNKNOWN)
        return tp_trace_host_words(judged, trace, verdict, share);
    switch (verdict) {
    case TP_VERDICT_GPU_BOUND:
        return describe_busy(judged, trace);
    case TP_VERDICT_ALLOCATION:
        return describe_allocation(judged, trace, percent);
    case TP_VERDICT_COLD_START:
        return describe_cold_start(judged, trace, percent);
    case TP_VERDICT_QUEUED:
        return tp_judge_text(judged,
                             "the GPU idles %.1f %% of the window although "
                             "work was launched for it (up to %" PRId64
                             " operations at once) and is busy %.1f %% of it",
                             percent, idle->queued_most, busy);
    case TP_VERDICT_DATA_LOADING:
        return tp_judge_text(judged,
                             "the GPU idles %.1f %% of the window behind the "
                             "DataLoader and is busy %.1f %% of it",
                             percent, busy);
    case TP_VERDICT_SYNCHRONISATION:
        return tp_judge_text(judged,
                             "the GPU idles %.1f %% of the window behind "
                             "calls that wait for it (%" PRId64
                             " calls) and is busy %.1f %% of it",
                             percent, idle->blocking_calls, busy);
    case TP_VERDICT_COMMUNICATION:
        return tp_judge_text(judged,
                             "communication that no computation hides takes "
                             "%.1f %% of the window",
                             percent);
    case TP_VERDICT_COPIES:
        return tp_judge_text(judged,
                             "copies to or from the GPU that neither "
                             "computation nor communication hides take %.1f "
                             "%% of the window, of which it is busy %.1f %%",
                             percent, busy);
    case TP_VERDICT_LAUNCH_BOUND:
        return describe_launches(judged, trace, percent);
    case TP_VERDICT_HOST_BOUND:
        return tp_judge_text(judged,
                             "the GPU idles %.1f %% of the window behind the "
                             "host, %s, and is busy %.1f %% of it",
                             percent, busiest_host(judged, trace), busy);
    case TP_VERDICT_UNKNOWN:
        return describe_unknown(judged, trace);
    case TP_VERDICT_CPU_ONLY:
    case TP_VERDICT_CPU_BOUND:
    case TP_VERDICT_TINY_OPERATORS:
    case TP_VERDICT_NO_LIMIT:
    case TP_VERDICTS:
        break;
    }
    const char *words = largest(trace, &most);
    return tp_judge_text(judged,
                         "nothing reaches its threshold; the largest part of "
                         "the window, %.1f %%, is %s",
                         100 * most, words);
}

static struct tp_trace_verdict judge(struct tp_trace_judged *judged,
                                     const struct tp_trace *trace)
{
    double share;
    const enum tp_verdict verdict =
        tp_trace_verdict_pick(trace, &judged->limits, &share);
    const char *sentence = describe(judged, trace, verdict, share);
    const char *untimed = tp_trace_untimed_words(judged, trace);
    if (*untimed)
        sentence = tp_judge_text(judged, "%s (%s)", sentence, untimed);
    if (trace->events.truncated_at >= 0)
        sentence = tp_judge_text(judged,
                                 "%s (of what is left: the trace is cut off at "
                                 "byte %" PRId64 ")",
                                 sentence, trace->events.truncated_at);
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

/* What a step would win if no rank straggled, %; INFINITY where steps of all
 * ranks could not be played together. */
static double won_without_stragglers(const struct tp_trace_judged *judged)
{
    for (size_t i = 0; i < judged->straggling.count; i++)
        if (judged->straggling.rows[i].rank < 0)
            return 100 * judged->straggling.rows[i].won;
    return INFINITY;
}

/* "; stragglers: ranks 2 7", where something could be won from them. */
static void add_stragglers(const struct tp_trace_judged *judged,
                           struct tp_text *text)
{
    size_t count = 0;
    if (won_without_stragglers(judged) <
        judged->limits.values[TP_TRACE_SYNC_SEEN])
        return;
    for (size_t i = 0; i < judged->ranks.count; i++)
        count += judged->ranks.rows[i].straggler != 0;
    if (count)
        tp_text_add(text, "; straggler%s: rank%s", count == 1 ? "" : "s",
                    count == 1 ? "" : "s");
    for (size_t i = 0; i < judged->ranks.count; i++) {
        if (judged->ranks.rows[i].straggler)
            tp_text_add(text, " %" PRId64, judged->ranks.rows[i].rank);
    }
}

/* How many traces the verdict of a run holds for, and of the longest. */
static void describe_run(const struct tp_trace_run *run, enum tp_verdict best,
                         const struct votes *votes,
                         struct tp_trace_judged *judged)
{
    struct tp_text text = {0};
    const struct tp_trace *worst = &run->traces[votes->worst];
    tp_text_add(&text, "%zu of %zu traces", votes->traces, run->trace_count);
    if (best != TP_VERDICT_CPU_ONLY && best != TP_VERDICT_NO_LIMIT &&
        best != TP_VERDICT_UNKNOWN)
        tp_text_add(&text, " (%.1f to %.1f %% of their windows)",
                    100 * votes->low, 100 * votes->high);
    add_stragglers(judged, &text);
    if (worst->rank >= 0)
        tp_text_add(&text, "; the longest, rank %" PRId64 ": ", worst->rank);
    else
        tp_text_add(&text, "; the longest, %s: ", worst->path);
    tp_text_add(&text, "%s", judged->verdict.sentence);
    judged->verdict.sentence = tp_judge_text(judged, "%s", tp_text_get(&text));
    tp_text_clear(&text);
}

static void judge_run(const struct tp_trace_run *run,
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
        judge_run(run, judged);
    return TP_OK;
}
