/* SPDX-License-Identifier: MIT */
/* Ordinals, groups and findings over runs made by hand. */
#include "tests/unit/support/stages.h"
#include "tensors/group.h"

/* --- ordinals ---------------------------------------------------------- */

Test(ordinal, follows_counter_then_time_then_file)
{
    struct stages made = {.run = {.rows = NULL}};
    static const struct {
        const char *file, *timestamp;
        int64_t counter, iteration, ordinal;
    } rows[] = {
        {"a", "20250101_000001", 9, 0, 3}, {"b", "20250101_000000", 3, 0, 1},
        {"c", "20250101_000000", 2, 0, 0}, {"d", "20250101_000001", 3, 0, 2},
        {"e", "20250101_000000", 1, 1, 0}, /* another iteration */
    };
    for (size_t i = 0; i < 5; i++) {
        struct tp_row *row = add_row(&made.run, rows[i].file);
        row->label.counter = rows[i].counter;
        row->label.timestamp = rows[i].timestamp;
        row->label.iteration = rows[i].iteration;
    }
    cr_assert_eq(tp_run_number(&made.run, NULL), TP_OK);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(made.run.rows[i].ordinal, rows[i].ordinal, "row %zu", i);
    }
    stages_clear(&made);
}

/* --- groups ------------------------------------------------------------ */

/* n values, all equal to `value`. */
static struct tp_summary constant(double value, uint64_t n)
{
    struct tp_summary summary = {0};
    summary.counts.numel = summary.counts.values = n;
    summary.moments.n = n;
    summary.moments.mean = value;
    summary.moments.sum_abs = fabs(value) * (double)n;
    summary.moments.sum_squares = value * value * (double)n;
    summary.extrema.min = summary.extrema.max = value;
    summary.extrema.abs_min_nonzero = fabs(value);
    if (value == 0) {
        summary.counts.zero = n;
    } else {
        summary.bins[tp_summary_bin(value)] = n;
    }
    return summary;
}

static const struct tp_group *find_group(const struct tp_groups *groups,
                                         const char *by, const char *key)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (!strcmp(groups->rows[i].group_by, by) &&
            !strcmp(groups->rows[i].key, key)) {
            return &groups->rows[i];
        }
    }
    return NULL;
}

Test(group, merges_tensors_that_share_a_label)
{
    struct stages made = {.run = {.rows = NULL}};
    for (int i = 0; i < 6; i++) {
        struct tp_row *row = add_row(&made.run, "f");
        struct tp_summary summary = constant(i, 10);
        row->label.rank = i % 2;
        set_summary(&made.run, row, &summary);
    }
    struct tp_groups groups = {0};
    cr_assert_eq(tp_groups_make(&made.run, &groups, NULL), TP_OK);
    const struct tp_group *odd = find_group(&groups, "rank", "1");
    cr_assert_not_null(odd);
    cr_assert_eq(odd->tensors, 3);
    cr_assert_eq(odd->counts.numel, 30);
    cr_assert_float_eq(odd->numbers.mean, 3, 1e-15); /* 1 3 5 */
    /* 10 each of 1 3 5: sum of squares about 3 is 80, over n - 1 = 29 */
    cr_assert_float_eq(odd->numbers.std, sqrt(80.0 / 29), 1e-12);
    const struct tp_group *all = find_group(&groups, "all", "");
    cr_assert_not_null(all);
    cr_assert_eq(all->tensors, 6);
    /* 0 is a count of zeros, 1 ... 5 a bin each */
    size_t group = (size_t)(all - groups.rows), bins = 0;
    for (size_t i = 0; i < groups.bin_count; i++) {
        const struct tp_group_bin *bin = &groups.bins[i];
        if (bin->group != group) {
            continue;
        }
        cr_assert_eq(bin->count, 10);
        cr_assert_leq(bin->lower, (double)bins);
        cr_assert(bin->upper > (double)bins || (bins == 0 && bin->upper == 0));
        bins++;
    }
    cr_assert_eq(bins, 6);
    cr_assert_null(find_group(&groups, "layer_idx", "-"), "no row has a layer");
    cr_assert_not_null(find_group(&groups, "quant_type/rank", "hifp8/0"));
    tp_groups_clear(&groups);
    stages_clear(&made);
}

/* --- findings ---------------------------------------------------------- */

/* A healthy series of `iterations` rows of 100 elements in one rank. */
static void add_series(struct tp_run *run, int64_t rank, int64_t layer,
                       int iterations)
{
    for (int i = 0; i < iterations; i++) {
        struct tp_row *row = add_row(run, "f");
        row->label.rank = rank;
        row->label.layer_idx = layer;
        row->label.iteration = i;
        row->label.counter = i * 100 + layer;
        row->counts.numel = row->counts.values = row->counts.judged = 100;
        row->numbers.abs_max = 4;
    }
}

Test(findings, a_healthy_run_has_none)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_series(&made.run, 0, 1, 8);
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 0);
    cr_assert_eq(tp_findings_worst(&findings), 0);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(findings, the_first_nan_of_a_rank_is_the_origin)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    for (int64_t layer = 1; layer <= 4; layer++) {
        add_series(&made.run, 1, layer, 10);
    }
    for (size_t i = 0; i < made.run.row_count; i++) {
        const struct tp_label *label = &made.run.rows[i].label;
        bool bad = label->iteration > 6 ||
                   (label->iteration == 6 && label->layer_idx >= 3);
        made.run.rows[i].counts.nan = bad ? 5 : 0;
    }
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    const struct tp_finding *finding = &findings.rows[0];
    cr_assert_eq(finding->level, TP_SEVERITY_HIGH);
    cr_assert_eq(finding->rank, 1);
    cr_assert_eq(finding->iteration, 6);
    cr_assert_eq(finding->layer_idx, 3);
    cr_assert_eq(finding->consequences, 3, "three other series follow");
    cr_assert_eq(tp_findings_worst(&findings), TP_SEVERITY_HIGH);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(findings, a_mask_of_infinities_is_no_incident_but_new_ones_are)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_series(&made.run, 0, 1, 6);
    add_series(&made.run, 0, 2, 6);
    for (size_t i = 0; i < 6; i++) {
        made.run.rows[i].counts.neg_inf = 50; /* from the start */
    }
    made.run.rows[6 + 4].counts.pos_inf = 1;
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    cr_assert_eq(findings.rows[0].layer_idx, 2);
    cr_assert_eq(findings.rows[0].iteration, 4);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

Test(findings, losses_are_one_per_place_worst_first)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_series(&made.run, 0, 1, 6);
    add_series(&made.run, 0, 2, 6);
    add_series(&made.run, 0, 3, 6);
    made.run.rows[2].numbers.total_overflow_ratio = 0.005; /* low    */
    made.run.rows[8].numbers.total_overflow_ratio = 0.02;  /* medium */
    made.run.rows[10].numbers.total_overflow_ratio = 0.03; /* same place */
    made.run.rows[14].numbers.underflow_ratio = 0.9;       /* medium, 9 x  */
    made.run.rows[15].numbers.underflow_ratio = 0.009;     /* below the limit */
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 3);
    cr_assert_str_eq(findings.rows[0].rule->id, "underflow");
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_assert_eq(findings.rows[1].layer_idx, 2);
    cr_assert_float_eq(findings.rows[1].value, 0.03, 1e-15);
    cr_assert_eq(findings.rows[1].iteration, 2, "the first above the limit");
    cr_assert_eq(findings.rows[2].level, TP_SEVERITY_LOW);
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* The median of the place before the first that is bad; none where that is the
 * first of all. */
Test(findings, losses_have_what_was_before_as_a_baseline)
{
    for (size_t first = 0; first < 6; first += 2) {
        struct stages made = {.run = {.rows = NULL}};
        struct tp_findings findings = {0};
        add_series(&made.run, 0, 1, 6);
        for (size_t i = 0; i < 6; i++)
            made.run.rows[i].numbers.underflow_ratio =
                i < first ? 0.001 * (double)i : 0.2 + 0.1 * (double)i;
        stages_judge(&made, &findings);
        cr_assert_eq(findings.count, 1);
        cr_expect_eq(findings.rows[0].iteration, first);
        if (first)
            cr_expect_float_eq(findings.rows[0].baseline,
                               0.001 * ((double)first - 1) / 2, 1e-15);
        else
            cr_expect(isnan(findings.rows[0].baseline));
        tp_findings_clear(&findings);
        stages_clear(&made);
    }
}

/* Blocks that saturate, and Inf in one tensor of the same place, differ in what
 * is to be done. */
Test(findings, saturation_and_infinities_are_told_apart)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    add_series(&made.run, 0, 1, 6);
    for (size_t i = 0; i < made.run.row_count; i++) {
        made.run.rows[i].target =
            tp_number_by_id("mxfp8_e4m3");
        made.run.rows[i].numbers.total_overflow_ratio = 0.05;
    }
    made.run.rows[3].numbers.total_overflow_ratio = 0.02;
    made.run.rows[3].counts.pos_inf = 20;
    for (size_t i = 0; i < 3; i++)
        made.run.rows[i].counts.pos_inf = 1; /* a mask, so no incident */
    for (size_t i = 0; i < 3; i++)
        made.run.rows[i].numbers.total_overflow_ratio = 0;
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 2);
    cr_assert_eq(findings.rows[0].level, TP_SEVERITY_MEDIUM);
    cr_assert_float_eq(findings.rows[0].value, 0.02, 1e-15);
    cr_assert(strstr(findings.rows[0].suggestion, "infinite already"));
    cr_assert_eq(findings.rows[1].level, TP_SEVERITY_LOW);
    cr_assert(strstr(findings.rows[1].suggestion, "scale rule"));
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* Tensors of a plain file are told by their keys. */
Test(findings, name_the_path_inside_a_file)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {0};
    for (int i = 0; i < 2; i++) {
        struct tp_row *row = add_row(&made.run, "model.pth");
        row->path = i ? "head.weight" : "body.weight";
        row->counts.numel = row->counts.values = 4;
        row->counts.nan = (uint64_t)i;
    }
    stages_judge(&made, &findings);
    cr_assert_eq(findings.count, 1);
    cr_assert_str_eq(findings.rows[0].path, "head.weight");
    cr_assert_null(strstr(findings.rows[0].evidence, "0 other"));
    tp_findings_clear(&findings);
    stages_clear(&made);
}

/* What an incident explains is neither judged nor among those that are. */
Test(findings, losses_say_what_an_incident_explains)
{
    for (unsigned char broken = 0; broken < 2; broken++) {
        struct stages made = {.run = {.rows = NULL}};
        struct tp_findings findings = {0};
        add_series(&made.run, 0, 1, 6);
        for (size_t i = 1; i < 6; i++)
            made.run.rows[i].numbers.total_overflow_ratio = 0.005;
        made.incidents.run = &made.run;
        made.incidents.explained = calloc(made.run.row_count, 1);
        for (size_t i = 4; i < 6; i++)
            made.incidents.explained[i] = broken;
        stages_judge(&made, &findings);
        cr_assert_eq(findings.count, 1);
        const char *evidence = findings.rows[0].evidence;
        cr_expect(strstr(evidence, broken ? "3 of 4 tensors"
                                          : "5 of 6 tensors"), "%s", evidence);
        cr_expect_eq(strstr(evidence, "; 2 more that an incident explains are "
                                      "not judged") != NULL, broken,
                     "%s", evidence);
        tp_findings_clear(&findings);
        stages_clear(&made);
    }
}
