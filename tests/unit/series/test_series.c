/* SPDX-License-Identifier: MIT */
/* Series of runs made by hand; expected numbers are from the values, by hand
 * or by numpy as said. */
#include "report/tables.h"
#include "tests/unit/support/stages.h"
#include "tensors/coverage.h"
#include "tests/unit/support/two_values.h"

static const struct tp_baseline_options retro = {
    .warmup_steps = 100, .alert_window = 50, .sigma = 3};

static struct tp_row *add(struct tp_run *run, int64_t iteration, double a,
                          double b)
{
    struct tp_row *row = add_row(run, "f");
    struct tp_summary summary = two(a, b);
    row->label.iteration = iteration;
    row->label.rank = 0;
    set_summary(run, row, &summary);
    return row;
}

static double value(const struct tp_series_set *set, size_t series,
                    const char *metric, size_t point)
{
    return tp_series_values(set, &set->series[series],
                            tp_series_metric_by_name(metric))[point];
}

Test(series, metrics_are_sorted_by_kind_and_have_unique_names)
{
    for (size_t i = 0; i < TP_SERIES_METRICS; i++) {
        cr_assert_eq(tp_series_metric_by_name(tp_series_metrics[i].name), i);
        if (i > 0)
            cr_assert_leq(tp_series_metrics[i - 1].kind,
                          tp_series_metrics[i].kind);
    }
}

Test(series, points_are_by_iteration_with_gaps)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_series_set set = {0};
    add(&made.run, 7, 3, 4);
    add(&made.run, 2, 6, 8);
    add(&made.run, -1, 1, 1); /* no iteration: in no series */
    add(&made.run, 3, 5, 12);
    cr_assert_eq(tp_series_make(&made.run, &set, NULL), TP_OK);
    cr_assert_eq(set.count, 1);
    const int64_t *at = tp_series_at(&set, &set.series[0]);
    cr_assert_eq(set.series[0].count, 3);
    cr_assert(at[0] == 2 && at[1] == 3 && at[2] == 7);
    cr_assert_float_eq(value(&set, 0, "l2_norm", 0), 10, 1e-12);
    cr_assert_float_eq(value(&set, 0, "l2_norm", 1), 13, 1e-12);
    cr_assert_float_eq(value(&set, 0, "abs_max", 2), 4, 0);
    tp_series_clear(&set);
    stages_clear(&made);
}

/* numpy of [3, 4, 6, -8]: mean 1.25, abs max 8; the norm is the root mean
 * square of the two tensors', sqrt((25 + 100) / 2). */
Test(series, samples_of_an_iteration_are_one_point)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_series_set set = {0};
    add(&made.run, 0, 3, 4)->label.sample_idx = 0;
    add(&made.run, 0, 6, -8)->label.sample_idx = 1;
    cr_assert_eq(tp_series_make(&made.run, &set, NULL), TP_OK);
    cr_assert_eq(set.count, 1);
    cr_assert_eq(set.series[0].count, 1);
    cr_assert_float_eq(value(&set, 0, "l2_norm", 0), sqrt(62.5), 1e-12);
    cr_assert_float_eq(value(&set, 0, "mean", 0), 1.25, 1e-12);
    cr_assert_float_eq(value(&set, 0, "abs_max", 0), 8, 0);
    tp_series_clear(&set);
    stages_clear(&made);
}

/* Two tensors an iteration; iteration 1 was saved twice, with the same
 * counters. Without looking at these the copies of the first tensor would
 * push the second one into a series of its own. */
Test(series, a_tensor_saved_twice_keeps_its_place)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_series_set set = {0};
    for (int i = 0; i < 4; i++) {
        for (int copy = 0; copy < (i == 1 ? 2 : 1); copy++) {
            add(&made.run, i, 3, 4)->label.counter = 10 * i;
            add(&made.run, i, 30, 40)->label.counter = 10 * i + 1;
        }
    }
    cr_assert_eq(tp_run_number(&made.run, NULL), TP_OK);
    cr_assert_eq(tp_series_make(&made.run, &set, NULL), TP_OK);
    cr_assert_eq(set.count, 2);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_float_eq(value(&set, 0, "l2_norm", i), 5, 1e-12);
        cr_assert_float_eq(value(&set, 1, "l2_norm", i), 50, 1e-12);
    }
    tp_series_clear(&set);
    stages_clear(&made);
}

static void add_gradient(struct tp_run *run, int64_t iteration, int64_t layer,
                         double a, double b)
{
    struct tp_row *row = add(run, iteration, a, b);
    row->label.layer_idx = layer;
    row->label.operation = "backward";
    row->label.phase = "pre";
    tp_label_classify(&row->label);
}

Test(series, gradients_by_layer_and_of_all_layers)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_series_set set = {0};
    for (int64_t i = 0; i < 5; i++) {
        add_gradient(&made.run, i, 1, 3, 4);
        if (i != 2) /* lost */
            add_gradient(&made.run, i, 1, 12, 0.25);
        add_gradient(&made.run, i, 2, 6, 8);
    }
    cr_assert_eq(tp_run_number(&made.run, NULL), TP_OK);
    cr_assert_eq(tp_series_make(&made.run, &set, NULL), TP_OK);
    size_t layer = 0;
    while (set.series[layer].kind != TP_SERIES_LAYER)
        layer++;
    cr_assert_eq(set.count, layer + 3);
    double first = sqrt(25 + 144 + 0.0625);
    cr_assert_float_eq(value(&set, layer, "layer_grad_norm", 0), first, 1e-12);
    cr_assert(isnan(value(&set, layer, "layer_grad_norm", 2)));
    cr_assert_float_eq(value(&set, layer + 1, "layer_grad_norm", 2), 10, 1e-12);
    cr_assert_float_eq(value(&set, layer, "layer_grad_ratio", 4), first / 10,
                       1e-12);
    cr_assert(isnan(value(&set, layer + 1, "layer_grad_ratio", 4)));
    cr_assert_float_eq(value(&set, layer + 2, "grad_norm", 1),
                       sqrt(first * first + 100), 1e-12);
    cr_assert(isnan(value(&set, layer + 2, "grad_norm", 2)));
    tp_series_clear(&set);
    stages_clear(&made);
}

/* Iteration 2 was saved twice, with gradients (3, 4) and (6, 8): the root mean
 * square of their norms, as of two samples. */
Test(series, an_iteration_saved_twice_is_the_mean_of_both)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_series_set set = {0};
    for (int64_t i = 0; i < 5; i++)
        add_gradient(&made.run, i, 1, 3, 4);
    add_gradient(&made.run, 2, 1, 6, 8);
    cr_assert_eq(tp_run_number(&made.run, NULL), TP_OK);
    cr_assert_eq(tp_series_make(&made.run, &set, NULL), TP_OK);
    size_t model = set.count - 1;
    cr_assert_float_eq(value(&set, model, "grad_norm", 1), 5, 1e-12);
    cr_assert_float_eq(value(&set, model, "grad_norm", 2), sqrt(62.5), 1e-12);
    tp_series_clear(&set);
    stages_clear(&made);
}

/* The norm of finite float64 values may have no float64. */
Test(series, a_norm_beyond_float64_is_no_fault)
{
    struct stages made = {.run = {.rows = NULL}};
    for (int64_t i = 0; i < 20; i++)
        add_gradient(&made.run, i, 1, 1.7e308, 1.7e308);
    for (size_t i = 0; i < made.run.row_count; i++)
        made.run.rows[i].numbers.l2_norm = INFINITY;
    stages_watch(&made, &retro);
    cr_assert_eq(made.incidents.alarm_count, 0);
    stages_clear(&made);
}

/*
 * Half of the values at 1, half at 4 in iterations 0 to 8; in the last one
 * all at 64. The norm tells, so the baseline is p = (1/2, 1/2, 0) and the last
 * one q = (0, 0, 1): disjoint, a divergence of one bit.
 */
Test(series, drift_is_measured_against_healthy_iterations)
{
    struct stages made = {.run = {.rows = NULL}};
    for (int64_t i = 0; i < 9; i++)
        add(&made.run, i, 1, 4);
    add(&made.run, 9, 64, 65);
    stages_watch(&made, &retro);
    const struct tp_series_set *set = &made.monitor.series;
    cr_assert_float_eq(value(set, 0, "drift", 0), 0, 1e-9);
    cr_assert_float_eq(value(set, 0, "drift", 9), 1, 1e-9);
    stages_clear(&made);
}

/* Online the baseline is the warm-up, half of four. Against p = (1/2, 1/2),
 * q = (1/2, 0, 1/2) has a divergence of half a bit: scipy's jensenshannon(p, q,
 * base=2) squared. */
Test(series, drift_of_a_live_monitor_is_against_its_warmup)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_baseline_options options = retro;
    options.method = TP_BASELINE_ONLINE;
    add(&made.run, 0, 1, 4);
    add(&made.run, 1, 1, 4);
    add(&made.run, 2, 1, 64);
    add(&made.run, 3, 1, 4);
    stages_watch(&made, &options);
    cr_assert_float_eq(value(&made.monitor.series, 0, "drift", 2), 0.5, 1e-9);
    stages_clear(&made);
}

Test(series, tables_have_a_row_for_each_value)
{
    struct stages made = {.run = {.rows = NULL}};
    const struct tp_groups groups = {0};
    const struct tp_findings findings = {0};
    const struct tp_finding_bins bins = {0};
    const struct tp_finding_series found = {0};
    struct tp_run_tables tables;
    for (int64_t i = 0; i < 6; i++) {
        add(&made.run, i, (double)i + 1, 4);
        add(&made.run, i, 2, 3)->label.tensor_name = "weight";
    }
    stages_watch(&made, &retro);
    const struct tp_results results = {&made.run,       &groups,
                                       &made.quant,     &made.pairs,
                                       &made.monitor,   &made.incidents,
                                       &findings,       &bins,
                                       &found};
    tp_run_tables_make(&results, &tables);
    const struct tp_table *table = &tables.tables[TP_TABLE_SERIES];
    /* overflow, underflow and distortion have no value here: nothing judged */
    cr_assert_eq(table->row_count, 2 * 7 * 6);
    cr_assert_eq(tables.tables[TP_TABLE_BASELINES].row_count, 2 * 7);
    for (size_t first = 0; first < table->row_count; first += 5) {
        size_t count =
            table->row_count - first < 5 ? table->row_count - first : 5;
        void *room = calloc(count, table->row_size);
        struct tp_table window = tp_table_window(table, first, count, room);
        for (size_t i = 0; i < count; i++) {
            double iteration = tp_cell_number(
                &window, i, tp_table_column(&window, "iteration"));
            cr_assert_eq(iteration, (double)((first + i) % 6));
            const char *metric =
                tp_cell_text(&window, i, tp_table_column(&window, "metric"));
            const char *name = tp_cell_text(
                &window, i, tp_table_column(&window, "tensor_name"));
            double number =
                tp_cell_number(&window, i, tp_table_column(&window, "value"));
            if (!strcmp(metric, "abs_max"))
                cr_assert_eq(number, !strcmp(name, "weight")
                                         ? 3
                                         : fmax(iteration + 1, 4));
        }
        free(room);
    }
    stages_clear(&made);
}

static bool has_note(const struct tp_run *run, const char *words)
{
    for (size_t i = 0; i < run->notes.count; i++) {
        if (strstr(run->notes.texts[i], words))
            return true;
    }
    return false;
}

Test(series, what_is_missing_is_said)
{
    struct tp_run run = {0};
    for (int64_t i = 0; i < 9; i++) {
        if (i != 5)
            add(&run, i, 1, 2);
        if (i < 4)
            add(&run, i, 1, 2)->label.rank = 1;
    }
    add(&run, 5, 1, 2)->label.rank = 2;
    add(&run, 8, 1, 2)->label.rank = 2;
    add(&run, -1, 1, 2);
    add(&run, 3, 1, 2)->label.quant_type = "mxfp8";
    cr_assert_eq(tp_coverage_note(&run, NULL), TP_OK);
    cr_assert(has_note(&run, "1 tensor has no iteration"));
    cr_assert(has_note(&run, "rank 0 of hifp8 has no tensor in 1 iteration "
                             "that other ranks have, the first 5"));
    cr_assert(has_note(&run, "rank 1 of hifp8 ends with iteration 3, the run "
                             "with 8"));
    cr_assert(has_note(&run, "rank 2 of hifp8 has no tensor in 7 iterations "
                             "that other ranks have, the first 0"));
    cr_assert(has_note(&run, "mxfp8 has one iteration only"));
    cr_assert_eq(run.notes.count, 5);
    tp_run_clear(&run);
}

Test(series, what_no_rank_has_and_what_is_there_twice_is_said)
{
    struct tp_run run = {0};
    for (int64_t i = 0; i < 100; i += 10) {
        if (i == 40 || i == 50)
            continue;
        add(&run, i, 1, 2);
        add(&run, i, 1, 2)->label.layer_idx = 4;
    }
    add(&run, 70, 1, 2);
    add(&run, 70, 1, 2)->label.layer_idx = 4;
    cr_assert_eq(tp_coverage_note(&run, NULL), TP_OK);
    cr_assert(has_note(&run, "hifp8 has 1 gap in its iterations, which are 10 "
                             "apart otherwise, the first from 30 to 60"));
    cr_assert(has_note(&run, "rank 0 of hifp8 has 1 iteration saved more than "
                             "once, as after a restart, the first 70"));
    cr_assert_eq(run.notes.count, 2);
    tp_run_clear(&run);
}

/* None of these may crash or be called a change. */
Test(series, short_constant_and_empty_ones_are_no_alarms)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_baseline_options options = retro;
    for (int online = 0; online < 2; online++) {
        options.method = online ? TP_BASELINE_ONLINE : TP_BASELINE_RETRO;
        add(&made.run, 0, 1, 2)->label.layer_idx = 1; /* one iteration */
        for (int64_t i = 0; i < 20; i++) {
            add(&made.run, i, 3, 4)->label.layer_idx = 2;
            struct tp_row *row = add(&made.run, i, 1, 2);
            struct tp_summary nothing = {.counts = {.numel = 2, .values = 2}};
            row->label.layer_idx = 3;
            set_summary(&made.run, row, &nothing);
        }
        stages_watch(&made, &options);
        cr_assert_eq(made.monitor.series.count, 3);
        cr_assert_eq(made.incidents.alarm_count, 0);
        stages_clear(&made);
    }
}

/* NaN in every element from the first iteration on: said once. */
Test(series, all_nan_from_the_start_is_one_incident)
{
    struct stages made = {.run = {.rows = NULL}};
    for (int64_t i = 0; i < 20; i++) {
        struct tp_row *row = add(&made.run, i, 3, 4);
        struct tp_summary nothing = {
            .counts = {.numel = 2, .values = 2, .nan = 2}};
        set_summary(&made.run, row, &nothing);
    }
    stages_watch(&made, &retro);
    cr_assert_eq(made.incidents.incident_count, 1);
    cr_assert_eq(made.incidents.incidents[0].from, 0);
    cr_assert_eq(made.incidents.incidents[0].consequences, 0);
    stages_clear(&made);
}
