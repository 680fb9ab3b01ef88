/* SPDX-License-Identifier: MIT */
/*
 * What rounding costs: tensors whose signal to quantisation noise ratio in
 * the format that their run names is below the limit. One finding for each
 * place, over all its ranks, iterations and samples.
 *
 * A tensor is compared with the limit and with the median of its place: what
 * all tensors of a place lose is a property of the format there and of low
 * severity, what one alone loses is a fault. A mean would be moved by the
 * tensor that is looked for. Cost: one sort of a place's values.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "rules/rules.h"
#include "stats/quantile.h"

/* Below the median of its place by more than this (dB): a loss that the
 * place usually does not have. */
static const double far_below = 10;

/* Noise of a tenth of the signal's power: a loss anywhere. */
static const double lost = 10;

/* The rows of one place that have an SQNR, and what is said of them. */
struct verdict {
    const struct tp_row *worst, *earliest;
    double sqnr;    /* of the worst */
    double median;  /* over the place */
    uint64_t count; /* rows that are at fault */
    uint64_t all, explained; /* by incidents: these are not judged */
};

/* SQNR of the row in its target format; NaN when there is none. */
static double sqnr_of(const struct tp_rule_input *input,
                      const struct tp_row *row)
{
    const struct tp_quant_plan *plan = &input->run->plan;
    size_t cast = tp_quant_plan_find(plan, row->target);
    struct tp_quant_metrics metrics;
    if (cast == plan->count ||
        !tp_quant_unpack_metrics(row->quant, cast, &metrics))
        return NAN;
    return metrics.sqnr_db;
}

/* Below this a loss is of medium severity (dB). */
static double medium_limit(double limit, double median)
{
    return fmax(fmin(limit, median - far_below), fmin(limit, lost));
}

/* Counts the rows [0, n) of sqnr that are below a limit. */
static void find_worst(const struct tp_row *const *rows, const double *sqnr,
                       size_t n, double limit, struct verdict *verdict)
{
    for (size_t i = 0; i < n; i++) {
        if (!(sqnr[i] < limit))
            continue;
        verdict->count++;
        if (!verdict->worst || sqnr[i] < verdict->sqnr) {
            verdict->worst = rows[i];
            verdict->sqnr = sqnr[i];
        }
        if (!verdict->earliest ||
            rows[i]->label.iteration < verdict->earliest->label.iteration)
            verdict->earliest = rows[i];
    }
}

/* Median of the n values of sqnr that are numbers; `sorted` has room. */
static double median_known(const double *sqnr, size_t n, double *sorted,
                           uint64_t *numbers)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(sqnr[i]))
            sorted[kept++] = sqnr[i];
    }
    *numbers = kept;
    return tp_median(sorted, kept);
}

/* What the recommendation of the place says. It asks of every tensor what
 * failed here, so it cannot be the same format; were it, it would be wrong. */
static const char *advice_for(const struct tp_rule_input *input,
                              const struct tp_row *row)
{
    const struct tp_quant *quant = input->quant;
    for (size_t i = 0; i < quant->recommendation_count; i++) {
        const struct tp_recommendation *its = &quant->recommendations[i];
        bool keeps = !its->advised && !*its->scaled_format;
        if (tp_quant_place_has(&its->place, row) &&
            (!its->advised || its->advised != row->target))
            return tp_finding_text(input->findings, "%s%s: %s",
                                   keeps ? "" : "use ",
                                   its->advice, its->reason);
    }
    return "keep this tensor in its stored dtype";
}

static enum tp_status add_finding(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  const struct verdict *verdict,
                                  enum tp_severity level, struct tp_error *err)
{
    const struct tp_row *worst = verdict->worst;
    double limit = input->run->plan.min_sqnr;
    struct tp_finding *finding;
    struct tp_text where = {0};
    if (tp_finding_add(input->findings, rule, worst, &finding, err) !=
        TP_OK)
        return TP_E_MEMORY;
    tp_finding_where(worst, &where);
    bool far = level == TP_SEVERITY_MEDIUM;
    finding->level = level;
    finding->metric = "sqnr_db";
    finding->value = verdict->sqnr;
    finding->baseline = verdict->median;
    finding->iteration = verdict->earliest->label.iteration;
    finding->excess =
        1 +
        ((far ? medium_limit(limit, verdict->median) : limit) - verdict->sqnr) /
            far_below;
    finding->evidence = tp_finding_text(
        input->findings,
        "%" PRIu64 " of %" PRIu64 " tensors below %.1f dB in %s; worst "
        "%.1f dB%s, median of the place %.1f dB%s",
        verdict->count, verdict->all,
        far ? medium_limit(limit, verdict->median) : limit,
        tp_row_target_word(worst), verdict->sqnr,
        tp_finding_take(input->findings, &where), verdict->median,
        tp_finding_explained(input->findings, verdict->explained));
    finding->suggestion = advice_for(input, worst);
    return TP_OK;
}

/* Rows of one place; `scratch` holds two numbers for each. */
static enum tp_status judge(const struct tp_rule_input *input,
                            const struct tp_rule *rule, const size_t span[2],
                            double *scratch, struct tp_error *err)
{
    const struct tp_row *const *rows = input->rows + span[0];
    size_t n = span[1] - span[0];
    double limit = input->run->plan.min_sqnr;
    struct verdict verdict = {.worst = NULL};
    for (size_t i = 0; i < n; i++) {
        const bool explained = tp_row_explained(input->incidents, rows[i]);
        scratch[i] = explained ? NAN : sqnr_of(input, rows[i]);
        verdict.explained += explained;
    }
    verdict.median = median_known(scratch, n, scratch + n, &verdict.all);
    enum tp_severity level = TP_SEVERITY_MEDIUM;
    find_worst(rows, scratch, n, medium_limit(limit, verdict.median), &verdict);
    if (!verdict.worst) {
        level = TP_SEVERITY_LOW;
        find_worst(rows, scratch, n, limit, &verdict);
    }
    return verdict.worst ? add_finding(input, rule, &verdict, level, err)
                         : TP_OK;
}

enum tp_status tp_rule_sqnr(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err)
{
    size_t count = input->run->row_count;
    if (input->run->plan.count == 0)
        return TP_OK;
    double *scratch = calloc(2 * count + 1, sizeof *scratch);
    enum tp_status status = scratch ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < count && tp_same_place(input->rows[i], input->rows[end]);)
            end++;
        const size_t span[2] = {i, end};
        status = judge(input, rule, span, scratch, err);
    }
    free(scratch);
    return status;
}
