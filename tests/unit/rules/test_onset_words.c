/* SPDX-License-Identifier: MIT */
/*
 * What the onset rule says. Runs with a planted fault and their twins without;
 * numbers in the words are held against those that this file computes.
 */
#include <stdio.h>

#include "tests/unit/support/stages.h"
#include "tests/unit/support/xorshift.h"

enum { ITERATIONS = 60, AT = 40, BEFORE = 16, TENSORS = 6, NUMEL = 1000 };

/* In the order saved: an input, four outputs of one name, a gradient. */
static const struct {
    const char *operation, *phase, *name;
} tensors[TENSORS] = {
    {"forward", "pre", "input"},   {"forward", "post", "output"},
    {"forward", "post", "output"}, {"forward", "post", "output"},
    {"forward", "post", "output"}, {"backward", "pre", "input"},
};

enum { INPUT, OUTPUTS, THIRD = OUTPUTS + 2, GRADIENT = OUTPUTS + 4 };

/* What a fault makes of a row; `age` counts iterations from AT on. */
typedef void fault(struct tp_row *row, int tensor, int age);

static double even(uint64_t *state)
{
    return (double)(xorshift(state) >> 11) / 0x1p53;
}

/* One percent of noise around 1. */
static void add_tensor(struct tp_run *run, int tensor, int iteration,
                       uint64_t *dice)
{
    const struct tp_summary none = {
        .counts = {.numel = NUMEL, .values = NUMEL}};
    struct tp_row *row = add_row(run, "f");
    double std = 0.99 + 0.02 * even(dice);
    set_summary(run, row, &none);
    row->shape = "[10,100]";
    row->label.layer_type = "linear";
    row->label.operation = tensors[tensor].operation;
    row->label.phase = tensors[tensor].phase;
    row->label.tensor_name = tensors[tensor].name;
    row->label.layer_idx = 2;
    row->label.rank = 0;
    row->label.iteration = iteration;
    row->label.counter = iteration * TENSORS + tensor;
    row->numbers.mean = 0;
    row->numbers.std = std * (0.97 + 0.06 * even(dice));
    row->numbers.l2_norm = std * sqrt(NUMEL);
    row->numbers.abs_max = std * (3 + 0.2 * even(dice));
    tp_label_classify(&row->label);
}

/* The findings of a run with a fault. */
struct judged {
    struct stages made;
    struct tp_findings findings;
};

static void judge(struct judged *it, fault *plant)
{
    const struct tp_baseline_options options = {.alert_window = 50, .sigma = 3};
    uint64_t dice = 88172645463325252u;
    *it = (struct judged){.findings = {0}};
    for (int i = 0; i < ITERATIONS; i++) {
        for (int k = 0; k < TENSORS; k++) {
            add_tensor(&it->made.run, k, i, &dice);
            if (plant && i >= AT)
                plant(&it->made.run.rows[it->made.run.row_count - 1], k,
                      i - AT);
        }
    }
    cr_assert_eq(tp_run_number(&it->made.run, NULL), TP_OK);
    stages_watch(&it->made, &options);
    stages_judge(&it->made, &it->findings);
}

static void clear(struct judged *it)
{
    tp_findings_clear(&it->findings);
    stages_clear(&it->made);
}

static const char *evidence(const struct judged *it)
{
    cr_assert_geq(it->findings.count, 1);
    return it->findings.rows[0].evidence;
}

static void says(const struct judged *it, const char *words)
{
    cr_expect(strstr(evidence(it), words), "<%s> not in <%s>", words,
              evidence(it));
}

static void says_not(const struct judged *it, const char *words)
{
    cr_expect(!strstr(evidence(it), words), "<%s> in <%s>", words,
              evidence(it));
}

static void scale(struct tp_row *row, double factor)
{
    row->numbers.std *= factor;
    row->numbers.l2_norm *= factor;
    row->numbers.abs_max *= factor;
}

/* Mean and standard deviation of the input's norm in [first, end). */
static void measure(const struct judged *it, int first, int end, double *mean,
                    double *std)
{
    const struct tp_row *rows = it->made.run.rows;
    *mean = *std = 0;
    for (int i = first; i < end; i++)
        *mean += rows[i * TENSORS + INPUT].numbers.l2_norm / (end - first);
    for (int i = first; i < end; i++)
        *std += pow(rows[i * TENSORS + INPUT].numbers.l2_norm - *mean, 2);
    *std = sqrt(*std / (end - first - 1));
}

static void grow_fourfold(struct tp_row *row, int tensor, int age)
{
    (void)age;
    if (tensor != GRADIENT)
        scale(row, tensor == INPUT ? 4 : 2);
}

/* --- numbers ------------------------------------------------------------- */

Test(onset_words, numbers_are_those_of_the_points_before)
{
    struct judged it;
    double mean, std;
    char words[200];
    judge(&it, grow_fourfold);
    measure(&it, AT - BEFORE, AT, &mean, &std);
    snprintf(words, sizeof words,
             "l2_norm %.4g, was %.4g \u00b1 %.2g in the 16 iterations before: ",
             it.made.run.rows[AT * TENSORS].numbers.l2_norm, mean, std);
    const struct tp_finding *finding = &it.findings.rows[0];
    cr_expect_eq(finding->iteration, AT);
    says(&it, words);
    cr_expect_str_eq(finding->metric, "l2_norm"); /* the sentence's numbers */
    cr_expect_float_eq(finding->baseline, mean, 1e-9 * mean);
    cr_expect_float_eq(finding->spread, std, 1e-9 * mean);
    says(&it, " times as large");
    says(&it, "still off in the last iteration, 59");
    says(&it, "\u03c3 off on a logarithmic scale");
    clear(&it);
}

static void one_large_value(struct tp_row *row, int tensor, int age)
{
    (void)age;
    if (tensor == INPUT) {
        row->numbers.abs_max *= 200;
        row->numbers.std *= 20;
        row->numbers.l2_norm *= 20;
    }
}

Test(onset_words, the_largest_change_comes_first)
{
    struct judged it;
    judge(&it, one_large_value);
    cr_expect_eq(strncmp(evidence(&it), "abs_max ", 8), 0, "%s", evidence(&it));
    says(&it, "; also ");
    says_not(&it, " alike");
    clear(&it);
    judge(&it, grow_fourfold);
    says(&it, "; std and abs_max alike");
    says_not(&it, "; also ");
    cr_expect_neq(strncmp(evidence(&it), "abs_max ", 8), 0, "%s",
                  evidence(&it));
    clear(&it);
}

static void once(struct tp_row *row, int tensor, int age)
{
    if (tensor == INPUT && age == 0)
        scale(row, 50);
}

static void move_little(struct tp_row *row, int tensor, int age)
{
    (void)age;
    if (tensor == INPUT)
        scale(row, 1.7);
}

Test(onset_words, how_long_and_how_much)
{
    struct judged it;
    judge(&it, once);
    says(&it, "in this iteration only");
    says_not(&it, "still off");
    clear(&it);
    judge(&it, move_little);
    says(&it, " % more");
    says_not(&it, "times as large");
    says(&it, "still off in the last iteration, 59");
    clear(&it);
}

static void fade(struct tp_row *row, int tensor, int age)
{
    (void)age;
    if (tensor == INPUT) {
        row->counts.zero = NUMEL;
        scale(row, 0);
    }
}

static void half_zero(struct tp_row *row, int tensor, int age)
{
    (void)age;
    if (tensor == INPUT)
        row->counts.zero = NUMEL / 2;
}

Test(onset_words, zeros_are_named)
{
    struct judged it;
    judge(&it, fade);
    says(&it, "all 1000 elements zero from iteration 40 to the last, 59, "
              "l2_norm was 31.");
    clear(&it);
    judge(&it, half_zero);
    says(&it, "zero_ratio 50 %, was 0 % in each of the 16 iterations before");
    says_not(&it, "elements zero");
    clear(&it);
}

/* --- where --------------------------------------------------------------- */

static void third_output(struct tp_row *row, int tensor, int age)
{
    (void)age;
    if (tensor >= THIRD)
        scale(row, tensor == THIRD ? 9 : 2);
}

Test(onset_words, a_number_and_a_neighbour_tell_the_place)
{
    struct judged it;
    judge(&it, third_output);
    says(&it, "it is the third linear of 4 in layer 2 (forward, in the order "
              "saved), bfloat16 [10,100]");
    cr_expect(strstr(it.findings.rows[0].suggestion,
                     "the last tensor saved before it, L2 linear forward post "
                     "output #1, shows no change"),
              "%s", it.findings.rows[0].suggestion);
    clear(&it);
    judge(&it, grow_fourfold); /* it has no like, and is the first */
    says(&it, "it is bfloat16 [10,100]");
    says_not(&it, "in the order saved");
    cr_expect(!strstr(it.findings.rows[0].suggestion, "saved before it, "));
    clear(&it);
}

/* --- NaN and Inf --------------------------------------------------------- */

static void nan_here(struct tp_row *row, int tensor, int age)
{
    if (tensor == INPUT && age >= 0)
        row->counts.nan = NUMEL;
    else if (tensor == OUTPUTS)
        row->counts.pos_inf = 3;
}

Test(onset_words, a_nan_is_told_with_what_came_before)
{
    struct judged it;
    char words[100];
    judge(&it, nan_here);
    snprintf(words, sizeof words, "abs_max %.4g in iteration 39, the last",
             it.made.run.rows[39 * TENSORS].numbers.abs_max);
    says(&it, "all 1000 elements NaN, none in the 40 iterations before; ");
    says(&it, words);
    clear(&it);
}

/* The origin grows, one output follows; the origin holds an Inf from age 5 on,
 * as do the other outputs: of those that is the first alarm, of the origin it
 * is not. */
static void grow_to_inf(struct tp_row *row, int tensor, int age)
{
    if (tensor == INPUT)
        scale(row, exp2(2 + 2 * age));
    if (tensor == THIRD)
        scale(row, 2);
    else if (tensor != GRADIENT && age >= 5)
        row->counts.pos_inf = 2;
}

static void grow_to_inf_downstream(struct tp_row *row, int tensor, int age)
{
    grow_to_inf(row, tensor, age);
    if (tensor == INPUT && age <= 5)
        row->counts.pos_inf = 0;
}

static void grow_alone(struct tp_row *row, int tensor, int age)
{
    grow_to_inf(row, tensor, age);
    row->counts.pos_inf = 0;
}

Test(onset_words, the_first_nan_or_inf_is_looked_for_in_all_rows)
{
    struct judged it;
    judge(&it, grow_to_inf);
    cr_expect_str_eq(it.findings.rows[0].tensor_name, "input");
    says(&it, "first NaN or Inf in iteration 45, in this tensor");
    clear(&it);
    judge(&it, grow_to_inf_downstream);
    cr_expect_str_eq(it.findings.rows[0].tensor_name, "input");
    says(&it, "first NaN or Inf in iteration 45, L2 linear forward post "
              "output; ");
    clear(&it);
    judge(&it, grow_alone);
    says_not(&it, "NaN");
    clear(&it);
}

Test(onset_words, of_a_healthy_run_nothing_is_said)
{
    struct judged it;
    judge(&it, NULL);
    cr_expect_eq(it.findings.count, 0);
    clear(&it);
}
