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
#include <stdatomic.h>
#include <stdbool.h>
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

/* What is asked: a change, or of TP_WHAT_IF_OPERATOR whose. */
struct question {
    enum tp_what_if_change kind;
    uint32_t op;
    int64_t ns; /* the answer                                               */
};

/* What a thread plays in. */
struct room {
    int64_t *ns; /* [arcs]                                                   */
    int64_t *at; /* [nodes]                                                  */
};

struct what_if {
    struct tp_trace *trace;
    struct tp_trace_replay replay;
    struct room *rooms; /* [workers]                                        */
    unsigned workers;
    struct question questions[TP_WHAT_IF_CHANGES + OPERATORS];
    size_t count;
    int64_t first_step, steps;
    atomic_bool failed; /* memory                                           */
};

/* Whether a change takes time from some arc. */
static bool applies(const struct tp_trace_replay *replay,
                    const struct change *change)
{
    return replay->parts & change->none || (change->loader && replay->loader) ||
           (change->queued && replay->queued);
}

/* Puts into ns what a change leaves. */
static void apply(const struct tp_trace_replay *r, const struct change *change,
                  int64_t *ns)
{
    for (size_t i = 0; i < r->arc_count; i++) {
        const struct tp_play_arc *arc = &r->arcs[i];
        if (change->none >> arc->part & 1)
            ns[i] = tp_play_spare(r, arc)->loader_ns;
        else
            ns[i] = arc->ns;
    }
    for (size_t i = 0; change->loader && i < r->arc_count; i++)
        ns[i] -= tp_play_spare(r, &r->arcs[i])->loader_ns;
    for (size_t i = 0; change->queued && i < r->arc_count; i++)
        ns[i] -= tp_play_spare(r, &r->arcs[i])->queued_ns;
    for (size_t i = 0; change->gone && i < r->arc_count; i++) {
        if (change->gone >> r->arcs[i].part & 1)
            ns[i] = TP_PLAY_GONE;
    }
}

/* Puts into ns what is left where an operator takes half its time. */
static void halve(const struct tp_trace_replay *r, uint32_t op, int64_t *ns)
{
    for (size_t i = 0; i < r->arc_count; i++)
        ns[i] = r->arcs[i].op == op && r->arcs[i].part != TP_PLAY_LOAD
                    ? r->arcs[i].ns / 2
                    : r->arcs[i].ns;
}

/* A thread that is alone plays in what was recorded. */
static bool make_room(const struct tp_trace_replay *r, struct room *room,
                      bool alone)
{
    if (room->ns)
        return true;
    if (alone)
        room->at = r->at;
    else if (!room->at)
        room->at = malloc((r->node_count + 1) * sizeof *room->at);
    if (room->at && !alone)
        memcpy(room->at, r->at, r->node_count * sizeof *room->at);
    if (room->at)
        room->ns = malloc((r->arc_count + 1) * sizeof *room->ns);
    return room->ns != NULL;
}

/* Answers one question. */
static void answer(void *context, size_t index, unsigned worker)
{
    struct what_if *w = context;
    struct question *question = &w->questions[index];
    struct room *room = &w->rooms[worker];
    if (!make_room(&w->replay, room, w->workers == 1)) {
        atomic_store(&w->failed, true);
        return;
    }
    if (question->kind == TP_WHAT_IF_OPERATOR) {
        halve(&w->replay, question->op, room->ns);
    } else {
        const struct change change = change_of(question->kind);
        apply(&w->replay, &change, room->ns);
    }
    question->ns = tp_trace_replay_play(&w->replay, room->ns, room->at);
}

/* Asks what no operator's time is; not what would change nothing. */
static void ask_changes(struct what_if *w)
{
    for (enum tp_what_if_change kind = TP_WHAT_IF_NOTHING;
         kind < TP_WHAT_IF_OPERATOR; kind++) {
        const struct change change = change_of(kind);
        if (kind == TP_WHAT_IF_NOTHING || applies(&w->replay, &change))
            w->questions[w->count++] = (struct question){.kind = kind};
    }
}

/* The operators with most time of their own, on host and device together. */
static enum tp_status ask_operators(struct what_if *w, struct tp_error *err)
{
    const struct tp_trace_replay *r = &w->replay;
    const size_t texts = w->trace->events.texts.count;
    int64_t *times = calloc(texts + 1, sizeof *times); /* of each text      */
    if (!times)
        return tp_fail_memory(err);
    for (size_t i = 0; i < r->arc_count; i++)
        if (r->arcs[i].part != TP_PLAY_LOAD) /* is no operator's work */
            times[r->arcs[i].op] +=
                r->arcs[i].ns - tp_play_spare(r, &r->arcs[i])->loader_ns;
    for (int n = 0; n < OPERATORS; n++) {
        uint32_t most = 0; /* that of no operator */
        times[0] = 0;
        for (uint32_t op = 1; op < texts; op++)
            most = times[op] > times[most] ? op : most;
        if (most == 0)
            break;
        w->questions[w->count++] =
            (struct question){.kind = TP_WHAT_IF_OPERATOR, .op = most};
        times[most] = 0;
    }
    free(times);
    return TP_OK;
}

static struct tp_what_if_row row_of(const struct what_if *w,
                                    const struct question *question)
{
    const double n = (double)w->steps;
    const double step_us = (double)w->replay.recorded_ns / n / 1e3;
    const double new_us = (double)question->ns / n / 1e3;
    return (struct tp_what_if_row){
        .changed = question->kind,
        .change = tp_what_if_name(question->kind),
        .name = tp_events_get(&w->trace->events, question->op),
        .first_step = w->first_step,
        .steps = w->steps,
        .step_us = step_us,
        .new_step_us = new_us,
        .won_us = step_us - new_us,
        .won = step_us > 0 ? (step_us - new_us) / step_us : NAN};
}

static enum tp_status add_rows(const struct what_if *w, struct tp_error *err)
{
    struct tp_trace *trace = w->trace;
    const enum tp_status status =
        tp_grow(&trace->what_if.rows, &trace->what_if.capacity,
                trace->what_if.count + w->count, sizeof *trace->what_if.rows,
                err);
    for (size_t i = 0; i < w->count && status == TP_OK; i++)
        trace->what_if.rows[trace->what_if.count++] =
            row_of(w, &w->questions[i]);
    return status;
}

/* Plays the graph for every question, and adds the rows. */
static enum tp_status answer_all(struct what_if *w, struct tp_error *err)
{
    struct tp_pool *pool = w->trace->pool;
    w->workers = tp_pool_size(pool);
    ask_changes(w);
    enum tp_status status = ask_operators(w, err);
    if (status != TP_OK)
        return status;
    w->rooms = calloc(w->workers, sizeof *w->rooms);
    if (!w->rooms)
        return tp_fail_memory(err);
    tp_pool_for(pool, w->count, answer, w);
    for (unsigned i = 0; i < w->workers; i++) {
        free(w->rooms[i].ns);
        if (w->rooms[i].at != w->replay.at)
            free(w->rooms[i].at);
    }
    free(w->rooms);
    return atomic_load(&w->failed) ? tp_fail_memory(err) : add_rows(w, err);
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
                                   const struct tp_path_base *base,
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
           tp_path_events(base, steps[*first].from, steps[*end].to) <=
               TP_WHAT_IF_EVENTS)
        ++*end;
    while (last > 0 && *first > 0 && is_typical(trace, *first - 1) &&
           tp_path_events(base, steps[*first - 1].from, steps[*end - 1].to) <=
               TP_WHAT_IF_EVENTS)
        --*first;
    return TP_OK;
}

static enum tp_status make(struct tp_trace *trace, struct tp_path_maker *maker,
                           struct tp_error *err)
{
    struct what_if w = {.trace = trace, .steps = 1};
    struct tp_step span = tp_path_extent(maker->base);
    enum tp_status status = TP_OK;
    if (trace->index.step_count > 0) {
        size_t first, end;
        status = choose_steps(trace, maker->base, &first, &end, err);
        if (status != TP_OK)
            return status;
        span.from = trace->index.steps[first].from;
        span.to = trace->index.steps[end - 1].to;
        w.first_step = trace->index.steps[first].number;
        w.steps = (int64_t)(end - first);
    }
    status = tp_trace_replay_make(maker, span.from, span.to, &w.replay, err);
    if (status == TP_OK)
        status = answer_all(&w, err);
    trace->played =
        (struct tp_played){span.from, w.replay.origin_ns, w.replay.recorded_ns,
                           w.first_step, w.steps};
    if (status == TP_OK)
        status = tp_trace_segments(trace, maker, &w.replay, err);
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
