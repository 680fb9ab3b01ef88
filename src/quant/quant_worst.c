/* SPDX-License-Identifier: MIT */
/*
 * A page has the casts of some thousand tensors only, and its map of SQNR is
 * of all: so the least of each of its cells is found here. Casts go to a list
 * that is sorted whenever it is full, when those of one cell become one; as it
 * then holds cells only, it grows with them and not with the casts.
 *
 * A map has no room for each module of a checkpoint, and a table of all would
 * be as long as that of the casts: names are cut as the map cuts them, to as
 * many parts as leave few of them; and what would be too large for a map is not
 * collected.
 *
 * Cost: each cast is sorted with as many others as there are cells at most, so
 * O(casts log cells).
 */
#include "quant/quant_worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/order.h"
#include "base/search.h"

/* --- modules ----------------------------------------------------------- */

enum { DEPTH_MOST = 12, FIRST_LIMIT = 1024 };

/* Bytes of the first parts of a name. */
static size_t cut_of(const char *name, size_t parts)
{
    size_t length = 0;
    while (name[length] && (name[length] != '.' || --parts > 0))
        length++;
    return length;
}

/* Names of so many parts; `full` once there are too many. */
struct names {
    const char *first[TP_QUANT_MODULES_MOST]; /* in order: names cut to it  */
    size_t length[TP_QUANT_MODULES_MOST];
    size_t count;
    bool full;
};

static int compare_cut(const struct names *names, size_t at, const char *name,
                       size_t length)
{
    const size_t own = names->length[at];
    const int order =
        memcmp(names->first[at], name, own < length ? own : length);
    return order ? order : tp_order_size(own, length);
}

static void note_name(struct names *names, size_t parts, const char *name)
{
    const size_t length = cut_of(name, parts);
    size_t at;
    if (names->full)
        return;
    TP_PARTITION_POINT(at, names->count,
                       compare_cut(names, at, name, length) < 0);
    if (at < names->count && compare_cut(names, at, name, length) == 0)
        return;
    names->full = names->count == TP_QUANT_MODULES_MOST;
    if (names->full)
        return;
    const size_t behind = names->count++ - at;
    memmove(&names->first[at + 1], &names->first[at],
            behind * sizeof *names->first);
    memmove(&names->length[at + 1], &names->length[at],
            behind * sizeof *names->length);
    names->first[at] = name;
    names->length[at] = length;
}

/* As many parts of the names of all modules as leave few of them: the depth at
 * which a map has its rows. */
static size_t depth_of(const struct tp_run *run)
{
    struct names *names = calloc(DEPTH_MOST + 1, sizeof *names);
    const char *last = "";
    size_t depth = 1;
    for (size_t i = 0; names && i < run->row_count + run->aside_count; i++) {
        const char *name = run->rows[i].label.module;
        for (size_t parts = 2; parts <= DEPTH_MOST && *name && name != last;
             parts++)
            note_name(&names[parts], parts, name);
        last = name;
    }
    while (names && depth < DEPTH_MOST && !names[depth + 1].full)
        depth++;
    free(names);
    return names ? depth : 0;
}

/* --- cells ------------------------------------------------------------- */

/* What the rows of a map are. */
enum by { BY_LAYER, BY_MODULE, BYS };

static const char *const by_words[BYS] = {"layer_idx", "module"};

struct maker {
    const struct tp_run *run;
    struct tp_quant_worst *made;
    enum by by;
    size_t first; /* of its cells                                          */
    bool full;    /* they are too many                                     */
    struct tp_arena *arena;
    struct tp_intern names;
    size_t depth, limit; /* of modules; of cells in the list               */
    bool over;           /* some tensor has an iteration                   */
    const char *module, *cut; /* the last one, and what is left of it      */
    struct tp_error *err;
};

static int compare_places(const struct tp_quant_cell *a,
                          const struct tp_quant_cell *b)
{
    int order = tp_order_int64(a->layer_idx, b->layer_idx);
    if (!order)
        order = tp_order_text(a->module, b->module);
    if (!order)
        order = tp_order_int64(a->iteration, b->iteration);
    if (!order)
        order = tp_order_text(a->tensor_name, b->tensor_name);
    return order;
}

static int compare_cells(const void *left, const void *right)
{
    const struct tp_quant_cell *a = left, *b = right;
    const int order = compare_places(a, b);
    return order ? order : tp_order_size(a->cast, b->cast);
}

/* Adds one to the last that is kept; false: that is another. */
static bool join_one(struct tp_quant_cell *last,
                     const struct tp_quant_cell *cell)
{
    if (compare_cells(last, cell))
        return false;
    last->casts += cell->casts;
    last->sqnr_db = fmin(last->sqnr_db, cell->sqnr_db);
    last->target_sqnr_db = fmin(last->target_sqnr_db, cell->target_sqnr_db);
    return true;
}

/* Those that are one cell in one format become one. */
static void join(struct maker *maker)
{
    struct tp_quant_cell *cells = maker->made->cells;
    size_t kept = maker->first, places = 0;
    if (maker->made->count > maker->first)
        qsort(cells + maker->first, maker->made->count - maker->first,
              sizeof *cells, compare_cells);
    for (size_t i = maker->first; i < maker->made->count; i++) {
        struct tp_quant_cell *last =
            kept > maker->first ? &cells[kept - 1] : NULL;
        if (last && join_one(last, &cells[i]))
            continue;
        places += !last || compare_places(last, &cells[i]);
        cells[kept++] = cells[i];
    }
    maker->full = places > TP_QUANT_CELLS_MOST;
    maker->made->count = maker->full ? maker->first : kept;
}

static enum tp_status add_cell(struct maker *maker,
                               const struct tp_quant_cell *cell)
{
    struct tp_quant_worst *made = maker->made;
    if (made->count - maker->first == maker->limit) {
        join(maker);
        if (made->count - maker->first > maker->limit / 2)
            maker->limit *= 2;
    }
    if (maker->full)
        return TP_OK;
    const enum tp_status status =
        tp_grow(&made->cells, &made->capacity, made->count + 1,
                sizeof *made->cells, maker->err);
    if (status == TP_OK)
        made->cells[made->count++] = *cell;
    return status;
}

/* The name of a row's module as far as a map has it; NULL: no memory. */
static const char *cut_name(struct maker *maker, const char *module)
{
    if (maker->cut && module == maker->module)
        return maker->cut;
    char *own = strndup(module, cut_of(module, maker->depth));
    maker->module = module;
    maker->cut = own ? tp_intern(&maker->names, maker->arena, own) : NULL;
    free(own);
    return maker->cut;
}

/* The first cast of the plan that has the format of another. */
static size_t first_of(const struct tp_quant_plan *plan, size_t cast)
{
    size_t first = 0;
    while (strcmp(plan->casts[first].format, plan->casts[cast].format))
        first++;
    return first;
}

static enum tp_status add_row(struct maker *maker, const struct tp_row *row)
{
    const struct tp_quant_plan *plan = &maker->run->plan;
    const char *target = tp_row_target_word(row);
    const char *module =
        maker->by == BY_MODULE ? cut_name(maker, row->label.module) : "";
    enum tp_status status = module ? TP_OK : tp_fail_memory(maker->err);
    struct tp_quant_error error;
    size_t cast;
    for (const uint8_t *at = tp_quant_next(row->quant, &cast, &error);
         at && cast < plan->scaled && status == TP_OK;
         at = tp_quant_next(at, &cast, &error)) {
        struct tp_quant_metrics metrics;
        tp_quant_metrics_of(&error, &metrics);
        struct tp_quant_cell cell = {
            .by = by_words[maker->by],
            .layer_idx = maker->by == BY_LAYER ? row->label.layer_idx : -1,
            .module = module,
            .iteration = row->label.iteration,
            .tensor_name = maker->over ? "" : row->label.tensor_name,
            .format = plan->casts[cast].format,
            .cast = first_of(plan, cast),
            .casts = 1,
            .sqnr_db = metrics.sqnr_db,
            .target_sqnr_db = NAN};
        if (strcmp(cell.format, target) == 0)
            cell.target_sqnr_db = metrics.sqnr_db;
        status = add_cell(maker, &cell);
    }
    return status;
}

/* The cells of a map that has such rows. */
static enum tp_status add_cells(struct maker *maker)
{
    const struct tp_run *run = maker->run;
    enum tp_status status = TP_OK;
    maker->first = maker->made->count;
    maker->limit = FIRST_LIMIT;
    maker->full = false;
    for (size_t i = 0; i < run->row_count && status == TP_OK && !maker->full;
         i++)
        if (run->rows[i].quant)
            status = add_row(maker, &run->rows[i]);
    if (!maker->full)
        join(maker);
    return status;
}

enum tp_status tp_quant_worst_make(const struct tp_run *run,
                                   struct tp_arena *arena,
                                   struct tp_quant_worst *worst,
                                   struct tp_error *err)
{
    struct maker maker = {.run = run,
                          .made = worst,
                          .arena = arena,
                          .depth = depth_of(run),
                          .err = err};
    bool has[BYS] = {false};
    enum tp_status status = maker.depth ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < run->row_count + run->aside_count; i++) {
        const struct tp_label *label = &run->rows[i].label;
        maker.over |= label->iteration >= 0;
        has[BY_LAYER] |= label->layer_idx >= 0;
        has[BY_MODULE] |= *label->module != '\0';
    }
    for (; maker.by < BYS && status == TP_OK; maker.by++)
        if (has[maker.by])
            status = add_cells(&maker);
    tp_intern_clear(&maker.names);
    return status;
}

void tp_quant_worst_clear(struct tp_quant_worst *worst)
{
    free(worst->cells);
    memset(worst, 0, sizeof *worst);
}
