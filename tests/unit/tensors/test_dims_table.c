/* SPDX-License-Identifier: MIT */
/* What is said of the axes of tensors: ranks, risk, advice, table, rule. */
#include "scan/dim_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "rules/dims_advice.h"
#include "tensors/dims_table.h"
#include "tests/unit/support/stages.h"

/* --- what is said of an axis ---------------------------------------------- */

/* An axis of indices with these abs_max, each of so many values that its risk
 * is judged. */
static struct tp_dim_axis axis_of(const double *heights, size_t count,
                                  size_t keep, struct tp_dim_index *worst)
{
    struct tp_dim_ranker *ranker = tp_dim_ranker_new();
    const struct tp_dim_units units = {.repeat = 1, .values = TP_DIM_FEW};
    double *memory = calloc(tp_dim_cells_room(count), sizeof *memory);
    struct tp_dim_cells cells;
    struct tp_dim_axis axis = {.axis = 1, .reduce = TP_BFLOAT16};
    cr_assert(ranker && memory);
    tp_dim_cells_place(&cells, count, memory);
    for (size_t i = 0; i < count; i++) {
        const struct tp_dim_cell cell = {TP_DIM_FEW, 0, 0, -heights[i],
                                         heights[i] / 2};
        tp_dim_cells_add(&cells, i, &cell);
    }
    tp_dim_ranker_begin(ranker, &units);
    tp_dim_ranker_add(ranker, &cells);
    axis.kept = tp_dim_ranker_finish(ranker, keep, &axis, worst);
    axis.worst = worst;
    axis.risk = tp_dim_risk_in(&axis, TP_BFLOAT16, TP_REDUCE_STORED);
    free(ranker);
    free(memory);
    return axis;
}

Test(dim_axes, risk_follows_the_significand)
{
    static const struct {
        enum tp_dtype dtype;
        double medium, high; /* the last ratios below                      */
    } limits[] = {{TP_BFLOAT16, 64, 512},
                  {TP_FLOAT16, 512, 4096},
                  {TP_FLOAT32, 4194304, 33554432},
                  {TP_COMPLEX64, 4194304, 33554432},
                  {TP_FLOAT8_E4M3FN, 4, 32}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        enum tp_dtype dtype = limits[i].dtype;
        double medium = limits[i].medium, high = limits[i].high;
        cr_assert_eq(tp_dim_risk_of(dtype, medium), TP_DIM_LOW);
        cr_assert_eq(tp_dim_risk_of(dtype, medium * 1.01), TP_DIM_MEDIUM);
        cr_assert_eq(tp_dim_risk_of(dtype, high), TP_DIM_MEDIUM);
        cr_assert_eq(tp_dim_risk_of(dtype, high * 1.01), TP_DIM_HIGH);
        cr_assert_eq(tp_dim_risk_of(dtype, NAN), TP_DIM_LOW);
    }
    cr_assert_eq(tp_dim_risk_of(TP_INT64, 1e30), TP_DIM_LOW);
}

Test(dim_axes, small_addends_are_lost)
{
    /* What HIGH is about, in binary32 with its 24 bits. */
    float sum = 1, lost = 0x1p-25f, kept = 0x1.8p-24f;
    cr_assert_eq((float)(sum + lost), sum);
    cr_assert_neq((float)(sum + kept), sum);
}

Test(dim_axes, outliers_and_dead_indices)
{
    struct tp_dim_index worst[TP_DIM_KEPT];
    double heights[200];
    for (int i = 0; i < 200; i++)
        heights[i] = 1 + (i * 37 % 200) / 250.0;
    heights[17] = 100;
    heights[150] = 15;
    heights[151] = 8; /* within three binades of the median */
    heights[40] = heights[41] = 0;
    struct tp_dim_axis axis = axis_of(heights, 200, TP_DIM_KEPT, worst);
    cr_assert_eq(axis.outliers, 2);
    cr_assert_eq(axis.dead, 2);
    cr_assert_eq(axis.ratio, 100);
    cr_assert_eq(axis.kept, TP_DIM_KEPT);
    cr_assert_eq(worst[0].index, 17);
    cr_assert_eq(worst[1].index, 150);
    cr_assert(tp_dim_is_outlier(&axis, &worst[1]));
    cr_assert(!tp_dim_is_outlier(&axis, &worst[2]));
    cr_assert_eq(worst[62].index, 40);
    cr_assert_eq(worst[63].index, 41);
    cr_assert(tp_dim_is_dead(&axis, &worst[63]));
    cr_assert_eq(tp_dim_abs_max(&worst[61]), 1);
    /* a few: the largest, the smallest, one dead */
    axis = axis_of(heights, 200, 4, worst);
    cr_assert_eq(axis.kept, 4);
    cr_assert_eq(worst[0].index, 17);
    cr_assert_eq(worst[1].index, 150);
    cr_assert_eq(tp_dim_abs_max(&worst[2]), 1);
    cr_assert_eq(worst[3].index, 40);
    /* what spreads over many binades has no outliers */
    for (int i = 0; i < 200; i++)
        heights[i] = ldexp(1, i % 20);
    axis = axis_of(heights, 200, TP_DIM_KEPT, worst);
    cr_assert_eq(axis.outliers, 0);
    /* nor have so few that there is no rule */
    heights[1] = 1e9;
    axis = axis_of(heights, 7, TP_DIM_KEPT, worst);
    cr_assert_eq(axis.outliers, 0);
    cr_assert_eq(axis.kept, 7);
}

Test(dim_axes, excess_allows_for_chance)
{
    struct tp_dim_axis axis = {.reduce = TP_BFLOAT16,
                               .length = 1000000000,
                               .values = 8,
                               .ratio = 6000};
    cr_assert_lt(tp_dim_excess(&axis), 1);
    axis.values = 1000;
    cr_assert_gt(tp_dim_excess(&axis), 5);
    axis.reduce = TP_INT32;
    cr_assert_eq(tp_dim_excess(&axis), 0);
    axis.reduce = TP_BFLOAT16;
    axis.ratio = NAN;
    cr_assert_eq(tp_dim_excess(&axis), 0);
}

/* The ratio of the requirements' example, in the dtype of each sum. */
Test(dim_axes, the_dtype_of_sums_decides)
{
    struct tp_dim_axis axis = {.length = 2, .values = 1000, .ratio = 800};
    static const struct {
        enum tp_dtype stored;
        enum tp_dim_risk risk[TP_DIM_REDUCES]; /* stored, bf16, fp16       */
    } want[] = {
        {TP_BFLOAT16, {TP_DIM_HIGH, TP_DIM_HIGH, TP_DIM_MEDIUM}},
        {TP_FLOAT16, {TP_DIM_MEDIUM, TP_DIM_HIGH, TP_DIM_MEDIUM}},
        {TP_FLOAT32, {TP_DIM_LOW, TP_DIM_HIGH, TP_DIM_MEDIUM}},
        {TP_COMPLEX64, {TP_DIM_LOW, TP_DIM_HIGH, TP_DIM_MEDIUM}},
        {TP_INT32, {TP_DIM_LOW, TP_DIM_LOW, TP_DIM_LOW}}, /* add exactly */
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        for (int r = 0; r < TP_DIM_REDUCES; r++)
            cr_assert_eq(
                tp_dim_risk_in(&axis, want[i].stored, (enum tp_dim_reduce)r),
                want[i].risk[r], "%zu %d", i, r);
}

Test(dim_axes, few_values_are_never_high)
{
    struct tp_dim_axis axis = {.reduce = TP_BFLOAT16,
                               .length = 1000,
                               .values = TP_DIM_FEW - 1,
                               .ratio = 1e9};
    cr_assert_eq(tp_dim_risk_in(&axis, TP_BFLOAT16, TP_REDUCE_STORED),
                 TP_DIM_MEDIUM);
    cr_assert_eq(tp_dim_excess(&axis), 0);
    axis.values = TP_DIM_FEW;
    cr_assert_eq(tp_dim_risk_in(&axis, TP_BFLOAT16, TP_REDUCE_STORED),
                 TP_DIM_HIGH);
    cr_assert_gt(tp_dim_excess(&axis), 1);
}

/* Largest and smallest of the per-index max that are positive. */
Test(dim_axes, max_ratio)
{
    static const struct tp_dim_cell cells[] = {{2, 0, 0, -1000, 1200},
                                               {2, 0, 0, -1.5, 0.8},
                                               {2, 0, 0, -7000, -6},
                                               {2, 0, 0, -1, 0},
                                               {2, 0, 0, 0, 0}};
    const struct tp_dim_units units = {.repeat = 1, .values = 2};
    struct tp_dim_ranker *ranker = tp_dim_ranker_new();
    struct tp_dim_index worst[TP_DIM_KEPT];
    struct tp_dim_axis axis = {.axis = 0};
    cr_assert(ranker);
    tp_dim_ranker_begin(ranker, &units);
    for (size_t i = 0; i < 5; i++)
        tp_dim_ranker_add_same(ranker, &cells[i], 1);
    tp_dim_ranker_finish(ranker, TP_DIM_KEPT, &axis, worst);
    cr_assert_eq(axis.max_ratio, 1500);
    cr_assert_eq(axis.ratio, 7000);
    tp_dim_ranker_begin(ranker, &units);
    tp_dim_ranker_add_same(ranker, &cells[2], 3);
    tp_dim_ranker_finish(ranker, TP_DIM_KEPT, &axis, worst);
    cr_assert(isnan(axis.max_ratio), "no max is positive");
    cr_assert_eq(axis.ratio, 1);
    free(ranker);
}

static bool says(const struct tp_dim_axis *axis, const char *words)
{
    struct tp_text text = {0};
    tp_dim_advice(axis, &text);
    bool found = strstr(tp_text_get(&text), words) != NULL;
    tp_text_clear(&text);
    return found;
}

Test(dim_axes, advice)
{
    struct tp_dim_index worst[TP_DIM_KEPT];
    double heights[20] = {1200, 1.5};
    struct tp_dim_axis axis = axis_of(heights, 2, TP_DIM_KEPT, worst);
    cr_assert_eq(axis.risk, TP_DIM_HIGH);
    cr_assert(says(&axis, "index 1 is 800 times smaller than index 0"));
    cr_assert(says(&axis, "loses it; reduce in float32"));
    heights[1] = 1200e-12;
    axis = axis_of(heights, 2, TP_DIM_KEPT, worst);
    cr_assert(says(&axis, "reduce in float64"));
    heights[1] = 1200e-30;
    axis = axis_of(heights, 2, TP_DIM_KEPT, worst);
    cr_assert(says(&axis, "scale each index on its own before a sum"));
    for (int i = 1; i < 20; i++)
        heights[i] = 30;
    heights[3] = 0;
    axis = axis_of(heights, 20, TP_DIM_KEPT, worst);
    cr_assert_eq(axis.risk, TP_DIM_LOW);
    cr_assert(says(&axis, "1 of 20 indices of axis 1 lie far above"));
    cr_assert(says(&axis, "1 of 20 indices of axis 1 are zero throughout"));
    heights[0] = heights[3] = 30;
    axis = axis_of(heights, 20, TP_DIM_KEPT, worst);
    cr_assert(says(&axis, "none needed"));
    cr_assert(!tp_dim_is_notable(&axis));
}

/* --- what a run keeps, and finds ------------------------------------------ */

/* A row of a place in `iteration`, whose axis 1 has these heights. */
static void add_dims(struct tp_run *run, const double *heights, size_t count,
                     int64_t iteration, enum tp_dims_mode mode)
{
    struct tp_dim_index worst[TP_DIM_KEPT];
    struct tp_dim_axis axis = axis_of(heights, count, TP_DIM_KEPT, worst);
    axis.values = 1000;
    const struct tp_dims dims = {&axis, 1};
    struct tp_row *row = add_row(run, "file.pt");
    row->label.iteration = iteration;
    row->label.rank = 0;
    row->ordinal = iteration;
    row->dims = tp_dims_pack(&dims, mode, &run->arena);
    cr_assert_not_null(row->dims);
    static struct tp_summary all; /* large, and never changed after this */
    all.counts.values = 25;
    all.counts.nan = 3;
    all.counts.neg_inf = 2;
    all.moments.n = 20;
    all.extrema.max = 7;
    set_summary(run, row, &all);
}

static const double even[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
static const double uneven[] = {1200, 1.5};
static const double far[] = {3, 3, 3, 3, 90, 3, 3, 3, 3, 3};

Test(dim_axes, rows_of_the_table)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_error err;
    struct tp_table table;
    add_dims(&made.run, even, 10, 0, TP_DIMS_WORST);
    add_row(&made.run, "without.pt");
    add_dims(&made.run, uneven, 2, 1, TP_DIMS_WORST);
    add_dims(&made.run, even, 10, 2, TP_DIMS_ALL);
    cr_assert_eq(tp_dims_number(&made.run, &err), TP_OK);
    tp_dims_table_make(&made.run, &table);
    cr_assert_eq(table.row_count, 1 + 3 + 11);
    static const struct {
        int tensor, index;
    } want[] = {{0, -1}, {2, -1}, {2, 0}, {2, 1}, {3, -1}, {3, 0}, {3, 1}};
    const struct tp_column *tensor = tp_table_column(&table, "tensor");
    const struct tp_column *index = tp_table_column(&table, "index");
    const struct tp_column *ratio = tp_table_column(&table, "dim_ratio");
    const struct tp_column *count = tp_table_column(&table, "count");
    const struct tp_column *abs_max = tp_table_column(&table, "abs_max");
    /* from each row on, since they are made when they are needed */
    for (size_t first = 0; first < 7; first++) {
        void *room = calloc(7 - first, table.row_size);
        struct tp_table window =
            tp_table_window(&table, first, 7 - first, room);
        for (size_t i = first; i < 7; i++) {
            cr_assert_eq(tp_cell_number(&window, i - first, tensor),
                         want[i].tensor);
            cr_assert_eq(tp_cell_number(&window, i - first, index),
                         want[i].index);
            double its = tp_cell_number(&window, i - first, ratio);
            cr_assert_eq(isnan(its), want[i].index >= 0);
            bool whole = want[i].index < 0;
            cr_assert_eq(tp_cell_number(&window, i - first, count),
                         whole ? 20 : TP_DIM_FEW);
            if (whole)
                cr_assert_eq(tp_cell_number(&window, i - first, abs_max), 7);
        }
        free(room);
    }
    stages_clear(&made);
}

/* The finding of the rule about these rows, or NULL. */
static const struct tp_finding *find(struct stages *made,
                                     struct tp_findings *findings)
{
    struct tp_error err;
    cr_assert_eq(tp_dims_number(&made->run, &err), TP_OK);
    stages_judge(made, findings);
    const struct tp_finding *found = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->rows[i].rule->id, "dims"))
            continue;
        cr_assert_null(found, "one finding for each place");
        found = &findings->rows[i];
    }
    return found;
}

Test(dim_axes, rule)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_dims(&made.run, even, 10, 0, TP_DIMS_WORST);
    add_dims(&made.run, uneven, 2, 1, TP_DIMS_WORST);
    add_dims(&made.run, uneven, 2, 2, TP_DIMS_WORST);
    add_dims(&made.run, uneven, 2, 3, TP_DIMS_WORST);
    const struct tp_finding *found = find(&made, &findings);
    cr_assert_not_null(found);
    cr_assert_eq(found->level, TP_SEVERITY_MEDIUM);
    cr_assert_eq(found->iteration, 1);
    cr_assert_eq(found->value, 800);
    cr_assert_str_eq(found->metric, "dim_ratio");
    cr_assert(strstr(found->evidence, "3 of 4 tensors"), "%s", found->evidence);
    cr_assert(strstr(found->suggestion, "reduce in float32"));
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(dim_axes, rule_asks_for_most_tensors)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_dims(&made.run, even, 10, 0, TP_DIMS_WORST);
    add_dims(&made.run, uneven, 2, 1, TP_DIMS_WORST);
    add_dims(&made.run, far, 10, 2, TP_DIMS_WORST);
    cr_assert_null(find(&made, &findings));
    tp_findings_clear(&findings);
    free(made.run.dims_first);
    add_dims(&made.run, far, 10, 3, TP_DIMS_WORST);
    add_dims(&made.run, far, 10, 4, TP_DIMS_WORST);
    const struct tp_finding *found = find(&made, &findings);
    cr_assert_not_null(found);
    cr_assert_eq(found->level, TP_SEVERITY_LOW);
    cr_assert_str_eq(found->metric, "outliers");
    cr_assert_eq(found->value, 1);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* Uneven floats are a finding, and the same of bool or integers is none. */
Test(dim_axes, masks_and_indices_are_no_finding)
{
    static const struct {
        enum tp_dtype dtype;
        bool found;
    } cases[] = {{TP_FLOAT32, true},
                 {TP_BFLOAT16, true},
                 {TP_BOOL, false},
                 {TP_INT64, false},
                 {TP_UINT8, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stages made = {.run = {.rows = NULL}};
        struct tp_findings findings = {0};
        add_dims(&made.run, uneven, 2, 0, TP_DIMS_WORST);
        made.run.rows[0].dtype = cases[i].dtype;
        cr_expect_eq(find(&made, &findings) != NULL, cases[i].found, "%zu", i);
        tp_findings_clear(&findings);
        stages_clear(&made);
    }
}
