/* SPDX-License-Identifier: MIT */
/*
 * Links and ranks that hold up collectives, from collectives matched over ranks
 * (trace_collectives.h).
 *
 * A link is slow where the groups that use it communicate slower than like
 * groups do: of the same kind, type, size and number of ranks, and as far apart
 * in the order of ranks, so that they cross nodes alike. Latencies leave
 * waiting out, so a rank that is late makes no slow link. The other way, to
 * compare with the link's nominal speed, needs to know the topology, which no
 * trace has. O(n^2) for n groups, kinds and sizes.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantile.h"
#include "verdict/trace_ranks.h"
#include "verdict/trace_rules.h"

/* Like groups that are needed to say what is usual: of two, neither is. */
enum { LIKE_GROUPS = 3 };

/* What is lost has to be this part of the window to be worth a word. */
static const double least_share = 0.01;

/* --- links -------------------------------------------------------------- */

/* The next number of a list "[0, 4, ..., 28]"; false at its end. */
static bool next_rank(const char **list, int64_t *rank)
{
    while (**list && !isdigit((unsigned char)**list))
        ++*list;
    if (!**list)
        return false;
    char *end;
    *rank = strtoll(*list, &end, 10);
    *list = end;
    return true;
}

/* Whether two lists of ranks are the same but for what is added to all. */
static bool same_spacing(const char *a, const char *b)
{
    int64_t x, y, apart = 0;
    for (size_t i = 0;; i++) {
        const bool more = next_rank(&a, &x);
        if (more != next_rank(&b, &y))
            return false;
        if (!more)
            return i > 1;
        if (i == 0)
            apart = y - x;
        else if (y - x != apart)
            return false;
    }
}

static bool is_whole(const struct tp_collective_size_row *row)
{
    return row->ranks == row->group_size && row->latency_us > 0;
}

static bool is_like(const struct tp_collective_size_row *a,
                    const struct tp_collective_size_row *b)
{
    return is_whole(b) && !strcmp(a->collective, b->collective) &&
           !strcmp(a->dtype, b->dtype) && a->bytes == b->bytes &&
           a->group_size == b->group_size && same_spacing(a->group, b->group);
}

/* How a group does beside like ones. */
struct beside {
    const struct tp_collective_size_row *row;
    size_t groups;          /* with its own                               */
    double usual_us;        /* the median latency of the others           */
    double usual_gbps;      /* that of the bus; NaN: not known            */
};

static struct beside compare(const struct tp_trace_judged *judged,
                             const struct tp_collective_size_row *row,
                             double *values)
{
    struct beside it = {.row = row, .groups = 1};
    const size_t count = judged->collective_sizes.count;
    const struct tp_collective_size_row *rows = judged->collective_sizes.rows;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (&rows[i] != row && is_like(row, &rows[i]))
            values[n++] = rows[i].latency_us;
    }
    it.groups += n;
    it.usual_us = n ? tp_median(values, n) : 0;
    n = 0;
    for (size_t i = 0; i < count; i++) {
        if (&rows[i] != row && is_like(row, &rows[i]))
            values[n++] = rows[i].bus_gbps;
    }
    it.usual_gbps = n ? tp_median(values, n) : 0;
    return it;
}

static double window_of(const struct tp_trace_run *run)
{
    double longest = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        const double us = run->traces[i].idle.window_us;
        longest = us > longest ? us : longest;
    }
    return longest;
}

static enum tp_status add_link(const struct tp_trace_case *it,
                               const struct beside *slow, double share,
                               struct tp_error *err)
{
    const struct tp_collective_size_row *row = slow->row;
    const struct tp_trace_verdict *verdict = &it->judged->verdict;
    /* what most ranks lose half of their loss by is what limits the run */
    const bool is_cause = verdict->verdict == TP_VERDICT_COMMUNICATION &&
                          2 * share >= verdict->share;
    struct tp_trace_finding finding = {
        .level = is_cause ? TP_SEVERITY_HIGH : TP_SEVERITY_MEDIUM,
        .won = 100 * share,
        .rank = -1,
        .step = -1,
        .metric = "latency beyond that of like groups, %",
        .window = "matched collectives",
        .value = 100 * (row->latency_us / slow->usual_us - 1),
        .limit = it->limits[TP_TRACE_LINK]};
    const char *speed =
        row->bus_gbps > 0
            ? tp_judge_text(it->judged,
                            " (bus bandwidth %.3g against %.3g GB/s)",
                            row->bus_gbps, slow->usual_gbps)
            : "";
    finding.evidence = tp_judge_text(
        it->judged,
        "%s of %.3g MB takes %.1f us among the ranks %s, waiting left out, and "
        "%.1f us in the median of the %zu other groups like this%s: %.1f %% of "
        "the window, over %" PRId64 " of them",
        row->collective, (double)row->bytes / 1e6, row->latency_us, row->group,
        slow->usual_us, slow->groups - 1, speed, 100 * share, row->count);
    finding.suggestion =
        "test the links between these ranks alone (nccl-tests on their hosts; "
        "nvidia-smi topo -m and nvlink -s, ibstat): one may be down, or at a "
        "lower width; NCCL_DEBUG=INFO tells the transport that was taken";
    return tp_trace_finding_add(it, TP_VERDICTS, finding, err);
}

/* The rows of one group that are slow: the one that costs most speaks. */
static enum tp_status judge_group(const struct tp_trace_case *it, size_t first,
                                  double *values, struct tp_error *err)
{
    const size_t count = it->judged->collective_sizes.count;
    const struct tp_collective_size_row *rows =
        it->judged->collective_sizes.rows;
    const double window_us = window_of(it->run);
    struct beside worst = {.groups = 0};
    double most_us = 0;
    for (size_t i = first; i < count; i++) {
        if (strcmp(rows[i].group, rows[first].group) || !is_whole(&rows[i]))
            continue;
        const struct beside slow = compare(it->judged, &rows[i], values);
        const double lost_us =
            (rows[i].latency_us - slow.usual_us) * (double)rows[i].count;
        if (slow.groups < LIKE_GROUPS || lost_us <= most_us ||
            100 * (rows[i].latency_us / slow.usual_us - 1) <
                it->limits[TP_TRACE_LINK])
            continue;
        most_us = lost_us;
        worst = slow;
    }
    return most_us < least_share * window_us || most_us <= 0
               ? TP_OK
               : add_link(it, &worst, most_us / window_us, err);
}

enum tp_status tp_trace_rule_slow_link(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    const size_t count = it->judged->collective_sizes.count;
    const struct tp_collective_size_row *rows =
        it->judged->collective_sizes.rows;
    double *values = calloc(count + 1, sizeof *values);
    enum tp_status status = values ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        bool met = false;
        for (size_t k = 0; k < i && !met; k++)
            met = !strcmp(rows[k].group, rows[i].group);
        if (!met)
            status = judge_group(it, i, values, err);
    }
    free(values);
    return status;
}

/* --- ranks -------------------------------------------------------------- */

enum tp_status tp_trace_rule_slow_rank(const struct tp_trace_case *it,
                                       struct tp_error *err)
{
    const struct tp_trace_judged *judged = it->judged;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < judged->ranks.count && status == TP_OK; i++) {
        const struct tp_rank_row *row = &judged->ranks.rows[i];
        const double window_us = it->run->traces[i].idle.window_us;
        if (row->straggler || !(row->last > 0.5) || !(window_us > 0) ||
            row->held_us / window_us < TP_STRAGGLER_LATE)
            continue;
        const struct tp_trace_finding finding = {
            .level = TP_SEVERITY_MEDIUM,
            .rank = row->rank,
            .step = -1,
            .metric = "collectives held up by this rank, % of window",
            .window = it->run->traces[i].facts.window,
            .value = 100 * row->held_us / window_us,
            .won = 100 * row->held_us / window_us,
            .limit = 100 * TP_STRAGGLER_LATE,
            .evidence = tp_judge_text(
                it->judged,
                "rank %" PRId64 " is the last to begin %.0f %% of its "
                "collectives, %.2f ms after the last but one in all: %.1f %% "
                "of its window, in which the others wait for it",
                row->rank, 100 * row->last, row->held_us / 1e3,
                100 * row->held_us / window_us),
            .suggestion = "compare what this rank does before its "
                          "collectives: its data, its shard, its machine",
            .file = row->file};
        status = tp_trace_finding_add(it, TP_VERDICTS, finding, err);
    }
    return status;
}
