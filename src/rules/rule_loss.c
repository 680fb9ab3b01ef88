/* SPDX-License-Identifier: MIT */
/*
 * What a target format loses at its two ends: overflow and underflow. One
 * finding for each place in the model, over all its ranks, iterations and
 * samples, with the worst tensor named.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/number.h"
#include "rules/rules.h"
#include "stats/quantile.h"

/* One kind of loss. */
struct loss {
    const char *metric;
    double (*ratio)(const struct tp_row *row);
    double medium, low; /* limits on the ratio (findings.h) */
    const char *(*suggest)(const struct tp_rule_input *input,
                           const struct tp_row *worst);
};

static double overflow_ratio(const struct tp_row *row)
{
    return row->numbers.total_overflow_ratio;
}

static double underflow_ratio(const struct tp_row *row)
{
    return row->numbers.underflow_ratio;
}

/* The magnitude below which the format has its full precision: its largest
 * value, but 16 in HiF8, whose significand narrows towards both ends. */
static double precise_up_to(const struct tp_number *format)
{
    int top = ilogb(format->max), e = top;
    while (tp_number_precision(format, e) < format->precision)
        e--;
    return e == top ? format->max : ldexp(1, e + 1);
}

/* The exponent of the power-of-two scale that puts amax just below that. */
static int scale_exponent(const struct tp_row *row,
                          const struct tp_number *format)
{
    return (int)floor(log2(precise_up_to(format) / row->numbers.abs_max));
}

/* The format that the row is to be cast to; NULL where it is judged against
 * the wide dtype it has, or against nothing. */
static const struct tp_number *cast_format(const struct tp_row *row)
{
    return row->target && tp_number_is_listed(row->target) ? row->target
                                                           : NULL;
}

static const char *suggest_scale(const struct tp_rule_input *input,
                                 const struct tp_row *worst)
{
    const struct tp_number *format = cast_format(worst);
    if (!format || !(worst->numbers.abs_max > 0))
        return "keep this tensor in its stored dtype";
    return tp_finding_text(
        input->findings,
        "multiply by 2^%d before the cast: amax is %.4g, %s is most precise "
        "up to %.6g and ends at %.6g",
        scale_exponent(worst, format), worst->numbers.abs_max, format->id,
        precise_up_to(format), format->max);
}

/* Of the rules of MX scales only floor and even may round amax down. */
static const char *suggest_block_scale(const struct tp_rule_input *input,
                                       const struct tp_row *worst)
{
    const char *rule = tp_scale_rule_name(worst->scale_rule);
    if (worst->scale_rule != TP_SCALE_FLOOR &&
        worst->scale_rule != TP_SCALE_EVEN)
        return tp_finding_text(
            input->findings,
            "multiply by a smaller number before the cast: the %s rule rounds "
            "scales up already, and the largest is %g",
            rule, tp_number_e8m0.max);
    return tp_finding_text(
        input->findings,
        "use a scale rule that rounds up (--mx_scale rceil): the %s rule lets "
        "the block's own amax saturate",
        rule);
}

static const char *suggest_overflow(const struct tp_rule_input *input,
                                    const struct tp_row *worst)
{
    if (tp_counts_infinite(&worst->counts) > 0)
        return "the stored values are infinite already, so no scale helps: "
               "look for the operation that made them";
    const struct tp_number *format = cast_format(worst);
    if (format && format->kind == TP_NUMBER_MX)
        return suggest_block_scale(input, worst);
    return suggest_scale(input, worst);
}

static const char *suggest_underflow(const struct tp_rule_input *input,
                                     const struct tp_row *worst)
{
    const struct tp_number *format = cast_format(worst);
    if (format && format->kind != TP_NUMBER_ELEMENT)
        return "the block's largest value hides its small ones: use a wider "
               "element format, or keep this tensor in bf16";
    if (format && scale_exponent(worst, format) <= 0)
        return "the tensor spans more binades than the format has: keep it "
               "in bf16, or scale in blocks";
    return suggest_scale(input, worst);
}

static const struct loss overflow = {"total_overflow_ratio", overflow_ratio,
                                     0.01, 0.001, suggest_overflow};
static const struct loss underflow = {"underflow_ratio", underflow_ratio, 0.10,
                                      0.01, suggest_underflow};

/* A block's own scale keeps what saturates within an eighth of its value
 * (448 of less than 512 in E4M3), so it never counts as lost. */
static bool is_bounded(const struct loss *loss, const struct tp_row *row)
{
    const struct tp_number *format = cast_format(row);
    return loss == &overflow && format && format->kind != TP_NUMBER_ELEMENT &&
           tp_counts_infinite(&row->counts) == 0;
}

/* The rows of one place that lose more than a limit; what an incident explains
 * is not judged. */
struct losers {
    const struct tp_row *worst, *earliest;
    uint64_t count, explained;
};

/* What is looked for among the rows of a place. */
struct search {
    const struct loss *loss;
    bool bounded;
    double limit;
};

static struct losers find_losers(const struct tp_rule_input *input,
                                 const struct search *search,
                                 const size_t span[2])
{
    const struct loss *loss = search->loss;
    struct losers found = {.worst = NULL};
    for (size_t i = span[0]; i < span[1]; i++) {
        const struct tp_row *row = input->rows[i];
        double ratio = loss->ratio(row);
        if (tp_row_explained(input->incidents, row)) {
            found.explained++;
            continue;
        }
        if (!(ratio > search->limit) ||
            is_bounded(loss, row) != search->bounded ||
            (loss == &overflow && tp_row_is_mask(row)))
            continue;
        found.count++;
        if (!found.worst || ratio > loss->ratio(found.worst))
            found.worst = row;
        if (!found.earliest ||
            row->label.iteration < found.earliest->label.iteration)
            found.earliest = row;
    }
    return found;
}

static void describe(const struct tp_rule_input *input, const struct loss *loss,
                     const struct losers *losers, uint64_t tensors,
                     struct tp_finding *finding)
{
    const struct tp_row *worst = losers->worst;
    double limit = finding->level == TP_SEVERITY_LOW ? loss->low : loss->medium;
    struct tp_text where = {0};
    tp_finding_where(worst, &where);
    finding->value = loss->ratio(worst);
    finding->excess = finding->value / limit;
    finding->metric = loss->metric;
    finding->iteration = losers->earliest->label.iteration;
    finding->suggestion = loss->suggest(input, worst);
    finding->evidence = tp_finding_text(
        input->findings,
        "%" PRIu64 " of %" PRIu64 " tensors above %g %% in %s; worst %.3g "
        "%%%s%s",
        losers->count, tensors - losers->explained, limit * 100,
        tp_row_target_word(worst), finding->value * 100,
        tp_finding_take(input->findings, &where),
        tp_finding_explained(input->findings, losers->explained));
}

/* What the place lost before the first bad iteration: the median of its
 * tensors, those left out that an incident explains. NaN where there are none:
 * it was bad from the beginning, or names no iterations. TP_E_MEMORY only. */
static enum tp_status find_baseline(const struct tp_rule_input *input,
                                    const struct search *search,
                                    const size_t span[2],
                                    struct tp_finding *finding,
                                    struct tp_error *err)
{
    size_t count = 0;
    double *values = calloc(span[1] - span[0], sizeof *values);
    if (!values)
        return tp_fail_memory(err);
    for (size_t i = span[0]; i < span[1]; i++) {
        const struct tp_row *row = input->rows[i];
        const double ratio = search->loss->ratio(row);
        if (row->label.iteration >= 0 && !isnan(ratio) &&
            row->label.iteration < finding->iteration &&
            is_bounded(search->loss, row) == search->bounded &&
            !tp_row_explained(input->incidents, row))
            values[count++] = ratio;
    }
    finding->baseline = tp_median(values, count);
    free(values);
    return TP_OK;
}

/* What is said of rows [span[0], span[1]) of one place, of those whose loss is
 * bounded or of the others: they have different causes. */
static enum tp_status judge(const struct tp_rule_input *input,
                            const struct tp_rule *rule,
                            const struct search *which, const size_t span[2],
                            struct tp_error *err)
{
    struct search search = *which;
    enum tp_severity level =
        which->bounded ? TP_SEVERITY_LOW : TP_SEVERITY_MEDIUM;
    search.limit = which->bounded ? which->loss->low : which->loss->medium;
    struct losers losers = find_losers(input, &search, span);
    if (!losers.worst && !which->bounded) {
        level = TP_SEVERITY_LOW;
        search.limit = which->loss->low;
        losers = find_losers(input, &search, span);
    }
    if (!losers.worst)
        return TP_OK;
    struct tp_finding *finding;
    enum tp_status status =
        tp_finding_add(input->findings, rule, losers.worst, &finding, err);
    if (status == TP_OK) {
        finding->level = level;
        describe(input, which->loss, &losers, span[1] - span[0], finding);
        status = find_baseline(input, &search, span, finding, err);
    }
    return status;
}

static enum tp_status apply(const struct tp_rule_input *input,
                            const struct tp_rule *rule, const struct loss *loss,
                            struct tp_error *err)
{
    size_t count = input->run->row_count;
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < count && tp_same_place(input->rows[i], input->rows[end]);)
            end++;
        const size_t span[2] = {i, end};
        for (int bounded = 0; bounded < 2 && status == TP_OK; bounded++) {
            const struct search search = {.loss = loss, .bounded = bounded};
            status = judge(input, rule, &search, span, err);
        }
    }
    return status;
}

enum tp_status tp_rule_overflow(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err)
{
    return apply(input, rule, &overflow, err);
}

enum tp_status tp_rule_underflow(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 struct tp_error *err)
{
    return apply(input, rule, &underflow, err);
}
