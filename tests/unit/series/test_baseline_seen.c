/* SPDX-License-Identifier: MIT */
/*
 * What a whole run of twelve layers shows: the two alerts of a live monitor
 * that the requirements give as examples, a gradient's norm of 15.6 against
 * 2.1 +- 0.5 and an underflow of 0.05 against 0.001 +- 0.0005, by simulation;
 * what is weaker than that; and nothing where nothing was planted.
 */
#include "tests/unit/support/noise.h"
#include "tests/unit/support/stages.h"

enum { LAYERS = 12, NUMEL = 4000, GRADIENTS = 64 };

/* What is planted, and when. */
struct plan {
    int64_t iterations, at;
    double norm;        /* of the gradients then; 0: as ever              */
    int64_t first, end; /* of these layers                                */
    double more;        /* binades by which they are greater then         */
    uint64_t underflow; /* elements of layer 3's input then; 0: as ever   */
    int64_t split;      /* gradients of so many layers share one norm, and
                           no inputs are saved; 0: all have their own      */
};

/* Adds `times` values to a summary that is being made. */
static void add_value(struct tp_summary *sum, double x, uint64_t times)
{
    double n = (double)times;
    sum->counts.numel += times;
    sum->counts.values += times;
    sum->counts.judged += times;
    sum->counts.negative += x < 0 ? times : 0;
    sum->moments.n += times;
    sum->moments.mean += n * x; /* the sum, until all are there */
    sum->moments.sum_abs += n * fabs(x);
    sum->moments.sum_squares += n * x * x;
    sum->extrema.min = fmin(sum->extrema.min, x);
    sum->extrema.max = fmax(sum->extrema.max, x);
    sum->extrema.abs_min_nonzero = fmin(sum->extrema.abs_min_nonzero, fabs(x));
    sum->bins[tp_summary_bin(x)] += times;
}

static struct tp_row *save(struct tp_run *run, const struct tp_label *label,
                           struct tp_summary *sum)
{
    double n = (double)sum->moments.n;
    sum->moments.mean /= n;
    sum->moments.m2 =
        sum->moments.sum_squares - n * sum->moments.mean * sum->moments.mean;
    struct tp_row *row = add_row(run, "f");
    int64_t counter = (int64_t)run->row_count;
    row->dtype = TP_FLOAT32;
    row->target = tp_number_by_id("fp16");
    row->label = *label;
    row->label.quant_type = "fp16";
    row->label.layer_type = "linear";
    row->label.tensor_name = "input";
    row->label.phase = "pre";
    row->label.rank = 0;
    row->label.counter = counter;
    set_summary(run, row, sum);
    return row;
}

static void begin(struct tp_summary *sum)
{
    memset(sum, 0, sizeof *sum);
    sum->extrema = (struct tp_extrema){INFINITY, -INFINITY, INFINITY};
}

/* 4 000 normal values, a binomial number of them 1e-9, which fp16 has not. */
static void save_input(struct tp_run *run, struct dice *dice,
                       const struct plan *plan, struct tp_label label)
{
    static struct tp_summary sum;
    double share = fmax(0.001 + 0.0004 * dice_normal(dice), 0);
    uint64_t under = dice_binomial(dice, NUMEL, share);
    if (plan->underflow && label.iteration == plan->at && label.layer_idx == 3)
        under = plan->underflow;
    begin(&sum);
    if (under)
        add_value(&sum, 1e-9, under);
    for (uint64_t i = under; i < NUMEL; i++)
        add_value(&sum, dice_normal(dice), 1);
    sum.counts.underflow = under;
    label.operation = "forward";
    save(run, &label, &sum);
}

static double draw_norm(struct dice *dice)
{
    return fmax(0.3, 2.1 + 0.5 * dice_normal(dice));
}

/* A gradient of that norm. */
static void save_gradient(struct tp_run *run, struct dice *dice, double norm,
                          struct tp_label label)
{
    static struct tp_summary sum;
    double values[GRADIENTS], squares = 0;
    for (size_t i = 0; i < GRADIENTS; i++) {
        values[i] = dice_normal(dice);
        squares += values[i] * values[i];
    }
    begin(&sum);
    for (size_t i = 0; i < GRADIENTS; i++)
        add_value(&sum, values[i] * norm / sqrt(squares), 1);
    label.operation = "backward";
    save(run, &label, &sum);
}

/* An iteration of a run whose layers share one gradient's norm. */
static void save_split(struct tp_run *run, struct dice *dice,
                       const struct plan *plan, struct tp_label label)
{
    double norm = draw_norm(dice);
    if (label.iteration == plan->at && plan->norm > 0)
        norm = plan->norm;
    for (label.layer_idx = plan->split; label.layer_idx-- > 0;)
        save_gradient(run, dice, norm / sqrt((double)plan->split), label);
}

/* One whose layers have norms of their own. */
static void save_apart(struct tp_run *run, struct dice *dice,
                       const struct plan *plan, struct tp_label label)
{
    for (label.layer_idx = 0; label.layer_idx < LAYERS; label.layer_idx++)
        save_input(run, dice, plan, label);
    for (label.layer_idx = LAYERS; label.layer_idx-- > 0;) {
        double norm = draw_norm(dice);
        if (label.iteration == plan->at && plan->first <= label.layer_idx &&
            label.layer_idx < plan->end)
            norm = plan->norm > 0 ? plan->norm : norm * exp2(plan->more);
        save_gradient(run, dice, norm, label);
    }
}

/* Simulates the run and finds what there is to say. */
static void judge(const struct plan *plan, uint64_t seed, struct stages *made,
                  struct tp_findings *findings)
{
    const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    struct dice dice = dice_of(seed);
    struct tp_label label = TP_LABEL_NONE;
    *made = (struct stages){.run = {.rows = NULL}};
    *findings = (struct tp_findings){0};
    for (label.iteration = 0; label.iteration < plan->iterations;
         label.iteration++)
        (plan->split ? save_split : save_apart)(&made->run, &dice, plan, label);
    cr_assert_eq(tp_run_number(&made->run, NULL), TP_OK);
    stages_watch(made, &options);
    stages_judge(made, findings);
}

static void clear(struct stages *made, struct tp_findings *findings)
{
    tp_findings_clear(findings);
    stages_clear(made);
}

/* Findings of at least that severity. */
static size_t count(const struct tp_findings *findings, enum tp_severity level)
{
    size_t n = 0;
    for (size_t i = 0; i < findings->count; i++)
        n += findings->rows[i].level >= level;
    return n;
}

/* Whether a tensor left its baseline in that iteration. */
static bool alarms(const struct stages *made, const char *operation,
                   int64_t layer, int64_t iteration)
{
    for (size_t i = 0; i < made->incidents.alarm_count; i++) {
        const struct tp_label *label =
            &tp_alarm_series(&made->incidents, i)->label;
        if (label->layer_idx == layer && !strcmp(label->operation, operation) &&
            made->incidents.alarms[i].iteration == iteration)
            return true;
    }
    return false;
}

/* Whether a finding says that a change began there. */
static bool has_onset(const struct tp_findings *findings, int64_t iteration,
                      int64_t layer)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct tp_finding *finding = &findings->rows[i];
        if (!strcmp(finding->rule->id, "onset") &&
            finding->iteration == iteration && finding->layer_idx == layer)
            return true;
    }
    return false;
}

static const struct {
    int64_t iterations, at;
} lengths[] = {{120, 115}, {310, 305}, {1000, 985}};

Test(seen, both_alerts_of_the_requirements)
{
    for (size_t i = 0; i < 3; i++) {
        const struct plan plan = {.iterations = lengths[i].iterations,
                                  .at = lengths[i].at,
                                  .norm = 15.6,
                                  .end = LAYERS,
                                  .underflow = 200};
        struct stages made;
        struct tp_findings findings;
        judge(&plan, i, &made, &findings);
        cr_assert_eq(count(&findings, TP_SEVERITY_MEDIUM), 1, "%zu", i);
        const struct tp_finding *first = &findings.rows[0];
        cr_expect_eq(first->level, TP_SEVERITY_HIGH, "%zu", i);
        cr_expect_eq(first->iteration, plan.at, "%zu", i);
        cr_expect_eq(first->layer_idx, 3, "%zu", i);
        cr_expect_str_eq(first->metric, "underflow_ratio", "%zu", i);
        /* together or, where the norm of all tells it, each by itself */
        cr_expect(strstr(first->evidence, "what 12 backward pre input tensors "
                                          "share moved, too") ||
                      strstr(first->evidence, "12 other tensors follow"),
                  "%s", first->evidence);
        clear(&made, &findings);
    }
}

Test(seen, gradients_alone)
{
    for (size_t i = 0; i < 2; i++) {
        const struct plan plan = {.iterations = lengths[i].iterations,
                                  .at = lengths[i].at,
                                  .norm = 15.6,
                                  .end = LAYERS};
        struct stages made;
        struct tp_findings findings;
        judge(&plan, i + 10, &made, &findings);
        cr_assert_eq(count(&findings, TP_SEVERITY_MEDIUM), 1, "%zu", i);
        cr_expect_eq(findings.rows[0].level, TP_SEVERITY_HIGH, "%zu", i);
        cr_expect_eq(findings.rows[0].iteration, plan.at, "%zu", i);
        cr_expect_str_eq(findings.rows[0].operation, "backward", "%zu", i);
        clear(&made, &findings);
    }
}

/* How many runs of a plan have that one finding of high severity, and how many
 * of their twins without the fault have none at all. */
static void count_found(struct plan plan, uint64_t seed, size_t rounds,
                        size_t found[2])
{
    for (size_t k = 0; k < 2 * rounds; k++) {
        struct stages made;
        struct tp_findings findings;
        plan.norm = k < rounds ? 15.6 : 0;
        judge(&plan, seed + k % rounds, &made, &findings);
        size_t high = count(&findings, TP_SEVERITY_HIGH);
        found[k / rounds] +=
            k < rounds ? high == 1 && findings.rows[0].iteration == plan.at &&
                             count(&findings, TP_SEVERITY_MEDIUM) == 1
                       : count(&findings, TP_SEVERITY_LOW) == 0;
        clear(&made, &findings);
    }
}

/* One norm, of a single layer or split over layers that so share its noise:
 * in log2 it is 8 spreads off. Of 120 iterations 39 of 40 such runs are found,
 * of 310 and 1000 all. */
Test(seen, gradients_that_share_their_noise)
{
    static const size_t rounds[] = {8, 6, 3}, least[] = {7, 6, 3};
    for (size_t i = 0; i < 6; i++) {
        const struct plan plan = {.iterations = lengths[i % 3].iterations,
                                  .at = lengths[i % 3].at,
                                  .split = i < 3 ? 1 : LAYERS};
        size_t found[2] = {0, 0};
        count_found(plan, 100 * i, rounds[i % 3], found);
        cr_expect_geq(found[0], least[i % 3], "%zu: %zu", i, found[0]);
        cr_expect_eq(found[1], rounds[i % 3], "%zu: %zu", i, found[1]);
    }
}

/* Alone, the underflow is found in 310 iterations; 120 of them tell the tails
 * of so small a share in about every other run. */
Test(seen, underflow_alone)
{
    size_t found = 0;
    for (size_t i = 0; i < 10; i++) {
        size_t length = i < 8 ? 0 : 1;
        const struct plan plan = {.iterations = lengths[length].iterations,
                                  .at = lengths[length].at,
                                  .underflow = 200};
        struct stages made;
        struct tp_findings findings;
        judge(&plan, i + 10, &made, &findings);
        bool it = alarms(&made, "forward", 3, plan.at);
        found += it;
        cr_expect(it || length == 0, "%zu", i);
        cr_expect_eq(made.incidents.alarm_count, it, "%zu", i);
        cr_expect_eq(has_onset(&findings, plan.at, 3), it, "%zu", i);
        cr_expect_eq(count(&findings, TP_SEVERITY_HIGH), 0, "%zu", i);
        clear(&made, &findings);
    }
    cr_expect_geq(found, 2 + 3, "%zu", found);
}

Test(seen, nothing_where_nothing_was_planted)
{
    for (size_t i = 0; i < 3; i++) {
        const struct plan plan = {.iterations = lengths[i].iterations,
                                  .at = lengths[i].at};
        struct stages made;
        struct tp_findings findings;
        judge(&plan, i, &made, &findings);
        cr_expect_eq(made.incidents.alarm_count, 0, "%zu", i);
        cr_expect_eq(count(&findings, TP_SEVERITY_MEDIUM), 0, "%zu", i);
        clear(&made, &findings);
    }
}

/* Within the noise of every tensor, in all of them: medium, and it says so. */
Test(seen, a_weak_change_of_all_tensors_is_medium)
{
    const struct plan plan = {
        .iterations = 310, .at = 200, .end = LAYERS, .more = 1.1};
    struct stages made;
    struct tp_findings findings;
    judge(&plan, 7, &made, &findings);
    cr_assert_eq(count(&findings, TP_SEVERITY_MEDIUM), 1);
    const struct tp_finding *first = &findings.rows[0];
    cr_expect_eq(first->level, TP_SEVERITY_MEDIUM);
    cr_expect_eq(first->iteration, 200);
    cr_expect_eq(first->layer_idx, -1);
    cr_expect(strstr(first->evidence, "mean of 12 tensors together: "), "%s",
              first->evidence);
    cr_expect(strstr(first->suggestion, "all layers have in common"), "%s",
              first->suggestion);
    clear(&made, &findings);
}

/* A single tensor is told once, not again for every sum that it is part of,
 * and says nothing of what all share. */
Test(seen, a_lone_tensor_is_told_once)
{
    const struct plan plan = {
        .iterations = 120, .at = 100, .first = 5, .end = 6, .more = 20};
    struct stages made;
    struct tp_findings findings;
    judge(&plan, 3, &made, &findings);
    cr_assert_eq(count(&findings, TP_SEVERITY_MEDIUM), 1);
    const struct tp_finding *first = &findings.rows[0];
    cr_expect_eq(first->level, TP_SEVERITY_MEDIUM);
    cr_expect_eq(first->iteration, 100);
    cr_expect_eq(first->layer_idx, 5);
    cr_expect_str_eq(first->layer_type, "linear");
    cr_expect_not(strstr(first->evidence, "share"), "%s", first->evidence);
    cr_expect_gt(made.incidents.alarm_count, 1); /* its sums */
    clear(&made, &findings);
}
