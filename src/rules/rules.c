/* SPDX-License-Identifier: MIT */
#include "rules/rules.h"

#include <stdlib.h>

const struct tp_rule tp_rules[] = {
    {"onset",
     "a tensor that leaves the baseline of its own iterations: high where "
     "others follow, which are counted in it; medium alone or by drifting; one "
     "less when there are too few iterations to be sure, or one number alone "
     "that may be chance",
     "ONSET", tp_rule_onset},
    {"nonfinite",
     "NaN, or Inf in a series that had none: high; the first place in a rank "
     "is the origin, later ones are its consequences; with the pattern they "
     "form in the tensor",
     "NAN AND INF", tp_rule_nonfinite},
    {"alerts",
     "what a live monitor (--baseline online, rolling) alerts at and the whole "
     "run does not bear out, with the number that is expected: low",
     "ONSET", tp_rule_alerts},
    {"frozen",
     "a tensor that used to change and is the same in the last 8 iterations or "
     "more: medium",
     "DEAD AND FROZEN TENSORS", tp_rule_frozen},
    {"ranks",
     "copies on several ranks that cease to be equal, and a tensor whose norm "
     "leaves that of the other ranks or is far off it throughout: medium",
     "RANK DIVERGENCE", tp_rule_ranks},
    {"overflow",
     "share of elements beyond the largest finite value of the target "
     "format: above 1 % medium, above 0.1 % low; block formats: low, since "
     "their scale bounds what saturation costs",
     "OVERFLOW", tp_rule_overflow},
    {"near_overflow",
     "an fp16 tensor, stored or to be cast so, whose amax is above 60000 of "
     "65504, and which has not overflowed: low",
     "OVERFLOW", tp_rule_near_overflow},
    {"underflow",
     "share of elements, not zero, that the target format rounds to zero: "
     "above 10 % medium, above 1 % low",
     "UNDERFLOW", tp_rule_underflow},
    {"sqnr",
     "signal to quantisation noise of the target format below --min_sqnr: "
     "low, or medium when it is also below 10 dB, or more than 10 dB below "
     "the median of its place",
     "QUANTISATION NOISE", tp_rule_sqnr},
    {"dims",
     "most tensors of a place have an axis of HIGH risk for sums in "
     "--reduce_dtype, more so than chance gives: medium; outlier channels or "
     "dead ones: low",
     "DIM IMBALANCE", tp_rule_dims},
    {"scales",
     "scales of quantised tensors: NaN, infinite, negative, or zero where a "
     "code is not: medium; of which most blocks fill less than half: low",
     "QUANTISED TENSORS", tp_rule_scales},
    {"incomplete",
     "a checkpoint that lacks what it names: a shard of its index, a tensor, a "
     "rank's part, its metadata, scales of codes; or has a shard too many: "
     "medium",
     "INCOMPLETE CHECKPOINTS", tp_rule_incomplete},
    {"replicas",
     "parameters that ranks have copies of, or norms under tensor parallelism, "
     "that are not the same on all of them: medium",
     "CHECKPOINTS", tp_rule_replicas},
    {"tied",
     "an output layer that config.json, or an earlier step, says is the "
     "embedding, and is not: medium",
     "CHECKPOINTS", tp_rule_tied},
    {"repeated",
     "two checkpoints that follow each other with the same parameters: medium",
     "CHECKPOINTS", tp_rule_repeated},
    {"unmoved",
     "parameters that do not move from one checkpoint to the next while others "
     "do: medium, or low where they never move",
     "CHECKPOINTS", tp_rule_unmoved},
    {"dtype", "parameters that change their dtype between checkpoints: medium",
     "CHECKPOINTS", tp_rule_dtype},
    {"moments",
     "second moments of an optimiser that are negative: medium; in float16 or "
     "8 bits, zero where the first are not: above 10 % medium, above 1 % low",
     "CHECKPOINTS", tp_rule_moments},
    {"lost_updates",
     "share of 16-bit elements that are the same in the last two checkpoints, "
     "though their parameter moved: where moments are in 16 bits, too, above "
     "50 % medium, above 10 % low; else above 50 % low; of float32, of changes "
     "below half a unit of bfloat16: above 50 % low",
     "CHECKPOINTS", tp_rule_lost_updates},
    {"constant", "matrices of weights of which all elements are equal: low",
     "CHECKPOINTS", tp_rule_constant},
    {NULL, NULL, NULL, NULL},
};

enum tp_status tp_findings_make(const struct tp_rule_input *input,
                                struct tp_error *err)
{
    struct tp_rule_input whole = *input;
    const struct tp_row **made = NULL;
    whole.rows = input->monitor->series.rows;
    if (!whole.rows)
        whole.rows = made = tp_series_sort(input->run, NULL);
    if (!whole.rows)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (const struct tp_rule *r = tp_rules; r->id && status == TP_OK; r++)
        status = r->apply(&whole, r, err);
    tp_findings_sort(input->findings);
    free(made);
    return status;
}
