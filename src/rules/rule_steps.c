/* SPDX-License-Identifier: MIT */
/*
 * What two checkpoints of a run have to do with each other: all parameters the
 * same, so that one was saved twice; some the same while others moved; another
 * dtype. Two rows are the same when all their statistics are, so nothing is
 * read again. Parameters that never move in any step are one finding of low
 * severity: they may be frozen on purpose. What stands still in good training
 * is left out: an expert that no token reached in one step, and vectors in 16
 * bits, whose few updates may all be below half a unit in the last place
 * (weights of norms begin at 1, biases of keys have no gradient but noise).
 * Cost: a sort of the pairs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "rules/checkpoint.h"
#include "rules/rules.h"

/* A parameter in two iterations that follow each other. */
struct step {
    const struct tp_row *from, *to;
    bool same;
    bool never; /* in none of its steps does it move                        */
};

static bool is_next(const struct tp_row *a, const struct tp_row *b)
{
    return tp_same_place(a, b) && a->label.rank == b->label.rank &&
           a->ordinal == b->ordinal &&
           a->label.iteration < b->label.iteration && a->label.iteration >= 0;
}

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    int result =
        tp_order_int64(a->from->label.iteration, b->from->label.iteration);
    if (!result)
        result = tp_order_int64(a->to->label.iteration, b->to->label.iteration);
    return result ? result : tp_order_place(a->from, b->from);
}

/* All steps of all parameters, by iterations; NULL: out of memory. */
static struct step *find_steps(const struct tp_rule_input *input, size_t *count)
{
    struct step *steps = calloc(input->run->row_count + 1, sizeof *steps);
    size_t first = 0; /* of the parameter at hand */
    *count = 0;
    for (size_t i = 0; steps && i + 1 < input->run->row_count; i++) {
        const struct tp_row *from = input->rows[i], *to = input->rows[i + 1];
        bool next = is_next(from, to);
        if (next && tp_checkpoint_is_parameter(from) && from->counts.values > 1)
            steps[(*count)++] = (struct step){
                from, to, tp_checkpoint_are_equal(from, to), true};
        if (next && i + 2 < input->run->row_count)
            continue;
        bool moved = false;
        for (size_t k = first; k < *count; k++)
            moved = moved || !steps[k].same;
        for (size_t k = first; k < *count; k++)
            steps[k].never = !moved;
        first = *count;
    }
    if (steps)
        qsort(steps, *count, sizeof *steps, compare_steps);
    return steps;
}

static size_t end_of(const struct step *steps, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count &&
           steps[end].from->label.iteration ==
               steps[first].from->label.iteration &&
           steps[end].to->label.iteration == steps[first].to->label.iteration)
        end++;
    return end;
}

static bool is_expert(const struct tp_row *row)
{
    return row->label.expert >= 0 || !strcmp(row->label.layer_type, "expert");
}

/* Whether it says something that a parameter does not move. */
static bool should_move(const struct step *step)
{
    const struct tp_row *row = step->from;
    const bool coarse = tp_dtype_info(row->dtype)->size < 4 || row->quantised;
    return !(coarse && row->first_dims[1] < 0) &&
           (step->never || !is_expert(row));
}

/* What became of the parameters of one pair of iterations. */
struct tally {
    size_t moved, same, never;
    const struct step *first_same; /* that moves elsewhere                  */
    const struct step *first_never, *first_value;
};

static struct tally tally_of(const struct step *first, const struct step *end)
{
    struct tally tally = {0};
    for (const struct step *s = first; s < end; s++) {
        tally.moved += !s->same;
        if (!s->same || tp_checkpoint_is_constant(s->from))
            continue;
        tally.first_value = tally.first_value ? tally.first_value : s;
        if (!should_move(s))
            continue;
        if (s->never)
            tally.first_never = tally.never++ ? tally.first_never : s;
        else
            tally.first_same = tally.same++ ? tally.first_same : s;
    }
    return tally;
}

static enum tp_status add(const struct tp_rule_input *input,
                          const struct tp_rule *rule, const struct step *step,
                          size_t count, struct tp_finding **finding,
                          struct tp_error *err)
{
    enum tp_status status =
        tp_finding_add(input->findings, rule, step->to, finding, err);
    if (status != TP_OK)
        return status;
    (*finding)->level = TP_SEVERITY_MEDIUM;
    (*finding)->metric = "l2_norm";
    (*finding)->value = step->to->numbers.l2_norm;
    (*finding)->baseline = step->from->numbers.l2_norm;
    (*finding)->consequences = (int64_t)count - 1;
    (*finding)->excess = (double)count;
    return TP_OK;
}

enum tp_status tp_rule_repeated(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                struct tp_error *err)
{
    size_t count;
    struct step *steps = find_steps(input, &count);
    enum tp_status status = steps ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        end = end_of(steps, i, count);
        struct tally tally = tally_of(steps + i, steps + end);
        struct tp_finding *finding;
        if (tally.moved || !tally.first_value)
            continue;
        status = add(input, rule, tally.first_value, end - i, &finding, err);
        if (status != TP_OK)
            break;
        finding->evidence =
            tp_finding_text(input->findings,
                            "all %zu parameters in iterations %" PRId64
                            " and %" PRId64 " are the same",
                            end - i, steps[i].from->label.iteration,
                            steps[i].to->label.iteration);
        finding->suggestion =
            "one checkpoint was written twice, or nothing was learned "
            "between: look at the learning rate, at skipped steps, and at "
            "what was saved (a copy taken once?)";
    }
    free(steps);
    return status;
}

static enum tp_status tell_unmoved(const struct tp_rule_input *input,
                                   const struct tp_rule *rule,
                                   const struct tally *tally,
                                   struct tp_error *err)
{
    struct tp_finding *finding;
    const struct step *step = tally->first_same;
    enum tp_status status = add(input, rule, step, tally->same, &finding, err);
    if (status != TP_OK)
        return status;
    finding->evidence = tp_finding_text(
        input->findings,
        "%zu parameter%s the same in iterations %" PRId64 " and %" PRId64
        ", and moved before or after; %zu others moved",
        tally->same, tally->same == 1 ? " is" : "s are",
        step->from->label.iteration, step->to->label.iteration, tally->moved);
    finding->suggestion =
        "a gradient that was zero or missing, or updates below half a unit in "
        "the last place: compare the second moments, and keep master weights "
        "in float32";
    return TP_OK;
}

static enum tp_status tell_never(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 const struct tally *tally,
                                 struct tp_error *err)
{
    struct tp_finding *finding;
    enum tp_status status =
        add(input, rule, tally->first_never, tally->never, &finding, err);
    if (status != TP_OK)
        return status;
    finding->level = TP_SEVERITY_LOW;
    finding->evidence = tp_finding_text(
        input->findings,
        "%zu parameter%s the same in all iterations; %zu others moved",
        tally->never, tally->never == 1 ? " is" : "s are", tally->moved);
    finding->suggestion = "as it should be if they are frozen; if not, see "
                          "whether the optimizer has them";
    return TP_OK;
}

enum tp_status tp_rule_unmoved(const struct tp_rule_input *input,
                               const struct tp_rule *rule, struct tp_error *err)
{
    size_t count;
    struct step *steps = find_steps(input, &count);
    enum tp_status status = steps ? TP_OK : tp_fail_memory(err);
    bool told = false;
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        end = end_of(steps, i, count);
        struct tally tally = tally_of(steps + i, steps + end);
        if (tally.moved && tally.same)
            status = tell_unmoved(input, rule, &tally, err);
        if (status == TP_OK && tally.moved && tally.never && !told)
            status = tell_never(input, rule, &tally, err);
        told = told || (tally.moved && tally.never);
    }
    free(steps);
    return status;
}

/* ---- dtypes --------------------------------------------------------- */

static bool is_same_change(const struct step *a, const struct step *b)
{
    return a->from->dtype == b->from->dtype && a->to->dtype == b->to->dtype;
}

/* How many of [first, end) change as the first one does; 0: an earlier one
 * does, too. */
static size_t changes_like(const struct step *start, const struct step *first,
                           const struct step *end)
{
    size_t n = 0;
    for (const struct step *s = start; s < first; s++) {
        if (is_same_change(s, first))
            return 0;
    }
    for (const struct step *s = first; s < end; s++)
        n += is_same_change(s, first);
    return n;
}

static enum tp_status tell_dtypes(const struct tp_rule_input *input,
                                  const struct tp_rule *rule,
                                  const struct step *first,
                                  const struct step *end, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (const struct step *s = first; s < end && status == TP_OK; s++) {
        struct tp_finding *finding;
        size_t n =
            s->from->dtype == s->to->dtype ? 0 : changes_like(first, s, end);
        if (!n)
            continue;
        status = add(input, rule, s, n, &finding, err);
        if (status != TP_OK)
            break;
        finding->metric = "dtype";
        finding->value = finding->baseline = NAN;
        finding->evidence = tp_finding_text(
            input->findings,
            "%zu parameter%s %s in iteration %" PRId64 " and %s in %" PRId64, n,
            n == 1 ? " is" : "s are", tp_row_dtype_word(s->from),
            s->from->label.iteration, tp_row_dtype_word(s->to),
            s->to->label.iteration);
        finding->suggestion = "whoever goes on from here goes on in another "
                              "precision: save what the optimizer holds";
    }
    return status;
}

enum tp_status tp_rule_dtype(const struct tp_rule_input *input,
                             const struct tp_rule *rule, struct tp_error *err)
{
    size_t count;
    struct step *steps = find_steps(input, &count);
    enum tp_status status = steps ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        end = end_of(steps, i, count);
        status = tell_dtypes(input, rule, steps + i, steps + end, err);
    }
    free(steps);
    return status;
}
