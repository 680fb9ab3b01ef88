/* SPDX-License-Identifier: MIT */
/*
 * What got slower, by name: the moments of both runs (trace_spent.h) of one
 * name, wherever they are in the tree. Why a step takes longer is told by
 * places; but a kernel that is gone from one place and new in another, since
 * one run records its modules and the other does not, got no slower. Nor did
 * one that another kernel gave way to, in an operator for which the device does
 * no more than before; so each kernel knows its operators. A call that waits in
 * one run and not in the other is one call.
 *
 * A row of a trace knows how it scatters from step to step. How the sum of
 * several does depends on whether they scatter together; the sum of their
 * standard deviations is what it is at most, so that is taken. Sorting: n log n
 * in the rows of both runs.
 */
#include "trace/trace_compare_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

enum side { BASE, TEST, SIDES };

/* A row of a trace by its name. */
struct item {
    const struct tp_spent_row *row;
    const char *name, *before;
    enum side side;
};

static const char *innermost(const char *path)
{
    for (const char *next; (next = strstr(path, " > ")) != NULL;)
        path = next + 3;
    return path;
}

static struct item item_of(const struct tp_spent_row *row, enum side side)
{
    const bool host = row->what == TP_SPENT_HOST;
    return (struct item){.row = row,
                         .name = host ? innermost(row->path) : row->name,
                         .before = row->what == TP_SPENT_GAP ? row->path : "",
                         .side = side};
}

/* DataLoaders of one worker and of several are one, whatever their class. */
static int compare_names(const char *a, const char *b)
{
    static const char loader[] = "enumerate(DataLoader)";
    const size_t length = sizeof loader - 1;
    return !strncmp(a, loader, length) && !strncmp(b, loader, length)
               ? 0
               : tp_order_text(a, b);
}

/* Calls are one kind, whether they wait or not. */
static int kind_of(const struct item *item)
{
    return item->row->what == TP_SPENT_WAIT ? TP_SPENT_CALL : item->row->what;
}

static int by_name(const struct item *x, const struct item *y)
{
    int order = tp_order_int64(kind_of(x), kind_of(y));
    if (!order)
        order = tp_order_text(x->before, y->before);
    return order ? order : compare_names(x->name, y->name);
}

static int by_name_and_place(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = by_name(x, y);
    if (!order)
        order = tp_order_int64(x->side, y->side);
    if (!order)
        order = tp_order_text(x->row->path, y->row->path);
    if (!order)
        order = tp_order_text(x->row->name, y->row->name);
    if (!order)
        order = tp_order_text(x->row->inputs, y->row->inputs);
    if (!order)
        order = tp_order_int64(x->row->what, y->row->what);
    return order ? order : tp_order_int64(x->row->ns, y->row->ns);
}

/* By operator, then what the device does for it, then itself. */
static int by_operator(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = tp_order_text(innermost(x->row->path), innermost(y->row->path));
    if (!order)
        order = tp_order_int64(x->row->what, y->row->what);
    return order ? order : by_name_and_place(a, b);
}

static enum tp_status collect(const struct tp_trace_run *const runs[SIDES],
                              struct item **items, size_t *count,
                              struct tp_error *err)
{
    size_t room = 1;
    *count = 0;
    for (enum side side = BASE; side < SIDES; side++)
        for (size_t i = 0; i < runs[side]->trace_count; i++)
            room += runs[side]->traces[i].spent.count;
    *items = malloc(room * sizeof **items);
    if (!*items)
        return tp_fail_memory(err);
    for (enum side side = BASE; side < SIDES; side++) {
        for (size_t i = 0; i < runs[side]->trace_count; i++) {
            const struct tp_trace *trace = &runs[side]->traces[i];
            for (size_t k = 0; k < trace->spent.count; k++)
                (*items)[(*count)++] = item_of(&trace->spent.rows[k], side);
        }
    }
    if (*count > 1)
        qsort(*items, *count, sizeof **items, by_name_and_place);
    return TP_OK;
}

/* The sums of one side. */
struct sums {
    double us, count, spread;
    double call_ns, wait_ns, waits; /* of calls                            */
    int64_t most;       /* ns of one place                                 */
    const char *path;   /* which                                           */
};

/* One place of a side, over its traces: [first, the end returned). */
static size_t add_place(const struct item *items, size_t first, size_t end,
                        double steps, struct sums *sums)
{
    const struct tp_spent_row *place = items[first].row;
    double ns = 0, squares = 0, count = 0;
    size_t i = first;
    for (; i < end && items[i].side == items[first].side &&
           !strcmp(items[i].row->path, place->path) &&
           !strcmp(items[i].row->name, place->name) &&
           !strcmp(items[i].row->inputs, place->inputs) &&
           items[i].row->what == place->what;
         i++) {
        ns += (double)items[i].row->ns;
        squares += items[i].row->squares;
        count += (double)items[i].row->count;
    }
    const double mean = ns / steps;
    sums->us += mean / 1e3;
    sums->count += count / steps;
    sums->spread +=
        sqrt(fmax(0, squares - steps * mean * mean) / (steps - 1)) / 1e3;
    if (place->what == TP_SPENT_WAIT) {
        sums->wait_ns += ns;
        sums->waits += count;
    } else {
        sums->call_ns += ns;
    }
    if (!sums->path || ns > (double)sums->most) {
        sums->most = (int64_t)ns;
        sums->path = place->path;
    }
    return i;
}

/* --- operators that launch ------------------------------------------------ */

/* An operator: what the device does for it, and how often it runs. */
struct launcher {
    const char *name;
    struct sums sums[SIDES], calls[SIDES];
};

struct launchers {
    struct launcher *rows; /* by name                                      */
    size_t count;
    const double *steps; /* [SIDES]                                        */
};

/* The items of device work and operators that are in some operator, as
 * launchers by name; owned by the caller. */
static enum tp_status find_launchers(const struct item *all, size_t count,
                                     struct launchers *made,
                                     struct tp_error *err)
{
    struct item *items = malloc((count + 1) * sizeof *items);
    size_t kept = 0;
    made->rows = calloc(count + 1, sizeof *made->rows);
    if (!items || !made->rows) {
        free(items);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        if (*all[i].row->path && (all[i].row->what == TP_SPENT_DEVICE ||
                                  all[i].row->what == TP_SPENT_HOST))
            items[kept++] = all[i];
    if (kept > 1)
        qsort(items, kept, sizeof *items, by_operator);
    for (size_t i = 0; i < kept;) {
        const char *name = innermost(items[i].row->path);
        const bool device = items[i].row->what == TP_SPENT_DEVICE;
        const enum side side = items[i].side;
        if (!made->count ||
            strcmp(made->rows[made->count - 1].name, name) != 0)
            made->rows[made->count++].name = name;
        struct launcher *now = &made->rows[made->count - 1];
        i = add_place(items, i, kept, made->steps[side],
                      device ? &now->sums[side] : &now->calls[side]);
    }
    free(items);
    return TP_OK;
}

static int compare_launchers(const void *a, const void *b)
{
    return tp_order_text(((const struct launcher *)a)->name,
                         ((const struct launcher *)b)->name);
}

static void add_launcher(const struct launcher *launcher,
                         struct tp_launchers *all)
{
    all->count++;
    all->base_us += launcher->sums[BASE].us;
    all->test_us += launcher->sums[TEST].us;
    all->base_spread += launcher->sums[BASE].spread;
    all->test_spread += launcher->sums[TEST].spread;
    all->base_per_step += launcher->calls[BASE].count;
    all->test_per_step += launcher->calls[TEST].count;
}

/* The operators of the items of one kernel where it changed as in all; sorts
 * the items by operator. Work that is in none has none that are known. */
static struct tp_launchers launchers_of(struct item *items, size_t count,
                                        double change,
                                        const struct launchers *launchers)
{
    struct tp_launchers all = {.count = 0};
    bool known = true;
    qsort(items, count, sizeof *items, by_operator);
    for (size_t i = 0; i < count;) {
        const struct launcher key = {.name = innermost(items[i].row->path)};
        double here = 0;
        for (; i < count && !strcmp(innermost(items[i].row->path), key.name);
             i++)
            here += (double)items[i].row->ns / launchers->steps[items[i].side] *
                    (items[i].side == TEST ? 1 : -1);
        if (here * change <= 0)
            continue;
        const struct launcher *launcher =
            launchers->count ? bsearch(&key, launchers->rows, launchers->count,
                                       sizeof key, compare_launchers)
                             : NULL;
        known &= launcher != NULL;
        if (launcher)
            add_launcher(launcher, &all);
    }
    return known ? all : (struct tp_launchers){.count = 0};
}

/* --- rows ----------------------------------------------------------------- */

/* Of calls, what most of the second run's time is, or of the first's where
 * that has none. */
static int what_of(const struct item *item, const struct sums sums[SIDES])
{
    const struct sums *told = sums[TEST].path ? &sums[TEST] : &sums[BASE];
    if (kind_of(item) != TP_SPENT_CALL)
        return item->row->what;
    return told->wait_ns > told->call_ns ||
                   (told->wait_ns == told->call_ns && told->waits > 0)
               ? TP_SPENT_WAIT
               : TP_SPENT_CALL;
}

/* The items [first, end) of one name. */
static struct tp_named_row make_row(const struct item *items, size_t first,
                                    size_t end, const double steps[SIDES])
{
    struct sums sums[SIDES] = {{.us = 0}, {.us = 0}};
    for (size_t i = first; i < end;) {
        const enum side side = items[i].side;
        i = add_place(items, i, end, steps[side], &sums[side]);
    }
    const struct sums *base = &sums[BASE], *test = &sums[TEST];
    const char *name = items[end - 1].name, *old = items[first].name;
    return (struct tp_named_row){
        .what = what_of(&items[first], sums),
        .base_waits = base->wait_ns > 0 || base->waits > 0,
        .name = name, /* of the second run, if it has it                   */
        .base_name = strcmp(old, name) != 0 ? old : "",
        .before = items[first].before,
        .path = test->path && test->most > 0 ? test->path
                : base->path                 ? base->path
                                             : test->path,
        .base_per_step = base->count,
        .test_per_step = test->count,
        .base_us = base->us,
        .test_us = test->us,
        .change_us = test->us - base->us,
        .base_spread = steps[BASE] > 1 ? base->spread : NAN,
        .test_spread = steps[TEST] > 1 ? test->spread : NAN};
}

/* Whether the rows of a run are of as many steps as its sums are divided by. */
static bool knows_scatter(const struct tp_trace_run *run,
                          const struct tp_trace_comparison *comparison)
{
    bool known = true;
    for (size_t i = 0; i < run->trace_count; i++)
        known &= run->traces[i].spent_steps == 0;
    return known || strcmp(comparison->why_per, "step") == 0;
}

/* Largest increase first. */
static int by_change(const void *a, const void *b)
{
    const struct tp_named_row *x = a, *y = b;
    int order = tp_order_double(y->change_us, x->change_us);
    if (!order)
        order = tp_order_int64(x->what, y->what);
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->before, y->before);
}

enum tp_status tp_trace_compare_names(const struct tp_trace_run *base,
                                      const struct tp_trace_run *test,
                                      struct tp_trace_comparison *comparison,
                                      struct tp_error *err)
{
    const struct tp_trace_run *const runs[SIDES] = {base, test};
    const double steps[SIDES] = {comparison->why_base_count,
                                 comparison->why_test_count};
    struct item *items = NULL;
    struct launchers launchers = {.steps = steps};
    size_t count = 0;
    enum tp_status status = collect(runs, &items, &count, err);
    if (status == TP_OK)
        status = find_launchers(items, count, &launchers, err);
    if (status == TP_OK)
        status = tp_grow(&comparison->named.rows, &comparison->named.capacity,
                         count + 1, sizeof *comparison->named.rows, err);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1; end < count && by_name(&items[i], &items[end]) == 0;
             end++) {
        }
        struct tp_named_row row = make_row(items, i, end, steps);
        if (row.what == TP_SPENT_DEVICE)
            row.launchers =
                launchers_of(&items[i], end - i, row.change_us, &launchers);
        row.base_spread = knows_scatter(base, comparison) ? row.base_spread
                                                          : NAN;
        row.test_spread = knows_scatter(test, comparison) ? row.test_spread
                                                          : NAN;
        comparison->named.rows[comparison->named.count++] = row;
    }
    if (comparison->named.count > 1)
        qsort(comparison->named.rows, comparison->named.count,
              sizeof *comparison->named.rows, by_change);
    free(items);
    free(launchers.rows);
    return status;
}
