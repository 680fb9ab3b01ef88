/* SPDX-License-Identifier: MIT */
#include "verdict/trace_limits.h"

#include <stdlib.h>
#include <string.h>

const struct tp_trace_limit_info tp_trace_limit_table[TP_TRACE_LIMITS] = {
    [TP_TRACE_BUSY] =
        {"gpu_busy", 90, "%",
         "GPU busy, of the window: from here on GPU-bound",
         "public traces: 94 to 98 when compute limits them, 72 and less when "
         "not"},
    [TP_TRACE_EVENTS] =
        {"device_events", 20, "events",
         "device events: with fewer, and no steps, nothing is GPU-bound",
         "the window is then what they span, and busy by construction; "
         "public traces without steps have one, or 98 and more"},
    [TP_TRACE_ALLOC] =
        {"alloc", 5, "%",
         "GPU idle behind driver allocations, of the window",
         "public traces: 0 in every warm one, 52 in a cold start"},
    [TP_TRACE_FIRST_LAUNCH] =
        {"first_launch", 10, "%",
         "GPU idle behind first launches of kernels that load their code, of "
         "the window: a cold start",
         "public traces: 26 to 97 where code is loaded, 0 in others"},
    [TP_TRACE_QUEUED] =
        {"queued", 10, "%",
         "GPU idle with work pending for over 100 us, of the window: a limit "
         "of the run",
         "public traces: 62 where streams wait for each other, 0 in others"},
    [TP_TRACE_LOADER] =
        {"dataloader", 20, "%",
         "GPU idle behind the DataLoader, of the window: a limit of the run",
         "public traces: 22 to 51 with slow loading, up to 9 without"},
    [TP_TRACE_LOADER_SEEN] =
        {"dataloader_seen", 5, "%",
         "the same: worth a finding",
         "the TensorBoard profiler plugin"},
    [TP_TRACE_LOADER_WAIT] =
        {"dataloader_wait", 2, "ms",
         "the same, of a step: below it nothing is said",
         "public traces: steps of some 14 ms wait 1 ms for no reason"},
    [TP_TRACE_SYNC] =
        {"sync", 10, "%",
         "GPU idle behind blocking calls, of the window: a limit of the run",
         "public traces: 43 with synchronising copies, up to 4.5 without"},
    [TP_TRACE_SYNC_SEEN] =
        {"sync_seen", 5, "%",
         "the same: worth a finding",
         "half of sync"},
    [TP_TRACE_COMM] =
        {"communication", 10, "%",
         "communication outside of computation, of the window",
         "the TensorBoard profiler plugin"},
    [TP_TRACE_HOST] =
        {"host", 40, "%",
         "GPU idle behind launches, operators and nothing recorded, of the "
         "window",
         "public traces: 64 to 98 when the host limits them, 27 and less "
         "when not"},
    [TP_TRACE_TINY] =
        {"tiny_kernels", 20, "%",
         "kernels below 10 us, of the kernels' time: launches, not operators, "
         "are too many",
         "TraceLens for the 10 us; public traces: 27 and more with tiny "
         "kernels, up to 11 without"},
    [TP_TRACE_TURNS] =
        {"turns", 20, "%",
         "one of several GPUs busy, less what each is on average, of the "
         "window: a limit of the run",
         "as dataloader; no public trace has several GPUs in a process"},
    [TP_TRACE_COPY] =
        {"copies", 10, "%",
         "copies to or from the GPU outside of computation and communication, "
         "of the window: a limit of the run",
         "as communication; public traces: up to 4"},
    [TP_TRACE_COPY_SEEN] =
        {"copies_seen", 5, "%",
         "the same, or the host inside pageable copies: worth a finding",
         "half of copies"},
    [TP_TRACE_CHURN] =
        {"churn", 10, "%",
         "the host inside operators that allocate, of the window",
         "public traces: up to 13 in healthy training, which churn_rate "
         "tells apart"},
    [TP_TRACE_CHURN_RATE] =
        {"churn_rate", 60, "%",
         "device allocations, of kernel launches",
         "public traces: 47 in healthy training; 100 when every kernel gets "
         "a new tensor"},
    [TP_TRACE_MEMORY_FULL] =
        {"memory_full", 90, "%",
         "reserved memory at its peak, of the device's",
         "the TensorBoard profiler plugin"},
    [TP_TRACE_RISE] =
        {"rise", 5, "%",
         "what the step time gains over a recording, or over all of them",
         "less is not worth a change; no public trace rises by it"},
    [TP_TRACE_RISE_SPREADS] =
        {"rise_spreads", 3, "spreads",
         "the same, in spreads of the steps around their line",
         "simulation, with a test of the slope: of recordings that do not rise "
         "at most 3 in 1 000 pass, 70 where step times wander"},
    [TP_TRACE_UNEVEN] =
        {"uneven", 10, "%",
         "what steps of over 1.5 medians take beyond the median, of the steps' "
         "time",
         "as communication; public traces: 13 and 19 where one step waits for "
         "other processes, 0 in others"},
    [TP_TRACE_HOST_TINY] =
        {"tiny_operators", 20, "%",
         "without a GPU: operators below 10 us, of the window: a limit of the "
         "run",
         "training on a CPU: 24 to 56 where operators are tiny, 8 and less "
         "where not; public traces without a GPU: 1 and 6"},
    [TP_TRACE_HOST_BUSY] =
        {"cpu_busy", 60, "%",
         "without a GPU: operators that are no collectives, of the window: "
         "from here on CPU-bound",
         "training on a CPU: 92 and 94 where products are large, 38 to 59 in "
         "steps of some milliseconds"},
    [TP_TRACE_HOST_CHURN] =
        {"host_churn", 1, "GB/s",
         "without a GPU: memory taken, of the time of the steps",
         "the system gives some 10 GB/s of fresh pages: a tenth of the time; "
         "training on a CPU: 3 with large temporary tensors"},
    [TP_TRACE_WIN] =
        {"kernel_win", 5, "%",
         "what better kernels could win, of the window",
         "as sync_seen"},
    [TP_TRACE_LINK] =
        {"slow_link", 50, "%",
         "what a group's collectives take longer than those of like groups",
         "a choice: half as long again; no public trace has like groups"},
};

struct tp_trace_limits tp_trace_limits_default(void)
{
    struct tp_trace_limits limits;
    for (int i = 0; i < TP_TRACE_LIMITS; i++)
        limits.values[i] = tp_trace_limit_table[i].value;
    return limits;
}

enum tp_status tp_trace_limits_set(struct tp_trace_limits *limits,
                                   const char *setting, struct tp_error *err)
{
    size_t length = strcspn(setting, "=");
    int i = 0;
    while (i < TP_TRACE_LIMITS &&
           (strlen(tp_trace_limit_table[i].name) != length ||
            strncmp(tp_trace_limit_table[i].name, setting, length)))
        i++;
    if (i == TP_TRACE_LIMITS)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--threshold: no threshold \"%.*s\"; 'tprof-analyze "
                       "list rules' shows them",
                       (int)length, setting);
    const char *value = setting[length] ? setting + length + 1 : "";
    char *end;
    double number = strtod(value, &end);
    bool plain = (*value >= '0' && *value <= '9') || *value == '.';
    if (!plain || *end || !(number >= 0 && number <= 1e9))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--threshold %.*s takes a number from 0 on, as in "
                       "%.*s=%g",
                       (int)length, setting, (int)length, setting,
                       tp_trace_limit_table[i].value);
    limits->values[i] = number;
    return TP_OK;
}
