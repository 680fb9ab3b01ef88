/* SPDX-License-Identifier: MIT */
/* Series of findings, of runs made by hand: tensors of two values, whose
 * magnitudes are known. */
#include "rules/finding_series.h"

#include "tests/unit/support/stages.h"
#include "tests/unit/support/two_values.h"

static const struct tp_rule rule = {.id = "made"};

/* `places` tensors in each of `iterations`: the largest magnitude of place p in
 * iteration i is 2^(p + i). */
static void fill(struct stages *made, int64_t iterations, int64_t places)
{
    static const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    for (int64_t i = 0; i < iterations; i++) {
        for (int64_t place = 0; place < places; place++) {
            struct tp_row *row = add_row(&made->run, "f");
            struct tp_summary summary = two(ldexp(1, (int)(place + i)), -0.25);
            row->place = made->run.row_count - 1;
            row->label.iteration = i;
            row->label.layer_idx = place;
            row->label.rank = 0;
            row->numbers.abs_max = ldexp(1, (int)(place + i));
            row->numbers.l2_norm = row->numbers.abs_max;
            set_summary(&made->run, row, &summary);
        }
    }
    stages_watch(made, &options);
}

static struct tp_finding *add(struct tp_findings *findings,
                              const struct tp_row *row, const char *metric)
{
    struct tp_finding *finding;
    cr_assert_eq(tp_finding_add(findings, &rule, row, &finding, NULL), TP_OK);
    finding->metric = metric;
    return finding;
}

static struct tp_finding_series make(const struct stages *made,
                                     const struct tp_findings *findings)
{
    struct tp_finding_series series = {0};
    cr_assert_eq(tp_finding_series_make(&made->run, &made->monitor, findings,
                                        &series, NULL),
                 TP_OK);
    return series;
}

Test(finding_series, has_the_points_of_the_tensor_that_is_named)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    fill(&made, 5, 3);
    add(&findings, &made.run.rows[4], "abs_max"); /* place 1, iteration 1 */
    add(&findings, &made.run.rows[2], "abs_max"); /* place 2, iteration 0 */
    struct tp_finding_series series = make(&made, &findings);
    cr_assert_eq(series.count, 10);
    for (size_t i = 0; i < 10; i++) {
        const struct tp_finding_point *point = &series.rows[i];
        const int64_t at = (int64_t)i % 5;
        cr_expect_eq(point->finding, i / 5);
        cr_expect_str_eq(point->metric, "abs_max");
        cr_expect_str_eq(point->note, "");
        cr_expect_eq(point->rank, made.run.rows[4].label.rank);
        cr_expect_eq(point->iteration, at);
        cr_expect_eq(point->value, ldexp(1, (int)(1 + (int64_t)i / 5 + at)));
    }
    tp_finding_series_clear(&series);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* A noise of a thousandth of the signal's power is 30 dB below it. */
Test(finding_series, makes_sqnr_from_distortion)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    fill(&made, 3, 1);
    const struct tp_run_series *its = &made.monitor.series.series[0];
    double *noise = tp_series_values(&made.monitor.series, its,
                                     tp_series_metric_by_name("distortion"));
    noise[0] = 1e-3;
    noise[1] = NAN;
    noise[2] = 0.5;
    add(&findings, &made.run.rows[0], "sqnr_db");
    struct tp_finding_series series = make(&made, &findings);
    cr_assert_eq(series.count, 2);
    cr_expect_str_eq(series.rows[0].metric, "sqnr_db");
    cr_expect_float_eq(series.rows[0].value, 30, 1e-9);
    cr_expect_eq(series.rows[1].iteration, 2);
    cr_expect_float_eq(series.rows[1].value, 3.0102999566, 1e-9);
    tp_finding_series_clear(&series);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* The gradient's norm names no file; another rank has no such series. */
Test(finding_series, of_the_model_is_found_by_labels)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    fill(&made, 3, 1);
    struct tp_series_set *set = &made.monitor.series;
    struct tp_run_series model = set->series[0];
    const size_t norm = tp_series_metric_by_name("grad_norm");
    model.kind = TP_SERIES_MODEL;
    model.metric = norm;
    model.metric_count = 1;
    set->series[0] = model; /* its values are those of the first metric */
    struct tp_finding *finding = add(&findings, &made.run.rows[0], "grad_norm");
    finding->file = "";
    add(&findings, &made.run.rows[0], "grad_norm")->file = "";
    findings.rows[1].rank = 7;
    struct tp_finding_series series = make(&made, &findings);
    cr_assert_eq(series.count, 4);
    cr_expect_eq(series.rows[2].iteration, 2);
    cr_expect_float_eq(series.rows[2].value, sqrt(16.0625), 1e-12);
    cr_expect_eq(series.rows[3].finding, 1);
    cr_expect_eq(series.rows[3].iteration, -1);
    cr_expect(*series.rows[3].note);
    tp_finding_series_clear(&series);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(finding_series, says_why_there_is_none)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    fill(&made, 2, 1);
    struct tp_row alone = made.run.rows[0];
    alone.place = 99;
    add(&findings, &made.run.rows[0], "dim_ratio");
    add(&findings, &made.run.rows[0], "grad_norm");
    add(&findings, &made.run.rows[0], "sqnr_db"); /* no cast was simulated */
    add(&findings, &alone, "abs_max");
    struct tp_finding_series series = make(&made, &findings);
    cr_assert_eq(series.count, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(series.rows[i].finding, i);
        cr_expect_eq(series.rows[i].iteration, -1);
        cr_expect(isnan(series.rows[i].value));
    }
    cr_expect(strstr(series.rows[0].note, "no number that is followed"));
    cr_expect(strstr(series.rows[1].note, "single tensors"));
    cr_expect(strstr(series.rows[2].note, "no iteration"));
    cr_expect(strstr(series.rows[3].note, "names no iteration"));
    tp_finding_series_clear(&series);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* What has no more room says so, and what comes after it, too; a short one
 * still fits. */
Test(finding_series, ends_where_a_page_does)
{
    enum { POINTS = 1000 };
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    fill(&made, POINTS, 1);
    const size_t fit = TP_FINDING_POINTS / POINTS;
    for (size_t i = 0; i <= fit; i++)
        add(&findings, &made.run.rows[i], "abs_max");
    struct tp_finding_series series = make(&made, &findings);
    cr_assert_eq(series.count, TP_FINDING_POINTS + 1);
    cr_expect_str_eq(series.rows[TP_FINDING_POINTS - 1].note, "");
    cr_expect_eq(series.rows[TP_FINDING_POINTS].finding, fit);
    cr_expect(strstr(series.rows[TP_FINDING_POINTS].note, "/series has it"));
    tp_finding_series_clear(&series);
    tp_findings_clear(&findings);
    stages_clear(&made);
}
