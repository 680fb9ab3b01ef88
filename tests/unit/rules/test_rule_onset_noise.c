/* SPDX-License-Identifier: MIT */
/*
 * What the rules make of noise, and of faults in it: whole runs, through all
 * stages, by each method.
 */
#include <stdio.h>

#include "tests/unit/support/noisy_run.h"

static const struct tp_baseline_options usual = {
    .warmup_steps = 100, .alert_window = 50, .sigma = 3};

static const enum tp_baseline_method methods[] = {
    TP_BASELINE_RETRO, TP_BASELINE_ONLINE, TP_BASELINE_ROLLING};

/* A run that was judged. */
struct judged {
    struct stages stages;
    struct tp_findings findings;
};

static void judge(struct judged *judged, const struct noisy_run *made,
                  enum tp_baseline_method method)
{
    struct tp_baseline_options options = usual;
    options.method = method;
    *judged = (struct judged){.stages = {.run = {.rows = NULL}}};
    noisy_judge(made, &options, &judged->stages, &judged->findings);
}

static void clear(struct judged *judged)
{
    tp_findings_clear(&judged->findings);
    stages_clear(&judged->stages);
}

static const struct tp_finding *find(const struct judged *judged,
                                     const char *rule)
{
    for (size_t i = 0; i < judged->findings.count; i++) {
        if (!strcmp(judged->findings.rows[i].rule->id, rule))
            return &judged->findings.rows[i];
    }
    return NULL;
}

/* --- healthy runs ------------------------------------------------------- */

/* Runs of one noise with a finding that is more than low. */
static size_t count_accused(enum noise_kind noise, size_t iterations,
                            size_t runs)
{
    size_t accused = 0;
    for (size_t i = 0; i < runs; i++) {
        const struct noisy_run made = {
            .noise = noise, .iterations = iterations, .seed = 1000 * i + noise};
        struct judged judged;
        judge(&judged, &made, methods[i % 3]);
        if (tp_findings_worst(&judged.findings) > TP_SEVERITY_LOW) {
            const struct tp_finding *first = judged.findings.rows;
            cr_log_warn("%s, %zu iterations, run %zu: %s in %s at %ld",
                        noise_name(noise), iterations, i, first->metric,
                        first->tensor_name, (long)first->iteration);
            accused++;
        }
        clear(&judged);
    }
    return accused;
}

/* One of a thousand may be: of these 360 none is. */
Test(onset_noise, healthy_runs_are_not_accused)
{
    size_t accused = 0;
    for (int noise = 0; noise < NOISE_KINDS; noise++) {
        accused += count_accused((enum noise_kind)noise, 40, 24);
        accused += count_accused((enum noise_kind)noise, 120, 9);
        accused += count_accused((enum noise_kind)noise, 310, 3);
    }
    cr_expect_eq(accused, 0, "%zu", accused);
}

/* Experts without tokens: tensors that are zero in a share of iterations. */
Test(onset_noise, zeros_that_come_and_go_are_not_accused)
{
    static const double shares[] = {0.05, 0.2, 0.5};
    static const struct {
        size_t iterations, runs;
    } lengths[] = {{40, 60}, {120, 30}, {310, 12}};
    size_t accused = 0;
    for (size_t k = 0; k < 9; k++) {
        for (size_t i = 0; i < lengths[k / 3].runs; i++) {
            const struct noisy_run made = {
                .noise = i % 2 ? NOISE_LOGNORMAL : NOISE_NORMAL,
                .iterations = lengths[k / 3].iterations,
                .seed = 100 * k + i,
                .layers = i % 2 ? 5 : 3, /* four have shared series */
                .zeros = shares[k % 3]};
            struct judged judged;
            judge(&judged, &made, methods[i % 3]);
            if (tp_findings_worst(&judged.findings) > TP_SEVERITY_LOW) {
                const struct tp_finding *first = judged.findings.rows;
                cr_log_warn("%g of %zu, run %zu: %s", shares[k % 3],
                            made.iterations, i, first->evidence);
                accused++;
            }
            clear(&judged);
        }
    }
    cr_expect_eq(accused, 0, "%zu", accused);
}

/* A tensor that is zero for good, after zeros that came and went. */
Test(onset_noise, what_dies_among_zeros_is_found)
{
    for (size_t i = 0; i < 6; i++) {
        const struct noisy_run made = {.noise = NOISE_NORMAL,
                                       .iterations = 120,
                                       .seed = 300 + i,
                                       .zeros = i % 2 ? 0.05 : 0.2,
                                       .first = 7,
                                       .dead_from = 90};
        struct judged judged;
        judge(&judged, &made, methods[i % 3]);
        const struct tp_finding *first = find(&judged, "onset");
        cr_assert_not_null(first, "%zu", i);
        cr_expect_eq(first->level, TP_SEVERITY_MEDIUM);
        cr_expect(first->iteration <= 90 && first->iteration > 85, "%ld",
                  (long)first->iteration);
        cr_expect(strstr(first->evidence, "zero"), "%s", first->evidence);
        clear(&judged);
    }
}

/* Alerts of a live monitor are told once, and as what they are. */
Test(onset_noise, alerts_by_chance_are_one_low_finding)
{
    for (size_t k = 1; k < 3; k++) {
        const struct noisy_run made = {
            .noise = NOISE_STUDENT, .iterations = 120, .seed = 7};
        struct judged judged;
        size_t points = 0, times = 0;
        double expected = 0;
        judge(&judged, &made, methods[k]);
        const struct tp_monitor *monitor = &judged.stages.monitor;
        for (size_t i = 0; i < monitor->baseline_count; i++) {
            points += monitor->baselines[i].beyond;
            expected += monitor->baselines[i].chance;
        }
        for (size_t i = 0; i < judged.findings.count; i++)
            times += !strcmp(judged.findings.rows[i].rule->id, "alerts");
        cr_assert_eq(times, 1);
        cr_expect_gt(points, 20);
        cr_expect(expected > (double)points / 2 &&
                      expected < (double)points * 2,
                  "%zu, expected %g", points, expected);
        const struct tp_finding *alerts = find(&judged, "alerts");
        char words[64];
        cr_expect_eq(alerts->level, TP_SEVERITY_LOW);
        snprintf(words, sizeof words, "at %zu points of ", points);
        cr_expect(strstr(alerts->evidence, words), "%s", alerts->evidence);
        snprintf(words, sizeof words, "about %.0f are expected", expected);
        cr_expect(strstr(alerts->evidence, words), "%s", alerts->evidence);
        clear(&judged);
    }
}

/* --- faults ------------------------------------------------------------- */

/* Whether the worst finding is the origin of an incident, of tensor number 7 in
 * this iteration. */
static bool is_found(const struct judged *judged, int64_t iteration)
{
    const struct tp_finding *first = judged->findings.rows;
    return judged->findings.count > 0 && first->level == TP_SEVERITY_HIGH &&
           first->origin && first->iteration == iteration &&
           first->layer_idx == 1 && !strcmp(first->operation, "forward") &&
           !strcmp(first->phase, "post");
}

/* A factor of 10^9 after alerts by chance, within their window. */
Test(onset_noise, a_far_larger_change_begins_its_own_incident)
{
    static const enum noise_kind noises[] = {
        NOISE_NORMAL, NOISE_LOGNORMAL, NOISE_STUDENT, NOISE_AR, NOISE_DECAY};
    size_t earlier = 0;
    for (size_t k = 0; k < 15; k++) {
        const struct noisy_run made = {.noise = noises[k / 3],
                                       .iterations = 40,
                                       .seed = 40 + k,
                                       .from = 27,
                                       .length = 13,
                                       .first = 7,
                                       .factor = 1e9};
        struct judged judged;
        judge(&judged, &made, methods[k % 3]);
        cr_expect(is_found(&judged, 27), "%s, %s", noise_name(noises[k / 3]),
                  tp_baseline_method_words[methods[k % 3]]);
        const struct tp_monitor *monitor = &judged.stages.monitor;
        for (size_t i = 0; i < monitor->baseline_count && k % 3; i++)
            earlier += monitor->baselines[i].kind != TP_CHANGE_NONE &&
                       monitor->baselines[i].first < 27;
        clear(&judged);
    }
    cr_expect_gt(earlier, 50, "%zu", earlier);
}

/* The same whatever the limit is, by each method. */
Test(onset_noise, a_factor_of_a_billion_is_found_at_every_limit)
{
    for (int sigma = 3; sigma <= 20; sigma++) {
        const struct noisy_run made = {.noise = NOISE_AR,
                                       .iterations = 40,
                                       .seed = 90,
                                       .from = 27,
                                       .length = 13,
                                       .first = 7,
                                       .factor = 1e9};
        struct tp_baseline_options options = usual;
        struct judged judged = {.stages = {.run = {.rows = NULL}}};
        options.method = methods[sigma % 3];
        options.sigma = sigma;
        noisy_judge(&made, &options, &judged.stages, &judged.findings);
        cr_expect(is_found(&judged, 27), "%d", sigma);
        clear(&judged);
    }
}

/* A NaN in a weight that has had an alert by chance. */
Test(onset_noise, the_first_nan_is_found_after_an_alert)
{
    size_t earlier = 0;
    for (size_t k = 0; k < 12; k++) {
        const struct noisy_run made = {
            .noise = NOISE_STUDENT, .iterations = 40, .seed = 60 + k};
        struct tp_baseline_options options = usual;
        struct judged judged = {.stages = {.run = {.rows = NULL}}};
        options.method = methods[k % 3];
        noisy_fill(&made, &judged.stages.run);
        for (size_t i = 0; i < judged.stages.run.row_count; i++) {
            struct tp_row *row = &judged.stages.run.rows[i];
            if (row->label.iteration == 35 && row->label.counter == 6)
                row->counts.nan = 1;
        }
        stages_watch(&judged.stages, &options);
        stages_judge(&judged.stages, &judged.findings);
        const struct tp_finding *first = judged.findings.rows;
        cr_assert_gt(judged.findings.count, 0);
        cr_expect_eq(first->level, TP_SEVERITY_HIGH);
        cr_expect_str_eq(first->rule->id, "nonfinite");
        cr_expect_eq(first->iteration, 35);
        cr_expect_str_eq(first->tensor_name, "weight");
        const struct tp_monitor *monitor = &judged.stages.monitor;
        for (size_t m = 0; m < 8 && k % 3; m++) {
            const struct tp_baseline *b = tp_monitor_baseline(monitor, 6, m);
            earlier += b->kind != TP_CHANGE_NONE && b->first < 35;
        }
        clear(&judged);
    }
    cr_expect_gt(earlier, 4, "%zu", earlier);
}

/* Spikes of one iteration, in eight tensors of fifteen, in standard deviations
 * of the noise or, where that is lognormal, of its logarithm: found as the
 * origin of an incident in nine runs of ten at least. */
Test(onset_noise, spikes_are_found_by_a_live_monitor)
{
    static const struct {
        enum noise_kind noise;
        size_t iterations;
        double size;
        size_t least;
    } rows[] = {
        {NOISE_NORMAL, 40, 100, 9},    {NOISE_NORMAL, 120, 100, 9},
        {NOISE_NORMAL, 310, 20, 9},    {NOISE_LOGNORMAL, 40, 16, 9},
        {NOISE_LOGNORMAL, 120, 16, 9}, {NOISE_LOGNORMAL, 310, 8, 9},
        {NOISE_STUDENT, 40, 60, 9},    {NOISE_STUDENT, 120, 60, 9},
        {NOISE_STUDENT, 310, 40, 9},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        size_t found = 0, n = rows[k].iterations;
        double size = rows[k].size;
        for (size_t i = 0; i < 10; i++) {
            const struct noisy_run made = {
                .noise = rows[k].noise,
                .iterations = n,
                .seed = 500 + 10 * k + i,
                .from = n * 3 / 4,
                .length = 1,
                .first = 7,
                .factor = rows[k].noise == NOISE_NORMAL    ? 1 + 0.238 * size
                          : rows[k].noise == NOISE_STUDENT ? exp2(0.1 * size)
                                                           : exp(0.3 * size)};
            struct judged judged;
            judge(&judged, &made, methods[1 + i % 2]);
            found += is_found(&judged, (int64_t)n * 3 / 4);
            clear(&judged);
        }
        cr_expect_geq(found, rows[k].least, "%s, %zu: %zu",
                      noise_name(rows[k].noise), n, found);
    }
}

/* The worst level of findings about a run of noise in which one value, of one
 * number of one tensor, is so many times itself. */
static int level_of_one(enum noise_kind noise, double factor)
{
    const struct noisy_run made = {
        .noise = noise, .iterations = 310, .seed = 80};
    struct judged judged = {.stages = {.run = {.rows = NULL}}};
    noisy_fill(&made, &judged.stages.run);
    for (size_t i = 0; i < judged.stages.run.row_count; i++) {
        struct tp_row *row = &judged.stages.run.rows[i];
        if (row->label.iteration == 200 && row->label.counter == 6)
            row->numbers.abs_max *= factor;
    }
    stages_watch(&judged.stages, &usual);
    stages_judge(&judged.stages, &judged.findings);
    int level = tp_findings_worst(&judged.findings);
    /* a step of what stands still, just before, is part of it */
    int64_t first = level ? judged.findings.rows[0].iteration : 0;
    if (level > TP_SEVERITY_LOW)
        cr_expect(first == 200 || (noise == NOISE_QUANTISED && first == 199));
    clear(&judged);
    return level;
}

/* What is found where tails are taken for light may be chance all the same. */
Test(onset_noise, an_isolated_change_is_medium_beyond_any_tail)
{
    cr_expect_leq(level_of_one(NOISE_STUDENT, exp2(0.1 * 14)), TP_SEVERITY_LOW);
    cr_expect_eq(level_of_one(NOISE_STUDENT, exp2(0.1 * 200)),
                 TP_SEVERITY_MEDIUM);
    /* steps of an eighth: a spread of none */
    cr_expect_leq(level_of_one(NOISE_QUANTISED, 1.5), TP_SEVERITY_LOW);
    cr_expect_eq(level_of_one(NOISE_QUANTISED, 1e6), TP_SEVERITY_MEDIUM);
}
