/* SPDX-License-Identifier: MIT */
/*
 * What a target format loses at its two ends: overflow and underflow. One
 * finding for each place in the model, over all its ranks, iterations and
 * samples, with the worst tensor named.
 */
#include <inttypes.h>
#include <math.h>

#include "analyze/findings.h"
#include "data/number.h"

/* One kind of loss. */
struct loss {
    const char *metric;
    double (*ratio)(const struct tp_row *row);
    double medium, low; /* limits on the ratio (DESIGN: severity) */
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

/* The exponent of the power-of-two scale that puts amax just below the
 * format's largest value. */
static int scale_exponent(const struct tp_row *row, double max)
{
    return (int)floor(log2(max / row->numbers.abs_max));
}

static const char *suggest_scale(const struct tp_rule_input *input,
                                 const struct tp_row *worst)
{
    const struct tp_number *format = tp_number_by_id(worst->target_format);
    if (!format || !(worst->numbers.abs_max > 0))
        return "keep this tensor in its stored dtype";
    return tp_finding_text(
        input,
        "multiply by 2^%d before the cast: amax %.4g against the "
        "largest finite value %.6g of %s",
        scale_exponent(worst, format->max), worst->numbers.abs_max, format->max,
        format->id);
}

static const char *suggest_overflow(const struct tp_rule_input *input,
                                    const struct tp_row *worst)
{
    const struct tp_number *format = tp_number_by_id(worst->target_format);
    if (format && format->kind == TP_NUMBER_MX)
        return "use a scale rule that rounds up (--mx_scale rceil): the "
               "floor rule lets the block's own amax saturate";
    return suggest_scale(input, worst);
}

static const char *suggest_underflow(const struct tp_rule_input *input,
                                     const struct tp_row *worst)
{
    const struct tp_number *format = tp_number_by_id(worst->target_format);
    if (format && format->kind != TP_NUMBER_ELEMENT)
        return "the block's largest value hides its small ones: use a wider "
               "element format, or keep this tensor in bf16";
    if (format && scale_exponent(worst, format->max) <= 0)
        return "the tensor spans more binades than the format has: keep it "
               "in bf16, or scale in blocks";
    return suggest_scale(input, worst);
}

static const struct loss overflow = {"total_overflow_ratio", overflow_ratio,
                                     0.01, 0.001, suggest_overflow};
static const struct loss underflow = {"underflow_ratio", underflow_ratio, 0.10,
                                      0.01, suggest_underflow};

/* What is said of rows [first, end) of one place. */
static enum tp_status judge(const struct tp_rule_input *input,
                            const struct tp_rule *rule, const struct loss *loss,
                            const size_t span[2], struct tp_error *err)
{
    const struct tp_row *worst = NULL, *earliest = NULL;
    uint64_t above = 0;
    for (size_t i = span[0]; i < span[1]; i++) {
        const struct tp_row *row = input->rows[i];
        double ratio = loss->ratio(row);
        if (!(ratio > loss->low))
            continue;
        above++;
        if (!worst || ratio > loss->ratio(worst))
            worst = row;
        if (!earliest || row->label.iteration < earliest->label.iteration)
            earliest = row;
    }
    struct tp_finding *finding;
    if (!worst)
        return TP_OK;
    enum tp_status status = tp_finding_add(input, rule, worst, &finding, err);
    if (status != TP_OK)
        return status;
    double value = loss->ratio(worst);
    bool medium = value > loss->medium;
    finding->level = medium ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    finding->excess = value / (medium ? loss->medium : loss->low);
    finding->metric = loss->metric;
    finding->value = value;
    finding->iteration = earliest->label.iteration;
    finding->suggestion = loss->suggest(input, worst);
    finding->evidence = tp_finding_text(
        input,
        "%" PRIu64 " of %zu tensors above %g %% in %s; worst %.3g %% "
        "in rank %" PRId64 ", iteration %" PRId64,
        above, span[1] - span[0], loss->low * 100, worst->target_format,
        value * 100, worst->label.rank, worst->label.iteration);
    return TP_OK;
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
        status = judge(input, rule, loss, span, err);
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
