/* SPDX-License-Identifier: MIT */
/* Bins of findings, of runs made by hand: tensors of two values, whose bins
 * are known. */
#include "rules/finding_bins.h"

#include "tests/unit/support/stages.h"
#include "tests/unit/support/two_values.h"

static const struct tp_rule rule = {.id = "made"};

/* Four iterations of two samples each; the values double from one to the
 * next. Each row is a place of its own in one file. */
static void fill(struct stages *made)
{
    static const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    for (int64_t i = 0; i < 4; i++) {
        for (int64_t sample = 0; sample < 2; sample++) {
            struct tp_row *row = add_row(&made->run, "f");
            struct tp_summary summary = two(ldexp(1, (int)i), -0.25);
            row->place = made->run.row_count - 1;
            row->label.iteration = i;
            row->label.sample_idx = sample;
            row->label.rank = 0;
            if (i == 2 && sample == 1) {
                summary.counts.zero = 3;
                summary.counts.nan = 2;
                summary.counts.pos_inf = 1;
            }
            set_summary(&made->run, row, &summary);
        }
    }
    stages_watch(made, &options);
}

static struct tp_finding *add(struct tp_findings *findings,
                              const struct tp_row *row)
{
    struct tp_finding *finding;
    cr_assert_eq(tp_finding_add(findings, &rule, row, &finding, NULL), TP_OK);
    return finding;
}

static void expect(const struct tp_finding_bin *bin, const char *when,
                   int64_t iteration, double lower, double upper,
                   uint64_t count)
{
    cr_expect_str_eq(bin->when, when);
    cr_expect_eq(bin->iteration, iteration);
    cr_expect(isnan(lower) ? isnan(bin->lower) : bin->lower == lower, "%g",
              bin->lower);
    cr_expect(isnan(upper) ? isnan(bin->upper) : bin->upper == upper, "%g",
              bin->upper);
    cr_expect_eq(bin->count, count);
}

/* Bins are an eighth of a binade: 4 is in [4, 4.5). */
Test(finding_bins, before_and_at_take_the_samples_together)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    struct tp_finding_bins bins = {0};
    fill(&made);
    add(&findings, &made.run.rows[5])->baseline = 1;
    cr_assert_eq(
        tp_finding_bins_make(&made.run, &made.monitor, &findings, &bins, NULL),
        TP_OK);
    cr_assert_eq(bins.count, 7);
    expect(&bins.rows[0], "before", 1, -0.28125, -0.25, 2);
    expect(&bins.rows[1], "before", 1, 2, 2.25, 2);
    expect(&bins.rows[2], "at", 2, -0.28125, -0.25, 2);
    expect(&bins.rows[3], "at", 2, 0, 0, 3);
    expect(&bins.rows[4], "at", 2, 4, 4.5, 2);
    expect(&bins.rows[5], "at", 2, INFINITY, INFINITY, 1);
    expect(&bins.rows[6], "at", 2, NAN, NAN, 2);
    tp_finding_bins_clear(&bins);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(finding_bins, what_left_no_baseline_or_is_first_has_none_before)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    struct tp_finding_bins bins = {0};
    fill(&made);
    add(&findings, &made.run.rows[6]);
    add(&findings, &made.run.rows[0])->origin = true;
    add(&findings, &made.run.rows[0])->file = ""; /* of no tensor */
    cr_assert_eq(
        tp_finding_bins_make(&made.run, &made.monitor, &findings, &bins, NULL),
        TP_OK);
    cr_assert_eq(bins.count, 4);
    expect(&bins.rows[1], "at", 3, 8, 9, 2);
    expect(&bins.rows[3], "at", 0, 1, 1.125, 2);
    cr_expect_eq(bins.rows[1].finding, 0);
    cr_expect_eq(bins.rows[3].finding, 1);
    tp_finding_bins_clear(&bins);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* A checkpoint has no iterations: no series, but a row. */
Test(finding_bins, a_row_of_no_series_has_its_own)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    struct tp_finding_bins bins = {0};
    struct tp_row *row = add_row(&made.run, "f");
    const struct tp_summary summary = two(3, 1);
    set_summary(&made.run, row, &summary);
    for (size_t i = 0; i < TP_BINNED_FINDINGS + 1; i++)
        add(&findings, row)->baseline = 1;
    cr_assert_eq(
        tp_finding_bins_make(&made.run, &made.monitor, &findings, &bins, NULL),
        TP_OK);
    cr_assert_eq(bins.count, 2 * TP_BINNED_FINDINGS);
    expect(&bins.rows[0], "at", -1, 1, 1.125, 1);
    expect(&bins.rows[1], "at", -1, 3, 3.25, 1);
    tp_finding_bins_clear(&bins);
    tp_findings_clear(&findings);
    tp_run_clear(&made.run);
}

/* A finding that the place of a row loses more than a hundredth, first in an
 * iteration. */
static void add_loss(struct tp_findings *findings, const struct tp_row *row,
                     int64_t iteration)
{
    static const struct tp_rule loss = {.id = "overflow"};
    struct tp_finding *finding = add(findings, row);
    finding->rule = &loss;
    finding->iteration = iteration;
    finding->metric = "total_overflow_ratio";
    finding->value = row->numbers.total_overflow_ratio;
    finding->excess = finding->value / 0.01;
}

/* Of layer 0 the last iteration is the worst of those that are bad from
 * `first` on; layer 1 has a tensor that is not. */
static struct tp_finding_bins bins_of_loss(struct stages *made, int64_t first,
                                           double other)
{
    static const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    struct tp_finding_bins bins = {0};
    struct tp_findings findings = {0};
    for (int64_t i = 0; i < 5; i++) {
        struct tp_row *row = add_row(&made->run, "f");
        const struct tp_summary summary = two(ldexp(1, (int)i), -0.25);
        set_summary(&made->run, row, &summary);
        row->place = made->run.row_count - 1;
        row->label.iteration = i < 4 ? i : 2;
        row->label.layer_idx = i < 4 ? 0 : 1;
        row->counts.numel = 100;
        row->numbers.total_overflow_ratio =
            i == 4 ? other : i < first ? 0.01 : 0.5 + 0.1 * (double)i;
    }
    stages_watch(made, &options);
    add_loss(&findings, &made->run.rows[3], first);
    cr_assert_eq(tp_finding_bins_make(&made->run, &made->monitor, &findings,
                                      &bins, NULL),
                 TP_OK);
    tp_findings_clear(&findings);
    return bins;
}

/* Not the iteration before the worst, which is as bad. HiF8 goes from 2^-22 to
 * 2^15; of 100 elements 80 are lost. */
Test(finding_bins, of_a_place_are_those_before_the_first_bad_one)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_finding_bins bins = bins_of_loss(&made, 2, 0);
    cr_assert_eq(bins.count, 5);
    expect(&bins.rows[1], "before", 1, 2, 2.25, 1);
    cr_expect_eq(bins.rows[1].tensor, 1);
    expect(&bins.rows[3], "at", 3, 8, 9, 1);
    expect(&bins.rows[4], "range", 3, 0x1p-22, 32768, 80);
    tp_finding_bins_clear(&bins);
    stages_clear(&made);
}

Test(finding_bins, of_a_place_that_was_always_bad_are_those_of_a_sibling)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_finding_bins bins = bins_of_loss(&made, 0, 0.01);
    cr_assert_eq(bins.count, 5);
    expect(&bins.rows[1], "sibling", 2, 16, 18, 1);
    cr_expect_eq(bins.rows[1].tensor, 4);
    expect(&bins.rows[3], "at", 3, 8, 9, 1);
    tp_finding_bins_clear(&bins);
    stages_clear(&made);
}

Test(finding_bins, stand_alone_where_all_are_bad)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_finding_bins bins = bins_of_loss(&made, 0, 0.02);
    cr_assert_eq(bins.count, 3);
    expect(&bins.rows[1], "at", 3, 8, 9, 1);
    tp_finding_bins_clear(&bins);
    stages_clear(&made);
}
