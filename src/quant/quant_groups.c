/* SPDX-License-Identifier: MIT */
/*
 * What casts do to groups of tensors. For each way of grouping the rows are
 * sorted by place; those of one place are then neighbours, and their packed
 * errors are merged in row order: sums of squares and counts, from which the
 * group's SQNR follows. A mean of the tensors' SQNRs would be another number,
 * in which a small tensor counts as much as a large one. A hash table instead
 * of sorting would need the order of the table anyway.
 *
 * Cost: O(n log n) comparisons of n rows a grouping, and one unpacking of
 * every cast of every row; the sums of one group are in memory at a time. The
 * groups of the finest grouping would be the largest thing in memory (4 kB a
 * tensor of a checkpoint), so only where they begin is kept and a table makes
 * them again, at the cost of one more unpacking for each of its passes.
 */
#include "quant/quant_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"

/* A row whose place is known, for sorting. */
struct placed {
    struct tp_quant_place place;
    const struct tp_row *row;
};

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    int result = tp_quant_compare_places(&a->place, &b->place);
    return result ? result : tp_order_place(a->row, b->row);
}

/* --- one group --------------------------------------------------------- */

/* The partial sums of a group under one cast. */
struct partial {
    struct tp_quant_error sum;
    uint64_t tensors, infinite;
    int32_t scale_min, scale_max;
    double worst;
};

/* The sums over the rows of one place, and room for its groups. */
struct tp_quant_sums {
    const struct tp_quant_plan *plan;
    struct tp_quant_place place;
    struct partial *partials;     /* [plan->count]                         */
    struct tp_summary *summary;   /* of the group's rows                   */
    struct tp_cast_group *groups; /* [plan->count]                         */
};

struct maker {
    struct tp_quant *quant;
    struct tp_quant_sums *sums;
    struct tp_error *err;
};

static void sums_free(struct tp_quant_sums *sums)
{
    if (!sums)
        return;
    free(sums->partials);
    free(sums->summary);
    free(sums->groups);
    free(sums);
}

static struct tp_quant_sums *sums_new(const struct tp_quant_plan *plan)
{
    struct tp_quant_sums *sums = calloc(1, sizeof *sums);
    if (!sums)
        return NULL;
    sums->plan = plan;
    sums->partials = calloc(plan->count, sizeof *sums->partials);
    sums->summary = malloc(sizeof *sums->summary);
    sums->groups = calloc(plan->count, sizeof *sums->groups);
    if (sums->partials && sums->summary && sums->groups)
        return sums;
    sums_free(sums);
    return NULL;
}

static void add_error(struct partial *partial,
                      const struct tp_quant_error *error)
{
    struct tp_quant_error own = *error;
    struct tp_quant_metrics metrics;
    int32_t scale = error->tensor_scale;
    if (partial->tensors++ == 0) {
        partial->scale_min = partial->scale_max = scale;
        partial->worst = INFINITY;
    }
    partial->scale_min =
        scale < partial->scale_min ? scale : partial->scale_min;
    partial->scale_max =
        scale > partial->scale_max ? scale : partial->scale_max;
    tp_quant_metrics_of(error, &metrics);
    partial->worst = fmin(partial->worst, metrics.sqnr_db);
    own.tensor_scale = 0; /* differs from tensor to tensor */
    tp_quant_merge(&partial->sum, &own, 1);
}

static void begin_place(struct tp_quant_sums *sums,
                        const struct tp_quant_place *place)
{
    memset(sums->summary, 0, sizeof *sums->summary);
    memset(sums->partials, 0, sums->plan->count * sizeof *sums->partials);
    sums->place = *place;
}

static void add_row(struct tp_quant_sums *sums, const struct tp_row *row)
{
    struct tp_quant_error error;
    size_t cast;
    tp_summary_merge_packed(sums->summary, row->packed);
    for (const uint8_t *at = tp_quant_next(row->quant, &cast, &error); at;
         at = tp_quant_next(at, &cast, &error)) {
        sums->partials[cast].infinite += tp_counts_infinite(&row->counts);
        add_error(&sums->partials[cast], &error);
    }
}

/* Shares of the nonzero elements by what HiF8 keeps of them. */
static void fill_regimes(const struct tp_summary *summary,
                         struct tp_cast_group *group)
{
    uint64_t count[TP_HIF8_REGIMES], nonzero = 0;
    tp_hif8_regimes(summary, 0, count);
    for (int i = 0; i < TP_HIF8_REGIMES; i++)
        nonzero += count[i];
    for (int i = 0; i < TP_HIF8_REGIMES; i++)
        group->regime[i] =
            nonzero ? (double)count[i] / (double)nonzero : NAN;
}

static void fill_group(const struct tp_quant_sums *sums, size_t which,
                       struct tp_cast_group *group)
{
    const struct tp_quant_cast *cast = &sums->plan->casts[which];
    const struct partial *partial = &sums->partials[which];
    bool scaled = cast->spec.scaled != TP_SCALED_NOT;
    group->place = sums->place;
    group->cast = which;
    group->tensors = partial->tensors;
    group->format = cast->format;
    group->scale_rule = cast->rule;
    group->rounding = cast->rounding;
    group->tensor_scale = scaled ? "amax" : "none";
    group->tensor_scale_min = partial->scale_min;
    group->tensor_scale_max = partial->scale_max;
    tp_quant_metrics_of(&partial->sum, &group->metrics);
    group->scale_min = group->metrics.scale_min;
    group->scale_max = group->metrics.scale_max;
    group->sqnr_worst_db =
        isfinite(partial->worst) ? partial->worst : group->metrics.sqnr_db;
    group->nonfinite_out = partial->sum.nonfinite_out;
    group->finite = partial->sum.values - partial->sum.nonfinite_in;
    group->summed = partial->sum.summed;
    group->nonfinite_blocks = partial->sum.nonfinite_blocks;
    group->zero_blocks = partial->sum.zero_blocks;
    group->mx_nonfinite = cast->spec.number->kind == TP_NUMBER_ELEMENT
                              ? ""
                              : tp_nonfinite_name(cast->spec.nonfinite);
    group->infinite = partial->infinite;
    for (int i = 0; i < TP_HIF8_REGIMES; i++)
        group->regime[i] = NAN;
    if (!scaled && cast->spec.number->ties_away) /* HiF8 */
        fill_regimes(sums->summary, group);
}

/* The first of the widest dtypes of n rows. */
static enum tp_dtype widest_dtype(const struct placed *rows, size_t n)
{
    enum tp_dtype widest = rows[0].row->dtype;
    for (size_t i = 1; i < n; i++) {
        enum tp_dtype dtype = rows[i].row->dtype;
        if (tp_dtype_info(dtype)->code_size >
            tp_dtype_info(widest)->code_size)
            widest = dtype;
    }
    return widest;
}

/* The sums become groups; returns how many. */
static size_t fill_groups(const struct tp_quant_sums *sums)
{
    size_t count = 0;
    for (size_t i = 0; i < sums->plan->count; i++)
        if (sums->partials[i].tensors > 0)
            fill_group(sums, i, &sums->groups[count++]);
    return count;
}

/* Keeps the groups of a place, or of the finest grouping where they begin. */
static enum tp_status keep_groups(struct maker *maker,
                                  const struct placed *rows, size_t n,
                                  size_t count)
{
    struct tp_quant *quant = maker->quant;
    if (rows->place.grouping == TP_QUANT_BY_PLACE) {
        struct tp_quant_part *part = &quant->parts[quant->part_count++];
        for (size_t i = 0; i < n; i++)
            quant->placed[part->first + i] = rows[i].row;
        part[1] = (struct tp_quant_part){part->first + n, part->group + count};
        return TP_OK;
    }
    enum tp_status status =
        tp_grow(&quant->groups, &quant->group_capacity,
                quant->group_count + count, sizeof *quant->groups, maker->err);
    if (status == TP_OK && count) {
        memcpy(quant->groups + quant->group_count, maker->sums->groups,
               count * sizeof *quant->groups);
        quant->group_count += count;
    }
    return status;
}

/* The sums over n rows become groups, and groups a recommendation. */
static enum tp_status finish_place(struct maker *maker,
                                   const struct placed *rows, size_t n)
{
    struct tp_quant *quant = maker->quant;
    const size_t count = fill_groups(maker->sums);
    if (keep_groups(maker, rows, n, count) != TP_OK)
        return TP_E_MEMORY;
    if (count == 0 || rows->place.grouping == TP_QUANT_BY_LAYER)
        return TP_OK;
    const struct tp_recommend_input input = {
        .plan = &quant->run->plan,
        .groups = maker->sums->groups,
        .count = count,
        .dtype = widest_dtype(rows, n),
        .arena = &quant->arena,
    };
    if (tp_grow(&quant->recommendations, &quant->recommendation_capacity,
                quant->recommendation_count + 1,
                sizeof *quant->recommendations, maker->err) != TP_OK)
        return TP_E_MEMORY;
    return tp_recommend(
        &input, &quant->recommendations[quant->recommendation_count++],
        maker->err);
}

/* Groups without a layer would repeat coarser ones. */
static bool is_wanted(const struct tp_row *row,
                      enum tp_quant_grouping grouping)
{
    return row->quant && (grouping != TP_QUANT_BY_LAYER ||
                          row->label.layer_idx >= 0);
}

/* Room for the parts of n rows in order; false: no memory. */
static bool make_parts(struct tp_quant *quant, const struct placed *rows,
                       size_t n)
{
    size_t count = 1;
    for (size_t i = 1; i < n; i++)
        count += tp_quant_compare_places(&rows[i - 1].place,
                                         &rows[i].place) != 0;
    quant->parts = calloc(count + 1, sizeof *quant->parts);
    quant->placed = calloc(n + 1, sizeof *quant->placed);
    return quant->parts && quant->placed;
}

static enum tp_status group_by(struct maker *maker,
                               enum tp_quant_grouping grouping,
                               struct placed *placed)
{
    struct tp_quant *quant = maker->quant;
    const struct tp_run *run = quant->run;
    size_t n = 0;
    for (size_t i = 0; i < run->row_count; i++) {
        if (is_wanted(&run->rows[i], grouping))
            placed[n++] = (struct placed){
                tp_quant_place_of(&run->rows[i], grouping), &run->rows[i]};
    }
    if (n)
        qsort(placed, n, sizeof *placed, compare_placed);
    enum tp_status status = TP_OK;
    if (grouping == TP_QUANT_BY_PLACE && !make_parts(quant, placed, n))
        return tp_fail_memory(maker->err);
    for (size_t i = 0, end; i < n && status == TP_OK; i = end) {
        begin_place(maker->sums, &placed[i].place);
        for (end = i; end < n && !tp_quant_compare_places(&placed[i].place,
                                                 &placed[end].place);
             end++)
            add_row(maker->sums, placed[end].row);
        status = finish_place(maker, placed + i, end - i);
    }
    return status;
}

/* Numbers the rows of /quantization: a row's plain casts. */
static enum tp_status number_rows(struct tp_quant *quant, struct tp_error *err)
{
    const struct tp_run *run = quant->run;
    size_t *first = calloc(run->row_count + 1, sizeof *first);
    if (!first)
        return tp_fail_memory(err);
    quant->first = first;
    for (size_t i = 0; i < run->row_count; i++) {
        struct tp_quant_error error;
        size_t cast, n = 0;
        for (const uint8_t *at =
                 tp_quant_next(run->rows[i].quant, &cast, &error);
             at; at = tp_quant_next(at, &cast, &error))
            n += cast < run->plan.scaled;
        first[i + 1] = first[i] + n;
    }
    return TP_OK;
}

enum tp_status tp_quant_make(const struct tp_run *run, struct tp_quant *quant,
                             struct tp_error *err)
{
    quant->run = run;
    if (run->plan.count == 0)
        return TP_OK;
    struct placed *placed = calloc(run->row_count + 1, sizeof *placed);
    quant->sums = sums_new(&run->plan);
    struct maker maker = {quant, quant->sums, err};
    enum tp_status status = placed && quant->sums ? number_rows(quant, err)
                                                  : tp_fail_memory(err);
    for (int g = 0; g < TP_QUANT_GROUPINGS && status == TP_OK; g++)
        status = group_by(&maker, (enum tp_quant_grouping)g, placed);
    free(placed);
    return status == TP_OK ? tp_quant_worst_make(run, &quant->arena,
                                                 &quant->worst, err)
                           : status;
}

/* --- groups that are made again ------------------------------------------ */

size_t tp_quant_place_groups(const struct tp_quant *quant)
{
    return quant->parts ? quant->parts[quant->part_count].group : 0;
}

/* The groups of a part, in sums->groups. */
static void make_part(const struct tp_quant *quant, size_t part)
{
    struct tp_quant_sums *sums = quant->sums;
    const size_t first = quant->parts[part].first;
    const struct tp_quant_place place =
        tp_quant_place_of(quant->placed[first], TP_QUANT_BY_PLACE);
    begin_place(sums, &place);
    for (size_t i = first; i < quant->parts[part + 1].first; i++)
        add_row(sums, quant->placed[i]);
    fill_groups(sums);
}

void tp_quant_make_place_groups(const struct tp_quant *quant, size_t first,
                                size_t count, struct tp_cast_group *made)
{
    const struct tp_quant_part *parts = quant->parts;
    size_t part, at = first;
    TP_PARTITION_POINT(part, quant->part_count, parts[part + 1].group <= first);
    for (; at < first + count; part++) {
        const size_t end = parts[part + 1].group < first + count
                               ? parts[part + 1].group
                               : first + count;
        if (end > at)
            make_part(quant, part);
        for (; at < end; at++)
            made[at - first] = quant->sums->groups[at - parts[part].group];
    }
}

void tp_quant_clear(struct tp_quant *quant)
{
    for (size_t i = 0; i < quant->sweep_count; i++)
        free(quant->sweeps[i].sqnr[0]);
    free(quant->sweeps);
    free(quant->first);
    free(quant->groups);
    free(quant->placed);
    free(quant->parts);
    sums_free(quant->sums);
    free(quant->recommendations);
    tp_quant_worst_clear(&quant->worst);
    tp_arena_clear(&quant->arena);
    memset(quant, 0, sizeof *quant);
}
