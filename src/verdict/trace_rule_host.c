/* SPDX-License-Identifier: MIT */
/*
 * Rules about training without a GPU: operators too short to be worth calling,
 * and large temporary tensors.
 *
 * Without a device there is no idle time to tell what costs. Tiny operators are
 * told by their own time. What memory costs is in no event: pages are taken
 * from the system when they are first written to, in whatever operator does
 * that; so churn is a finding where rate, turnover and lifetimes agree, and
 * never a verdict. Constant time for a trace.
 */
#include <inttypes.h>
#include <math.h>

#include "trace/trace_facts.h"
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
        (double)facts->host_operators < least_operators ||
        facts->host_tiny_us < least_of_operators * facts->host_self_us)
        return 0;
    const double share = facts->host_tiny_us / trace->idle.window_us;
    return share < 1 ? share : 1; /* several threads */
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
            (double)facts->host_operators / steps,
            tp_trace_has_steps(trace) ? "step" : "trace",
            facts->host_self_us / (double)facts->host_operators, share,
            facts->host_tiny, (double)facts->host_tiny_count / steps,
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
