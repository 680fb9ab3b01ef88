/* SPDX-License-Identifier: MIT */
/* What the rules about idle time and about copies both ask: a copy through
 * pageable memory is a blocking call, too, and told once. */
#include "verdict/trace_rule_costs.h"

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
