/* SPDX-License-Identifier: MIT */
/*
 * Why a step takes longer: the moments of both runs (trace_spent.h), matched by
 * place in the tree, then by device work and inputs. What only one run has in a
 * place that both have was replaced by what only the other has; what is matched
 * is slower, or happens more often, whichever costs more of the change.
 *
 * As every moment of a step is in one row, the changes of all rows add up to
 * the change of the step; differences of times by name would count what runs
 * side by side twice. Sorting: n log n in the rows of both runs.
 */
#include "trace/trace_compare_why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace_compare_causes.h"

enum side { BASE, TEST, SIDES };

/* A row of a trace, with its side. */
struct item {
    const struct tp_spent_row *row;
    enum side side;
    size_t inputs; /* bytes of its inputs that count                       */
};

/* One thing of a place: sums of both sides. */
struct thing {
    const struct tp_spent_row *row; /* for its texts */
    const struct item *item;
    size_t others; /* further names that its sums are of */
    double us[SIDES], count[SIDES]; /* of a step */
};

struct state {
    struct tp_trace_comparison *comparison;
    double steps[SIDES];
    struct item *items;
    struct thing *things;
    size_t count;
};

/* A gap is told by both ends, so that its place is both. */
static int by_place(const struct tp_spent_row *x, const struct tp_spent_row *y)
{
    int order = tp_order_int64(x->what, y->what);
    if (!order)
        order = strcmp(x->path, y->path);
    return !order && (x->what == TP_SPENT_GAP || x->what == TP_SPENT_CALL ||
                      x->what == TP_SPENT_WAIT)
               ? strcmp(x->name, y->name)
               : order;
}

static int by_thing(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const size_t least = x->inputs < y->inputs ? x->inputs : y->inputs;
    int order = by_place(x->row, y->row);
    if (!order)
        order = strcmp(x->row->name, y->row->name);
    if (!order)
        order = memcmp(x->row->inputs, y->row->inputs, least);
    return order ? order
                 : tp_order_int64((int64_t)x->inputs, (int64_t)y->inputs);
}

/* Types follow shapes; not all versions of the profiler record them. */
static const char *types_of(const char *inputs)
{
    return strstr(inputs, " [\"");
}

/* Where one run has no types, inputs are told apart by shapes alone, and an
 * empty list is the same as none. */
static void leave_types_out(struct state *state)
{
    bool types[SIDES] = {false, false};
    for (size_t i = 0; i < state->count; i++)
        types[state->items[i].side] |=
            types_of(state->items[i].row->inputs) != NULL;
    for (size_t i = 0; i < state->count && types[BASE] != types[TEST]; i++) {
        const char *inputs = state->items[i].row->inputs;
        const char *end = types_of(inputs);
        const size_t length = strlen(inputs);
        size_t shapes = end ? (size_t)(end - inputs) : length;
        if (!end && length >= 3 && !strcmp(inputs + length - 3, " []"))
            shapes -= 3;
        state->items[i].inputs =
            shapes == 2 && !memcmp(inputs, "[]", 2) ? 0 : shapes;
    }
}

static enum tp_status collect(struct state *state,
                              const struct tp_trace_run *const runs[SIDES],
                              struct tp_error *err)
{
    size_t room = 1;
    for (enum side side = BASE; side < SIDES; side++) {
        for (size_t i = 0; i < runs[side]->trace_count; i++)
            room += runs[side]->traces[i].spent.count;
    }
    state->items = malloc(room * sizeof *state->items);
    state->things = malloc(room * sizeof *state->things);
    if (!state->items || !state->things)
        return tp_fail_memory(err);
    for (enum side side = BASE; side < SIDES; side++) {
        for (size_t i = 0; i < runs[side]->trace_count; i++) {
            const struct tp_trace *trace = &runs[side]->traces[i];
            for (size_t k = 0; k < trace->spent.count; k++)
                state->items[state->count++] =
                    (struct item){&trace->spent.rows[k], side,
                                  strlen(trace->spent.rows[k].inputs)};
        }
    }
    leave_types_out(state);
    if (state->count > 1)
        qsort(state->items, state->count, sizeof *state->items, by_thing);
    return TP_OK;
}

/* What sums are divided by: typical steps where both runs have some, as
 * /compare/steps does, else traces. */
static void find_steps(struct state *state,
                       const struct tp_trace_run *const runs[SIDES])
{
    double steps[SIDES] = {0};
    for (enum side side = BASE; side < SIDES; side++) {
        for (size_t i = 0; i < runs[side]->trace_count; i++)
            steps[side] += (double)runs[side]->traces[i].spent_steps;
    }
    for (enum side side = BASE; side < SIDES; side++)
        state->steps[side] = steps[BASE] > 0 && steps[TEST] > 0
                                 ? steps[side]
                                 : (double)runs[side]->trace_count;
    state->comparison->why_per =
        steps[BASE] > 0 && steps[TEST] > 0 ? "step" : "trace";
    state->comparison->why_base_count = state->steps[BASE];
    state->comparison->why_test_count = state->steps[TEST];
}

/* Adds up the items of one thing from `first` on; returns their end. */
static size_t add_thing(const struct state *state, size_t first,
                        struct thing *thing)
{
    size_t i = first;
    *thing = (struct thing){.row = state->items[first].row,
                            .item = &state->items[first]};
    for (; i < state->count && by_thing(thing->item, &state->items[i]) == 0;
         i++) {
        const struct item *item = &state->items[i];
        const double steps = state->steps[item->side];
        thing->us[item->side] += (double)item->row->ns / 1e3 / steps;
        thing->count[item->side] += (double)item->row->count / steps;
    }
    return i;
}

static bool has(const struct thing *thing, enum side side)
{
    return thing->count[side] > 0 || thing->us[side] > 0;
}

/* What of a matched thing changed: how often it happens, or how long each
 * takes. */
static enum tp_why_change change_of(const struct thing *thing)
{
    const double change = thing->us[TEST] - thing->us[BASE];
    const double more = thing->count[TEST] - thing->count[BASE];
    const double each =
        thing->count[BASE] > 0 ? thing->us[BASE] / thing->count[BASE] : 0;
    if (change == 0 && more == 0)
        return TP_WHY_UNCHANGED;
    if (more != 0 && more * change >= 0 &&
        fabs(more * each) >= fabs(change) / 2)
        return more > 0 ? TP_WHY_MORE : TP_WHY_FEWER;
    return change == 0  ? TP_WHY_UNCHANGED
           : change > 0 ? TP_WHY_SLOWER
                        : TP_WHY_FASTER;
}

static const char *const kinds[TP_SPENT_KINDS] = {
    [TP_SPENT_DEVICE] = "device", [TP_SPENT_HOST] = "host",
    [TP_SPENT_CALL] = "call",     [TP_SPENT_WAIT] = "wait",
    [TP_SPENT_GAP] = "gap",
};

static const char *const changes[TP_WHY_CHANGES] = {
    [TP_WHY_UNCHANGED] = "unchanged", [TP_WHY_SLOWER] = "slower",
    [TP_WHY_FASTER] = "faster",       [TP_WHY_MORE] = "more",
    [TP_WHY_FEWER] = "fewer",         [TP_WHY_ADDED] = "added",
    [TP_WHY_REMOVED] = "removed",     [TP_WHY_REPLACED] = "replaced",
    [TP_WHY_RESHAPED] = "reshaped",
};

/* A row of one thing, or of one on each side. */
static enum tp_status add_row(struct state *state, enum tp_why_change change,
                              const struct thing *base,
                              const struct thing *test, struct tp_error *err)
{
    struct tp_trace_comparison *comparison = state->comparison;
    if (tp_grow(&comparison->why.rows, &comparison->why.capacity,
                comparison->why.count + 1, sizeof *comparison->why.rows,
                err) != TP_OK)
        return TP_E_MEMORY;
    const struct tp_spent_row *row = base ? base->row : test->row;
    comparison->why.rows[comparison->why.count++] = (struct tp_why_row){
        .what = row->what,
        .kind = kinds[row->what],
        .how = change,
        .change = changes[change],
        .path = row->path,
        .base_name = base ? base->row->name : "",
        .test_name = test ? test->row->name : "",
        .base_inputs = base ? base->row->inputs : "",
        .test_inputs = test ? test->row->inputs : "",
        .others = (base ? base->others : 0) +
                  (test && test != base ? test->others : 0),
        .base_per_step = base ? base->count[BASE] : 0,
        .test_per_step = test ? test->count[TEST] : 0,
        .base_us = base ? base->us[BASE] : 0,
        .test_us = test ? test->us[TEST] : 0,
        .change_us = (test ? test->us[TEST] : 0) - (base ? base->us[BASE] : 0)};
    return TP_OK;
}

/* The thing of [first, end) that only one side has, with most time there; its
 * sums become those of all of them. NULL: there are none. */
static struct thing *only_one(struct thing *things, size_t count,
                              enum side side)
{
    struct thing *most = NULL;
    const char *last = NULL; /* things of a name are beside each other     */
    size_t names = 0;
    double us = 0, number = 0;
    for (size_t i = 0; i < count; i++) {
        if (!has(&things[i], side) || has(&things[i], !side))
            continue;
        us += things[i].us[side];
        number += things[i].count[side];
        names += !last || strcmp(last, things[i].row->name) != 0;
        last = things[i].row->name;
        if (!most || things[i].us[side] > most->us[side])
            most = &things[i];
    }
    if (most) {
        most->us[side] = us;
        most->count[side] = number;
        most->others = names - 1;
    }
    return most;
}

/* The things of one place: those that both sides have, then the rest. */
static enum tp_status add_place(struct state *state, size_t count,
                                struct tp_error *err)
{
    enum tp_status status = TP_OK;
    struct thing *things = state->things;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        if (has(&things[i], BASE) && has(&things[i], TEST))
            status = add_row(state, change_of(&things[i]), &things[i],
                             &things[i], err);
    }
    struct thing *base = only_one(things, count, BASE);
    struct thing *test = only_one(things, count, TEST);
    if (status != TP_OK || (!base && !test))
        return status;
    enum tp_why_change change = !base ? TP_WHY_ADDED : TP_WHY_REMOVED;
    if (base && test)
        change = base->item->inputs != test->item->inputs ||
                         memcmp(base->row->inputs, test->row->inputs,
                                base->item->inputs)
                     ? TP_WHY_RESHAPED
                     : TP_WHY_REPLACED;
    return add_row(state, change, base, test, err);
}

static enum tp_status add_places(struct state *state, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < state->count && status == TP_OK;) {
        const struct tp_spent_row *place = state->items[i].row;
        size_t count = 0;
        while (i < state->count && by_place(place, state->items[i].row) == 0)
            i = add_thing(state, i, &state->things[count++]);
        status = add_place(state, count, err);
    }
    return status;
}

/* Largest change first. */
static int by_change(const void *a, const void *b)
{
    const struct tp_why_row *x = a, *y = b;
    int order = tp_order_double(fabs(y->change_us), fabs(x->change_us));
    if (!order)
        order = tp_order_int64(x->what, y->what);
    if (!order)
        order = strcmp(x->path, y->path);
    if (!order)
        order = strcmp(x->base_name, y->base_name);
    return order ? order : strcmp(x->base_inputs, y->base_inputs);
}

/* Both sums of what the rows hold, and what is missing of the steps. */
static void add_up(struct tp_trace_comparison *comparison)
{
    comparison->why_base_us = comparison->why_test_us = 0;
    for (size_t i = 0; i < comparison->why.count; i++) {
        comparison->why_base_us += comparison->why.rows[i].base_us;
        comparison->why_test_us += comparison->why.rows[i].test_us;
    }
}

enum tp_status tp_trace_compare_why(const struct tp_trace_run *base,
                                    const struct tp_trace_run *test,
                                    struct tp_trace_comparison *comparison,
                                    struct tp_error *err)
{
    const struct tp_trace_run *const runs[SIDES] = {base, test};
    struct state state = {.comparison = comparison};
    find_steps(&state, runs);
    enum tp_status status = collect(&state, runs, err);
    if (status == TP_OK)
        status = add_places(&state, err);
    if (comparison->why.count > 1)
        qsort(comparison->why.rows, comparison->why.count,
              sizeof *comparison->why.rows, by_change);
    add_up(comparison);
    if (status == TP_OK)
        status = tp_trace_compare_causes(comparison, err);
    free(state.items);
    free(state.things);
    return status;
}
