/* SPDX-License-Identifier: MIT */
/*
 * Ranks played together (trace_straggling.h says what is asked).
 *
 * Nodes are the collectives of each rank and its end. Matched ones are a unit
 * that begins when the last member arrives; each member then takes as long as
 * it did after that. Units are gone through in the order in which they were
 * recorded to begin, which is one of play, since a rank's way to a collective
 * takes time. The idea is that of StragglerAnalysis (arXiv 2505.05713): what is
 * done is made equal over ranks, what depends on what stays; it equals
 * operators, here it is all that lies between two collectives, so that ranks of
 * other shapes compare. O(n log n) for n segments, and O(n) a question.
 */
#include "verdict/trace_straggling.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "verdict/trace_collectives.h"

enum {
    ALONE = -1, /* group of what is not matched */
    ENDS = -2   /* group of the ends            */
};

/* A collective of a rank, or its end. */
struct node {
    size_t trace, first, count; /* its segments: [first, first + count)     */
    int64_t group;
    int64_t start, end;      /* as recorded; common clock, ns           */
    int64_t arrives, leaves; /* as played                               */
};

struct segment {
    size_t node;
    int64_t source;     /* group of the one before; ENDS: the begin           */
    int64_t before;     /* node of that; -1: the begin                        */
    int64_t own, ideal; /* ns                                              */
};

/* Nodes that begin together: unit_nodes[first .. first + count). */
struct unit {
    int64_t start; /* of the last, as recorded                           */
    size_t first, count;
};

struct state {
    const struct tp_trace_run *run;
    struct tp_trace_judged *judged;
    struct node *nodes;
    size_t node_count;
    struct segment *segments;
    size_t segment_count;
    size_t *base;  /* [trace_count]: the first node of each              */
    size_t *order; /* [nodes] by group                                   */
    struct unit *units;
    size_t unit_count;
    struct segment **list; /* [segments] room                              */
};

/* --- the graph ------------------------------------------------------------ */

static int64_t begin_of(const struct state *s, size_t trace)
{
    return s->run->traces[trace].played.from_ns +
           tp_trace_clock_shift(s->run, s->judged, trace);
}

static void add_trace(struct state *s, size_t t)
{
    const struct tp_trace *trace = &s->run->traces[t];
    const int64_t shift = tp_trace_clock_shift(s->run, s->judged, t);
    s->base[t] = s->node_count;
    for (size_t i = 0; i < trace->segments.count; i++) {
        const struct tp_segment_row *row = &trace->segments.rows[i];
        const size_t node = s->base[t] + (size_t)row->number;
        if (node == s->node_count) {
            const bool end = row->stream < 0 && row->start_ns < 0;
            const int64_t start = end ? begin_of(s, t) +
                                            trace->played.origin_ns +
                                            trace->played.recorded_ns
                                      : row->start_ns + shift;
            s->nodes[s->node_count++] =
                (struct node){.trace = t,
                              .first = s->segment_count,
                              .group = end ? ENDS : ALONE,
                              .start = start,
                              .end = start + row->ns};
        }
        s->nodes[node].count++;
        s->segments[s->segment_count++] = (struct segment){
            .node = node,
            .before = row->after < 0 ? -1 : (int64_t)s->base[t] + row->after,
            .own = row->own_ns};
    }
}

/* A node by what is recorded of its kernel. */
struct place {
    size_t trace;
    int64_t start, stream;
    size_t node;
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = tp_order_size(a->trace, b->trace);
    if (!order)
        order = tp_order_int64(a->start, b->start);
    return order ? order : tp_order_int64(a->stream, b->stream);
}

/* Says of each node which collective it is. */
static enum tp_status find_groups(struct state *s, struct tp_error *err)
{
    struct place *places = calloc(s->node_count + 1, sizeof *places);
    if (!places)
        return tp_fail_memory(err);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct node *node = &s->nodes[i];
        const size_t row = node->first - s->nodes[s->base[node->trace]].first;
        const struct tp_segment_row *it =
            &s->run->traces[node->trace].segments.rows[row];
        places[i] = (struct place){node->trace, it->start_ns, it->stream, i};
    }
    qsort(places, s->node_count, sizeof *places, by_place);
    for (size_t i = 0; i < s->judged->members.count; i++) {
        const struct tp_collective_member *it = &s->judged->members.rows[i];
        const struct place key = {it->trace, it->start_ns, it->stream, 0};
        const struct place *found =
            bsearch(&key, places, s->node_count, sizeof *places, by_place);
        if (found && s->nodes[found->node].group == ALONE)
            s->nodes[found->node].group = it->collective;
    }
    free(places);
    for (size_t i = 0; i < s->segment_count; i++) {
        struct segment *segment = &s->segments[i];
        segment->source =
            segment->before < 0 ? ENDS : s->nodes[segment->before].group;
    }
    return TP_OK;
}

/* --- what peers take ------------------------------------------------------ */

static int by_peers(const void *left, const void *right)
{
    const struct segment *const *x = left, *const *y = right;
    const struct segment *a = *x, *b = *y;
    const int order = tp_order_int64(a->source, b->source);
    return order ? order : tp_order_int64(a->own, b->own);
}

/* The median of sorted values but for one. */
static int64_t median_but(struct segment *const *sorted, size_t count,
                          size_t but)
{
    const size_t n = count - 1, low = (n - 1) / 2, high = n / 2;
    const int64_t a = sorted[low + (low >= but)]->own;
    const int64_t b = sorted[high + (high >= but)]->own;
    return a + (b - a) / 2;
}

/* What each segment to a group's nodes would take without straggling. */
static void find_ideals(struct state *s, const size_t *nodes, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct node *node = &s->nodes[nodes[i]];
        for (size_t k = 0; k < node->count; k++)
            s->list[n++] = &s->segments[node->first + k];
    }
    qsort(s->list, n, sizeof(void *), by_peers);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first;
             end < n && s->list[end]->source == s->list[first]->source; end++) {
        }
        for (size_t i = first; i < end; i++) {
            struct segment *it = s->list[i];
            it->ideal = it->own;
            if (end - first > 1 && it->source != ALONE) {
                const int64_t others =
                    median_but(s->list + first, end - first, i - first);
                it->ideal = others < it->own ? others : it->own;
            }
        }
    }
}

static void find_alone(struct state *s, const struct node *node)
{
    for (size_t k = 0; k < node->count; k++) {
        struct segment *it = &s->segments[node->first + k];
        it->ideal = it->own;
    }
}

/* --- units ---------------------------------------------------------------- */

/* A node by its group. */
struct placed {
    int64_t group;
    size_t node;
};

static int by_group(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    const int order = tp_order_int64(a->group, b->group);
    return order ? order : tp_order_size(a->node, b->node);
}

static int by_start(const void *left, const void *right)
{
    const struct unit *a = left, *b = right;
    const int order = tp_order_int64(a->start, b->start);
    return order ? order : tp_order_size(a->first, b->first);
}

static void add_unit(struct state *s, size_t first, size_t count)
{
    struct unit unit = {INT64_MIN, first, count};
    for (size_t i = first; i < first + count; i++) {
        const int64_t start = s->nodes[s->order[i]].start;
        unit.start = start > unit.start ? start : unit.start;
    }
    s->units[s->unit_count++] = unit;
}

static enum tp_status make_units(struct state *s, struct tp_error *err)
{
    struct placed *placed = calloc(s->node_count + 1, sizeof *placed);
    if (!placed)
        return tp_fail_memory(err);
    for (size_t i = 0; i < s->node_count; i++)
        placed[i] = (struct placed){s->nodes[i].group, i};
    qsort(placed, s->node_count, sizeof *placed, by_group);
    for (size_t i = 0; i < s->node_count; i++)
        s->order[i] = placed[i].node;
    for (size_t first = 0, end; first < s->node_count; first = end) {
        const int64_t group = placed[first].group;
        for (end = first + 1; end < s->node_count && group != ALONE &&
                              placed[end].group == group;
             end++) {
        }
        if (group == ALONE)
            find_alone(s, &s->nodes[s->order[first]]);
        else
            find_ideals(s, s->order + first, end - first);
        if (group != ENDS)
            add_unit(s, first, end - first);
    }
    free(placed);
    qsort(s->units, s->unit_count, sizeof *s->units, by_start);
    return TP_OK;
}

/* --- playing -------------------------------------------------------------- */

/* Who does not straggle: a trace, everybody or nobody. */
enum { EVERYBODY = -1, NOBODY = -2 };

static int64_t arrival(const struct state *s, const struct node *node,
                       int64_t who)
{
    const bool ideal = who == EVERYBODY || who == (int64_t)node->trace;
    int64_t latest = INT64_MIN;
    for (size_t k = 0; k < node->count; k++) {
        const struct segment *it = &s->segments[node->first + k];
        const int64_t from = it->before < 0 ? begin_of(s, node->trace)
                                            : s->nodes[it->before].leaves;
        const int64_t at = from + (ideal ? it->ideal : it->own);
        latest = at > latest ? at : latest;
    }
    return latest;
}

static void play_unit(struct state *s, const struct unit *unit, int64_t who)
{
    int64_t begins = INT64_MIN;
    for (size_t i = unit->first; i < unit->first + unit->count; i++) {
        struct node *node = &s->nodes[s->order[i]];
        node->arrives = arrival(s, node, who);
        begins = node->arrives > begins ? node->arrives : begins;
    }
    for (size_t i = unit->first; i < unit->first + unit->count; i++) {
        struct node *node = &s->nodes[s->order[i]];
        node->leaves = begins + (node->end - unit->start);
    }
}

/* The mean over ranks of what is played then takes, ns. */
static double play(struct state *s, int64_t who)
{
    double sum = 0;
    size_t ends = 0;
    for (size_t i = 0; i < s->node_count; i++)
        s->nodes[i].leaves = s->nodes[i].end;
    for (size_t i = 0; i < s->unit_count; i++)
        play_unit(s, &s->units[i], who);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct node *node = &s->nodes[i];
        if (node->group != ENDS)
            continue;
        const int64_t origin = begin_of(s, node->trace) +
                               s->run->traces[node->trace].played.origin_ns;
        sum += (double)(arrival(s, node, who) - origin);
        ends++;
    }
    return ends ? sum / (double)ends : 0;
}

static enum tp_status ask(struct state *s, int64_t who, double replayed,
                          struct tp_error *err)
{
    struct tp_trace_judged *judged = s->judged;
    const struct tp_trace *trace = &s->run->traces[who < 0 ? 0 : (size_t)who];
    const double scale = 1e3 * (double)trace->played.steps;
    double recorded = 0;
    for (size_t i = 0; i < s->run->trace_count; i++)
        recorded += (double)s->run->traces[i].played.recorded_ns /
                    (double)s->run->trace_count;
    const double us = play(s, who) / scale;
    if (tp_grow(&judged->straggling.rows, &judged->straggling.capacity,
                judged->straggling.count + 1, sizeof *judged->straggling.rows,
                err) != TP_OK)
        return TP_E_MEMORY;
    judged->straggling.rows[judged->straggling.count++] =
        (struct tp_straggling_row){
            .rank = who < 0 ? -1 : trace->rank,
            .first_step = trace->played.first_step,
            .steps = trace->played.steps,
            .step_us = recorded / scale,
            .replayed_us = replayed / scale,
            .new_step_us = us,
            .won_us = replayed / scale - us,
            .won = replayed > 0 ? 1 - us * scale / replayed : NAN};
    return TP_OK;
}

/* --- the whole ------------------------------------------------------------ */

/* Whether every trace plays the same steps, each of a rank of its own. */
static bool is_comparable(const struct tp_trace_run *run)
{
    const struct tp_played *first = &run->traces[0].played;
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        if (trace->segments.count == 0 || trace->rank < 0 ||
            trace->played.steps != first->steps ||
            trace->played.first_step != first->first_step ||
            (i > 0 && trace->rank == trace[-1].rank))
            return false;
    }
    return run->trace_count > 1;
}

static enum tp_status allocate(struct state *s, struct tp_error *err)
{
    size_t segments = 0, traces = s->run->trace_count;
    for (size_t i = 0; i < traces; i++)
        segments += s->run->traces[i].segments.count;
    s->nodes = calloc(segments + 1, sizeof *s->nodes);
    s->segments = calloc(segments + 1, sizeof *s->segments);
    s->base = calloc(traces + 1, sizeof *s->base);
    s->order = calloc(segments + 1, sizeof *s->order);
    s->units = calloc(segments + 1, sizeof *s->units);
    s->list = calloc(segments + 1, sizeof(void *));
    return s->nodes && s->segments && s->base && s->order && s->units && s->list
               ? TP_OK
               : tp_fail_memory(err);
}

static enum tp_status ask_all(struct state *s, struct tp_error *err)
{
    const double replayed = play(s, NOBODY);
    enum tp_status status = ask(s, EVERYBODY, replayed, err);
    for (size_t i = 0; i < s->run->trace_count && status == TP_OK; i++)
        status = ask(s, (int64_t)i, replayed, err);
    return status;
}

enum tp_status tp_trace_straggling_make(const struct tp_trace_run *run,
                                        struct tp_trace_judged *judged,
                                        struct tp_error *err)
{
    struct state s = {.run = run, .judged = judged};
    if (judged->members.count == 0)
        return TP_OK;
    if (!is_comparable(run)) {
        tp_judge_note(judged,
                      "what straggling costs is not estimated: the ranks' "
                      "traces do not have the same typical steps with "
                      "collectives in them");
        return TP_OK;
    }
    enum tp_status status = allocate(&s, err);
    for (size_t i = 0; i < run->trace_count && status == TP_OK; i++)
        add_trace(&s, i);
    if (status == TP_OK) {
        s.base[run->trace_count] = s.node_count;
        status = find_groups(&s, err);
    }
    if (status == TP_OK)
        status = make_units(&s, err);
    if (status == TP_OK)
        status = ask_all(&s, err);
    free(s.nodes);
    free(s.segments);
    free(s.base);
    free(s.order);
    free(s.units);
    free(s.list);
    return status;
}

double tp_straggling_won(const struct tp_trace_judged *judged, int64_t rank)
{
    for (size_t i = 0; i < judged->straggling.count; i++) {
        if (judged->straggling.rows[i].rank == rank)
            return judged->straggling.rows[i].won;
    }
    return NAN;
}

bool tp_straggling_is_own(const struct tp_trace_judged *judged,
                          const struct tp_rank_row *rank)
{
    const double limit = judged->limits.values[TP_TRACE_SYNC_SEEN] / 100;
    bool alone = false;
    for (size_t i = 0; i < judged->ranks.count; i++) {
        const struct tp_rank_row *row = &judged->ranks.rows[i];
        alone |=
            row->straggler && tp_straggling_won(judged, row->rank) >= limit;
    }
    if (!rank->straggler || judged->straggling.count == 0)
        return rank->straggler;
    return tp_straggling_won(judged, -1) >= limit &&
           (!alone || tp_straggling_won(judged, rank->rank) >= limit);
}
