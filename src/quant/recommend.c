/* SPDX-License-Identifier: MIT */
/*
 * Which format to take for a place. Every cast to fewer bits than are stored
 * is a candidate; those that miss a limit (SQNR of all tensors and of the
 * worst, underflow, values that become infinite or NaN) are out, and of the
 * others the one with the fewest bits is taken, then the one with the best
 * SQNR. Plain casts and those with a scale per tensor are judged apart, since
 * the latter need a reading of the tensor before. Where nothing is left, the
 * reason names what the best of the others failed.
 *
 * A weighted score of bits and error would always give an answer, but nobody
 * could argue with its weights as one can with limits. Cost: O(casts) a place.
 */
#include "quant/recommend.h"

#include <inttypes.h>
#include <math.h>

#include "base/notes.h"
#include "data/dtype.h"

static const struct tp_number *number_of(const struct tp_cast_group *group,
                                         const struct tp_quant_plan *plan)
{
    return plan->casts[group->cast].spec.number;
}

/* Bits of one real number of a dtype. */
static int bits_of(enum tp_dtype dtype)
{
    return 8 * tp_dtype_info(dtype)->code_size;
}

/* An infinity or NaN made of a finite value is a loss without bound. What a
 * block loses to a NaN beside it was lost before. */
static bool overflows(const struct tp_cast_group *group,
                      const struct tp_quant_plan *plan)
{
    return number_of(group, plan)->kind == TP_NUMBER_ELEMENT &&
           group->nonfinite_out > 0;
}

/* An infinity comes out as one where elements have a code for it and no
 * block makes a NaN of it, or the scale of an MX block covers it; otherwise it
 * is lost. */
static uint64_t lost_infinities(const struct tp_cast_group *group,
                                const struct tp_quant_plan *plan)
{
    const struct tp_number *number = number_of(group, plan);
    const struct tp_number *element = tp_number_by_id(number->element);
    const enum tp_nonfinite policy = plan->casts[group->cast].spec.nonfinite;
    if (number->kind == TP_NUMBER_MX && policy == TP_NONFINITE_TORCHAO)
        return 0;
    bool alone = number->kind == TP_NUMBER_ELEMENT ||
                 policy == TP_NONFINITE_ELEMENT;
    return alone && element && element->has_inf ? 0 : group->infinite;
}

/* Groups of zeros have no SQNR, and every format holds them. */
static double sqnr_of(const struct tp_cast_group *group)
{
    double sqnr = group->metrics.sqnr_db;
    return isnan(sqnr) ? INFINITY : sqnr;
}

/* Of the worst tensor: a large one must not hide what a small one loses. */
static double worst_of(const struct tp_cast_group *group)
{
    double worst = group->sqnr_worst_db;
    return fmin(sqnr_of(group), isnan(worst) ? INFINITY : worst);
}

/* Ratios of no elements do not exist. */
static bool is_empty(const struct tp_cast_group *group)
{
    return isnan(group->metrics.underflow_ratio);
}

static bool meets(const struct tp_cast_group *group,
                  const struct tp_quant_plan *plan)
{
    return group->summed > 0 && worst_of(group) >= plan->min_sqnr &&
           !overflows(group, plan) && lost_infinities(group, plan) == 0 &&
           group->metrics.underflow_ratio <= plan->max_underflow;
}

/* Whether a is the better of two that both do, or both do not. */
static bool is_better(const struct tp_cast_group *a,
                      const struct tp_cast_group *b,
                      const struct tp_quant_plan *plan)
{
    int bits = number_of(a, plan)->bits - number_of(b, plan)->bits;
    return bits ? bits < 0 : sqnr_of(a) > sqnr_of(b);
}

/* The best of the plain or of the scaled casts: of those that meet the
 * limits or, if `failing`, of those that do not. NULL: there is none. */
static const struct tp_cast_group *
best_of(const struct tp_recommend_input *input, bool scaled, bool failing)
{
    const struct tp_cast_group *best = NULL;
    int stored = bits_of(input->dtype);
    for (size_t i = 0; i < input->count; i++) {
        const struct tp_cast_group *group = &input->groups[i];
        const struct tp_quant_plan *plan = input->plan;
        if ((group->cast >= plan->scaled) != scaled ||
            meets(group, plan) == failing ||
            number_of(group, plan)->bits >= stored)
            continue;
        if (!best || (failing ? worst_of(group) > worst_of(best)
                              : is_better(group, best, plan)))
            best = group;
    }
    return best;
}

static void add_scales(const struct tp_cast_group *group,
                       struct tp_text *text)
{
    tp_text_add(text, "2^%" PRId64, group->tensor_scale_min);
    if (group->tensor_scale_max != group->tensor_scale_min)
        tp_text_add(text, " to 2^%" PRId64, group->tensor_scale_max);
}

static void add_quality(const struct tp_cast_group *group,
                        struct tp_text *text)
{
    double sqnr = group->metrics.sqnr_db;
    if (isnan(sqnr))
        tp_text_add(text, "zeros only");
    else if (isinf(sqnr))
        tp_text_add(text, "exact");
    else
        tp_text_add(text, "%.1f dB", sqnr);
    if (group->metrics.underflow_ratio > 0)
        tp_text_add(text, ", underflow %.2g %%",
                    100 * group->metrics.underflow_ratio);
}

/* Which limit the best failing format misses. */
static void add_failure(const struct tp_recommend_input *input,
                        const struct tp_cast_group *group,
                        struct tp_text *text)
{
    const struct tp_quant_plan *plan = input->plan;
    tp_text_add(text, "%s%s: ", group->format,
                group->cast >= plan->scaled ? " scaled" : "");
    if (sqnr_of(group) < plan->min_sqnr)
        tp_text_add(text, "%.1f dB is below %g dB", group->metrics.sqnr_db,
                    plan->min_sqnr);
    else if (worst_of(group) < plan->min_sqnr)
        tp_text_add(text, "%.1f dB of the worst tensor is below %g dB",
                    group->sqnr_worst_db, plan->min_sqnr);
    else if (overflows(group, plan))
        tp_text_add(text, "%" PRIu64 " elements overflow",
                    group->nonfinite_out);
    else if (lost_infinities(group, plan))
        tp_text_add(text, "%" PRIu64 " infinite elements become NaN or finite",
                    group->infinite);
    else if (group->summed == 0)
        tp_text_add(text, "no element stays finite");
    else
        tp_text_add(text, "%.2g %% underflow is above %g %%",
                    100 * group->metrics.underflow_ratio,
                    100 * plan->max_underflow);
}

/* Why nothing narrower will do. */
static void explain_keep(const struct tp_recommend_input *input,
                         struct tp_text *text)
{
    const struct tp_cast_group *plain = best_of(input, false, true);
    const struct tp_cast_group *scaled = best_of(input, true, true);
    if (is_empty(&input->groups[0])) {
        tp_text_add(text, "no elements");
        return;
    }
    if (input->groups[0].finite == 0) {
        tp_text_add(text, "no finite elements");
        return;
    }
    if (!plain && !scaled)
        tp_text_add(text, "no narrower format was tried");
    if (plain)
        add_failure(input, plain, text);
    if (plain && scaled)
        tp_text_add(text, "; ");
    if (scaled)
        add_failure(input, scaled, text);
}

/* With a scale when that is narrower, or alone does. */
static bool takes_scale(const struct tp_recommend_input *input,
                        const struct tp_cast_group *plain,
                        const struct tp_cast_group *scaled)
{
    return scaled && (!plain || number_of(scaled, input->plan)->bits <
                                    number_of(plain, input->plan)->bits);
}

/* The advice, and why it is given. */
static void explain(const struct tp_recommend_input *input,
                    const struct tp_cast_group *plain,
                    const struct tp_cast_group *scaled,
                    struct tp_text *advice, struct tp_text *reason)
{
    if (!plain && !scaled) {
        tp_text_add(advice, "keep %s", tp_dtype_info(input->dtype)->name);
        explain_keep(input, reason);
        return;
    }
    if (takes_scale(input, plain, scaled)) {
        tp_text_add(advice, "%s scaled", scaled->format);
        add_quality(scaled, reason);
        tp_text_add(reason, " with a scale per tensor of ");
        add_scales(scaled, reason);
        return;
    }
    tp_text_add(advice, "%s", plain->format);
    add_quality(plain, reason);
    if (scaled && sqnr_of(scaled) > sqnr_of(plain) + 1) {
        tp_text_add(reason, "; %s with a scale per tensor of ",
                    scaled->format);
        add_scales(scaled, reason);
        tp_text_add(reason, ": ");
        add_quality(scaled, reason);
    }
}

static void fill_scaled(const struct tp_cast_group *scaled,
                        const struct tp_quant_plan *plan,
                        struct tp_recommendation *made)
{
    made->scaled_format = scaled->format;
    made->scaled_bits = number_of(scaled, plan)->bits;
    made->scaled_sqnr_db = scaled->metrics.sqnr_db;
    made->scaled_underflow_ratio = scaled->metrics.underflow_ratio;
    made->tensor_scale_min = scaled->tensor_scale_min;
    made->tensor_scale_max = scaled->tensor_scale_max;
}

enum tp_status tp_recommend(const struct tp_recommend_input *input,
                            struct tp_recommendation *made,
                            struct tp_error *err)
{
    const struct tp_cast_group *plain = best_of(input, false, false);
    const struct tp_cast_group *scaled = best_of(input, true, false);
    struct tp_text advice = {0}, reason = {0};
    *made = (struct tp_recommendation){
        .place = input->groups[0].place,
        .tensors = input->groups[0].tensors,
        .dtype = input->dtype,
        .format = plain ? plain->format : "",
        .bits = plain ? number_of(plain, input->plan)->bits : -1,
        .sqnr_db = plain ? plain->metrics.sqnr_db : NAN,
        .underflow_ratio = plain ? plain->metrics.underflow_ratio : NAN,
        .scaled_format = "",
        .scaled_bits = -1,
        .scaled_sqnr_db = NAN,
        .scaled_underflow_ratio = NAN,
    };
    if (scaled)
        fill_scaled(scaled, input->plan, made);
    if (plain && !takes_scale(input, plain, scaled))
        made->advised = number_of(plain, input->plan);
    explain(input, plain, scaled, &advice, &reason);
    made->advice = tp_arena_take(input->arena, &advice);
    made->reason = tp_arena_take(input->arena, &reason);
    if (!made->advice || !made->reason)
        return tp_fail_memory(err);
    return TP_OK;
}
