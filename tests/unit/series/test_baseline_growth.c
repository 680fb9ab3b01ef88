/* SPDX-License-Identifier: MIT */
/*
 * Gradients that grow by a factor in every iteration, from one layer on: when
 * and where that began, by simulation. The truth is what was planted.
 */
#include <stdio.h>

#include "report/report_monitor.h"
#include "tests/unit/support/stages.h"
#include "tests/unit/support/xorshift.h"

enum {
    LAYERS = 5,
    AT_LAYER = 3,
    ITERATIONS = 110,
    AT = 65,
    RANKS = 2,
    NUMEL = 64,
    ROUNDS = 8
};

/* --- series -------------------------------------------------------------- */

static double even(uint64_t *state)
{
    return ((double)(xorshift(state) >> 11) + 0.5) / 0x1p53;
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(even(state)));
    return radius * cos(2 * 3.14159265358979324 * even(state));
}

/* A series with noise, and `change` after its point AT on. */
static struct tp_baseline fit(enum tp_baseline_scale scale, double noise,
                              double (*change)(double value, double age),
                              uint64_t *dice, double *values)
{
    static double scratch[64 * ITERATIONS];
    int64_t at[ITERATIONS];
    cr_assert_leq(tp_baseline_scratch(ITERATIONS),
                  sizeof scratch / sizeof *scratch);
    for (int i = 0; i < ITERATIONS; i++) {
        at[i] = i;
        values[i] = 0.3 * exp2(noise * normal(dice));
        if (i >= AT)
            values[i] = change(values[i], i - AT + 1);
    }
    const struct tp_baseline_series series = {
        .count = ITERATIONS, .at = at, .value = values, .scale = scale};
    const struct tp_baseline_options options = {.alert_window = 50, .sigma = 3};
    struct tp_baseline baseline;
    tp_baseline_fit(&series, &options, scratch, &baseline, NULL);
    return baseline;
}

static double grow(double value, double age)
{
    return value * exp2(0.45 * age);
}

static double jump(double value, double age)
{
    (void)age;
    return value * 16;
}

static double add(double value, double age)
{
    (void)age;
    return value + 0.4;
}

/* One that grows by 1.5 spreads each iteration is seen late. It is dated back,
 * with the iterations that are about as likely. */
Test(growth, of_a_series_is_dated_back)
{
    enum { SERIES = 300 };
    double values[ITERATIONS], late = 0, held = 0, found = 0;
    uint64_t dice = 123456789;
    for (int i = 0; i < SERIES; i++) {
        struct tp_baseline b = fit(TP_BASELINE_LOG, 0.3, grow, &dice, values);
        if (b.kind == TP_CHANGE_NONE)
            continue;
        found++;
        late += (double)b.first - AT;
        held += b.onset_from < AT && AT <= b.onset_to;
        cr_expect_leq(b.first, b.shown);
        cr_expect_lt(b.onset_from, (int64_t)b.first);
        cr_expect_geq(b.onset_to, (int64_t)b.first);
    }
    cr_expect_geq(found, 0.98 * SERIES, "%g", found);
    cr_expect_leq(fabs(late / found), 0.7, "%g", late / found);
    cr_expect_geq(held, 0.75 * found, "%g of %g", held, found);
}

Test(growth, a_jump_of_a_series_is_not)
{
    enum { SERIES = 300 };
    double values[ITERATIONS], exact = 0;
    uint64_t dice = 123456789;
    for (int i = 0; i < SERIES; i++) {
        struct tp_baseline b = fit(TP_BASELINE_LOG, 0.3, jump, &dice, values);
        cr_assert_neq(b.kind, TP_CHANGE_NONE);
        cr_expect_eq(b.first, b.shown);
        cr_expect_eq(b.onset_to, (int64_t)b.shown);
        exact += b.first == AT;
    }
    cr_expect_geq(exact, 0.97 * SERIES, "%g", exact);
}

/* A value's distance, again, is what the baseline says of its first point. */
Test(growth, deviations_follow_from_center_and_spread)
{
    double values[ITERATIONS];
    uint64_t dice = 362436069;
    for (int scale = TP_BASELINE_LOG; scale <= TP_BASELINE_RATIO; scale++) {
        struct tp_baseline b = fit(
            scale, 0.03, scale == TP_BASELINE_LOG ? jump : add, &dice, values);
        cr_assert_eq(b.first, AT);
        cr_expect_float_eq(
            tp_baseline_deviation(scale, values[AT], b.center, b.spread),
            b.deviation, 1e-9 * b.deviation);
    }
}

/* --- runs --------------------------------------------------------------- */

/* A run in the making, and what is wrong with it. */
struct maker {
    struct stages stages;
    uint64_t dice;
    int64_t iteration, rank, counter;
    double growth; /* factor of every iteration from AT on; 1: healthy       */
    double shared; /* relative noise that all gradients of an iteration have */
    double own;    /* and that each tensor has                               */
    bool post;     /* the layer's backward post output grows first, else its
                      backward pre input                                     */
};

/* Normal values of about this size, as a row's summary. */
static void set_values(struct maker *m, struct tp_row *row, double size)
{
    static struct tp_summary sum;
    double values[NUMEL], mean = 0;
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < NUMEL; i++) {
        values[i] = size * normal(&m->dice);
        mean += values[i] / NUMEL;
    }
    sum.counts.numel = sum.counts.values = sum.moments.n = NUMEL;
    sum.moments.mean = mean;
    sum.extrema = (struct tp_extrema){INFINITY, -INFINITY, INFINITY};
    for (int i = 0; i < NUMEL; i++) {
        double x = values[i], away = x - mean;
        sum.counts.negative += x < 0;
        sum.moments.m2 += away * away;
        sum.moments.m3 += away * away * away;
        sum.moments.m4 += away * away * away * away;
        sum.moments.sum_abs += fabs(x);
        sum.moments.sum_squares += x * x;
        sum.extrema.min = fmin(sum.extrema.min, x);
        sum.extrema.max = fmax(sum.extrema.max, x);
        sum.extrema.abs_min_nonzero =
            fmin(sum.extrema.abs_min_nonzero, fabs(x));
        sum.bins[tp_summary_bin(x)]++;
    }
    set_summary(&m->stages.run, row, &sum);
}

static void save(struct maker *m, const char *operation, const char *phase,
                 const char *name, int64_t layer, double size)
{
    struct tp_row *row = add_row(&m->stages.run, "f");
    row->label.layer_type = "linear";
    row->label.operation = operation;
    row->label.phase = phase;
    row->label.tensor_name = name;
    row->label.layer_idx = layer;
    row->label.rank = m->rank;
    row->label.iteration = m->iteration;
    row->label.counter = ++m->counter;
    set_values(m, row, size);
}

static void step(struct maker *m)
{
    for (int64_t layer = 1; layer <= LAYERS; layer++) {
        save(m, "forward", "pre", "input", layer, exp(0.05 * normal(&m->dice)));
        save(m, "forward", "pre", "weight", layer,
             0.1 * exp(0.002 * normal(&m->dice)));
    }
    double age = (double)(m->iteration - AT + 1);
    double fault = age > 0 ? pow(m->growth, age) : 1;
    double size = 1e-3 * exp(m->shared * normal(&m->dice));
    for (int64_t layer = LAYERS; layer >= 1; layer--) {
        if (layer == AT_LAYER && !m->post)
            size *= fault;
        save(m, "backward", "pre", "input", layer,
             size * exp(m->own * normal(&m->dice)));
        size *= layer == AT_LAYER && m->post ? 0.9 * fault : 0.9;
        save(m, "backward", "post", "output", layer,
             size * exp(m->own * normal(&m->dice)));
    }
}

static void make_run(struct maker *m, struct tp_findings *findings)
{
    const struct tp_baseline_options options = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    for (m->iteration = 0; m->iteration < ITERATIONS; m->iteration++) {
        for (m->rank = 0; m->rank < RANKS; m->rank++) {
            m->counter = 1000 * (m->iteration * RANKS + m->rank);
            step(m);
        }
    }
    cr_assert_eq(tp_run_number(&m->stages.run, NULL), TP_OK);
    stages_watch(&m->stages, &options);
    stages_judge(&m->stages, findings);
}

/* --- what is found ------------------------------------------------------ */

/* How often, out of ROUNDS. */
struct score {
    int high; /* the first finding is high                         */
    int near; /* off by one iteration at most                      */
    int told; /* the iterations it names hold the true one         */
    int layer, tensor;
    int ratio;  /* the ratio of norms is part of its evidence      */
    int others; /* further findings of medium or higher, in all    */
};

/* Whether "began after iteration A, by B" holds AT; without B it is the
 * finding's iteration, without A that is the only one. */
static bool holds(const struct tp_finding *finding)
{
    int64_t after = finding->iteration - 1, by = finding->iteration;
    const char *words = "began after iteration ";
    const char *said = strstr(finding->evidence, words);
    if (said) {
        char *end;
        after = strtoll(said + strlen(words), &end, 10);
        if (!strncmp(end, ", by ", 5))
            by = strtoll(end + 5, NULL, 10);
    }
    return after < AT && AT <= by;
}

static void judge(const struct maker *m, const struct tp_findings *findings,
                  struct score *score)
{
    const struct tp_finding *first = &findings->rows[0];
    for (size_t i = 1; i < findings->count; i++)
        score->others += findings->rows[i].level >= TP_SEVERITY_MEDIUM;
    if (findings->count == 0)
        return;
    score->high += first->level == TP_SEVERITY_HIGH;
    score->near += llabs(first->iteration - AT) <= 1;
    score->told += holds(first);
    score->ratio += strstr(first->evidence, "layer_grad_ratio") != NULL;
    score->layer += first->layer_idx == AT_LAYER;
    score->tensor += first->layer_idx == AT_LAYER &&
                     !strcmp(first->operation, "backward") &&
                     !strcmp(first->phase, m->post ? "post" : "pre");
}

static struct score measure(double growth, double shared, double own)
{
    struct score score = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct maker m = {.dice = 88172645463325252u + 7919u * (unsigned)round,
                          .growth = growth,
                          .shared = shared,
                          .own = own,
                          .post = round % 2};
        struct tp_findings findings = {0};
        make_run(&m, &findings);
        judge(&m, &findings, &score);
        tp_findings_clear(&findings);
        stages_clear(&m.stages);
    }
    return score;
}

Test(growth, a_healthy_run_has_none)
{
    for (int own = 0; own < 2; own++) {
        struct score score = measure(1, own ? 0.05 : 0.3, own ? 0.3 : 0);
        cr_expect_eq(score.high, 0);
        cr_expect_eq(score.others, 0);
    }
}

/* The least that is asked of ROUNDS runs. Where each tensor has much noise of
 * its own, no more can be known of slow growth than about when; with a tenth of
 * a binade, of 48 runs the layer is right in 36 and 31. */
Test(growth, is_told_once_and_from_its_beginning)
{
    static const struct {
        double growth, shared, own;
        int near, told, layer, tensor;
    } cases[] = {
        {1.2, 0.1, 0, 7, 6, 5, 5},    {1.2, 0.3, 0, 7, 7, 4, 2},
        {1.4, 0.1, 0, 7, 7, 6, 5},    {1.4, 0.3, 0, 7, 7, 5, 4},
        {2, 0.1, 0, 8, 7, 7, 7},      {2, 0.3, 0, 8, 6, 5, 5},
        {1.2, 0.05, 0.1, 7, 5, 6, 6}, {1.2, 0.05, 0.3, 4, 6, 0, 0},
        {1.4, 0.05, 0.1, 7, 5, 6, 6}, {1.4, 0.05, 0.3, 6, 6, 1, 1},
        {2, 0.05, 0.1, 8, 6, 6, 6},   {2, 0.05, 0.3, 7, 6, 4, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct score score =
            measure(cases[i].growth, cases[i].shared, cases[i].own);
        cr_expect_geq(score.high, ROUNDS - 1, "%zu: %d", i, score.high);
        cr_expect_geq(score.near, cases[i].near, "%zu: %d", i, score.near);
        cr_expect_geq(score.told, cases[i].told, "%zu: %d", i, score.told);
        cr_expect_geq(score.layer, cases[i].layer, "%zu: %d", i, score.layer);
        cr_expect_geq(score.tensor, cases[i].tensor, "%zu: %d", i,
                      score.tensor);
        cr_expect(cases[i].own > 0 || score.ratio >= ROUNDS / 2, "%zu: %d", i,
                  score.ratio);
        cr_expect_leq(score.others, 2, "%zu: %d", i, score.others);
    }
}

/* --- the lines of the monitor -------------------------------------------- */

/* The line on a gradient's norm. */
struct said {
    double value, baseline, spread;
    const char *status, *end; /* the words after it                        */
};

static struct said read_line(const char *text, int64_t iteration)
{
    struct said said = {0};
    char words[64];
    snprintf(words, sizeof words,
             "[Monitor] Step %d | hifp8 rank 0 | grad_norm: ", (int)iteration);
    const char *line = strstr(text, words);
    cr_assert_not_null(line, "%s", words);
    cr_assert_eq(sscanf(line + strlen(words), "%lf (baseline: %lf\u00b1%lf)",
                        &said.value, &said.baseline, &said.spread),
                 3);
    said.status = strstr(line, " | Status: ");
    cr_assert_not_null(said.status);
    said.end = strchr(said.status, '\n');
    return said;
}

/* The baseline does not follow the fault, and the line says from when it is;
 * of a healthy run it does follow, and nothing is said. */
Test(growth, holds_the_baseline_of_the_monitor)
{
    for (int ill = 0; ill < 2; ill++) {
        struct maker m = {
            .dice = 88172645463325252u, .growth = ill ? 1.4 : 1, .shared = 0.1};
        struct tp_findings findings = {0};
        struct tp_text text = {0};
        make_run(&m, &findings);
        tp_report_monitor(&m.stages.monitor, &m.stages.incidents, &text);
        struct said last = read_line(tp_text_get(&text), ITERATIONS - 1);
        const char *held = strstr(last.status, " | baseline of before step ");
        cr_expect_eq(held && held < last.end, ill);
        if (ill) {
            cr_assert_not_null(held);
            cr_expect_eq(strtoll(held + 27, NULL, 10),
                         findings.rows[0].iteration);
            cr_expect_gt(last.value, 1000 * last.baseline);
            cr_expect_lt(last.spread, last.baseline);
        } else {
            cr_expect_lt(fabs(last.value - last.baseline), 5 * last.spread);
        }
        tp_text_clear(&text);
        tp_findings_clear(&findings);
        stages_clear(&m.stages);
    }
}
