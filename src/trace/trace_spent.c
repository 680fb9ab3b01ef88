/* SPDX-License-Identifier: MIT */
/*
 * Each moment of the typical steps, charged once: to what the device runs, else
 * to what the host is in, else to the gap between two operators. What is
 * charged is told apart by its place in the tree of modules, ranges and
 * operators, which two runs of one program share even where kernels or times
 * differ.
 *
 * Self times of operators, as key_averages has them, do not add up to a step:
 * host and device run side by side. Here the device comes first, as what runs
 * there hides the host. Charges are pieces, sorted by key and added up: n log n
 * in the events, and for each lane of the host a walk over the idle time left.
 */
#include "trace/trace_spent.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "trace/interval.h"
#include "trace/trace_places.h"
#include "trace/trace_sets.h"

enum {
    INPUTS_SHOWN = 512, /* bytes of the shapes and types of an operator      */
    AROUND_MAX = 32     /* operators around one without inputs               */
};

/* Time, or a call, of one thing in one step. */
struct piece {
    uint32_t what, node, name, inputs, step;
    int64_t ns, count;
};

struct spending {
    struct tp_trace *trace;
    int64_t *begins;           /* [begin_count] of the steps that count    */
    size_t begin_count;
    struct tp_intervals steps, idle; /* steps that touch are one here      */
    struct tp_trace_places places;
    uint32_t *inputs; /* [events.count] text of an operator's inputs */
    struct piece *pieces;
    size_t piece_count, piece_capacity;
};

/* --- inputs ------------------------------------------------------------- */

/* Shapes and types as the trace has them, one text for equal ones. */
static uint32_t inputs_text(struct tp_events *events, uint32_t inputs)
{
    const char *text = events->inputs.texts[inputs];
    const size_t dims = strcspn(text, TP_INPUT_END);
    const char *types = text[dims] ? text + dims + 1 : "";
    const size_t length = strcspn(types, TP_INPUT_END);
    char shown[INPUTS_SHOWN];
    size_t n = dims < sizeof shown / 2 ? dims : sizeof shown / 2;
    memcpy(shown, text, n);
    if (length) {
        const size_t room = sizeof shown - n - 1;
        shown[n++] = ' ';
        memcpy(shown + n, types, length < room ? length : room);
        n += length < room ? length : room;
    }
    return tp_events_text(events, shown, n);
}

static enum tp_status make_inputs(struct spending *s, struct tp_error *err)
{
    struct tp_events *events = &s->trace->events;
    uint32_t *known = calloc(events->inputs.count + 1, sizeof *known);
    s->inputs = calloc(events->count + 1, sizeof *s->inputs);
    enum tp_status status = known && s->inputs ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < events->op_input_count && status == TP_OK; i++) {
        const struct tp_op_inputs *row = &events->op_inputs[i];
        if (!known[row->inputs])
            known[row->inputs] = inputs_text(events, row->inputs);
        s->inputs[row->event] = known[row->inputs];
        if (known[row->inputs] == TP_NO_DETAIL)
            status = tp_fail_memory(err);
    }
    free(known);
    return status;
}

/* Inputs of an operator, or of the nearest one around it that has some. */
static uint32_t inputs_of(const struct spending *s, uint32_t op)
{
    for (int i = 0; op != TP_NO_EVENT && i < AROUND_MAX; i++) {
        if (s->inputs[op])
            return s->inputs[op];
        op = s->trace->index.parent[op];
    }
    return 0;
}

/* --- what is charged ------------------------------------------------------ */

static enum tp_status add_piece(struct spending *s, struct piece piece,
                                struct tp_error *err)
{
    const enum tp_status status =
        tp_grow(&s->pieces, &s->piece_capacity, s->piece_count + 1,
                sizeof *s->pieces, err);
    if (status == TP_OK)
        s->pieces[s->piece_count++] = piece;
    return status;
}

static struct piece piece_of_device(const struct spending *s, uint32_t event)
{
    const uint32_t call = s->trace->index.call[event];
    const uint32_t op = s->trace->index.op[event];
    return (struct piece){.what = TP_SPENT_DEVICE,
                          .node = call == TP_NO_EVENT ? TP_TREE_ROOT
                                                      : s->places.node[call],
                          .name = s->trace->events.name[event],
                          .inputs = inputs_of(s, op)};
}

static struct piece piece_of_host(const struct spending *s, uint32_t event)
{
    const struct tp_trace *trace = s->trace;
    struct piece piece = {.what = TP_SPENT_HOST,
                          .node = s->places.node[event],
                          .inputs = s->inputs[event]};
    if (tp_place_is_call(&trace->events, event)) {
        piece.what =
            tp_trace_blocks(trace, event) ? TP_SPENT_WAIT : TP_SPENT_CALL;
        piece.name = trace->events.name[event];
    }
    return piece;
}

/* The step that a moment is in, among those that count. */
static uint32_t step_at(const struct spending *s, int64_t moment)
{
    size_t above;
    TP_PARTITION_POINT(above, s->begin_count, s->begins[above] <= moment);
    return above ? (uint32_t)above - 1 : 0;
}

/* The steps that count: typical ones, or W. */
static enum tp_status find_steps(struct spending *s, struct tp_error *err)
{
    struct tp_trace *trace = s->trace;
    const struct tp_trace_index *index = &trace->index;
    enum tp_status status = TP_OK;
    size_t row = 0;
    trace->spent_steps = 0;
    s->begins = calloc(index->step_count + 1, sizeof *s->begins);
    if (!s->begins)
        return tp_fail_memory(err);
    for (size_t i = 0; i < index->step_count && status == TP_OK; i++) {
        while (row < trace->steps.count &&
               trace->steps.rows[row].step != index->steps[i].number)
            row++;
        if (row == trace->steps.count)
            break;
        if (!trace->steps.rows[row++].typical)
            continue;
        trace->spent_steps++;
        s->begins[s->begin_count++] = index->steps[i].from;
        status = tp_intervals_add(&s->steps, index->steps[i].from,
                                  index->steps[i].to, err);
    }
    if (status == TP_OK && trace->spent_steps == 0) {
        const struct tp_interval window = tp_trace_window(trace);
        status = tp_intervals_add(&s->steps, window.from, window.to, err);
    }
    tp_intervals_unite(&s->steps);
    return status;
}

/* Adds what of [from, to) lies in the steps to `set`; *next, the first step
 * that can matter, only grows. Returns the length. */
static int64_t cut_to_steps(const struct spending *s, size_t *next,
                            struct tp_interval piece, struct tp_intervals *set,
                            enum tp_status *status)
{
    int64_t length = 0;
    while (*next < s->steps.count && s->steps.items[*next].to <= piece.from)
        ++*next;
    for (size_t i = *next; i < s->steps.count; i++) {
        const struct tp_interval step = s->steps.items[i];
        if (step.from >= piece.to)
            break;
        const int64_t from = step.from > piece.from ? step.from : piece.from;
        const int64_t to = step.to < piece.to ? step.to : piece.to;
        length += to - from;
        if (set && *status == TP_OK)
            *status = tp_intervals_add(set, from, to, NULL);
    }
    return length;
}

/* Device events, by start: what is left of each behind those before it; the
 * rest of the steps is idle. */
static enum tp_status charge_device(struct spending *s, struct tp_error *err)
{
    const struct tp_events *events = &s->trace->events;
    const struct tp_trace_index *index = &s->trace->index;
    enum tp_status status = TP_OK;
    int64_t covered = INT64_MIN;
    size_t busy_step = 0, idle_step = 0, count_step = 0;
    for (size_t i = 0; i < index->device_count && status == TP_OK; i++) {
        const uint32_t event = index->device[i];
        const int64_t start = events->start[event];
        const int64_t end = start + events->duration[event];
        const int64_t from = start > covered ? start : covered;
        struct piece piece = piece_of_device(s, event);
        if (start > covered)
            cut_to_steps(s, &idle_step, (struct tp_interval){covered, start},
                         &s->idle, &status);
        if (end > from)
            piece.ns = cut_to_steps(
                s, &busy_step, (struct tp_interval){from, end}, NULL, &status);
        piece.step = step_at(s, from);
        piece.count =
            cut_to_steps(s, &count_step, (struct tp_interval){start, start + 1},
                         NULL, &status) > 0;
        covered = end > covered ? end : covered;
        if (status == TP_OK && (piece.ns || piece.count))
            status = add_piece(s, piece, err);
    }
    cut_to_steps(s, &idle_step, (struct tp_interval){covered, INT64_MAX},
                 &s->idle, &status);
    tp_intervals_unite(&s->idle);
    return status == TP_OK ? TP_OK : tp_fail_memory(err);
}

/* Which host events a walk charges. */
enum walk { WALK_WORK, WALK_RANGES };

static bool is_charged(const struct spending *s, uint32_t event, enum walk walk)
{
    const struct tp_events *events = &s->trace->events;
    const uint32_t kinds = s->trace->index.kinds[events->name[event]];
    const bool work = events->category[event] == TP_EVENT_CPU_OP ||
                      tp_place_is_call(events, event) ||
                      (kinds & TP_NAME_DATALOADER);
    return !tp_place_is_step(s->trace, event) && work == (walk == WALK_WORK);
}

/* A walk over what the host is in, against the idle time that is left. */
struct walker {
    struct spending *s;
    enum walk walk;
    size_t next; /* first stretch of idle time not yet behind   */
    struct tp_intervals used;
    enum tp_status status;
};

/* The innermost event of [from, to) is this one. */
static void charge_host(struct walker *w, uint32_t event, int64_t from,
                        int64_t to)
{
    const struct tp_intervals *idle = &w->s->idle;
    struct piece piece = {.ns = 0};
    if (from >= to || w->status != TP_OK || !is_charged(w->s, event, w->walk))
        return;
    while (w->next < idle->count && idle->items[w->next].to <= from)
        w->next++;
    for (size_t i = w->next; i < idle->count && w->status == TP_OK; i++) {
        const struct tp_interval gap = idle->items[i];
        if (gap.from >= to)
            break;
        const struct tp_interval part = {gap.from > from ? gap.from : from,
                                         gap.to < to ? gap.to : to};
        piece.ns += part.to - part.from;
        w->status = tp_intervals_add(&w->used, part.from, part.to, NULL);
    }
    if (piece.ns && w->status == TP_OK) {
        const int64_t ns = piece.ns;
        piece = piece_of_host(w->s, event);
        piece.ns = ns;
        piece.step = step_at(w->s, from);
        w->status = add_piece(w->s, piece, NULL);
    }
}

/* The events [first, end) of a lane. */
static enum tp_status walk_lane(struct spending *s, size_t first, size_t end,
                                enum walk walk, struct tp_error *err)
{
    const struct tp_events *events = &s->trace->events;
    struct walker w = {.s = s, .walk = walk};
    struct tp_intervals left = {0};
    uint32_t top = TP_NO_EVENT;
    int64_t cursor = INT64_MIN;
    for (size_t i = first; i <= end; i++) {
        const int64_t start =
            i < end ? events->start[s->places.list[i]] : INT64_MAX;
        while (top != TP_NO_EVENT) {
            const int64_t to = events->start[top] + events->duration[top];
            if (to > start)
                break;
            charge_host(&w, top, cursor, to);
            cursor = to > cursor ? to : cursor;
            top = s->places.parent[top];
        }
        if (i == end)
            break;
        if (top != TP_NO_EVENT)
            charge_host(&w, top, cursor, start);
        cursor = start > cursor ? start : cursor;
        top = s->places.list[i];
    }
    tp_intervals_unite(&w.used);
    if (w.status == TP_OK)
        w.status = tp_intervals_subtract(&s->idle, &w.used, &left, NULL);
    tp_intervals_clear(&w.used);
    if (w.status != TP_OK) {
        tp_intervals_clear(&left);
        return tp_fail_memory(err);
    }
    tp_intervals_clear(&s->idle);
    s->idle = left;
    return TP_OK;
}

/* Where the events of the main lane are in the list: [first, end). */
static void find_main(const struct spending *s, size_t *first, size_t *end)
{
    const struct tp_trace *trace = s->trace;
    *first = *end = 0;
    for (size_t i = 0; i < s->places.count; i++) {
        if (trace->events.lane[s->places.list[i]] != trace->index.main_lane)
            continue;
        *first = *end ? *first : i;
        *end = i + 1;
    }
}

static enum tp_status charge_lanes(struct spending *s, size_t first, size_t end,
                                   struct tp_error *err)
{
    const uint32_t *lane = s->trace->events.lane;
    enum tp_status status = walk_lane(s, first, end, WALK_WORK, err);
    for (size_t i = 0, next; i < s->places.count && status == TP_OK; i = next) {
        for (next = i + 1;
             next < s->places.count &&
             lane[s->places.list[next]] == lane[s->places.list[i]];
             next++) {
        }
        if (i != first)
            status = walk_lane(s, i, next, WALK_WORK, err);
    }
    return status == TP_OK ? walk_lane(s, first, end, WALK_RANGES, err)
                           : status;
}

/* The outermost event around one that is no step; the step, if all are. */
static uint32_t outermost(const struct spending *s, uint32_t event)
{
    uint32_t around = s->places.parent[event];
    while (around != TP_NO_EVENT && !tp_place_is_step(s->trace, around)) {
        event = around;
        around = s->places.parent[event];
    }
    return event;
}

/* What is left is between two events of the main lane: [first, end). */
static enum tp_status charge_gaps(struct spending *s, size_t first, size_t end,
                                  struct tp_error *err)
{
    struct tp_events *events = &s->trace->events;
    static const char words[] = "edge of the step";
    const uint32_t bound = tp_events_text(events, words, sizeof words - 1);
    enum tp_status status = bound == TP_NO_DETAIL ? tp_fail_memory(err) : TP_OK;
    size_t next = first, last = SIZE_MAX;
    for (size_t i = 0; i < s->idle.count && status == TP_OK; i++) {
        const struct tp_interval gap = s->idle.items[i];
        while (next < end && events->start[s->places.list[next]] <= gap.from)
            next++;
        struct piece piece = {.what = TP_SPENT_GAP,
                              .ns = gap.to - gap.from,
                              .step = step_at(s, gap.from),
                              .count = next != last,
                              .name = bound};
        uint32_t before = bound;
        last = next;
        if (next > first) {
            const uint32_t event = outermost(s, s->places.list[next - 1]);
            before =
                tp_place_is_step(s->trace, event) ? bound : events->name[event];
        }
        if (next < end && !tp_place_is_step(s->trace, s->places.list[next]))
            piece.name = events->name[s->places.list[next]];
        status = tp_trace_tree_find(&s->places.tree, TP_TREE_ROOT, before,
                                    &piece.node, err);
        if (status == TP_OK)
            status = add_piece(s, piece, err);
    }
    return status;
}

/* How often each operator and each call begins in the steps. */
static enum tp_status count_calls(struct spending *s, struct tp_error *err)
{
    const struct tp_events *events = &s->trace->events;
    enum tp_status status = TP_OK;
    size_t next = 0;
    for (size_t i = 0; i < s->places.count && status == TP_OK; i++) {
        const uint32_t event = s->places.list[i];
        const int64_t start = events->start[event];
        if (i == 0 ||
            events->lane[event] != events->lane[s->places.list[i - 1]])
            next = 0;
        if (tp_place_is_step(s->trace, event) ||
            tp_place_is_merged(&s->places, s->trace, event) ||
            cut_to_steps(s, &next, (struct tp_interval){start, start + 1}, NULL,
                         &status) == 0)
            continue;
        struct piece piece = piece_of_host(s, event);
        piece.count = 1;
        status = add_piece(s, piece, err);
    }
    return status;
}

/* --- rows ----------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    int order = tp_order_int64(x->what, y->what);
    if (!order)
        order = tp_order_int64(x->node, y->node);
    if (!order)
        order = tp_order_int64(x->name, y->name);
    return order ? order : tp_order_int64(x->inputs, y->inputs);
}

static int by_key_and_step(const void *a, const void *b)
{
    const int order = by_key(a, b);
    return order ? order
                 : tp_order_int64(((const struct piece *)a)->step,
                                  ((const struct piece *)b)->step);
}

/* Adds up pieces of one key from `first` on, by step; returns their end. */
static size_t add_up(const struct spending *s, size_t first, struct piece *sum,
                     double *squares)
{
    const struct piece *pieces = s->pieces;
    size_t i = first;
    int64_t of_step = 0;
    *sum = pieces[first];
    sum->ns = sum->count = 0;
    *squares = 0;
    for (; i < s->piece_count && by_key(&pieces[first], &pieces[i]) == 0; i++) {
        if (i > first && pieces[i].step != pieces[i - 1].step) {
            *squares += (double)of_step * (double)of_step;
            of_step = 0;
        }
        of_step += pieces[i].ns;
        sum->ns += pieces[i].ns;
        sum->count += pieces[i].count;
    }
    *squares += (double)of_step * (double)of_step;
    return i;
}

static enum tp_status add_row(struct spending *s, const struct piece *sum,
                              double squares, const char *path,
                              struct tp_error *err)
{
    struct tp_trace *trace = s->trace;
    if (!path || tp_grow(&trace->spent.rows, &trace->spent.capacity,
                         trace->spent.count + 1, sizeof *trace->spent.rows,
                         NULL) != TP_OK)
        return tp_fail_memory(err);
    trace->spent.rows[trace->spent.count++] = (struct tp_spent_row){
        .what = sum->what,
        .path = path,
        .name = tp_events_get(&trace->events, sum->name),
        .inputs = tp_events_get(&trace->events, sum->inputs),
        .ns = sum->ns,
        .squares = squares,
        .count = sum->count};
    return TP_OK;
}

static enum tp_status make_rows(struct spending *s, struct tp_error *err)
{
    struct tp_text text = {0};
    const char *path = NULL;
    uint32_t node = UINT32_MAX;
    enum tp_status status = TP_OK;
    if (s->piece_count > 1)
        qsort(s->pieces, s->piece_count, sizeof *s->pieces, by_key_and_step);
    for (size_t i = 0, end; i < s->piece_count && status == TP_OK; i = end) {
        struct piece sum;
        double squares;
        end = add_up(s, i, &sum, &squares);
        if (sum.node != node)
            path = tp_trace_tree_path(&s->places.tree, &s->trace->events,
                                      sum.node, &text);
        node = sum.node;
        status = add_row(s, &sum, squares, path, err);
    }
    tp_text_clear(&text);
    return status;
}

static void clear(struct spending *s)
{
    free(s->begins);
    tp_intervals_clear(&s->steps);
    tp_intervals_clear(&s->idle);
    free(s->inputs);
    tp_trace_places_clear(&s->places);
    free(s->pieces);
}

enum tp_status tp_trace_spent(struct tp_trace *trace, struct tp_error *err)
{
    struct spending s = {.trace = trace, .places.merge = true};
    size_t first, end;
    enum tp_status status = find_steps(&s, err);
    if (status == TP_OK)
        status = tp_trace_places_make(trace, &s.places, err);
    if (status == TP_OK)
        status = make_inputs(&s, err);
    if (status == TP_OK)
        status = charge_device(&s, err);
    if (status == TP_OK) {
        find_main(&s, &first, &end);
        status = charge_lanes(&s, first, end, err);
    }
    if (status == TP_OK)
        status = charge_gaps(&s, first, end, err);
    if (status == TP_OK)
        status = count_calls(&s, err);
    if (status == TP_OK)
        status = make_rows(&s, err);
    clear(&s);
    return status;
}
