/* SPDX-License-Identifier: MIT */
/*
 * Faults that come while another lasts: which begin an incident of their own.
 * Runs of three layers, each an input and a weight in bfloat16 with some
 * percent of noise, and what faults make of them; baselines are fitted, not
 * made by hand.
 */
#include <stdio.h>

#include "tests/unit/support/stages.h"
#include "tests/unit/support/xorshift.h"

enum { ITERATIONS = 60, LAYERS = 3, NUMEL = 1000 };

/* A fault: the inputs from a layer on become so much larger in each iteration
 * from one on, up to `end`, or one element of the layer's tensor a NaN. */
struct fault {
    const char *name;
    int layer, from, end;
    double factor;  /* in the first iteration                         */
    double growing; /* and in each that follows; 0: no more           */
    bool nan;
};

/* A run, and what is found in it. */
struct watched {
    struct stages made;
    struct tp_findings findings;
};

static double even(uint64_t *state)
{
    return (double)(xorshift(state) >> 11) / 0x1p53;
}

static void plant(struct tp_row *row, const struct fault *fault)
{
    int64_t at = row->label.iteration, age = at - fault->from;
    double factor = fault->factor;
    if (strcmp(row->label.tensor_name, fault->name) != 0 || age < 0 ||
        at >= fault->end)
        return;
    if (fault->nan)
        row->counts.nan += row->label.layer_idx == fault->layer;
    if (fault->nan || row->label.layer_idx < fault->layer)
        return;
    if (fault->growing > 0)
        factor *= pow(fault->growing, (double)age);
    row->numbers.std *= factor;
    row->numbers.l2_norm *= factor;
    row->numbers.abs_max *= factor;
    if (!(row->numbers.abs_max < 0x1.fep127))
        row->counts.pos_inf = NUMEL;
}

static void add_tensor(struct tp_run *run, int iteration, int tensor,
                       uint64_t *dice)
{
    const struct tp_summary none = {
        .counts = {.numel = NUMEL, .values = NUMEL}};
    struct tp_row *row = add_row(run, "f");
    double std = 0.98 + 0.04 * even(dice);
    set_summary(run, row, &none);
    row->dtype = TP_BFLOAT16;
    row->target_max = NAN;
    row->label.layer_type = "linear";
    row->label.operation = "forward";
    row->label.phase = "pre";
    row->label.tensor_name = tensor % 2 ? "weight" : "input";
    row->label.layer_idx = tensor / 2;
    row->label.rank = 0;
    row->label.iteration = iteration;
    row->label.counter = iteration * 2 * LAYERS + tensor;
    row->numbers.std = std;
    row->numbers.l2_norm = std * sqrt(NUMEL);
    row->numbers.abs_max = std * (3 + 0.2 * even(dice));
    tp_label_classify(&row->label);
}

static void watch(struct watched *it, const struct fault *faults, size_t count)
{
    const struct tp_baseline_options options = {.alert_window = 50, .sigma = 3};
    uint64_t dice = 88172645463325252u;
    *it = (struct watched){.findings = {0}};
    for (int i = 0; i < ITERATIONS; i++) {
        for (int k = 0; k < 2 * LAYERS; k++) {
            add_tensor(&it->made.run, i, k, &dice);
            for (size_t f = 0; f < count; f++)
                plant(&it->made.run.rows[it->made.run.row_count - 1],
                      &faults[f]);
        }
    }
    cr_assert_eq(tp_run_number(&it->made.run, NULL), TP_OK);
    stages_watch(&it->made, &options);
    stages_judge(&it->made, &it->findings);
}

static void clear(struct watched *it)
{
    tp_findings_clear(&it->findings);
    stages_clear(&it->made);
}

/* Incidents begin where these faults do, and are high findings. */
static void begins(const struct fault *faults, size_t count,
                   const size_t *causes, size_t cause_count)
{
    struct watched it;
    watch(&it, faults, count);
    const struct tp_incidents *all = &it.made.incidents;
    cr_assert_eq(all->incident_count, cause_count, "%zu incidents",
                 all->incident_count);
    for (size_t i = 0; i < cause_count; i++) {
        const struct fault *cause = &faults[causes[i]];
        const struct tp_incident *incident = &all->incidents[i];
        const struct tp_label *label =
            &tp_alarm_series(all, incident->origin)->label;
        cr_expect_eq(incident->from, cause->from, "%zu from %d", i,
                     (int)incident->from);
        cr_expect_eq(label->layer_idx, cause->layer);
        cr_expect_str_eq(label->tensor_name, cause->name);
        cr_expect_eq(it.findings.rows[i].level, TP_SEVERITY_HIGH);
    }
    clear(&it);
}

#define BEGINS(faults, ...)                           \
    begins(faults, sizeof(faults) / sizeof *(faults), \
           (const size_t[]){__VA_ARGS__},             \
           sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

enum { EVER = ITERATIONS };

Test(alarm_apart, three_faults_are_three_incidents)
{
    static const struct fault faults[] = {
        {"input", 0, 20, EVER, 8, 0, false},
        {"input", 1, 40, EVER, 1e6, 0, false},
        {"weight", 2, 45, EVER, 1, 0, true},
    };
    BEGINS(faults, 0, 1, 2);
}

/* Not so without it: each is found for itself, and nothing else. */
Test(alarm_apart, healthy_and_single_faults)
{
    static const struct fault shift[] = {{"input", 0, 20, EVER, 8, 0, false}};
    static const struct fault far[] = {{"input", 1, 40, EVER, 1e6, 0, false}};
    struct watched it;
    watch(&it, NULL, 0);
    cr_expect_eq(it.made.incidents.alarm_count, 0);
    clear(&it);
    BEGINS(shift, 0);
    BEGINS(far, 0);
}

/* A later change that is no farther than 64 times the square of the first. */
Test(alarm_apart, a_jump_has_to_be_far_larger)
{
    static const struct fault near[] = {
        {"input", 0, 20, EVER, 8, 0, false},
        {"input", 1, 40, EVER, 32, 0, false}, /* 2^5, less than 2^(6+3) */
    };
    static const struct fault beyond[] = {
        {"input", 0, 20, EVER, 8, 0, false},
        {"input", 1, 40, EVER, 2048, 0, false},
    };
    BEGINS(near, 0);
    BEGINS(beyond, 0, 1);
}

Test(alarm_apart, after_a_spike_that_passed)
{
    static const struct fault faults[] = {
        {"input", 0, 20, 21, 8, 0, false},
        {"input", 0, 40, 41, 1e6, 0, false},
    };
    static const struct fault alike[] = {
        {"input", 0, 20, 21, 8, 0, false},
        {"input", 0, 40, 41, 9, 0, false},
    };
    BEGINS(faults, 0, 1);
    BEGINS(alike, 0);
}

/* What grows by a factor in each iteration ends in Inf and is one incident;
 * so is what a NaN in a weight follows then. */
Test(alarm_apart, a_growth_explains_its_infinities)
{
    static const struct fault slow[] = {
        {"input", 0, 30, EVER, 4, 4, false},
        {"weight", 2, 58, EVER, 1, 0, true}, /* 3.1 x 2^58: not yet */
    };
    static const struct fault fast[] = {
        {"input", 0, 30, EVER, 64, 64, false},
        {"weight", 2, 45, EVER, 1, 0, true}, /* 3.1 x 2^96 */
    };
    BEGINS(fast, 0);
    BEGINS(slow, 0, 1);
}

/* A NaN in a tensor that had already changed is one of its own, and what comes
 * after follows from it. */
Test(alarm_apart, a_nan_in_a_tensor_that_has_an_alarm)
{
    static const struct fault faults[] = {
        {"input", 0, 20, EVER, 8, 0, false},
        {"input", 1, 40, EVER, 1, 0, true},
        {"input", 2, 40, EVER, 1, 0, true},
        {"weight", 1, 41, EVER, 1, 0, true},
    };
    struct watched it;
    BEGINS(faults, 0, 1);
    watch(&it, faults, 4);
    cr_assert_eq(it.findings.count, 2);
    cr_expect_eq(it.findings.rows[0].consequences, 2);
    cr_expect_eq(it.findings.rows[1].consequences, 2);
    cr_expect(!strstr(it.findings.rows[0].evidence, "first NaN"), "<%s>",
              it.findings.rows[0].evidence);
    clear(&it);
    watch(&it, faults, 1);
    cr_expect_eq(it.findings.count, 1);
    clear(&it);
}

/* "was" is what it was since the change before. */
Test(alarm_apart, says_what_it_was_before)
{
    static const struct fault faults[] = {
        {"input", 0, 20, EVER, 8, 0, false},
        {"input", 0, 30, EVER, 1e6, 0, false},
    };
    struct watched it;
    double value, was;
    int iterations;
    watch(&it, faults, 2);
    cr_assert_eq(it.findings.count, 2);
    const char *evidence = it.findings.rows[1].evidence;
    cr_assert_eq(sscanf(evidence, "abs_max %lf, was %lf ± %*f in the %d ",
                        &value, &was, &iterations),
                 3, "<%s>", evidence);
    cr_expect(value > 2e7 && value < 3e7);
    cr_expect(was > 23 && was < 27, "%g", was);
    cr_expect_eq(iterations, 10);
    clear(&it);
}
