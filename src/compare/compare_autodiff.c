/* SPDX-License-Identifier: MIT */
#include "compare/compare_autodiff.h"

#include <stdlib.h>
#include <string.h>

/* --- searching ------------------------------------------------------------ */

static enum tp_status search(const struct tp_compare_pair *pair,
                             const struct tp_divergence_options *options,
                             struct tp_divergence *divergence,
                             struct tp_error *err)
{
    struct tp_call_pairs calls = {0};
    enum tp_status status =
        tp_call_match(pair->a.place, pair->b.place, &calls, err);
    if (status == TP_OK)
        status = tp_divergence_find(pair->a.place, pair->b.place, &calls,
                                    options, divergence, err);
    tp_call_pairs_clear(&calls);
    return status;
}

static enum tp_status search_all(const struct tp_comparison *comparison,
                                 const struct tp_divergence_options *options,
                                 struct tp_compare_autodiff *autodiff,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    autodiff->searches =
        calloc(comparison->pair_count, sizeof *autodiff->searches);
    if (!autodiff->searches)
        return tp_fail_memory(err);
    for (size_t i = 0; i < comparison->pair_count && status == TP_OK; i++) {
        struct tp_divergence *search_of = &autodiff->searches[i];
        autodiff->count++;
        status = search(&comparison->pairs[i], options, search_of, err);
        autodiff->row_count += search_of->count;
    }
    return status;
}

/* The rows of all searches behind each other, with step and rank. */
static enum tp_status join_rows(const struct tp_comparison *comparison,
                                struct tp_compare_autodiff *autodiff,
                                struct tp_error *err)
{
    size_t count = 0;
    autodiff->rows = calloc(autodiff->row_count + 1, sizeof *autodiff->rows);
    if (!autodiff->rows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < autodiff->count; i++) {
        const struct tp_dump_place *place = comparison->pairs[i].a.place;
        for (size_t k = 0; k < autodiff->searches[i].count; k++)
            autodiff->rows[count++] = (struct tp_compare_autodiff_row){
                place->step, place->rank, autodiff->searches[i].rows[k]};
    }
    return TP_OK;
}

/* --- findings ------------------------------------------------------------- */

/* How bad an origin is: what one run computes wrong is certain; other arguments
 * or data may be meant, and are where the runs differ in dtype; random numbers
 * differ by nature. */
static enum tp_severity severity_of(const struct tp_divergence *found,
                                    enum tp_divergence_verdict verdict)
{
    if (verdict >= TP_DIVERGENCE_ADDED_A)
        return TP_SEVERITY_HIGH;
    return found->recast || verdict <= TP_DIVERGENCE_RANDOM
               ? TP_SEVERITY_LOW
               : TP_SEVERITY_MEDIUM;
}

static const char *advice_of(enum tp_divergence_verdict verdict)
{
    switch (verdict) {
    case TP_DIVERGENCE_ADDED_A:
    case TP_DIVERGENCE_ADDED_B:
    case TP_DIVERGENCE_ADDED_BOTH:
        return "Look at this operator first: its dtype, its kernel, what is "
               "done to its arguments inside of it. What differs behind it "
               "may all be its doing.";
    case TP_DIVERGENCE_ARGUMENTS:
    case TP_DIVERGENCE_ONLY_A:
    case TP_DIVERGENCE_ONLY_B:
        return "The runs do not compute the same thing here: compare the "
               "code, the configuration and the versions of libraries.";
    case TP_DIVERGENCE_DATA:
        return "The runs are not given the same: compare the checkpoint that "
               "is loaded, the order of the data and the seeds.";
    case TP_DIVERGENCE_RECEIVED:
        return "Another rank sent something else: compare that rank's dump "
               "first.";
    case TP_DIVERGENCE_LOW_PRECISION:
        return "Expected of a device without a wider accumulator, or of a "
               "kernel that keeps its steps in the dtype; where that is not "
               "meant, ask for fp32 inside of this operator.";
    case TP_DIVERGENCE_RANDOM:
        return "Set the same seeds, or turn dropout off, to see what is "
               "behind it.";
    default:
        return "Dump both runs with all arguments, or replay this call by "
               "itself, to tell which of the two is off.";
    }
}

/* What a search names: error that is added, else the first origin, else what
 * low precision explains; SIZE_MAX: nothing. */
static size_t named(const struct tp_divergence *found)
{
    return found->added != SIZE_MAX   ? found->added
           : found->first != SIZE_MAX ? found->first
                                      : found->low;
}

/* The pair of the earliest step that has an origin, of these one that did not
 * get it from another rank; else that low precision explains; SIZE_MAX: none
 * has. */
static size_t first_search(const struct tp_comparison *comparison,
                           const struct tp_compare_autodiff *autodiff)
{
    size_t low = SIZE_MAX;
    for (size_t i = autodiff->count; i-- > 0;)
        if (autodiff->searches[i].low != SIZE_MAX)
            low = i;
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < autodiff->count; i++) {
        const struct tp_divergence *found = &autodiff->searches[i];
        if (found->first == SIZE_MAX)
            continue;
        if (first == SIZE_MAX)
            first = i;
        if (comparison->pairs[i].a.place->step !=
            comparison->pairs[first].a.place->step)
            break;
        if (found->rows[named(found)].verdict != TP_DIVERGENCE_RECEIVED)
            return i;
    }
    return first != SIZE_MAX ? first : low;
}

static enum tp_status add_finding(const struct tp_comparison *comparison,
                                  const struct tp_compare_autodiff *autodiff,
                                  struct tp_dump_findings *findings,
                                  struct tp_error *err)
{
    const size_t at = first_search(comparison, autodiff);
    struct tp_dump_finding *finding;
    if (at == SIZE_MAX)
        return TP_OK;
    const struct tp_divergence *found = &autodiff->searches[at];
    const struct tp_divergence_row *row = &found->rows[named(found)];
    enum tp_status status =
        tp_dump_finding_new(findings, &tp_compare_rules[TP_FINDS_DIVERGENCE],
                            severity_of(found, row->verdict), &finding, err);
    if (status != TP_OK)
        return status;
    finding->step = comparison->pairs[at].a.place->step;
    finding->rank = comparison->pairs[at].a.place->rank;
    finding->order = row->order;
    finding->pair = at;
    finding->name = row->api_name;
    finding->evidence = found->sentence;
    finding->suggestion = advice_of(row->verdict);
    finding->count = 0;
    for (size_t i = 0; i < autodiff->count; i++)
        finding->count += named(&autodiff->searches[i]) != SIZE_MAX;
    tp_dump_findings_sort(findings);
    return TP_OK;
}

enum tp_status tp_compare_autodiff_make(
    const struct tp_comparison *comparison,
    const struct tp_divergence_options *options,
    struct tp_compare_autodiff *autodiff, struct tp_dump_findings *findings,
    struct tp_error *err)
{
    if (comparison->mode != TP_COMPARE_TENSOR)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "--autodiff computes operators again, but the runs are "
                       "not compared element by element: it needs the tensors "
                       "of both");
    enum tp_status status = search_all(comparison, options, autodiff, err);
    if (status == TP_OK)
        status = join_rows(comparison, autodiff, err);
    return status == TP_OK ? add_finding(comparison, autodiff, findings, err)
                           : status;
}

/* --- the table ------------------------------------------------------------ */

static const char *verdict_word(const void *row)
{
    const struct tp_compare_autodiff_row *own = row;
    return tp_divergence_words[own->row.verdict];
}

#define OWN(member, unit) \
    TP_COLUMN_AS(struct tp_compare_autodiff_row, #member, row.member, unit)

static const struct tp_column columns[] = {
    TP_COLUMN(struct tp_compare_autodiff_row, step, "1"),
    TP_COLUMN(struct tp_compare_autodiff_row, rank, "1"),
    OWN(order, "1"),
    OWN(layer, "1"),
    OWN(api_name, ""),
    OWN(dtype, ""),
    OWN(e_in, "1"),
    OWN(e_local_a, "1"),
    OWN(e_local_b, "1"),
    OWN(e_out, "1"),
    OWN(gain, "1"),
    OWN(bound, "1"),
    OWN(excess_a, "1"),
    OWN(excess_b, "1"),
    TP_COLUMN_WORD("verdict", verdict_word),
    OWN(evidence, ""),
};

void tp_compare_autodiff_table(const struct tp_compare_autodiff *autodiff,
                               struct tp_table *table)
{
    *table =
        TP_TABLE_OF("autodiff", columns, autodiff->rows, autodiff->row_count);
}

void tp_compare_autodiff_clear(struct tp_compare_autodiff *autodiff)
{
    for (size_t i = 0; i < autodiff->count; i++)
        tp_divergence_clear(&autodiff->searches[i]);
    free(autodiff->searches);
    free(autodiff->rows);
    memset(autodiff, 0, sizeof *autodiff);
}
