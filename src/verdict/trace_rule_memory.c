/* SPDX-License-Identifier: MIT */
/*
 * Rules about memory of the device: from the driver, and from the allocator's
 * cache.
 *
 * Driver calls in steady steps are told apart from those of a start-up, which
 * every trace has; without steps, by how much comes after half of the device's
 * work. Churn needs both a high rate and a cost on the host, as allocating
 * often is healthy where it costs nothing. Constant time for a trace.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "verdict/trace_rule_costs.h"

/* Whether most is pinned memory of the host: cudaHostAlloc, cuMemFreeHost,
 * hipHostMalloc, .. */
static bool is_pinning(const struct tp_trace *trace)
{
    return strstr(trace->facts.driver_call, "Host") != NULL;
}

static const char *describe_calls(const struct tp_trace_case *it)
{
    const struct tp_trace_facts *facts = &it->trace->facts;
    const char *memory = is_pinning(it->trace) ? "pinned or device" : "device";
    const char *where =
        facts->steady_driver_calls
            ? tp_judge_text(it->judged,
                            "%" PRId64 " calls that take or give back %s "
                            "memory in steady steps, from step %" PRId64 " on",
                            facts->steady_driver_calls, memory,
                            facts->first_driver_step)
            : tp_judge_text(it->judged,
                            "%" PRId64 " calls that take or give back %s "
                            "memory, which go on after half of the GPU's work "
                            "(%.2f ms there)",
                            facts->driver_calls, memory,
                            facts->late_driver_us / 1e3);
    return tp_judge_text(it->judged,
                         "%s; %.2f ms in all, most in %s; the GPU idles "
                         "behind them %.1f %% of the window",
                         where, facts->driver_us / 1e3, facts->driver_call,
                         100 * it->trace->idle.alloc);
}

enum tp_status tp_trace_rule_allocation(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    const struct tp_trace_facts *facts = &it->trace->facts;
    const bool steps = facts->steady_driver_calls > 0;
    /* without steps: only what costs time, as a first one is in every trace */
    if (!tp_trace_keeps_allocating(it->trace) ||
        (!steps && 100 * it->trace->idle.alloc < it->limits[TP_TRACE_ALLOC]))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = facts->first_driver_step,
        .metric = steps ? "driver allocations in steady steps"
                        : "GPU idle behind driver allocations, % of window",
        .value = steps ? (double)facts->steady_driver_calls
                       : 100 * it->trace->idle.alloc,
        .won = 100 * it->trace->idle.alloc,
        .limit = steps ? 0 : it->limits[TP_TRACE_ALLOC],
        .evidence = describe_calls(it),
        .suggestion =
            is_pinning(it->trace)
                ? "memory of the host is pinned anew all the time: "
                  "pin_memory=True of the DataLoader, or one pinned buffer "
                  "that batches are copied into, instead of .pin_memory() in "
                  "the loop"
                : "the allocator's cache does not hold: keep shapes constant, "
                  "drop torch.cuda.empty_cache() from the loop, try "
                  "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use "
                  "less memory"};
    return tp_trace_finding_add(it, TP_VERDICT_ALLOCATION, finding, err);
}

enum tp_status tp_trace_rule_cold_start(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    const struct tp_trace_facts *facts = &it->trace->facts;
    const bool steps = tp_trace_has_steps(it->trace);
    const double share = 100 * facts->driver_us / it->trace->idle.window_us;
    /* one percent: below it a few first allocations are not worth a line */
    if (tp_trace_keeps_allocating(it->trace) || !(share >= 1))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_LOW,
        .step = -1,
        .metric = "GPU idle behind driver allocations, % of window",
        .value = 100 * it->trace->idle.alloc,
        .won = 100 * it->trace->idle.alloc,
        .limit = it->limits[TP_TRACE_ALLOC],
        .evidence = tp_judge_text(
            it->judged,
            "%" PRId64 " calls that take or give back device memory, %.2f ms, "
            "most in %s; %.2f ms of it %s",
            facts->driver_calls, facts->driver_us / 1e3, facts->driver_call,
            steps ? 0.0 : facts->late_driver_us / 1e3,
            steps ? "in a steady step" : "after half of the GPU's work"),
        .suggestion = "record after some steps of warm-up: "
                      "schedule(wait=1, warmup=3, active=...)"};
    return tp_trace_finding_add(it, TP_VERDICT_COLD_START, finding, err);
}

/* The row of the first device that is not the host, or NULL. */
static const struct tp_memory_row *device_memory(const struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->memory.count; i++) {
        if (!trace->memory.rows[i].is_host)
            return &trace->memory.rows[i];
    }
    return NULL;
}

/* ", 0.21 GB a step (13.4 times the peak), 99 % given back within 1 ms" */
static const char *describe_turnover(const struct tp_trace_case *it,
                                     const struct tp_memory_row *memory)
{
    const char *text = "";
    if (!isnan(memory->allocated_per_step_b))
        text = tp_judge_text(it->judged, ", %.2f GB a step",
                             memory->allocated_per_step_b / 1e9);
    if (!isnan(memory->turnover))
        text = tp_judge_text(it->judged, "%s (%.1f times the peak)", text,
                             memory->turnover);
    if (!isnan(memory->short_lived))
        text = tp_judge_text(it->judged, "%s, %.0f %% given back within 1 ms",
                             text, 100 * memory->short_lived);
    return text;
}

enum tp_status tp_trace_rule_churn(const struct tp_trace_case *it,
                                   struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_memory_row *memory = device_memory(trace);
    const double host = 100 * trace->facts.alloc_op_us / trace->idle.window_us;
    const double rate =
        memory && trace->facts.kernels
            ? 100 * (double)memory->allocations / (double)trace->facts.kernels
            : 0;
    /* both: allocating often is healthy where it costs nothing */
    if (!(rate >= it->limits[TP_TRACE_CHURN_RATE]) ||
        !(host >= it->limits[TP_TRACE_CHURN]))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "device allocations, % of kernels",
        .value = rate,
        .limit = it->limits[TP_TRACE_CHURN_RATE],
        .evidence = tp_judge_text(
            it->judged,
            "%" PRId64 " allocations for %" PRId64 " kernels%s; the host "
            "spends %.1f %% of the window in operators that allocate; %s",
            memory->allocations, trace->facts.kernels,
            describe_turnover(it, memory), host,
            trace->facts.steady_driver_calls
                ? "the driver is asked in steady steps, too"
                : "all from the allocator's cache"),
        .suggestion = "reuse buffers: out= arguments, in-place operators, "
                      "tensors made once before the loop"};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

enum tp_status tp_trace_rule_memory_full(const struct tp_trace_case *it,
                                         struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_memory_row *memory = device_memory(trace);
    const double capacity = trace->facts.device_memory_b;
    const double peak = memory ? memory->peak_reserved_b : NAN;
    const double share = capacity > 0 && peak > 0 ? 100 * peak / capacity : 0;
    const int64_t failed = trace->facts.out_of_memory;
    if (share < it->limits[TP_TRACE_MEMORY_FULL] && !failed)
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = failed ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW,
        .step = -1,
        .metric = "reserved memory, % of the device's",
        .value = share,
        .limit = it->limits[TP_TRACE_MEMORY_FULL],
        .evidence =
            failed ? tp_judge_text(it->judged,
                                   "the allocator ran out of memory %" PRId64
                                   " times",
                                   failed)
                   : tp_judge_text(it->judged,
                                   "reserved at its peak: %.2f GB of %.2f GB, "
                                   "%.1f %%",
                                   peak / 1e9, capacity / 1e9, share),
        .suggestion = "leave some memory: a smaller batch, activation "
                      "checkpointing; the allocator asks the driver again "
                      "when its cache is full"};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}
