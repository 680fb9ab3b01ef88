/* SPDX-License-Identifier: MIT */
/* Rules about data on the move: between ranks, between host and device. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/trace_rules.h"

/* The collective with most time outside of computation, or NULL. */
static const struct tp_comm_row *worst_comm(const struct tp_trace *trace)
{
    const struct tp_comm_row *worst = NULL;
    for (size_t i = 0; i < trace->comms.count; i++) {
        if (!worst || trace->comms.rows[i].exposed_us > worst->exposed_us)
            worst = &trace->comms.rows[i];
    }
    return worst;
}

static const char *describe_comm(const struct tp_trace_case *it)
{
    const struct tp_comm_row *row = worst_comm(it->trace);
    if (!row)
        return "";
    return tp_trace_text(it->run,
                         "; most by %" PRId64 " x %s, %.2f ms of %.2f ms "
                         "exposed",
                         row->count,
                         *row->collective ? row->collective : row->kernel,
                         row->exposed_us / 1e3, row->total_us / 1e3);
}

enum tp_status tp_trace_rule_communication(const struct tp_trace_case *it,
                                           struct tp_error *err)
{
    const double share = 100 * tp_trace_exposed_communication(it->trace);
    if (share < it->limits[TP_TRACE_COMM])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "exposed communication, % of window",
        .value = share,
        .limit = it->limits[TP_TRACE_COMM],
        .evidence = tp_trace_text(it->run,
                                  "communication that no computation hides: "
                                  "%.1f %% of the window%s",
                                  share, describe_comm(it)),
        .suggestion = "time inside a collective is mostly waiting for other "
                      "ranks: look for stragglers first, then overlap it "
                      "with backward (larger DDP buckets, FSDP prefetch), or "
                      "send less (accumulate gradients, bf16)"};
    return tp_trace_finding_add(it, "communication", finding, err);
}

enum tp_status tp_trace_rule_straggler(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < it->run->ranks.count && status == TP_OK; i++) {
        const struct tp_rank_row *row = &it->run->ranks.rows[i];
        if (!row->straggler)
            continue;
        const struct tp_trace_finding finding = {
            .level = TP_SEVERITY_MEDIUM,
            .rank = row->rank,
            .step = -1,
            .metric = "start of collectives after the first rank, % of step",
            .window = "steps",
            .value = 100 * row->late,
            .limit = 0,
            .evidence = tp_trace_text(
                it->run,
                "rank %" PRId64 " enters collectives %.1f %% of a step after "
                "the first rank, so the others wait for it inside theirs; its "
                "GPU is busy %.1f %% of its window",
                row->rank, 100 * row->late, 100 * row->busy),
            .suggestion = "compare what this rank does before its "
                          "collectives: its data, its shard, its machine",
            .file = row->file};
        status = tp_trace_finding_add(it, "", finding, err);
    }
    return status;
}

enum tp_status tp_trace_rule_copies(const struct tp_trace_case *it,
                                    struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const struct tp_trace_facts *facts = &trace->facts;
    const double window_us = trace->idle.window_us;
    const double exposed = 100 * tp_trace_exposed_memory(trace);
    const double host = 100 * facts->pageable_us / window_us;
    const double limit = it->limits[TP_TRACE_COPY];
    if (!(exposed >= limit) && !(facts->pageable && host >= limit))
        return TP_OK;
    const bool pageable = facts->pageable && host >= limit;
    const struct tp_trace_finding finding = {
        .level = exposed >= limit ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW,
        .step = -1,
        .metric = exposed >= limit ? "exposed copies, % of window"
                                   : "host in pageable copies, % of window",
        .value = exposed >= limit ? exposed : host,
        .limit = limit,
        .evidence = tp_trace_text(
            it->run,
            "copies that neither computation nor communication hides take "
            "%.1f %% of the window; %" PRId64 " copies (%.3g MB) go through "
            "pageable memory and hold the host for %.1f %% of it",
            exposed, facts->pageable, (double)facts->pageable_b / 1e6, host),
        .suggestion = pageable
                          ? "pin_memory=True in the DataLoader and "
                            ".to(device, non_blocking=True): without pinned "
                            "memory non_blocking does nothing"
                          : "copy on a stream of its own while the GPU "
                            "computes, and copy less"};
    return tp_trace_finding_add(it, "", finding, err);
}
