/* SPDX-License-Identifier: MIT */
/*
 * Rules about what the host does while the device idles: DataLoader, blocking
 * calls, launches, operators and Python.
 *
 * Each compares a share of the window with its threshold and says what to
 * change by the cause that costs most. A share below the threshold of a
 * verdict can be a finding, too: those ending in _seen are lower. What another
 * rule tells better is left to it (trace_rule_costs.h). A few passes over rows
 * by name.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "verdict/trace_rule_costs.h"
#include "verdict/trace_untimed.h"
#include "verdict/trace_verdict.h"
#include "verdict/trace_verdict_words.h"

/* Batches of a step from which on it is said that it has several: one of
 * several steps may have one more. */
#define SEVERAL_BATCHES 1.5

/* Steps among which a cost of the window is shared out; at least one. */
static double steps_of(const struct tp_trace *trace)
{
    return trace->steps.count ? (double)trace->steps.count : 1;
}

/* Whether the DataLoader is known to have none: by what the report shows as
 * num_workers, so that the advice is about that, and only where nothing is
 * shown by the name of its iterator. */
static bool has_no_workers(const struct tp_trace *trace)
{
    const struct tp_setting *shown = &trace->settings[TP_SETTING_NUM_WORKERS];
    return shown->known
               ? shown->value == 0
               : strstr(trace->facts.loader, "_SingleProcess") != NULL;
}

static const char *loader_advice(const struct tp_trace_case *it)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_setting *pinned = &trace->settings[TP_SETTING_PIN_MEMORY];
    const char *pin =
        trace->facts.to_device.copies && !(pinned->known && pinned->value)
            ? "; set pin_memory=True, batches are copied from pageable memory"
            : "";
    if (has_no_workers(trace))
        return tp_judge_text(it->judged,
                             "num_workers is 0, so batches are made between "
                             "steps: set num_workers to 2 or more; without "
                             "workers prefetch_factor and persistent_workers "
                             "are void%s",
                             pin);
    return tp_judge_text(it->judged,
                         "raise num_workers and prefetch_factor, make "
                         "decoding and augmentation cheaper, or read from "
                         "faster storage%s%s",
                         tp_trace_has_workers(trace)
                             ? ""
                             : "; if num_workers is 0, prefetch_factor and "
                               "persistent_workers are void",
                         pin);
}

/* Without a device nothing idles: the share of the steps is what is known. */
static enum tp_status loader_of_host(const struct tp_trace_case *it,
                                     struct tp_error *err)
{
    const struct tp_trace_means means = tp_trace_step_means(it->trace, 1);
    const double share = 100 * means.data_wait_s / means.profiler_step_s;
    if (!(share >= it->limits[TP_TRACE_LOADER_SEEN]) ||
        1e3 * means.data_wait_s < it->limits[TP_TRACE_LOADER_WAIT])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = share >= it->limits[TP_TRACE_LOADER] ? TP_SEVERITY_MEDIUM
                                                      : TP_SEVERITY_LOW,
        .step = -1,
        .metric = "data wait, % of ProfilerStep",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_LOADER_SEEN],
        .evidence = tp_judge_text(
            it->judged,
            "steps wait %.2f ms for the DataLoader, %.1f %% of ProfilerStep "
            "(mean of %" PRId64 "); %s%s",
            1e3 * means.data_wait_s, share, means.steps,
            tp_trace_no_gpu_words(it->trace),
            tp_trace_frames_words(it, TP_FRAME_LOADER)),
        .suggestion = loader_advice(it)};
    return tp_trace_finding_add(it, TP_VERDICT_DATA_LOADING, finding, err);
}

/* Waits for data, ms: on average, and the longest. */
struct waits {
    double mean, most;
};

static struct waits find_waits(const struct tp_trace *trace, bool typical)
{
    struct waits waits = {0};
    double sum = 0, count = 0;
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        if (!row->typical && typical)
            continue;
        sum += row->data_wait_us / 1e3;
        waits.most = fmax(waits.most, row->data_wait_us / 1e3);
        count++;
    }
    waits.mean = count > 0 ? sum / count : 0;
    return waits;
}

/* "each step waits 8.00 ms for its batch", or what a step with several batches
 * or a trace without steps waits for. */
static const char *describe_wait(const struct tp_trace_case *it,
                                 double exposed_ms)
{
    const struct tp_trace *trace = it->trace;
    struct waits waits = find_waits(trace, true);
    const double batches = tp_trace_batches(trace, 1);
    if (!tp_trace_has_steps(trace))
        return tp_judge_text(it->judged,
                             "the host waits in all %.2f ms for batches",
                             exposed_ms);
    if (waits.mean < exposed_ms) /* that of a step that is not typical */
        waits = find_waits(trace, false);
    if (waits.most > 2 * waits.mean)
        return tp_judge_text(it->judged,
                             "steps wait %.2f ms for their batches on average, "
                             "one of them %.2f ms",
                             waits.mean, waits.most);
    if (batches < SEVERAL_BATCHES)
        return tp_judge_text(it->judged,
                             "each step waits %.2f ms for its batch",
                             waits.mean);
    return tp_judge_text(it->judged,
                         "each ProfilerStep waits %.2f ms, for %.3g batches, "
                         "%.2f ms each on average",
                         waits.mean, batches, waits.mean / batches);
}

enum tp_status tp_trace_rule_dataloader(const struct tp_trace_case *it,
                                        struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const double share = 100 * trace->idle.dataloader;
    const double exposed_ms =
        trace->idle.dataloader * trace->idle.window_us / 1e3 / steps_of(trace);
    if (trace->facts.device_events == 0)
        return loader_of_host(it, err);
    if (it->verdict != TP_VERDICT_DATA_LOADING &&
        (share < it->limits[TP_TRACE_LOADER_SEEN] ||
         exposed_ms < it->limits[TP_TRACE_LOADER_WAIT]))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "GPU idle behind DataLoader, % of window",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_LOADER_SEEN],
        .evidence = tp_judge_text(
            it->judged,
            "%s: %s, %.2f ms of it with the GPU idle: %.1f %% of the window%s",
            trace->facts.loader, describe_wait(it, exposed_ms), exposed_ms,
            share, tp_trace_frames_words(it, TP_FRAME_LOADER)),
        .suggestion = loader_advice(it)};
    return tp_trace_finding_add(it, TP_VERDICT_DATA_LOADING, finding, err);
}

/* "; most of it, 712.03 ms, ends 60 times when a kernel begins: x" */
static const char *describe_head(const struct tp_trace_case *it)
{
    const struct tp_idle_row *idle = &it->trace->idle;
    if (!*idle->queued_name)
        return "";
    return tp_judge_text(it->judged,
                         "; most of it, %.2f ms, ends when %s begins (%" PRId64
                         " times)",
                         idle->queued_name_us / 1e3,
                         tp_judge_kernel(it->judged, idle->queued_name),
                         idle->queued_count);
}

/* "; 10 of 85 collectives that the host calls have no kernel in the trace
 * (most: nccl:all_to_all), .." */
static const char *describe_silent(const struct tp_trace_case *it)
{
    const struct tp_trace_facts *facts = &it->trace->facts;
    if (facts->silent_collectives == 0)
        return "";
    return tp_judge_text(it->judged,
                         "; %" PRId64 " of %" PRId64
                         " collectives that the host calls have no kernel in "
                         "the trace (most: %s): what waits for one of them "
                         "waits for nothing that was recorded",
                         facts->silent_collectives, facts->collectives,
                         facts->silent_collective);
}

enum tp_status tp_trace_rule_queued(const struct tp_trace_case *it,
                                    struct tp_error *err)
{
    const struct tp_idle_row *idle = &it->trace->idle;
    const double share = 100 * idle->queued;
    if (it->trace->facts.device_events == 0 ||
        share < it->limits[TP_TRACE_QUEUED])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "GPU idle with work pending, % of window",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_QUEUED],
        .evidence = tp_judge_text(
            it->judged,
            "the GPU idles %.1f %% of the window while work that was launched "
            "over 100 us before does not begin, up to %" PRId64
            " operations at once%s%s",
            share, idle->queued_most, describe_head(it), describe_silent(it)),
        .suggestion =
            "the host is ahead, so fewer waits or launches win nothing: look "
            "at what this work waits for, which is events of other streams, "
            "other ranks in a collective, or work that was not recorded; "
            "compare the ranks, and record without filters"};
    return tp_trace_finding_add(it, TP_VERDICT_QUEUED, finding, err);
}

/* What to do about a cause of /syncs. */
static const struct {
    const char *words, *advice;
} sync_causes[TP_SYNC_CAUSES] = {
    [TP_SYNC_ITEM] =
        {"reading single values (.item(), float(), if tensor)",
         "keep losses and metrics on the GPU and read them every N steps, all "
         "at once; replace 'if tensor' by torch.where"},
    [TP_SYNC_COPY] =
        {"copies not known to go to the host or to come from it",
         "if they read results: copy less often, into pinned memory with "
         "non_blocking=True; if they bring data: use pin_memory=True and "
         ".to(device, non_blocking=True)"},
    [TP_SYNC_COPY_TO_HOST] =
        {"copies to the host (.cpu(), .to(\"cpu\"), .numpy(), print)",
         "copy results less often, into pinned memory with non_blocking=True, "
         "and wait for an event only where they are needed"},
    [TP_SYNC_COPY_TO_DEVICE] =
        {"copies from the host",
         "use pin_memory=True and .to(device, non_blocking=True), and make "
         "constants on the device"},
    [TP_SYNC_OPTIMIZER] =
        {"the optimizer",
         "use fused=True or capturable=True, and clip gradients without "
         ".item()"},
    [TP_SYNC_OPERATOR] =
        {"operators whose result has a shape that depends on data "
         "(nonzero, masked_select, unique) or that read values",
         "avoid shapes that depend on data: torch.where or masks instead of "
         "boolean indexing"},
    [TP_SYNC_EXPLICIT] =
        {"synchronisation in the program itself",
         "remove torch.cuda.synchronize() from the loop; time with CUDA "
         "events"},
    [TP_SYNC_PROFILER] = {"the profiler", "nothing: this happens once"},
};

/* What to do about a row of /syncs; no row: only the profiler waited. */
static const char *sync_advice(const struct tp_sync_row *row)
{
    return sync_causes[row ? row->why : TP_SYNC_PROFILER].advice;
}

/* "; most by 30 x cudaMemcpyAsync under aten::copy_, 458.7 ms idle" */
static const char *describe_sync(const struct tp_trace_case *it,
                                 const struct tp_sync_row *row)
{
    if (!row)
        return "";
    return tp_judge_text(it->judged,
                         "; most by %" PRId64 " x %s%s%s: %s, %.2f ms, %.2f "
                         "ms of it with the GPU idle",
                         row->count, row->call, *row->op ? " under " : "",
                         row->op, sync_causes[row->why].words,
                         row->total_us / 1e3, row->idle_us / 1e3);
}

/* The same beyond the idle time behind such calls. */
static double won_beyond(const struct tp_trace *trace)
{
    return fmax(tp_trace_won_without_waits(trace) - trace->idle.blocking, 0);
}

/*
 * What the GPU idles after blocking calls until work reaches it again, %: the
 * cost of waits that the program did not ask for as such, if each step has
 * one. What the DataLoader or the driver may have taken of it is left out, and
 * so is what the host would take without the wait, too: Python between a
 * result and the next launch is idle time behind Python.
 */
static double refill_cost(const struct tp_trace *trace)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double cost = fmin(idle->refill - idle->dataloader - idle->alloc,
                             won_beyond(trace));
    int64_t implicit = 0;
    for (size_t i = 0; i < trace->syncs.count; i++) {
        const struct tp_sync_row *row = &trace->syncs.rows[i];
        if (row->why != TP_SYNC_EXPLICIT && row->why != TP_SYNC_PROFILER)
            implicit += row->count;
    }
    return (double)implicit >= steps_of(trace) && cost > 0 ? 100 * cost : 0;
}

/* Whether the worst wait is that of pageable copies, with a finding of their
 * own. */
static bool pageable_cause(const struct tp_trace_case *it,
                           const struct tp_sync_row *row)
{
    return row && ((row->why == TP_SYNC_COPY_TO_DEVICE &&
                    tp_trace_pageable_cost(it, false) > 0) ||
                   (row->why == TP_SYNC_COPY_TO_HOST &&
                    tp_trace_pageable_cost(it, true) > 0));
}

/* ", of which 0.3 would be won without them: the rest is the host's own", where
 * that is not nearly all of it. */
static const char *describe_others(const struct tp_trace_case *it, double cost)
{
    const double refill = 100 * it->trace->idle.refill;
    if (cost >= 0.8 * refill || refill < 1)
        return "";
    return tp_judge_text(it->judged,
                         " (%.1f of these would be won without the waits: for "
                         "the rest the host is busy with something else)",
                         cost);
}

/* The row of /syncs with most time; NULL: only the profiler waited. */
static const struct tp_sync_row *longest_sync(const struct tp_trace *trace)
{
    const struct tp_sync_row *longest = NULL;
    for (size_t i = 0; i < trace->syncs.count; i++) {
        const struct tp_sync_row *row = &trace->syncs.rows[i];
        if (row->why != TP_SYNC_PROFILER &&
            (!longest || row->total_us > longest->total_us))
            longest = row;
    }
    return longest;
}

/* Waits behind which the GPU is busy: harmless, unless the host has work of its
 * own that waits with them. */
static enum tp_status add_harmless(const struct tp_trace_case *it,
                                   const struct tp_sync_row *row,
                                   struct tp_trace_finding finding,
                                   struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_idle_row *idle = &trace->idle;
    const bool pending = 100 * idle->queued >= it->limits[TP_TRACE_QUEUED];
    const double won = 100 * (won_beyond(trace) + idle->blocking);
    const bool ahead = isfinite(won) && won >= finding.limit &&
                       won > 2 * finding.value;
    finding.level = ahead ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    finding.won = ahead ? won : finding.value;
    finding.evidence = tp_judge_text(
        it->judged,
        "calls that wait for the GPU take %.1f %% of the window, but the GPU "
        "is busy for %.1f of these%s: they cost %.1f %%%s",
        100 * idle->blocked, 100 * idle->blocked_busy,
        pending ? ", or has work that does not begin" : "", finding.value,
        ahead ? tp_judge_text(it->judged,
                              " by themselves; but the host could do its next "
                              "work meanwhile: without the waits a step would "
                              "take %.1f %% less (see what if)%s",
                              won, describe_sync(it, longest_sync(trace)))
              : "");
    finding.suggestion =
        tp_trace_blocking_costs(trace) ? sync_advice(row)
        : ahead ? sync_advice(longest_sync(trace))
        : pending ? "leave them: they wait for work that does not begin"
                  : "leave them: the wait only shows that the GPU is behind "
                    "the host";
    return tp_trace_finding_add(
        it, ahead ? TP_VERDICT_SYNCHRONISATION : TP_VERDICTS, finding, err);
}

enum tp_status tp_trace_rule_sync(const struct tp_trace_case *it,
                                  struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_idle_row *idle = &trace->idle;
    const double limit = it->limits[TP_TRACE_SYNC_SEEN];
    const struct tp_sync_row *row = tp_trace_worst_sync(trace);
    const double with_refill = 100 * idle->blocking + refill_cost(trace);
    if (trace->facts.device_events == 0 ||
        (100 * idle->blocked < limit && with_refill < limit))
        return TP_OK;
    struct tp_trace_finding finding = {
        .step = -1,
        .metric = "GPU idle behind blocking calls, % of window",
        .value = 100 * idle->blocking,
        .limit = limit};
    if (finding.value < limit && with_refill >= limit) {
        finding.metric = "GPU idle behind and after blocking calls, % of "
                         "window";
        finding.value = with_refill;
    }
    finding.won = finding.value;
    if (finding.value < limit && pageable_cause(it, row))
        return TP_OK; /* the copies' rule says so */
    if (finding.value < limit)
        return add_harmless(it, row, finding, err);
    finding.level = TP_SEVERITY_MEDIUM;
    finding.evidence = tp_judge_text(
        it->judged,
        "%" PRId64 " blocking calls; the GPU idles behind them %.1f %% of the "
        "window, and %.1f %% more until work reaches it again%s%s%s",
        idle->blocking_calls, 100 * idle->blocking, 100 * idle->refill,
        describe_others(it, with_refill - 100 * idle->blocking),
        describe_sync(it, row), tp_trace_frames_words(it, TP_FRAME_BLOCKING));
    finding.suggestion = sync_advice(row);
    return tp_trace_finding_add(it, TP_VERDICT_SYNCHRONISATION, finding, err);
}

/* In a start-up the host is slow for reasons that pass. */
static bool starts_up(const struct tp_trace_case *it)
{
    return it->verdict == TP_VERDICT_COLD_START;
}

/* "331.63 ms, of void kernel<...>", and how many others there are. */
static const char *describe_loading(const struct tp_trace_case *it)
{
    const struct tp_idle_row *idle = &it->trace->idle;
    const char *kernel =
        tp_judge_kernel(it->judged, idle->first_launch_kernel);
    const double ms = idle->first_launch_max_us / 1e3;
    if (idle->first_launches == 1)
        return tp_judge_text(it->judged, "%.2f ms, of %s", ms, kernel);
    return tp_judge_text(it->judged,
                         "%.2f ms, of %s, and %" PRId64 " more; %.2f ms in all",
                         ms, kernel, idle->first_launches - 1,
                         idle->first_launch_us / 1e3);
}

/* One percent: below it nothing is worth a line. */
enum { LOADING_SEEN = 1 };

enum tp_status tp_trace_rule_first_launch(const struct tp_trace_case *it,
                                          struct tp_error *err)
{
    const struct tp_idle_row *idle = &it->trace->idle;
    const double share = 100 * idle->first_launch;
    const bool goes_on = tp_trace_keeps_loading(it->trace);
    if (!(share >= LOADING_SEEN))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_LOW,
        .step = -1,
        .metric = "GPU idle behind first launches, % of window",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_FIRST_LAUNCH],
        .evidence = tp_judge_text(
            it->judged,
            "%" PRId64 " first launch%s took over 1 ms%s, as code was loaded "
            "or compiled: %s%s; the GPU idles %.1f %% of the window behind "
            "%s%s",
            idle->first_launches, idle->first_launches == 1 ? "" : "es",
            idle->first_launches == 1 ? "" : " each",
            idle->first_launches == 1 ? "" : "the longest ",
            describe_loading(it), share,
            idle->first_launches == 1 ? "it" : "them",
            goes_on ? ", and most steps have some" : ""),
        .suggestion =
            goes_on ? "kernels are new in most steps: keep shapes and dtypes "
                      "constant (pad to a few lengths), or compile for "
                      "changing ones (torch.compile(dynamic=True))"
                    : "record after some steps of warm-up: "
                      "schedule(wait=1, warmup=3, active=...)"};
    return tp_trace_finding_add(
        it,
        !goes_on                                 ? TP_VERDICT_COLD_START
        : it->verdict == TP_VERDICT_LAUNCH_BOUND ? TP_VERDICT_LAUNCH_BOUND
                                                 : TP_VERDICT_HOST_BOUND,
        finding, err);
}

/* Whether half of what the host idles the device is code that is loaded all the
 * time: first_launch says what to do. */
static bool loads_code(const struct tp_trace *trace)
{
    return tp_trace_keeps_loading(trace) &&
           2 * trace->idle.first_launch >= tp_trace_host_share(trace);
}

static const char *launch_advice(const struct tp_trace_case *it)
{
    return tp_judge_text(
        it->judged,
        "fuse them (torch.compile), replay them as one CUDA graph, or give "
        "each more work (a larger batch)%s%s%s",
        *it->trace->facts.single_tensor ? "; the optimizer works tensor by "
                                          "tensor ("
                                        : "",
        it->trace->facts.single_tensor,
        *it->trace->facts.single_tensor ? "): use foreach=True or fused=True"
                                        : "");
}

enum tp_status tp_trace_rule_launch(const struct tp_trace_case *it,
                                    struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_trace_facts *facts = &trace->facts;
    const double host = 100 * tp_trace_host_share(trace);
    const double tiny = 100 * trace->short_share;
    /* tiny kernels matter where the device waits for the next one */
    if (facts->kernels == 0 || facts->host_events == 0 || starts_up(it) ||
        loads_code(trace) ||
        tiny < it->limits[TP_TRACE_TINY] ||
        host < it->limits[TP_TRACE_HOST])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "kernels below 10 us, % of kernel time",
        .value = tiny,
        .won = host,
        .limit = it->limits[TP_TRACE_TINY],
        .evidence = tp_judge_text(
            it->judged,
            "%" PRId64 " kernels, median %.1f us; %.1f %% of their time is in "
            "kernels below 10 us, and the GPU idles %.1f %% of the window "
            "behind the host; most come from %s (%" PRId64 ", %.1f us each)%s",
            facts->kernels, trace->median_kernel_us, tiny, host,
            *facts->top_op ? facts->top_op : "no recorded operator",
            facts->top_op_kernels, facts->top_op_kernel_us,
            tp_trace_frames_words(it, TP_FRAME_HOST)),
        .suggestion = launch_advice(it)};
    return tp_trace_finding_add(it, TP_VERDICT_LAUNCH_BOUND, finding, err);
}

static const char *host_advice(const struct tp_trace *trace)
{
    if (trace->idle.none <= trace->idle.cpu_op)
        return "let torch.compile or a CUDA graph replace the operators' own "
               "cost, or give each more work (a larger batch)";
    return trace->frames.count
               ? "take this Python code out of the step, into workers of the "
                 "DataLoader or behind it, or let torch.compile or a CUDA "
                 "graph replace it"
               : "record with_stack=True to see which Python code this is; "
                 "take it out of the step, or let torch.compile or a CUDA "
                 "graph replace it";
}

enum tp_status tp_trace_rule_host(const struct tp_trace_case *it,
                                  struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_idle_row *idle = &trace->idle;
    const double host = 100 * tp_trace_host_share(trace);
    if (trace->facts.device_events == 0 || trace->facts.host_events == 0 ||
        starts_up(it) || loads_code(trace) ||
        host < it->limits[TP_TRACE_HOST] ||
        100 * trace->short_share >= it->limits[TP_TRACE_TINY])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "GPU idle behind the host, % of window",
        .value = host,
        .won = host,
        .limit = it->limits[TP_TRACE_HOST],
        .evidence = tp_judge_text(
            it->judged,
            "the GPU idles %.1f %% of the window behind the host: %.1f inside "
            "operators, %.1f inside launch calls, %.1f in %s; mean queue on "
            "the GPU %.1f%s",
            host, 100 * idle->cpu_op,
            /* without first launches that the share leaves out */
            fmax(host - 100 * (idle->cpu_op + idle->none), 0),
            100 * idle->none, tp_trace_unrecorded_words(trace),
            trace->mean_queue, tp_trace_frames_words(it, TP_FRAME_HOST)),
        .suggestion = host_advice(trace)};
    return tp_trace_finding_add(it, TP_VERDICT_HOST_BOUND, finding, err);
}
