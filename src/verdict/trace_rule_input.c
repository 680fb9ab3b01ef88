/* SPDX-License-Identifier: MIT */
/*
 * Rules about the recording itself: what is missing from it.
 *
 * Of a cut trace nobody knows what followed, so what it lacks is noted in
 * other words than what was not recorded. What is missing is a note, not a
 * finding, unless numbers are wrong for it. A pass over the traces for each
 * kind.
 */
#include <inttypes.h>

#include "verdict/trace_rules.h"
#include "verdict/trace_untimed.h"

/* Every part of a trace that is not there, as one sentence each. */
enum tp_status tp_trace_rule_incomplete(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_trace_facts *facts = &trace->facts;
    const double unlinked =
        facts->device_events
            ? 100 * (double)facts->unlinked / (double)facts->device_events
            : 0;
    struct tp_trace_finding finding = {.level = TP_SEVERITY_LOW, .step = -1};
    if (trace->events.truncated_at >= 0) {
        finding.level = TP_SEVERITY_MEDIUM;
        finding.metric = "byte at which the trace ends";
        finding.value = (double)trace->events.truncated_at;
        finding.evidence = tp_judge_text(it->judged,
                                         "the trace is %s byte %" PRId64
                                         "; all figures "
                                         "are of what is before",
                                         trace->events.repairs[TP_REPAIR_LIMIT]
                                             ? "read up to"
                                             : "cut off at",
                                         trace->events.truncated_at);
        finding.suggestion = "record fewer steps, or wait for the profiler "
                             "to end before the process does";
        enum tp_status status =
            tp_trace_finding_add(it, TP_VERDICTS, finding, err);
        if (status != TP_OK)
            return status;
        finding.level = TP_SEVERITY_LOW;
    }
    if (tp_trace_is_untimed(trace)) {
        const struct tp_untimed device = tp_trace_untimed_device(trace);
        const int64_t bad = device.lost + device.zeroed;
        finding.level = TP_SEVERITY_MEDIUM;
        finding.metric = "device events without a duration, % of device events";
        finding.value = 100 * (double)bad / (double)device.all;
        finding.limit = 10;
        finding.evidence = tp_judge_text(
            it->judged, "%s, so nothing is said about the GPU's time",
            tp_trace_untimed_words(it->judged, trace));
        finding.suggestion = "export the trace again, and as the profiler "
                             "writes it: a tool between may have changed dur";
        return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
    }
    /* half: a window cuts a launch or two at each end, and graphs and other
     * profilers leave some without a call */
    if (unlinked < 50 || facts->host_events == 0)
        return TP_OK;
    finding.metric = "device events without a launch, % of device events";
    finding.value = unlinked;
    finding.limit = 50;
    finding.evidence = tp_judge_text(
        it->judged,
        "%" PRId64 " of %" PRId64 " device events have no launch in the "
        "trace, so operators are shown with too little GPU time, and steps as "
        "they are on the host",
        facts->unlinked, facts->device_events);
    /* a device whose profiler knows no correlation: nothing to record better */
    finding.suggestion =
        2 * facts->uncorrelated >= facts->unlinked
            ? "most carry no correlation, as this device's profiler writes "
              "none: read the kernels by their own names"
            : "let the profiler warm up for a step, and keep the CPU activity "
              "on";
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

static bool no_device(const struct tp_trace *trace)
{
    return trace->facts.device_events == 0 &&
           tp_trace_untimed_device(trace).all == 0;
}

static bool no_durations(const struct tp_trace *trace)
{
    return tp_trace_is_untimed(trace);
}

static bool no_host(const struct tp_trace *trace)
{
    return trace->facts.host_events == 0;
}

static bool no_memory(const struct tp_trace *trace)
{
    return trace->facts.memory_events == 0;
}

static bool no_steps(const struct tp_trace *trace)
{
    return !tp_trace_has_steps(trace);
}

/* Two steps can differ by anything: three are the least that show whether
 * they do. */
static bool few_steps(const struct tp_trace *trace)
{
    int64_t steady = 0;
    for (size_t i = 0; i < trace->steps.count; i++)
        steady += trace->steps.rows[i].steady != 0;
    return !no_steps(trace) && steady < 3;
}

static bool no_loader(const struct tp_trace *trace)
{
    return !no_host(trace) && !*trace->facts.loader;
}

static const struct {
    bool (*is_missing)(const struct tp_trace *trace);
    const char *what, *why, *unknown;
} recordings[] = {
    {no_device, "device events",
     " (ProfilerActivity.CUDA was off, or there was no GPU)",
     "idle time, launches and kernels"},
    {no_durations, "durations of device events that can be read",
     " (the events are there: their dur is missing, no number, or negative)",
     "idle time, launches and kernels"},
    {no_host, "host events", " (ProfilerActivity.CPU was off)",
     "why the GPU idles"},
    {no_memory, "memory events", " (profile_memory was off)",
     "memory and allocation churn"},
    {no_steps, "steps", " (profiler.step() was not called)",
     "step times and the data wait of a step"},
    {few_steps, "three steady steps",
     " (record more: active= in the schedule)",
     "how much step times vary, and whether they rise"},
    {no_loader, "DataLoader events",
     " (data came another way, or outside of the recording)",
     "the wait for data"},
};

/* Notes one kind of event that is missing from whole traces or, as nobody
 * knows what followed, from what is left of cut ones. */
static void note_missing(const struct tp_trace_case *it, size_t kind, bool cut)
{
    const struct tp_trace_run *run = it->run;
    struct tp_trace_judged *judged = it->judged;
    size_t missing = 0, first = 0;
    for (size_t j = run->trace_count; j-- > 0;) {
        const struct tp_trace *trace = &run->traces[j];
        if ((trace->events.truncated_at >= 0) != cut ||
            !recordings[kind].is_missing(trace))
            continue;
        missing++;
        first = j;
    }
    const char *head = cut ? "not seen before the cut" : "not recorded";
    const char *why = cut ? "" : recordings[kind].why;
    if (missing && missing == run->trace_count)
        tp_judge_note(judged, "%s: %s%s; unknown: %s", head,
                      recordings[kind].what, why, recordings[kind].unknown);
    else if (missing)
        tp_judge_note(judged,
                      "%s in %zu of %zu traces (the first is %s): %s%s; "
                      "unknown there: %s",
                      head, missing, run->trace_count, run->traces[first].path,
                      recordings[kind].what, why, recordings[kind].unknown);
}

/* Device time that no operator of the table of operators has, if that is a
 * tenth or more. */
static void note_orphans(const struct tp_trace_case *it,
                         const struct tp_trace *trace)
{
    const struct tp_trace_facts *facts = &trace->facts;
    if (!facts->host_events || !*facts->orphan ||
        10 * facts->orphan_us < facts->device_us)
        return;
    tp_judge_note(it->judged,
                  "%s: %.1f %% of the GPU's time (%.2f of %.2f ms) belongs to "
                  "no recorded operator; most in %s (%" PRId64 ", %.2f ms)",
                  trace->path, 100 * facts->orphan_us / facts->device_us,
                  facts->orphan_us / 1e3, facts->device_us / 1e3,
                  tp_judge_kernel(it->judged, facts->orphan),
                  facts->orphan_events, facts->orphan_name_us / 1e3);
}

enum tp_status tp_trace_rule_not_recorded(const struct tp_trace_case *it,
                                          struct tp_error *err)
{
    const struct tp_trace_run *run = it->run;
    struct tp_trace_judged *judged = it->judged;
    (void)err;
    for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++) {
        note_missing(it, i, false);
        note_missing(it, i, true);
    }
    for (size_t i = 0; i < run->trace_count; i++) {
        note_orphans(it, &run->traces[i]);
        if (run->traces[i].facts.zero_events)
            tp_judge_note(judged,
                          "%s: %" PRId64 " events at time 0, more than an hour "
                          "before all others, are left out",
                          run->traces[i].path,
                          run->traces[i].facts.zero_events);
        if (run->traces[i].facts.empty_steps)
            tp_judge_note(judged,
                          "%s: %" PRId64 " steps that last no time are left "
                          "out",
                          run->traces[i].path,
                          run->traces[i].facts.empty_steps);
        const uint64_t devices = run->traces[i].facts.devices;
        if (devices & (devices - 1))
            tp_judge_note(judged,
                          "%s: work of several GPUs in one process; busy, "
                          "idle and communication are of all of them taken "
                          "together, /streams tells them apart",
                          run->traces[i].path);
    }
    return TP_OK;
}
