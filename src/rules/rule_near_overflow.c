/* SPDX-License-Identifier: MIT */
/*
 * fp16 tensors close to the largest value there is: what grows a little more
 * becomes Inf. One finding for each place, over all its ranks, iterations and
 * samples, with the largest one named. bf16 and fp32 reach so much further
 * that being close to their end is no state a training run is in.
 *
 * What has overflowed already is the matter of other rules, as is a tensor that
 * only follows from an incident. Cost: a look at the amax of each row.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "data/number.h"
#include "rules/rules.h"

/* Within a tenth of the end: the limit of the requirements. */
static const double near = 60000;

/* What rounds to Inf in fp16, half a step above 65504. */
static const double infinite = 65520;

/* The rows of one place that are near. */
struct edge {
    const struct tp_row *largest, *earliest;
    uint64_t count;
};

/* Stored in fp16, or to be cast to it. */
static bool is_fp16(const struct tp_row *row)
{
    return row->dtype == TP_FLOAT16 ||
           (row->target && !strcmp(row->target->id, "fp16"));
}

static bool is_near(const struct tp_row *row)
{
    double amax = row->numbers.abs_max;
    return is_fp16(row) && amax > near && amax < infinite &&
           tp_counts_infinite(&row->counts) == 0;
}

static struct edge find_edge(const struct tp_rule_input *input,
                             const size_t span[2])
{
    struct edge edge = {.largest = NULL};
    for (size_t i = span[0]; i < span[1]; i++) {
        const struct tp_row *row = input->rows[i];
        if (!is_near(row) || tp_row_explained(input->incidents, row))
            continue;
        edge.count++;
        if (!edge.largest ||
            row->numbers.abs_max > edge.largest->numbers.abs_max)
            edge.largest = row;
        if (!edge.earliest ||
            row->label.iteration < edge.earliest->label.iteration)
            edge.earliest = row;
    }
    return edge;
}

static void describe(const struct tp_rule_input *input, const struct edge *edge,
                     size_t tensors, struct tp_finding *finding)
{
    const struct tp_row *row = edge->largest;
    double amax = row->numbers.abs_max;
    struct tp_text where = {0};
    tp_finding_where(row, &where);
    finding->level = TP_SEVERITY_LOW;
    finding->metric = "abs_max";
    finding->value = amax;
    finding->iteration = edge->earliest->label.iteration;
    finding->excess = amax / near;
    finding->evidence = tp_finding_text(
        input->findings,
        "%" PRIu64 " of %zu tensors have an amax above %g; the largest "
        "%.6g%s; fp16 ends at 65504",
        edge->count, tensors, near, amax,
        tp_finding_take(input->findings, &where));
    finding->suggestion = tp_finding_text(
        input->findings,
        "what grows by %.2g %% becomes Inf in fp16: %s, or keep this tensor in "
        "bfloat16 or float32",
        100 * (infinite / amax - 1),
        row->label.direction == TP_BACKWARD ? "lower the loss scale"
                                            : "scale it down");
}

enum tp_status tp_rule_near_overflow(const struct tp_rule_input *input,
                                     const struct tp_rule *rule,
                                     struct tp_error *err)
{
    const struct tp_row *const *rows = input->rows;
    size_t count = input->run->row_count;
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1; end < count && tp_same_place(rows[i], rows[end]);)
            end++;
        const size_t span[2] = {i, end};
        const struct edge edge = find_edge(input, span);
        struct tp_finding *finding;
        if (!edge.largest)
            continue;
        status = tp_finding_add(input->findings, rule, edge.largest, &finding,
                                err);
        if (status == TP_OK)
            describe(input, &edge, end - i, finding);
    }
    return status;
}
