/* SPDX-License-Identifier: MIT */
/*
 * Scales of quantised tensors: those that make nothing of the codes they are
 * for (NaN, infinite, or zero where a code is not), negative ones, and scales
 * of which most blocks fill less than half. One finding for each fault, about
 * the tensor that has most of it in the first iteration. Cost: a look at each
 * quantised tensor, whose scales were counted with its values.
 */
#include <inttypes.h>
#include <math.h>

#include "rules/checkpoint.h"
#include "rules/rules.h"
#include "tensors/quantised.h"

enum fault { LOST, NEGATIVE, WIDE, FAULTS };

/* Fewer blocks say nothing about a habit. */
enum { FEW = 8 };

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void look(const struct tp_row *row, struct tp_fault *faults)
{
    const struct tp_quantised *q = row->quantised;
    uint64_t filled = q->blocks - q->blocks_zero;
    double half = share_of(q->blocks_below_half, filled);
    tp_fault_add(&faults[LOST], row, share_of(q->blocks_lost, q->blocks));
    tp_fault_add(&faults[NEGATIVE], row,
                 share_of(q->scale_negative, q->scales));
    tp_fault_add(&faults[WIDE], row, filled >= FEW && half > 0.5 ? half : 0);
}

static const char *lost_text(struct tp_findings *findings,
                             const struct tp_quantised *q)
{
    return tp_finding_text(
        findings,
        "%" PRIu64 " of %" PRIu64
        " blocks have a scale that leaves nothing of their codes: %" PRIu64
        " NaN, %" PRIu64 " infinite, %" PRIu64 " zero",
        q->blocks_lost, q->blocks, q->scale_nan, q->scale_inf, q->scale_zero);
}

static void describe(struct tp_findings *findings, enum fault kind,
                     const struct tp_fault *fault, struct tp_finding *finding)
{
    const struct tp_quantised *q = fault->worst->quantised;
    finding->consequences = (int64_t)fault->rows - 1;
    finding->excess = fault->share;
    finding->value = fault->share;
    finding->level = TP_SEVERITY_MEDIUM;
    if (kind == LOST) {
        finding->metric = "blocks_lost";
        finding->evidence = lost_text(findings, q);
        finding->suggestion = "the scales were damaged, or computed of a "
                              "tensor that was: quantise this tensor again";
    } else if (kind == NEGATIVE) {
        finding->metric = "scale_negative";
        finding->evidence = tp_finding_text(
            findings, "%" PRIu64 " of %" PRIu64 " scales are negative",
            q->scale_negative, q->scales);
        finding->suggestion = "a scale is a magnitude: signs of its block are "
                              "turned, unless the codes were, too";
    } else {
        finding->level = TP_SEVERITY_LOW;
        finding->metric = "blocks_below_half";
        finding->evidence = tp_finding_text(
            findings,
            "in %" PRIu64 " of %" PRIu64
            " blocks that are not zero the largest code is below half of "
            "the largest there is",
            q->blocks_below_half, q->blocks - q->blocks_zero);
        finding->suggestion =
            "the scales are for larger values than their blocks have: a "
            "binade or more of the format is unused";
    }
    finding->evidence = tp_finding_text(findings, "%s%s", finding->evidence,
                                        tp_fault_others(fault, findings));
}

enum tp_status tp_rule_scales(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err)
{
    const struct tp_run *run = input->run;
    struct tp_fault faults[FAULTS] = {{0}};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->row_count; i++) {
        if (run->rows[i].quantised)
            look(&run->rows[i], faults);
    }
    for (int kind = 0; kind < FAULTS && status == TP_OK; kind++) {
        struct tp_finding *finding;
        if (!faults[kind].worst)
            continue;
        status = tp_finding_add(input->findings, rule, faults[kind].worst,
                                &finding, err);
        if (status == TP_OK)
            describe(input->findings, (enum fault)kind, &faults[kind], finding);
    }
    return status;
}
