/* SPDX-License-Identifier: MIT */
/*
 * Axes whose indices differ by more than a sum in the dtype of reductions can
 * hold, channels far above the rest, channels that are zero. One finding for
 * each place, over all its ranks, iterations and samples, of its worst axis;
 * one with few values an index only where no other has that fault.
 *
 * What counts is what most tensors of the place show. Heavy-tailed tensors,
 * gradients above all, exceed any ratio now and then; a scale that differs
 * between channels, an outlier channel and a dead one are there in every
 * iteration. A tensor that changes is the matter of its baseline.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "rules/dims_advice.h"
#include "rules/rules.h"
#include "scan/dim_rank.h"

/* What may be wrong with an axis, worst first. */
enum fault { FAULT_RATIO, FAULT_OUTLIERS, FAULT_DEAD, FAULTS };

static const char *const metrics[FAULTS] = {"dim_ratio", "outliers", "dead"};

/* The rows of a place that have one fault on one axis. */
struct tally {
    uint64_t count;
    const struct tp_row *worst, *earliest;
    const struct tp_dim_axis *axis; /* of the worst                        */
    double value, excess;           /* of the worst                        */
};

struct place {
    uint64_t rows[TP_LIMIT_DIMS]; /* that have the axis                    */
    struct tally tallies[TP_LIMIT_DIMS][FAULTS];
};

/* The number of a fault, and how far it is beyond its limit; 1: just there. */
static double value_of(const struct tp_dim_axis *axis, enum fault fault,
                       double *excess)
{
    switch (fault) {
    case FAULT_RATIO:
        *excess = tp_dim_excess(axis);
        return axis->ratio;
    case FAULT_OUTLIERS:
        *excess = axis->outliers && axis->kept
                      ? tp_dim_abs_max(&axis->worst[0]) / axis->limit
                      : 0;
        return (double)axis->outliers;
    default:
        /* all zero is an unused tensor, not a dead channel */
        *excess = axis->dead < (uint64_t)axis->length
                      ? 2 * (double)axis->dead / (double)axis->length +
                            (axis->dead > 0)
                      : 0;
        return (double)axis->dead;
    }
}

static void add_fault(struct tally *tally, const struct tp_row *row,
                      const struct tp_dim_axis *axis, enum fault fault)
{
    double excess, value = value_of(axis, fault, &excess);
    if (!(excess >= 1))
        return;
    tally->count++;
    if (!tally->worst || excess > tally->excess) {
        tally->worst = row;
        tally->axis = axis;
        tally->value = value;
        tally->excess = excess;
    }
    if (!tally->earliest ||
        row->label.iteration < tally->earliest->label.iteration)
        tally->earliest = row;
}

/* Of masks, one-hot codes and indices nobody takes a sum that could lose some,
 * and zeros are what they are for. Of an optimizer's moments nobody does
 * either: they differ as gradients do. Zeros are what no gradient reached. */
static void add_row(struct place *place, const struct tp_row *row)
{
    if (tp_dtype_info(row->dtype)->kind == TP_CLASS_INTEGER)
        return;
    for (size_t i = 0; row->dims && i < row->dims->count; i++) {
        const struct tp_dim_axis *axis = &row->dims->axes[i];
        place->rows[axis->axis]++;
        const bool moments = row->label.roles & TP_ROLES_OF_MOMENTS;
        for (int fault = moments ? FAULT_DEAD : 0; fault < FAULTS; fault++)
            add_fault(&place->tallies[axis->axis][fault], row, axis,
                      (enum fault)fault);
    }
}

/* Whether a tally tells more than the best so far (NULL: none). */
static bool is_worse(const struct tally *tally, const struct tally *best)
{
    bool few = tp_dim_has_few(tally->axis);
    if (!best || few != tp_dim_has_few(best->axis))
        return !best || !few;
    return tally->excess > best->excess;
}

/* The worst of what most rows show, or NULL. */
static const struct tally *choose(const struct place *place, int *axis,
                                  enum fault *fault)
{
    for (int f = 0; f < FAULTS; f++) {
        const struct tally *best = NULL;
        for (int i = 0; i < TP_LIMIT_DIMS; i++) {
            const struct tally *tally = &place->tallies[i][f];
            if (2 * tally->count <= place->rows[i] || !is_worse(tally, best))
                continue;
            best = tally;
            *axis = i;
            *fault = (enum fault)f;
        }
        if (best)
            return best;
    }
    return NULL;
}

static void describe(const struct tp_rule_input *input,
                     const struct tally *tally, uint64_t rows, enum fault fault,
                     struct tp_finding *finding)
{
    const struct tp_dim_axis *axis = tally->axis;
    const struct tp_row *worst = tally->worst;
    struct tp_text advice = {0};
    if (worst->label.roles & TP_ROLES_OF_MOMENTS)
        tp_text_add(&advice,
                    "no gradient has reached %" PRIu64 " of %" PRId64
                    " indices of axis %d: tokens that never occur, a mask, or "
                    "channels that do not learn",
                    axis->dead, axis->length, axis->axis);
    else
        tp_dim_advice(axis, &advice);
    finding->level =
        fault == FAULT_RATIO ? TP_SEVERITY_MEDIUM : TP_SEVERITY_LOW;
    finding->metric = metrics[fault];
    finding->value = tally->value;
    finding->iteration = tally->earliest->label.iteration;
    finding->excess = 1 + log2(tally->excess); /* there is no upper end */
    finding->evidence = tp_finding_text(
        input->findings,
        "axis %d of %s in %" PRIu64 " of %" PRIu64 " tensors; worst: "
        "dim_ratio %.4g, risk %s in %s, %" PRIu64 " outliers and %" PRIu64
        " dead among %" PRId64 " indices",
        axis->axis, worst->shape, tally->count, rows, axis->ratio,
        tp_dim_risk_name(axis->risk), tp_dtype_info(axis->reduce)->name,
        axis->outliers, axis->dead, axis->length);
    finding->suggestion = tp_finding_take(input->findings, &advice);
}

enum tp_status tp_rule_dims(const struct tp_rule_input *input,
                            const struct tp_rule *rule, struct tp_error *err)
{
    const struct tp_row *const *rows = input->rows;
    size_t count = input->run->row_count;
    if (!input->run->dims_first)
        return TP_OK;
    struct place *place = malloc(sizeof *place);
    enum tp_status status = place ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        memset(place, 0, sizeof *place);
        for (end = i; end < count && tp_same_place(rows[i], rows[end]); end++)
            if (!tp_row_explained(input->incidents, rows[end]))
                add_row(place, rows[end]);
        int axis;
        enum fault fault;
        const struct tally *tally = choose(place, &axis, &fault);
        struct tp_finding *finding;
        if (!tally)
            continue;
        status =
            tp_finding_add(input->findings, rule, tally->worst, &finding, err);
        if (status == TP_OK)
            describe(input, tally, place->rows[axis], fault, finding);
    }
    free(place);
    return status;
}
