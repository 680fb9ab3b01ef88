/* SPDX-License-Identifier: MIT */
/*
 * NaN and Inf: those of incidents, and those of tensors without an iteration.
 * A NaN is never a value a healthy tensor holds; an Inf may be (a mask), so it
 * counts only in a series that had none before, and not where a mask is to be
 * expected (tp_row_is_mask). In each rank the first one, by iteration and then
 * by the saver's counter, is the origin; whatever follows is counted, not
 * listed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "rules/onset_change.h"

/* Those of a mask are none. */
static uint64_t infinities(const struct tp_row *row)
{
    return tp_row_is_mask(row) ? 0 : tp_counts_infinite(&row->counts);
}

static bool same_series(const struct tp_row *a, const struct tp_row *b)
{
    return tp_same_place(a, b) && a->label.rank == b->label.rank &&
           a->ordinal == b->ordinal;
}

/* The first bad row of the series [first, end), or NULL. */
static const struct tp_row *onset(const struct tp_row *const *first,
                                  const struct tp_row *const *end)
{
    bool had_none = false;
    for (; first < end; first++) {
        const struct tp_row *row = *first;
        if (row->counts.nan || (infinities(row) && had_none))
            return row;
        had_none = had_none || !infinities(row);
    }
    return NULL;
}

static bool is_earlier(const struct tp_row *a, const struct tp_row *b)
{
    if (a->label.iteration != b->label.iteration)
        return a->label.iteration < b->label.iteration;
    if (a->label.counter != b->label.counter)
        return a->label.counter < b->label.counter;
    return a < b;
}

/* Adds to the finding of the same run and rank, from number `first` on, or
 * makes a new one. */
static enum tp_status add_onset(const struct tp_rule_input *input,
                                const struct tp_rule *rule,
                                const struct tp_row *row, size_t first,
                                const struct tp_row **origins,
                                struct tp_error *err)
{
    struct tp_findings *list = input->findings;
    for (size_t i = first; i < list->count; i++) {
        struct tp_finding *known = &list->rows[i];
        if (known->rank != row->label.rank ||
            known->quant_type != row->label.quant_type)
            continue;
        if (is_earlier(row, origins[i])) {
            int64_t consequences = known->consequences;
            size_t count = list->count;
            list->count = i;
            /* there is room */
            tp_finding_add(input->findings, rule, row, &known, err);
            list->count = count;
            known->consequences = consequences;
            origins[i] = row;
        }
        known->consequences++;
        return TP_OK;
    }
    struct tp_finding *fresh;
    origins[list->count] = row;
    return tp_finding_add(input->findings, rule, row, &fresh, err);
}

static void describe(const struct tp_rule_input *input,
                     struct tp_finding *finding, const struct tp_row *row)
{
    finding->level = TP_SEVERITY_HIGH;
    finding->metric = "nan+inf";
    finding->value = (double)(row->counts.nan + infinities(row));
    finding->excess = finding->value;
    struct tp_text text = {0};
    bool dated = row->label.iteration >= 0;
    tp_onset_add_nonfinite(row, &text);
    if (finding->consequences)
        tp_text_add(&text, "; %" PRId64 " other tensor%s %s",
                    finding->consequences,
                    finding->consequences == 1 ? "" : "s",
                    dated ? "of this rank follow" : "of these files have some");
    finding->evidence = tp_finding_take(input->findings, &text);
    finding->suggestion =
        dated ? "look at this operation's inputs in the iteration before: "
                "their amax against the largest finite value, and zero "
                "denominators"
              : "no iteration is known, so nothing tells what came first: "
                "compare with an earlier file of this tensor";
}

enum tp_status tp_rule_nonfinite(const struct tp_rule_input *input,
                                 const struct tp_rule *rule,
                                 struct tp_error *err)
{
    const struct tp_row *const *rows = input->rows;
    size_t count = input->run->row_count;
    /* one slot per finding there can be: runs times ranks, few */
    const struct tp_row **origins = NULL;
    size_t capacity = 0;
    enum tp_status status = tp_rule_incidents(input, rule, true, err);
    size_t before = input->findings->count;
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        for (end = i + 1; end < count && same_series(rows[i], rows[end]);)
            end++;
        const struct tp_row *row = onset(rows + i, rows + end);
        if (!row || tp_row_explained(input->incidents, row))
            continue;
        status = tp_grow(&origins, &capacity, input->findings->count + 1,
                         sizeof *origins, err);
        if (status == TP_OK)
            status = add_onset(input, rule, row, before, origins, err);
    }
    for (size_t i = before; i < input->findings->count && status == TP_OK; i++)
        describe(input, &input->findings->rows[i], origins[i]);
    free(origins);
    return status;
}
