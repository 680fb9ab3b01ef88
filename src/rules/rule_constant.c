/* SPDX-License-Identifier: MIT */
/*
 * Parameters and moments that no training leaves so: a matrix of weights whose
 * elements are all the same, second moments below zero, and second moments
 * that are zero where the first are not, so that Adam divides by its epsilon
 * alone. The latter is said of formats in which the square of Adam's epsilon,
 * 1e-16, underflows: what is lost below it changes no step. One finding for
 * each fault, in the first iteration that has it; biases and the weights of
 * norms begin constant, and so does the second matrix of LoRA: these are none.
 * Cost: a look at each row, and of second moments at those beside them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rules/checkpoint.h"
#include "rules/rules.h"

enum fault { CONSTANT, NEGATIVE, VANISHED, FAULTS };

/* Rows before and behind a second moment among which the first one is. */
enum { NEIGHBOURS = 3 };

static bool is_constant_matrix(const struct tp_row *row)
{
    return tp_checkpoint_is_parameter(row) &&
           (row->label.roles & TP_ROLE_WEIGHT) && row->first_dims[1] > 1 &&
           row->first_dims[0] > 1 && tp_checkpoint_is_constant(row) &&
           !strstr(row->path, "lora_B") &&
           !strstr(row->path, "lora_embedding_");
}

/* Whether a format has nothing but 0 below the square of Adam's epsilon. */
static bool is_coarse(const struct tp_row *row)
{
    const struct tp_dtype_info *info = tp_dtype_info(row->dtype);
    return row->quantised || row->dtype == TP_FLOAT16 ||
           (info->significand && info->size == 1);
}

/* Whether one path is that of the first moment of the other's second. */
static bool is_first_of(const char *first, const char *second)
{
    const char *sq = strstr(second, "exp_avg_sq");
    if (!sq)
        return false;
    size_t before = (size_t)(sq - second) + strlen("exp_avg");
    return !strncmp(first, second, before) &&
           !strcmp(first + before, sq + strlen("exp_avg_sq"));
}

/* The first moment of a second one; NULL: not near it. */
static const struct tp_row *first_moment(const struct tp_run *run, size_t i)
{
    const struct tp_row *row = &run->rows[i];
    size_t from = i > NEIGHBOURS ? i - NEIGHBOURS : 0;
    size_t to =
        i + NEIGHBOURS < run->row_count ? i + NEIGHBOURS + 1 : run->row_count;
    for (; from < to; from++) {
        const struct tp_row *other = &run->rows[from];
        if (other->source == row->source &&
            other->counts.values == row->counts.values &&
            is_first_of(other->path, row->path))
            return other;
    }
    return NULL;
}

/* Share of elements that are 0 in the second moment and not in the first, at
 * the least. */
static double vanished(const struct tp_run *run, size_t i)
{
    const struct tp_row *row = &run->rows[i], *first = first_moment(run, i);
    if (!first || row->counts.zero <= first->counts.zero)
        return 0;
    return (double)(row->counts.zero - first->counts.zero) /
           (double)row->counts.values;
}

static void look(const struct tp_run *run, size_t i, struct tp_fault *faults)
{
    const struct tp_row *row = &run->rows[i];
    if (is_constant_matrix(row))
        tp_fault_add(&faults[CONSTANT], row, 1);
    if (!(row->label.roles & TP_ROLE_MOMENT_2) || row->counts.values == 0)
        return;
    tp_fault_add(&faults[NEGATIVE], row,
                 (double)row->counts.negative / (double)row->counts.values);
    const double share = is_coarse(row) ? vanished(run, i) : 0;
    tp_fault_add(&faults[VANISHED], row, share > 0.01 ? share : 0);
}

static void describe(struct tp_findings *findings, enum fault kind,
                     const struct tp_fault *fault, struct tp_finding *finding)
{
    const struct tp_row *row = fault->worst;
    const char *more = tp_fault_others(fault, findings);
    finding->consequences = (int64_t)fault->rows - 1;
    finding->excess = fault->share;
    switch (kind) {
    case CONSTANT:
        finding->level = TP_SEVERITY_LOW;
        finding->metric = "std";
        finding->value = 0;
        finding->evidence = tp_finding_text(
            findings, "all %" PRIu64 " elements of this matrix are %.6g%s",
            row->counts.values, row->numbers.max, more);
        finding->suggestion =
            "a matrix of equal elements has no gradient that tells them "
            "apart: was it initialised, and saved after it was loaded?";
        break;
    case NEGATIVE:
        finding->level = TP_SEVERITY_MEDIUM;
        finding->metric = "negative";
        finding->value = (double)row->counts.negative;
        finding->evidence = tp_finding_text(
            findings,
            "%" PRIu64 " elements of a mean of squares are negative%s",
            row->counts.negative, more);
        finding->suggestion = "its square root is NaN in the next step: look "
                              "at how the state was converted, sharded or "
                              "loaded";
        break;
    default:
        finding->level =
            fault->share > 0.1 ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
        finding->metric = "zero";
        finding->value = (double)row->counts.zero;
        finding->evidence = tp_finding_text(
            findings,
            "%.3g %% of its elements are 0 where the first moment is not%s",
            100 * fault->share, more);
        finding->suggestion =
            "squares of small gradients underflow, and the step is divided by "
            "epsilon alone: keep this state in float32 or bfloat16";
        break;
    }
}

static enum tp_status apply(const struct tp_rule_input *input,
                            const struct tp_rule *rule, unsigned kinds,
                            struct tp_error *err)
{
    const struct tp_run *run = input->run;
    struct tp_fault faults[FAULTS] = {{0}};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->row_count; i++)
        look(run, i, faults);
    for (int kind = 0; kind < FAULTS && status == TP_OK; kind++) {
        struct tp_finding *finding;
        if (!(kinds & 1u << kind) || !faults[kind].worst)
            continue;
        status = tp_finding_add(input->findings, rule, faults[kind].worst,
                                &finding, err);
        if (status == TP_OK)
            describe(input->findings, (enum fault)kind, &faults[kind], finding);
    }
    return status;
}

enum tp_status tp_rule_constant(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err)
{
    return apply(input, rule, 1u << CONSTANT, err);
}

enum tp_status tp_rule_moments(const struct tp_rule_input *input,
                               const struct tp_rule *rule, struct tp_error *err)
{
    return apply(input, rule, 1u << NEGATIVE | 1u << VANISHED, err);
}
