/* SPDX-License-Identifier: MIT */
/*
 * Events without a duration: lost, or put to 0.
 *
 * The reader counts them by category. A few leave shares nearly as they are, so
 * that the verdict stands and says so; where half of what the device did has no
 * duration, or a tenth that would fill half of the idle time if it took as long
 * as the rest, busy time is a guess and no verdict is given. Estimating
 * durations from the next event of the stream would make idle time out of
 * nothing.
 */
#include "verdict/trace_untimed.h"

#include <inttypes.h>

static int64_t sum(const uint64_t *counts, bool device)
{
    static const enum tp_event_category of_device[] = {
        TP_EVENT_KERNEL, TP_EVENT_MEMCPY, TP_EVENT_MEMSET};
    static const enum tp_event_category of_host[] = {
        TP_EVENT_CPU_OP, TP_EVENT_ANNOTATION, TP_EVENT_RUNTIME,
        TP_EVENT_DRIVER, TP_EVENT_PYTHON};
    const enum tp_event_category *kinds = device ? of_device : of_host;
    const size_t count = device ? sizeof of_device / sizeof *of_device
                                : sizeof of_host / sizeof *of_host;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += counts[kinds[i]];
    return (int64_t)total;
}

struct tp_untimed tp_trace_untimed_device(const struct tp_trace *trace)
{
    const int64_t lost = sum(trace->events.untimed, true);
    return (struct tp_untimed){
        .lost = lost,
        .zeroed = sum(trace->events.zeroed, true),
        .all = trace->facts.device_events + lost};
}

/* Whether `bad` events that take as long as the others do would fill half of
 * the idle time of the window. */
static bool may_be_idle_time(const struct tp_trace *trace, int64_t bad,
                             int64_t all)
{
    const struct tp_idle_row *idle = &trace->idle;
    const double mean_us = trace->facts.device_us / (double)(all - bad);
    return 2 * (double)bad * mean_us >= (1 - idle->busy) * idle->window_us;
}

bool tp_trace_is_untimed(const struct tp_trace *trace)
{
    const struct tp_untimed device = tp_trace_untimed_device(trace);
    const int64_t bad = device.lost + device.zeroed;
    return bad > 0 && (2 * bad >= device.all ||
                       (10 * bad >= device.all &&
                        may_be_idle_time(trace, bad, device.all)));
}

const char *tp_trace_untimed_words(struct tp_trace_judged *judged,
                                   const struct tp_trace *trace)
{
    const struct tp_untimed device = tp_trace_untimed_device(trace);
    const int64_t host_lost = sum(trace->events.untimed, false);
    const int64_t host_zeroed = sum(trace->events.zeroed, false);
    const char *words = "";
    if (device.lost)
        words = tp_judge_text(judged,
                              "%" PRId64 " of %" PRId64 " device events have "
                              "no duration that can be read and are left out",
                              device.lost, device.all);
    if (device.zeroed)
        words = tp_judge_text(judged,
                              "%s%s%" PRId64 " of %" PRId64 " device events "
                              "have a negative duration, which counts as 0",
                              words, *words ? "; " : "", device.zeroed,
                              device.all);
    if (host_lost)
        words = tp_judge_text(judged,
                              "%s%s%" PRId64 " events of the host have no "
                              "duration that can be read and are left out",
                              words, *words ? "; " : "", host_lost);
    if (host_zeroed)
        words = tp_judge_text(judged,
                              "%s%s%" PRId64 " events of the host have a "
                              "negative duration, which counts as 0",
                              words, *words ? "; " : "", host_zeroed);
    return words;
}

const char *tp_trace_no_gpu_words(const struct tp_trace *trace)
{
    return tp_trace_untimed_device(trace).lost
               ? "the GPU's events have no durations that can be read"
               : "no GPU was recorded";
}
