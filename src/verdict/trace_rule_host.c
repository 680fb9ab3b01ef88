/* SPDX-License-Identifier: MIT */
/*
 * Rules about training without a GPU: what its steps spend their time in,
 * operators too short to be worth calling, and large temporary tensors.
 *
 * Without a device there is no idle time to tell what costs, but moments in
 * which operators run, only collectives do, or nothing is recorded
 * (trace_host_ops.h). Tiny operators are told by their own time. What memory
 * costs is in no event: pages are taken from the system when they are first
 * written to, in whatever operator does that; so churn is a finding where rate,
 * turnover and lifetimes agree, and never a verdict. Constant time for a trace.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "trace/trace_facts.h"
#include "verdict/trace_rule_costs.h"
#include "verdict/trace_rule_host.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_untimed.h"

/* Fewer operators tell nothing, and where tiny ones have less of the operators'
 * time others have more to win. In training on a CPU it is 62 to 86 % where
 * operators are many and tiny, 47 to 53 % in steps of 2 ms of a small model,
 * else up to 8 %. */
static const double least_operators = 1000, least_of_operators = 0.6;

double tp_trace_tiny_operators(const struct tp_trace *trace)
{
    const struct tp_trace_facts *facts = &trace->facts;
    if (facts->device_events > 0 || !(trace->idle.window_us > 0) ||
        (double)facts->host.operators < least_operators ||
        facts->host.tiny_us < least_of_operators * facts->host.self_us)
        return 0;
    const double share = facts->host.tiny_us / trace->idle.window_us;
    return share < 1 ? share : 1; /* several threads */
}

static double share_of(const struct tp_trace *trace, double us)
{
    const double window_us = trace->idle.window_us;
    return trace->facts.device_events == 0 && window_us > 0 ? us / window_us
                                                            : 0;
}

double tp_trace_host_works(const struct tp_trace *trace)
{
    return share_of(trace, trace->facts.host.working_us);
}

double tp_trace_host_communicates(const struct tp_trace *trace)
{
    return share_of(trace, trace->facts.host.communicating_us);
}

double tp_trace_host_outside(const struct tp_trace *trace)
{
    return share_of(trace, trace->facts.host.outside_us);
}

/* The optimizer whose steps take most, or NULL. */
static const struct tp_annotation_row *
find_optimizer(const struct tp_trace *trace)
{
    const struct tp_annotation_row *most = NULL;
    for (size_t i = 0; i < trace->annotations.count; i++) {
        const struct tp_annotation_row *row = &trace->annotations.rows[i];
        if (row->is_host && !strncmp(row->name, "Optimizer.step", 14) &&
            (!most || row->total_us > most->total_us))
            most = row;
    }
    return most;
}

/* "; Optimizer.step#Adam.step takes 60.0 % of the window", from the threshold
 * of tiny operators on; "". */
static const char *describe_optimizer(struct tp_trace_judged *judged,
                                      const struct tp_trace *trace)
{
    const struct tp_annotation_row *row = find_optimizer(trace);
    const double share = row ? 100 * share_of(trace, row->total_us) : 0;
    if (share < judged->limits.values[TP_TRACE_HOST_TINY])
        return "";
    return tp_judge_text(judged, "; %s takes %.1f %% of the window", row->name,
                         share);
}

/* ", 73.7 % within data.py(30): tokenize"; "". */
static const char *describe_blamed(struct tp_trace_judged *judged,
                                   const struct tp_trace *trace)
{
    const struct tp_frame_row *frame = tp_trace_blamed_frame(trace);
    if (!frame)
        return "";
    return tp_judge_text(judged, ", %.1f %% within %s",
                         100 * share_of(trace, frame->idle_us[TP_FRAME_HOST]),
                         frame->name);
}

const char *tp_trace_host_words(struct tp_trace_judged *judged,
                                const struct tp_trace *trace,
                                enum tp_verdict verdict, double share)
{
    const struct tp_trace_host_ops *host = &trace->facts.host;
    const double percent = 100 * share;
    const char *no_gpu = tp_trace_no_gpu_words(trace);
    switch (verdict) {
    case TP_VERDICT_DATA_LOADING:
        return tp_judge_text(
            judged, "steps wait %.1f %% of their time for the DataLoader; %s",
            percent, no_gpu);
    case TP_VERDICT_COMMUNICATION:
        return tp_judge_text(judged,
                             "%.1f %% of the window go by with nothing but "
                             "collectives running, most in %s; operators take "
                             "%.1f %%; %s",
                             percent, host->collective.name,
                             100 * tp_trace_host_works(trace), no_gpu);
    case TP_VERDICT_TINY_OPERATORS:
        return tp_judge_text(judged,
                             "operators below 10 us take %.1f %% of the "
                             "window, %.1f us each on average; %s",
                             percent,
                             host->self_us / (double)host->operators, no_gpu);
    case TP_VERDICT_CPU_BOUND:
        return tp_judge_text(judged,
                             "operators take %.1f %% of the window, most of "
                             "it %s (%.1f %% of the operators' time)%s; %s",
                             percent, host->most.name,
                             100 * host->most.us / host->self_us,
                             describe_optimizer(judged, trace), no_gpu);
    case TP_VERDICT_HOST_BOUND:
        return tp_judge_text(judged,
                             "%.1f %% of the window go by outside of "
                             "operators, in Python or what was not recorded%s; "
                             "operators take %.1f %%; %s",
                             percent, describe_blamed(judged, trace),
                             100 * tp_trace_host_works(trace), no_gpu);
    default:
        return tp_judge_text(judged,
                             "no device events were recorded, so nothing can "
                             "be said about a GPU; of the window operators "
                             "take %.1f %%, collectives alone %.1f %%, what is "
                             "outside of both %.1f %%",
                             100 * tp_trace_host_works(trace),
                             100 * tp_trace_host_communicates(trace),
                             100 * tp_trace_host_outside(trace));
    }
}

static enum tp_status add_communication(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_trace_host_op *most = &trace->facts.host.collective;
    const double share = 100 * tp_trace_host_communicates(trace);
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "nothing but collectives, % of window",
        .value = share,
        .limit = it->limits[TP_TRACE_COMM],
        .won = share,
        .evidence = tp_judge_text(
            it->judged,
            "%.1f %% of the window go by while a collective runs and no "
            "operator does; most in %s (%" PRId64 " calls, %.2f ms each); a "
            "collective lasts as long as the last rank lets it wait: one "
            "trace does not tell waiting from transfer",
            share, most->name, most->count,
            most->us / 1e3 / (double)most->count),
        .suggestion =
            "record all ranks, which tells who is late; fewer and larger "
            "collectives (bucket_cap_mb of DDP, no_sync() while gradients "
            "accumulate), fewer bytes (gradients in bf16)"};
    return share < it->limits[TP_TRACE_COMM]
               ? TP_OK
               : tp_trace_finding_add(it, TP_VERDICT_COMMUNICATION, finding,
                                      err);
}

static enum tp_status add_outside(const struct tp_trace_case *it,
                                  struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const double share = 100 * tp_trace_host_outside(trace);
    const bool waits = tp_trace_step_means(trace, 1).data_wait_s > 0;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "outside of operators, % of window",
        .value = share,
        .limit = it->limits[TP_TRACE_HOST],
        .won = share,
        .evidence = tp_judge_text(
            it->judged,
            "%.1f %% of the window have no operator, no collective%s on any "
            "thread: Python, or what the profiler does not see%s",
            share, waits ? " and no DataLoader" : "",
            tp_trace_frames_words(it, TP_FRAME_HOST)),
        .suggestion =
            trace->frames.count
                ? "take what is not training out of the step: into workers of "
                  "the DataLoader, before or behind it; /frames has the "
                  "functions with most time of their own"
                : "record with with_stack=True, which names the functions; or "
                  "put record_function around parts of the loop"};
    return share < it->limits[TP_TRACE_HOST]
               ? TP_OK
               : tp_trace_finding_add(it, TP_VERDICT_HOST_BOUND, finding, err);
}

enum tp_status tp_trace_rule_cpu_time(const struct tp_trace_case *it,
                                      struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_trace_host_ops *host = &trace->facts.host;
    const double share = 100 * tp_trace_host_works(trace);
    if (trace->facts.device_events > 0)
        return TP_OK;
    enum tp_status status = add_communication(it, err);
    if (status == TP_OK)
        status = add_outside(it, err);
    if (status != TP_OK || it->verdict != TP_VERDICT_CPU_BOUND)
        return status;
    const char *optimizer = describe_optimizer(it->judged, trace);
    const struct tp_trace_finding finding = {
        /* work is what a CPU is there for */
        .level = *optimizer ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW,
        .step = -1,
        .metric = "operators, % of window",
        .value = share,
        .limit = it->limits[TP_TRACE_HOST_BUSY],
        .evidence = tp_judge_text(
            it->judged,
            "operators take %.1f %% of the window; of their own time %s has "
            "%.1f %% (%" PRId64 " calls, %.3f ms each)%s",
            share, host->most.name, 100 * host->most.us / host->self_us,
            host->most.count, host->most.us / 1e3 / (double)host->most.count,
            optimizer),
        .suggestion =
            *optimizer && !strstr(host->most.name, "_fused_")
                ? "fused=True of the optimizer, which goes through all "
                  "parameters once (Adam, AdamW, SGD and Adagrad of "
                  "torch.optim have it on a CPU); fewer updates: accumulate "
                  "gradients over batches"
                : "the work itself takes the time: look at the table of "
                  "operators by self time, and with --group_by shape at their "
                  "sizes; whether more threads or bf16 help depends on the "
                  "CPU, so measure it"};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

enum tp_status tp_trace_rule_tiny_operators(const struct tp_trace_case *it,
                                            struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_trace_facts *facts = &trace->facts;
    const double share = 100 * tp_trace_tiny_operators(trace);
    const double steps = tp_trace_has_steps(trace) ? (double)trace->steps.count
                                                   : 1;
    if (share < it->limits[TP_TRACE_HOST_TINY])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "operators below 10 us, % of window",
        .value = share,
        .limit = it->limits[TP_TRACE_HOST_TINY],
        .won = share,
        .evidence = tp_judge_text(
            it->judged,
            "%.0f operators a %s, %.1f us each on average without those they "
            "call; operators below 10 us take %.1f %% of the window, most of "
            "it %s (%.0f a %s); %s",
            (double)facts->host.operators / steps,
            tp_trace_has_steps(trace) ? "step" : "trace",
            facts->host.self_us / (double)facts->host.operators, share,
            facts->host.tiny, (double)facts->host.tiny_count / steps,
            tp_trace_has_steps(trace) ? "step" : "trace",
            tp_trace_no_gpu_words(trace)),
        .suggestion =
            "give each operator more work: a larger batch, one operation on a "
            "stacked tensor instead of a Python loop, foreach=True of the "
            "optimizer, torch.compile; about 1 us of each is the profiler's"};
    return tp_trace_finding_add(it, TP_VERDICT_TINY_OPERATORS, finding, err);
}

/* The row of the host's memory, or NULL. */
static const struct tp_memory_row *host_memory(const struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->memory.count; i++) {
        if (trace->memory.rows[i].is_host)
            return &trace->memory.rows[i];
    }
    return NULL;
}

enum tp_status tp_trace_rule_host_churn(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    /* Of training of torch 2.15 on a CPU: 29 and 40 times the peak where each
     * step makes large temporary tensors, up to 5 in healthy training and 14
     * in inference; 61 and 80 % of allocations are brief, up to 59 and 2. */
    static const double least_turnover = 10, least_brief = 0.5;
    const struct tp_trace *trace = it->trace;
    const struct tp_memory_row *memory = host_memory(trace);
    const struct tp_trace_means means = tp_trace_step_means(trace, 1);
    if (trace->facts.device_events > 0 || !memory)
        return TP_OK;
    const double rate =
        memory->allocated_per_step_b / means.profiler_step_s / 1e9;
    if (!(rate >= it->limits[TP_TRACE_HOST_CHURN]) ||
        !(memory->turnover >= least_turnover) ||
        !(memory->short_lived >= least_brief))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "memory taken by the host, GB/s",
        .value = rate,
        .limit = it->limits[TP_TRACE_HOST_CHURN],
        .evidence = tp_judge_text(
            it->judged,
            "%.0f allocations a step take %.3g GB, %.1f times the peak (%.3g "
            "GB); %.0f %% are given back within 1 ms; on a CPU large ones come "
            "from the system and each page costs when it is first written, a "
            "time that no event has",
            memory->allocations_per_step, memory->allocated_per_step_b / 1e9,
            memory->turnover, memory->peak_allocated_b / 1e9,
            100 * memory->short_lived),
        .suggestion = "reuse buffers: out= arguments, in-place operators, "
                      "tensors made once before the loop; or an allocator that "
                      "keeps memory (jemalloc, tcmalloc)"};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}
