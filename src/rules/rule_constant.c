/* SPDX-License-Identifier: MIT */
/*
 * Parameters and moments that no training leaves so: a matrix of weights whose
 * elements are all the same, second moments below zero, and second moments
 * that are zero where the first are not, so that Adam divides by its epsilon
 * alone. One finding for each file and fault; biases and the weights of norms
 * begin constant, and so does the second matrix of LoRA: these are none. Cost:
 * a look at each row, and of second moments at those beside them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rules/checkpoint.h"
#include "rules/rules.h"

/* What there is to find; rows of one file are next to each other in the run. */
enum fault { CONSTANT, NEGATIVE, VANISHED, FAULTS };

struct found {
    const struct tp_row *row; /* the first, or the worst                    */
    uint64_t count;
    double share; /* of its elements                                        */
};

/* Rows before and behind a second moment among which the first one is. */
enum { NEIGHBOURS = 3 };

static bool is_constant_matrix(const struct tp_row *row)
{
    return tp_checkpoint_part_of(row) == TP_PART_WEIGHT &&
           row->first_dims[1] > 1 && row->first_dims[0] > 1 &&
           tp_checkpoint_is_constant(row) && !strstr(row->path, "lora_B") &&
           !strstr(row->path, "lora_embedding_");
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

static void add(struct found *found, const struct tp_row *row, double share)
{
    found->count++;
    if (!found->row || share > found->share) {
        found->row = row;
        found->share = share;
    }
}

static void look(const struct tp_run *run, size_t i, struct found *found)
{
    const struct tp_row *row = &run->rows[i];
    if (is_constant_matrix(row))
        add(&found[CONSTANT], row, 1);
    if (tp_checkpoint_part_of(row) != TP_PART_MOMENT_2)
        return;
    if (row->counts.negative)
        add(&found[NEGATIVE], row,
            (double)row->counts.negative / (double)row->counts.values);
    double share = vanished(run, i);
    if (share > 0.01)
        add(&found[VANISHED], row, share);
}

/* "; N other tensors of this file, too" */
static const char *others(struct tp_findings *findings, uint64_t count)
{
    return count < 2 ? ""
                     : tp_finding_text(findings,
                                       "; so %s %" PRIu64
                                       " other tensor%s of this file",
                                       count == 2 ? "is" : "are", count - 1,
                                       count == 2 ? "" : "s");
}

static void describe(struct tp_findings *findings, enum fault fault,
                     const struct found *found, struct tp_finding *finding)
{
    const char *more = others(findings, found->count);
    double percent = 100 * found->share;
    finding->consequences = (int64_t)found->count - 1;
    finding->excess = found->share;
    switch (fault) {
    case CONSTANT:
        finding->level = TP_SEVERITY_LOW;
        finding->metric = "std";
        finding->value = 0;
        finding->evidence = tp_finding_text(
            findings, "all %" PRIu64 " elements of this matrix are %.6g%s",
            found->row->counts.values, found->row->numbers.max, more);
        finding->suggestion =
            "a matrix of equal elements has no gradient that tells them "
            "apart: was it initialised, and saved after it was loaded?";
        break;
    case NEGATIVE:
        finding->level = TP_SEVERITY_MEDIUM;
        finding->metric = "negative";
        finding->value = (double)found->row->counts.negative;
        finding->evidence = tp_finding_text(
            findings,
            "%" PRIu64 " elements of a mean of squares are negative%s",
            found->row->counts.negative, more);
        finding->suggestion = "its square root is NaN in the next step: look "
                              "at how the state was converted, sharded or "
                              "loaded";
        break;
    default:
        finding->level =
            found->share > 0.1 ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
        finding->metric = "zero";
        finding->value = (double)found->row->counts.zero;
        finding->evidence = tp_finding_text(
            findings,
            "%.3g %% of its elements are 0 where the first moment is not%s",
            percent, more);
        finding->suggestion =
            "squares of small gradients underflow, and the step is divided by "
            "epsilon alone: keep this state in float32 or bfloat16";
        break;
    }
}

static enum tp_status add_findings(const struct tp_rule_input *input,
                                   const struct tp_rule *rule,
                                   const struct found *found,
                                   const enum fault *faults, size_t count,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const struct found *one = &found[faults[i]];
        struct tp_finding *finding;
        if (!one->row)
            continue;
        status = tp_finding_add(input->findings, rule, one->row, &finding, err);
        if (status == TP_OK)
            describe(input->findings, faults[i], one, finding);
    }
    return status;
}

static enum tp_status apply(const struct tp_rule_input *input,
                            const struct tp_rule *rule,
                            const enum fault *faults, size_t count,
                            struct tp_error *err)
{
    const struct tp_run *run = input->run;
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < run->row_count && status == TP_OK; i = end) {
        struct found found[FAULTS] = {{NULL, 0, 0}};
        for (end = i; end < run->row_count &&
                      run->rows[end].source == run->rows[i].source;
             end++)
            look(run, end, found);
        status = add_findings(input, rule, found, faults, count, err);
    }
    return status;
}

enum tp_status tp_rule_constant(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err)
{
    static const enum fault faults[] = {CONSTANT};
    return apply(input, rule, faults, 1, err);
}

enum tp_status tp_rule_moments(const struct tp_rule_input *input,
                               const struct tp_rule *rule, struct tp_error *err)
{
    static const enum fault faults[] = {NEGATIVE, VANISHED};
    return apply(input, rule, faults, 2, err);
}
