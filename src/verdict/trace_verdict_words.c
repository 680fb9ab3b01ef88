/* SPDX-License-Identifier: MIT */
#include "verdict/trace_verdict_words.h"

#include <inttypes.h>
#include <math.h>

#include "trace/trace_facts.h"
#include "verdict/trace_first_step.h"
#include "verdict/trace_rule_costs.h"
#include "verdict/trace_rule_host.h"
#include "verdict/trace_untimed.h"

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

const char *tp_trace_unrecorded_words(const struct tp_trace *trace)
{
    return tp_trace_blamed_frame(trace) ? "Python outside of operators"
                               : "what was not recorded";
}

/* The largest idle share that is the host's own work, and whose it is: of a
 * function with what it calls, operators and launches included. */
static const char *busiest_host(struct tp_trace_judged *judged,
                                const struct tp_trace *trace)
{
    const struct tp_idle_row *idle = &trace->idle;
    const struct tp_frame_row *frame = tp_trace_blamed_frame(trace);
    const char *where = "mostly where nothing was recorded on the host";
    double share = idle->none;
    if (idle->none < idle->cpu_op || idle->none < idle->launch) {
        share = fmax(idle->cpu_op, idle->launch);
        where = idle->cpu_op >= idle->launch ? "mostly inside operators"
                : 2 * idle->first_launch >= idle->launch
                    ? "mostly inside launches that load code"
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
    const struct tp_first_step first = tp_trace_first_step(trace);
    const double start_up =
        fmax(idle->alloc, tp_trace_start_up_share(trace));
    if (trace->facts.device_events == 0 || percent > 100 * start_up + 0.05)
        return tp_judge_text(judged,
                             "%s: %.1f %% of the window, most in %s; this is "
                             "how a run starts, not how training goes on",
                             tp_first_step_words(judged, &first), percent,
                             first.part->words);
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

const char *tp_trace_verdict_words(struct tp_trace_judged *judged,
                                   const struct tp_trace *trace,
                                   enum tp_verdict verdict, double share)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double percent = 100 * share, busy = 100 * idle->busy;
    double most;
    if (trace->facts.device_events == 0 && verdict != TP_VERDICT_UNKNOWN &&
        verdict != TP_VERDICT_COLD_START)
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
        if (share > idle->blocking)
            return tp_judge_text(judged,
                                 "the host waits for the GPU (%" PRId64
                                 " calls), and the GPU then for the host: "
                                 "without the waits steps would be %.1f %% "
                                 "shorter; it is busy %.1f %% of the window",
                                 idle->blocking_calls, percent, busy);
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
                             "%% of the window; it is busy %.1f %% of it",
                             percent, busy);
    case TP_VERDICT_TURNS:
        return tp_trace_turns_words(judged, trace);
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
    case TP_VERDICT_UNEVEN:
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
