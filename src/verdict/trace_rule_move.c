/* SPDX-License-Identifier: MIT */
/*
 * Rules about data on the move: between ranks, between host and device.
 *
 * Communication and copies count as far as nothing hides them. Copies through
 * pageable memory block the host, so they are told either here or by the rule
 * about blocking calls, by which names them as what costs most. A pass over
 * the rows of collectives, ranks or copies each.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "trace/trace_collective.h"
#include "verdict/trace_rule_costs.h"
#include "verdict/trace_straggling.h"

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
    return tp_judge_text(it->judged,
                         "; most by %" PRId64 " x %s, %.2f ms of %.2f ms "
                         "exposed",
                         row->count,
                         *row->collective ? row->collective : row->kernel,
                         row->exposed_us / 1e3, row->total_us / 1e3);
}

/* How long a rank waits in collectives for the last one to begin, us, of
 * *total; NaN: the traces of the others do not tell. */
static double waits_of(const struct tp_trace_case *it, double *total)
{
    const size_t number = (size_t)(it->trace - it->run->traces);
    *total = 0;
    for (size_t i = 0; i < it->trace->comms.count; i++)
        *total += it->trace->comms.rows[i].total_us;
    return number < it->judged->ranks.count
               ? it->judged->ranks.rows[number].wait_us
               : NAN;
}

/* Whether there is nobody to wait for but those whose traces are there. */
static bool has_all_ranks(const struct tp_trace_case *it)
{
    const int64_t world = it->trace->events.world_size;
    return world > 0 && it->run->trace_count >= (size_t)world;
}

#define OVERLAP                                                         \
    "with backward (larger DDP buckets, FSDP prefetch), or send less "   \
    "(accumulate gradients, bf16)"

/* Whoever waits for the last rank is not helped by overlapping; and where
 * nobody waits there is nobody to look for. */
static const char *wait_advice(const struct tp_trace_case *it)
{
    static const double much = 0.1;
    double total;
    const double waits = waits_of(it, &total);
    if (!(total > 0) || isnan(waits) ||
        (waits < much * total && !has_all_ranks(it)))
        return "time inside a collective may be waiting for the last rank: "
               "traces of all ranks together say how much (stragglers); "
               "overlap the rest " OVERLAP;
    if (waits < much * total)
        return "overlap it " OVERLAP ": next to none of it is waiting for "
               "another rank";
    return "much of the time inside collectives is waiting for the last rank: "
           "see first what makes that one late (STRAGGLERS in tprof-guide); "
           "overlap the rest " OVERLAP;
}

/* A stage of a pipeline waits for the one before; any other collective waits
 * for whoever is last. */
static const char *comm_advice(const struct tp_trace_case *it)
{
    const struct tp_comm_row *row = worst_comm(it->trace);
    const char *kind = row ? tp_collective_kind(row->collective) : NULL;
    if (kind && (!strcmp(kind, "send") || !strcmp(kind, "recv") ||
                 !strcmp(kind, "sendrecv")))
        return "a stage of a pipeline waits for another one: more and smaller "
               "micro-batches, stages of equal work, an interleaved schedule "
               "(1F1B, zero bubble); compare the ranks to see which stage is "
               "slow";
    return wait_advice(it);
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
        .won = share,
        .limit = it->limits[TP_TRACE_COMM],
        .evidence = tp_judge_text(it->judged,
                                  "communication that no computation hides: "
                                  "%.1f %% of the window%s",
                                  share, describe_comm(it)),
        .suggestion = comm_advice(it)};
    return tp_trace_finding_add(it, TP_VERDICT_COMMUNICATION, finding, err);
}

/* What the steady steps of a rank spend on average in collectives that nothing
 * else of the trace covers, and how long they are, us; 0 without any. */
static double waiting(const struct tp_trace *trace, double *step_us)
{
    double in_collectives = 0, all = 0, count = 0;
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        in_collectives += row->steady ? row->communication_us : 0;
        all += row->steady ? row->host_us : 0;
        count += row->steady != 0;
    }
    *step_us = count > 0 ? all / count : 0;
    return count > 0 ? in_collectives / count : 0;
}

/*
 * Without a device (gloo) the starts of collectives are those of threads that
 * only wait; so the rank that waits least is what the others wait for, if each
 * of them waits longer by a share of the step that is worth a finding.
 */
static enum tp_status find_on_host(const struct tp_trace_case *it,
                                   struct tp_error *err)
{
    const struct tp_trace_run *run = it->run;
    const struct tp_trace *late = NULL;
    double least = 0, next = 0, step_us = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        double us;
        const double wait = waiting(trace, &us);
        if (trace->facts.device_events > 0 || trace->rank < 0 || !(us > 0) ||
            !(wait > 0))
            return TP_OK;
        if (!late || wait < least) {
            next = least;
            least = wait;
            late = trace;
            step_us = us;
        } else if (next == 0 || wait < next) {
            next = wait;
        }
    }
    const double share = late ? 100 * (next - least) / step_us : 0;
    if (run->trace_count < 2 || share < it->limits[TP_TRACE_COMM])
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .rank = late->rank,
        .step = -1,
        .metric = "what others wait longer in collectives, % of step",
        .window = "steps",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_COMM],
        .evidence = tp_judge_text(
            it->judged,
            "rank %" PRId64 " spends %.2f ms of a step in collectives, every "
            "other rank %.2f ms or more: they wait for it, at least %.1f %% of "
            "a step of %.2f ms",
            late->rank, least / 1e3, next / 1e3, share, step_us / 1e3),
        .suggestion = "compare what this rank does before its collectives: "
                      "its data, its shard, its machine",
        .file = late->path};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

/* How much later than half of the ranks this one's window begins, us: the
 * longest lead that half of them have. */
static double begins_late(const struct tp_trace_judged *judged,
                          const struct tp_rank_row *rank)
{
    const size_t count = judged->ranks.count;
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        const double lead = rank->start_us - judged->ranks.rows[i].start_us;
        size_t longer = 0;
        for (size_t k = 0; k < count; k++)
            longer +=
                rank->start_us - judged->ranks.rows[k].start_us >= lead;
        if (2 * longer >= count && lead > most)
            most = lead;
    }
    return most;
}

/* With one step nobody knows whether a rank that begins late is late in each:
 * the profiler may have begun later. */
static const char *describe_begin(const struct tp_trace_case *it,
                                  const struct tp_rank_row *rank)
{
    const double us = begins_late(it->judged, rank);
    size_t steps = 0;
    for (size_t i = 0; i < it->run->trace_count; i++) {
        if (!strcmp(it->run->traces[i].path, rank->file))
            steps = it->run->traces[i].steps.count;
    }
    if (steps != 1 || 2 * us < rank->late * rank->step_us)
        return "";
    return tp_judge_text(it->judged,
                         "; its only step begins %.2f ms after those of half "
                         "of the ranks, which may be the recording and not "
                         "the work: record more steps",
                         us / 1e3);
}

/* What a step would win if this rank did not straggle, %: where steps of all
 * ranks could not be played together, what it is late. */
static double won_without(const struct tp_trace_judged *judged,
                          const struct tp_rank_row *rank)
{
    const double won = tp_straggling_won(judged, rank->rank);
    if (judged->straggling.count == 0)
        return 100 * rank->late;
    return won > 0 ? 100 * won : 0;
}

/* Where ranks are said to communicate most of the time, and half of that would
 * go with this one's lateness, it is the cause. */
static bool is_cause(const struct tp_trace_judged *judged, double won)
{
    return judged->verdict.verdict == TP_VERDICT_COMMUNICATION &&
           judged->straggling.count > 0 &&
           2 * won >= 100 * judged->verdict.share;
}

enum tp_status tp_trace_rule_straggler(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    enum tp_status status = find_on_host(it, err);
    for (size_t i = 0; i < it->judged->ranks.count && status == TP_OK; i++) {
        const struct tp_rank_row *row = &it->judged->ranks.rows[i];
        if (!row->straggler)
            continue;
        const double won = won_without(it->judged, row);
        const bool own = tp_straggling_is_own(it->judged, row);
        const struct tp_trace_finding finding = {
            .level = is_cause(it->judged, won) ? TP_SEVERITY_HIGH
                     : own                     ? TP_SEVERITY_MEDIUM
                                               : TP_SEVERITY_LOW,
            .rank = row->rank,
            .step = -1,
            .metric = "start of collectives after the median rank, % of step",
            .window = "steps",
            .value = 100 * row->late,
            .won = won,
            .limit = 0,
            .evidence = tp_judge_text(
                it->judged,
                "rank %" PRId64 " starts its collectives later than the median "
                "rank, by %.1f %% of a step in all, and the others wait for it "
                "inside theirs; its steps take %.2f ms, its GPU is busy "
                "%.1f %% of its window%s%s",
                row->rank, 100 * row->late, row->step_us / 1e3,
                100 * row->busy, describe_begin(it, row),
                own ? ""
                    : "; but steps would be no shorter without its lateness: "
                      "it waits for others itself, or the others wait "
                      "elsewhere"),
            .suggestion = "compare what this rank does before its "
                          "collectives: its data, its shard, its machine",
            .file = row->file};
        status = tp_trace_finding_add(it, TP_VERDICTS, finding, err);
    }
    return status;
}

/* Whether the sync rule has named copies of this direction as what costs
 * most: they block, so they are calls of that rule, too. */
static bool found_by_sync(const struct tp_trace_case *it, bool to_host)
{
    const struct tp_sync_row *row = tp_trace_worst_sync(it->trace);
    const struct tp_trace_judged *judged = it->judged;
    bool found = false;
    for (size_t i = 0; i < judged->findings.count; i++) {
        const struct tp_trace_finding *finding = &judged->findings.rows[i];
        found |= finding->rule->of_trace == tp_trace_rule_sync &&
                finding->file == it->trace->path;
    }
    return found && row &&
           (to_host ? row->why == TP_SYNC_COPY_TO_HOST ||
                          row->why == TP_SYNC_ITEM
                    : row->why == TP_SYNC_COPY_TO_DEVICE);
}

static enum tp_status find_pageable(const struct tp_trace_case *it,
                                    bool to_host, struct tp_error *err)
{
    const struct tp_pageable *copies =
        to_host ? &it->trace->facts.to_host : &it->trace->facts.to_device;
    const double share = tp_trace_pageable_cost(it, to_host);
    if (share <= 0 || found_by_sync(it, to_host))
        return TP_OK;
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_LOW,
        .step = -1,
        .metric = to_host ? "host in pageable copies to the host, % of window"
                          : "host in pageable copies to the GPU, % of window",
        .value = share,
        .limit = it->limits[TP_TRACE_COPY_SEEN],
        .evidence = tp_judge_text(
            it->judged,
            "%" PRId64 " copies %s (%.3g MB) go through pageable memory and "
            "hold the host for %.1f %% of the window; behind all that blocks "
            "the host the GPU idles %.1f %% of it",
            copies->copies, to_host ? "to the host" : "to the GPU",
            (double)copies->bytes / 1e6, share,
            100 * it->trace->idle.blocking),
        .suggestion =
            to_host ? "read results less often (.cpu(), .item(), logging), all "
                      "at once, or into pinned memory with non_blocking=True"
                    : "pin_memory=True in the DataLoader and .to(device, "
                      "non_blocking=True): without pinned memory non_blocking "
                      "does nothing"};
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

/* What to do about copies of a kind that nothing hides. */
static const char *copy_advice(const char *kind)
{
    if (strstr(kind, "HtoD") || strstr(kind, "HostToDevice"))
        return "copy the next batch while the GPU computes: pinned memory, "
               "non_blocking=True, on a stream of its own; send smaller types";
    if (strstr(kind, "DtoH") || strstr(kind, "DeviceToHost"))
        return "copy results less often, or into pinned memory on a stream of "
               "its own while the GPU computes";
    return "avoid copies inside the GPU: contiguous(), clone() and cat() of "
           "large tensors; write into place instead";
}

enum tp_status tp_trace_rule_copies(const struct tp_trace_case *it,
                                    struct tp_error *err)
{
    const struct tp_trace *trace = it->trace;
    const double exposed = 100 * tp_trace_exposed_memory(trace);
    const double limit = it->limits[TP_TRACE_COPY_SEEN];
    enum tp_status status = find_pageable(it, false, err);
    if (status == TP_OK)
        status = find_pageable(it, true, err);
    if (status != TP_OK || !(exposed >= limit) || trace->copies.count == 0)
        return status;
    const struct tp_copy_row *most = &trace->copies.rows[0];
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "exposed copies, % of window",
        .value = exposed,
        .won = exposed,
        .limit = limit,
        .evidence = tp_judge_text(
            it->judged,
            "copies that neither computation nor communication hides take "
            "%.1f %% of the window; most by %" PRId64 " x %s, %.3g MB in "
            "%.2f ms",
            exposed, most->count, most->kind, (double)most->bytes / 1e6,
            most->total_us / 1e3),
        .suggestion = copy_advice(most->kind)};
    return tp_trace_finding_add(it, TP_VERDICT_COPIES, finding, err);
}

/* Stages of a model that work one after the other, or get uneven shares. */
enum tp_status tp_trace_rule_turns(const struct tp_trace_case *it,
                                   struct tp_error *err)
{
    const double share = 100 * tp_trace_turns(it->trace);
    const struct tp_trace_finding finding = {
        .level = TP_SEVERITY_MEDIUM,
        .step = -1,
        .metric = "one of several GPUs busy, less the mean of each, % of "
                  "window",
        .value = share,
        .won = share,
        .limit = it->limits[TP_TRACE_TURNS],
        .evidence = tp_trace_turns_words(it->judged, it->trace),
        .suggestion =
            "split batches into micro-batches, so that the stages of a model "
            "work at the same time (torch.distributed.pipelining), or give "
            "each GPU a process of its own (DistributedDataParallel, FSDP)"};
    return share < it->limits[TP_TRACE_TURNS]
               ? TP_OK
               : tp_trace_finding_add(it, TP_VERDICT_TURNS, finding, err);
}
