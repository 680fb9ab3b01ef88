/* SPDX-License-Identifier: MIT */
/*
 * Scales of quantised tensors: those that make nothing of the codes they are
 * for (NaN, infinite, or zero where a code is not), negative ones, and scales
 * of which most blocks fill less than half. One finding for each file and
 * fault, about the tensor that has most of it. Cost: a look at each quantised
 * tensor, whose scales were counted with its values.
 */
#include <inttypes.h>
#include <math.h>

#include "rules/rules.h"
#include "tensors/quantised.h"

enum fault { LOST, NEGATIVE, WIDE, FAULTS };

struct found {
    const struct tp_quantised *worst;
    uint64_t count;
    double share; /* of its blocks                                          */
};

/* Fewer blocks say nothing about a habit. */
enum { FEW = 8 };

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void add(struct found *found, const struct tp_quantised *q, double share)
{
    if (!(share > 0))
        return;
    found->count++;
    if (!found->worst || share > found->share) {
        found->worst = q;
        found->share = share;
    }
}

static void look(const struct tp_quantised *q, struct found *found)
{
    uint64_t filled = q->blocks - q->blocks_zero;
    double half = share_of(q->blocks_below_half, filled);
    add(&found[LOST], q, share_of(q->blocks_lost, q->blocks));
    add(&found[NEGATIVE], q, share_of(q->scale_negative, q->scales));
    add(&found[WIDE], q, filled >= FEW && half > 0.5 ? half : 0);
}

static const char *lost_text(struct tp_findings *findings,
                             const struct found *found)
{
    const struct tp_quantised *q = found->worst;
    return tp_finding_text(
        findings,
        "%" PRIu64 " of %" PRIu64
        " blocks have a scale that leaves nothing of their codes: %" PRIu64
        " NaN, %" PRIu64 " infinite, %" PRIu64 " zero",
        q->blocks_lost, q->blocks, q->scale_nan, q->scale_inf, q->scale_zero);
}

static void describe(struct tp_findings *findings, enum fault fault,
                     const struct found *found, struct tp_finding *finding)
{
    const struct tp_quantised *q = found->worst;
    finding->consequences = (int64_t)found->count - 1;
    finding->excess = found->share;
    finding->value = found->share;
    finding->level = TP_SEVERITY_MEDIUM;
    if (fault == LOST) {
        finding->metric = "blocks_lost";
        finding->evidence = lost_text(findings, found);
        finding->suggestion = "the scales were damaged, or computed of a "
                              "tensor that was: quantise this tensor again";
    } else if (fault == NEGATIVE) {
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
    if (found->count > 1)
        finding->evidence = tp_finding_text(
            findings, "%s; so in %" PRIu64 " other tensor%s of this file",
            finding->evidence, found->count - 1, found->count == 2 ? "" : "s");
}

enum tp_status tp_rule_scales(const struct tp_rule_input *input,
                              const struct tp_rule *rule, struct tp_error *err)
{
    const struct tp_run *run = input->run;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->quantised_count && status == TP_OK;) {
        struct found found[FAULTS] = {{NULL, 0, 0}};
        size_t source = run->rows[run->quantised[i].tensor].source;
        for (; i < run->quantised_count &&
               run->rows[run->quantised[i].tensor].source == source;
             i++)
            look(&run->quantised[i], found);
        for (int fault = 0; fault < FAULTS && status == TP_OK; fault++) {
            struct tp_finding *finding;
            if (!found[fault].worst)
                continue;
            status = tp_finding_add(input->findings, rule,
                                    &run->rows[found[fault].worst->tensor],
                                    &finding, err);
            if (status == TP_OK)
                describe(input->findings, (enum fault)fault, &found[fault],
                         finding);
        }
    }
    return status;
}
