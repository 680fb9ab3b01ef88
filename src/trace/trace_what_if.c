/* SPDX-License-Identifier: MIT */
/*
 * What if: the steps of a trace played again with some times changed.
 *
 * One graph is made of the steps, and each question is one pass over its arcs
 * with other times; so the answer knows what hides behind what, which shares of
 * idle time do not: a loader that is over before the device is done costs
 * nothing. Every change alone: what two would win together may be more than
 * both. O(arcs) a question.
 */
#include "trace/trace_what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace_path_graph.h"
#include "trace/trace_replay_make.h"
#include "trace/trace_segments.h"

/* Operators that are asked about: those with most time. */
enum { OPERATORS = 6 };

const char *tp_what_if_name(enum tp_what_if_change change)
{
    static const char *const names[TP_WHAT_IF_CHANGES] = {
        [TP_WHAT_IF_NOTHING] = "nothing",
        [TP_WHAT_IF_ALLOC] = "alloc",
        [TP_WHAT_IF_LOADER] = "dataloader",
        [TP_WHAT_IF_BLOCKING] = "blocking",
        [TP_WHAT_IF_LAUNCH] = "launch",
        [TP_WHAT_IF_LOAD] = "first_launch",
        [TP_WHAT_IF_OPS] = "cpu_op",
        [TP_WHAT_IF_OUTSIDE] = "none",
        [TP_WHAT_IF_QUEUED] = "queued",
        [TP_WHAT_IF_HOST] = "host",
        [TP_WHAT_IF_COMMUNICATION] = "communication",
        [TP_WHAT_IF_OPERATOR] = "operator"};
    return names[change];
}

/* What a change takes away; parts are bits 1 << enum tp_play_part. */
struct change {
    uint32_t none; /* of these only what is the DataLoader's is left     */
    uint32_t gone; /* arcs that are left out                             */
    bool loader;   /* the DataLoader takes no time                       */
    bool queued;   /* what nothing recorded explains takes no time       */
};

#define PART(part) (1u << TP_PLAY_##part)

static struct change change_of(enum tp_what_if_change change)
{
    static const struct change changes[TP_WHAT_IF_CHANGES] = {
        [TP_WHAT_IF_ALLOC] = {.none = PART(ALLOC)},
        [TP_WHAT_IF_LOADER] = {.loader = true},
        [TP_WHAT_IF_BLOCKING] = {.none = PART(WAIT), .gone = PART(RETURN)},
        [TP_WHAT_IF_LAUNCH] = {.none = PART(LAUNCH)},
        [TP_WHAT_IF_LOAD] = {.none = PART(LOAD)},
        [TP_WHAT_IF_OPS] = {.none = PART(OPERATOR)},
        [TP_WHAT_IF_OUTSIDE] = {.none = PART(OUTSIDE)},
        [TP_WHAT_IF_QUEUED] = {.queued = true},
        [TP_WHAT_IF_HOST] = {.none = PART(LAUNCH) | PART(CALL) |
                                     PART(OPERATOR) | PART(OUTSIDE)},
        [TP_WHAT_IF_COMMUNICATION] = {.none = PART(COMMUNICATION)}};
    return changes[change];
}

struct what_if {
    struct tp_trace *trace;
    struct tp_trace_replay replay;
    int64_t *ns; /* [arcs]                                     */
    int64_t first_step, steps;
};

/* Whether a change takes time from some arc. */
static bool applies(const struct tp_trace_replay *replay,
                    const struct change *change)
{
    return replay->parts & change->none || (change->loader && replay->loader) ||
           (change->queued && replay->queued);
}

/* Puts into w->ns what a change leaves. */
static void apply(struct what_if *w, const struct change *change)
{
    const struct tp_trace_replay *r = &w->replay;
    for (size_t i = 0; i < r->arc_count; i++) {
        const struct tp_trace_replay_arc *arc = &r->arcs[i];
        if (change->none >> arc->part & 1)
            w->ns[i] = arc->loader_ns;
        else
            w->ns[i] = arc->ns;
    }
    for (size_t i = 0; change->loader && i < r->arc_count; i++)
        w->ns[i] -= r->arcs[i].loader_ns;
    for (size_t i = 0; change->queued && i < r->arc_count; i++)
        w->ns[i] -= r->arcs[i].queued_ns;
    for (size_t i = 0; change->gone && i < r->arc_count; i++) {
        if (change->gone >> r->arcs[i].part & 1)
            w->ns[i] = TP_PLAY_GONE;
    }
}

/* Plays w->ns and adds its row. */
static enum tp_status add_row(struct what_if *w, enum tp_what_if_change kind,
                              uint32_t op, struct tp_error *err)
{
    struct tp_trace *trace = w->trace;
    const double n = (double)w->steps;
    const double step_us = (double)w->replay.recorded_ns / n / 1e3;
    const double new_us =
        (double)tp_trace_replay_play(&w->replay, w->ns) / n / 1e3;
    const enum tp_status status =
        tp_grow(&trace->what_if.rows, &trace->what_if.capacity,
                trace->what_if.count + 1, sizeof *trace->what_if.rows, err);
    if (status != TP_OK)
        return status;
    trace->what_if.rows[trace->what_if.count++] = (struct tp_what_if_row){
        .changed = kind,
        .change = tp_what_if_name(kind),
        .name = tp_events_get(&trace->events, op),
        .first_step = w->first_step,
        .steps = w->steps,
        .step_us = step_us,
        .new_step_us = new_us,
        .won_us = step_us - new_us,
        .won = step_us > 0 ? (step_us - new_us) / step_us : NAN};
    return TP_OK;
}

/* Asks what no operator's time is; nothing where it would change nothing. */
static enum tp_status ask(struct what_if *w, enum tp_what_if_change kind,
                          struct tp_error *err)
{
    const struct tp_trace_replay *r = &w->replay;
    const struct change change = change_of(kind);
    if (kind != TP_WHAT_IF_NOTHING && !applies(r, &change))
        return TP_OK;
    apply(w, &change);
    return add_row(w, kind, 0, err);
}

static enum tp_status ask_operator(struct what_if *w, uint32_t op,
                                   struct tp_error *err)
{
    const struct tp_trace_replay *r = &w->replay;
    for (size_t i = 0; i < r->arc_count; i++)
        w->ns[i] = r->arcs[i].op == op && r->arcs[i].part != TP_PLAY_LOAD
                       ? r->arcs[i].ns / 2
                       : r->arcs[i].ns;
    return add_row(w, TP_WHAT_IF_OPERATOR, op, err);
}

/* The operators with most time of their own, on host and device together. */
static enum tp_status ask_operators(struct what_if *w, struct tp_error *err)
{
    const struct tp_trace_replay *r = &w->replay;
    const size_t texts = w->trace->events.texts.count;
    int64_t *times = calloc(texts + 1, sizeof *times); /* of each text      */
    enum tp_status status = times ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < r->arc_count && status == TP_OK; i++)
        if (r->arcs[i].part != TP_PLAY_LOAD) /* is no operator's work */
            times[r->arcs[i].op] += r->arcs[i].ns - r->arcs[i].loader_ns;
    for (int n = 0; n < OPERATORS && status == TP_OK; n++) {
        uint32_t most = 0; /* that of no operator */
        times[0] = 0;
        for (uint32_t op = 1; op < texts; op++)
            most = times[op] > times[most] ? op : most;
        if (most == 0)
            break;
        status = ask_operator(w, most, err);
        times[most] = 0;
    }
    free(times);
    return status;
}

/* --- steps ---------------------------------------------------------------- */

static bool is_typical(const struct tp_trace *trace, size_t step)
{
    return trace->steps.count != trace->index.step_count ||
           trace->steps.rows[step].typical;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The typical step whose window is the median; of an even number of them the
 * lower. TP_E_MEMORY only. */
static enum tp_status find_median_step(const struct tp_trace *trace,
                                       size_t *step, struct tp_error *err)
{
    const struct tp_step_row *rows = trace->steps.rows;
    const size_t count = trace->steps.count;
    double *us = malloc((count + 1) * sizeof *us);
    size_t n = 0;
    if (!us)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        if (rows[i].typical)
            us[n++] = rows[i].window_us;
    if (n)
        qsort(us, n, sizeof *us, by_value);
    for (size_t i = 0; i < count && n; i++)
        if (rows[i].typical && rows[i].window_us <= us[(n - 1) / 2] &&
            rows[i].window_us >= us[(n - 1) / 2])
            *step = i;
    free(us);
    return TP_OK;
}

/* Whether other ranks' traces may be played together with this one: they have
 * to choose the same steps, which they would not by their times. */
static bool has_peers(const struct tp_trace *trace)
{
    return !trace->alone && trace->events.rank >= 0;
}

/* The steps that are played, [*first, *end): the median one, or the last
 * typical one where ranks have to agree, and typical ones beside it. */
static enum tp_status choose_steps(const struct tp_trace *trace,
                                   const struct tp_path_maker *maker,
                                   size_t *first, size_t *end,
                                   struct tp_error *err)
{
    const struct tp_step *steps = trace->index.steps;
    const size_t count = trace->index.step_count;
    size_t last = count;
    while (last > 0 && !is_typical(trace, last - 1))
        last--;
    *first = (last > 0 ? last : count) - 1;
    if (!has_peers(trace) && trace->steps.count == count &&
        find_median_step(trace, first, err) != TP_OK)
        return TP_E_MEMORY;
    *end = *first + 1;
    while (*end < last && is_typical(trace, *end) &&
           tp_path_events(maker, steps[*first].from, steps[*end].to) <=
               TP_WHAT_IF_EVENTS)
        ++*end;
    while (last > 0 && *first > 0 && is_typical(trace, *first - 1) &&
           tp_path_events(maker, steps[*first - 1].from, steps[*end - 1].to) <=
               TP_WHAT_IF_EVENTS)
        --*first;
    return TP_OK;
}

static enum tp_status make(struct tp_trace *trace, struct tp_path_maker *maker,
                           struct tp_error *err)
{
    struct what_if w = {.trace = trace, .steps = 1};
    struct tp_step span = tp_path_extent(maker);
    enum tp_status status = TP_OK;
    if (trace->index.step_count > 0) {
        size_t first, end;
        status = choose_steps(trace, maker, &first, &end, err);
        if (status != TP_OK)
            return status;
        span.from = trace->index.steps[first].from;
        span.to = trace->index.steps[end - 1].to;
        w.first_step = trace->index.steps[first].number;
        w.steps = (int64_t)(end - first);
    }
    status = tp_trace_replay_make(maker, span.from, span.to, &w.replay, err);
    if (status == TP_OK &&
        !(w.ns = malloc((w.replay.arc_count + 1) * sizeof *w.ns)))
        status = tp_fail_memory(err);
    for (enum tp_what_if_change c = TP_WHAT_IF_NOTHING;
         c < TP_WHAT_IF_OPERATOR && status == TP_OK; c++)
        status = ask(&w, c, err);
    if (status == TP_OK)
        status = ask_operators(&w, err);
    trace->played =
        (struct tp_played){span.from, w.replay.origin_ns, w.replay.recorded_ns,
                           w.first_step, w.steps};
    if (status == TP_OK)
        status = tp_trace_segments(trace, maker, &w.replay, err);
    free(w.ns);
    tp_trace_replay_clear(&w.replay);
    return status;
}

enum tp_status tp_what_if_make(struct tp_trace *trace,
                               struct tp_path_maker *maker,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (trace->kept && has_peers(trace)) {
        trace->alone = true;
        status = make(trace, maker, err);
        trace->alone = false;
        trace->lone_what_if = trace->what_if;
        trace->lone_played = trace->played;
        memset(&trace->what_if, 0, sizeof trace->what_if);
    }
    return status == TP_OK ? make(trace, maker, err) : status;
}

void tp_what_if_settle(struct tp_trace *trace, bool alone)
{
    if (!trace->kept)
        return;
    if (alone && trace->events.rank >= 0) {
        free(trace->what_if.rows);
        free(trace->segments.rows);
        trace->what_if = trace->lone_what_if;
        trace->played = trace->lone_played;
        memset(&trace->segments, 0, sizeof trace->segments);
    } else {
        free(trace->lone_what_if.rows);
    }
    memset(&trace->lone_what_if, 0, sizeof trace->lone_what_if);
    memset(&trace->lone_played, 0, sizeof trace->lone_played);
    trace->alone = alone;
    trace->kept = false;
}
