/* SPDX-License-Identifier: MIT */
/* What several rules ask: a copy through pageable memory is a blocking call,
 * too, and told once; and the frames that idle time is held against. */
#include "verdict/trace_rule_costs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "trace/trace_facts.h"

const struct tp_sync_row *tp_trace_worst_sync(const struct tp_trace *trace)
{
    const struct tp_sync_row *worst = NULL;
    for (size_t i = 0; i < trace->syncs.count; i++) {
        const struct tp_sync_row *row = &trace->syncs.rows[i];
        if (row->why == TP_SYNC_PROFILER)
            continue;
        if (!worst || row->idle_us > worst->idle_us ||
            (row->idle_us == worst->idle_us && row->total_us > worst->total_us))
            worst = row;
    }
    return worst;
}

bool tp_trace_blocking_costs(const struct tp_trace *trace)
{
    return 2 * trace->idle.blocking >= trace->idle.blocked;
}

double tp_trace_won_without_waits(const struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->what_if.count; i++) {
        const struct tp_what_if_row *row = &trace->what_if.rows[i];
        if (row->changed == TP_WHAT_IF_BLOCKING)
            return row->won;
    }
    return trace->what_if.count ? 0 : INFINITY;
}

double tp_trace_pageable_cost(const struct tp_trace_case *it, bool to_host)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_pageable *copies =
        to_host ? &trace->facts.to_host : &trace->facts.to_device;
    const double share = 100 * copies->call_us / trace->idle.window_us;
    return share >= it->limits[TP_TRACE_COPY_SEEN] &&
                   tp_trace_blocking_costs(trace)
               ? share
               : 0;
}

bool tp_trace_has_workers(const struct tp_trace *trace)
{
    const struct tp_setting *shown = &trace->settings[TP_SETTING_NUM_WORKERS];
    return shown->known
               ? shown->value > 0
               : strstr(trace->facts.loader, "_MultiProcessing") != NULL;
}

/* Idle time of a kind of this trace, from shares of /idle. */
static double idle_us(const struct tp_trace *trace, enum tp_frame_idle kind)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double shares[TP_FRAME_IDLES] = {
        [TP_FRAME_HOST] = idle->launch + idle->cpu_op + idle->none,
        [TP_FRAME_LOADER] = idle->dataloader,
        [TP_FRAME_BLOCKING] = idle->blocking};
    if (trace->facts.device_events == 0 && kind == TP_FRAME_HOST)
        return idle->none * idle->window_us; /* operators are the work */
    return shares[kind] * idle->window_us;
}

const char *tp_trace_frames_words(const struct tp_trace_case *it,
                                  enum tp_frame_idle kind)
{
    const double us = idle_us(it->trace, kind);
    const struct tp_frame_blame blame = tp_trace_blame(it->trace, kind, us);
    if (!blame.inner || us < 0.01 * it->trace->idle.window_us)
        return ""; /* what is less is not worth a line */
    if (kind == TP_FRAME_LOADER && tp_trace_has_workers(it->trace))
        return "; the main thread waits in a queue: what the workers do is in "
               "no trace of this process";
    return tp_judge_text(
        it->judged,
        "; %.2f ms %sin %s (%" PRId64 " call%s)%s%s%s%s",
        blame.inner->idle_us[kind] / 1e3,
        it->trace->facts.device_events > 0 ? "idle " : "", blame.inner->name,
        blame.inner->count,
        blame.inner->count == 1 ? "" : "s",
        blame.caller ? ", called by " : "",
        blame.caller ? blame.caller->name : "", blame.module ? ", in " : "",
        blame.module ? blame.module->name : "");
}

const struct tp_frame_row *tp_trace_blamed_frame(const struct tp_trace *trace)
{
    const struct tp_frame_blame blame =
        tp_trace_blame(trace, TP_FRAME_HOST, idle_us(trace, TP_FRAME_HOST));
    return blame.caller && blame.inner->what == TP_FRAME_BUILTIN ? blame.caller
                                                                 : blame.inner;
}

double tp_trace_turns(const struct tp_trace *trace)
{
    const struct tp_trace_facts *facts = &trace->facts;
    const double more = trace->idle.busy - facts->device_busy;
    return facts->working_devices > 1 && more > 0 ? more : 0;
}

const char *tp_trace_turns_words(struct tp_trace_judged *judged,
                                 const struct tp_trace *trace)
{
    return tp_judge_text(judged,
                         "of %" PRId64 " GPUs one at least is busy %.1f %% of "
                         "the window, but each only %.1f %% on average: they "
                         "wait for each other",
                         trace->facts.working_devices, 100 * trace->idle.busy,
                         100 * trace->facts.device_busy);
}

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

double tp_trace_start_up_share(const struct tp_trace *trace)
{
    return (tp_trace_keeps_allocating(trace) ? 0 : trace->idle.alloc) +
           (tp_trace_keeps_loading(trace) ? 0 : trace->idle.first_launch);
}

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
