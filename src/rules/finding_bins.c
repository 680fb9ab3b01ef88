/* SPDX-License-Identifier: MIT */
/*
 * A finding names one tensor of one file. The series that has it as a point
 * knows which rows make that point and the one before, and their packed
 * summaries have the bins: nothing is read again. What the format has room for
 * stands beside what it loses.
 *
 * Cost: each of the worst findings looks through the rows of all series once.
 */
#include "rules/finding_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/number.h"
#include "rules/finding_before.h"

static bool has_row(const struct tp_row *const *rows, size_t count,
                    const struct tp_row *row)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i] == row)
            return true;
    return false;
}

/* Where a finding's tensor is. */
static struct tp_finding_place find(const struct tp_run *run,
                                    const struct tp_series_set *set,
                                    const struct tp_finding *finding)
{
    struct tp_finding_place where = {NULL, 0, tp_finding_row(run, finding)};
    for (size_t s = 0; where.row && s < set->count; s++) {
        for (size_t p = 0; p < set->series[s].count; p++) {
            size_t count;
            const struct tp_row *const *rows =
                tp_series_rows(set, &set->series[s], p, &count);
            if (has_row(rows, count, where.row))
                return (struct tp_finding_place){&set->series[s], p,
                                                 where.row};
        }
    }
    return where;
}

/* What the bins of one summary are added with. */
struct adding {
    const struct tp_run *run;
    const struct tp_series_set *set;
    struct tp_finding_bins *bins;
    struct tp_finding_bin bin; /* what all have                            */
    struct tp_error *err;
};

static enum tp_status add_bin(void *context, double lower, double upper,
                              uint64_t count)
{
    struct adding *adding = context;
    struct tp_finding_bins *bins = adding->bins;
    if (count == 0)
        return TP_OK;
    enum tp_status status =
        tp_grow(&bins->rows, &bins->capacity, bins->count + 1,
                sizeof *bins->rows, adding->err);
    if (status != TP_OK)
        return status;
    adding->bin.lower = lower;
    adding->bin.upper = upper;
    adding->bin.count = count;
    bins->rows[bins->count++] = adding->bin;
    return TP_OK;
}

static enum tp_status add_summary(struct adding *adding,
                                  const struct tp_summary *sum)
{
    const struct tp_counts *counts = &sum->counts;
    enum tp_status status =
        add_bin(adding, -INFINITY, -INFINITY, counts->neg_inf);
    if (status == TP_OK)
        status = tp_summary_bins(sum, add_bin, adding);
    if (status == TP_OK)
        status = add_bin(adding, INFINITY, INFINITY, counts->pos_inf);
    return status == TP_OK ? add_bin(adding, NAN, NAN, counts->nan) : status;
}

/* The rows of a point together, or the row alone. */
static enum tp_status add_place(const struct tp_finding_place *place,
                                const char *when, struct tp_summary *sum,
                                struct adding *adding)
{
    size_t count = 1;
    const struct tp_row *const *rows =
        place->series ? tp_series_rows(adding->set, place->series, place->point,
                                       &count)
                      : &place->row;
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < count; i++)
        tp_summary_merge_packed(sum, rows[i]->packed);
    adding->bin.when = when;
    adding->bin.tensor = place->row - adding->run->rows;
    adding->bin.iteration =
        place->series ? tp_series_at(adding->set, place->series)[place->point]
                      : place->row->label.iteration;
    return add_summary(adding, sum);
}

/* The ends of the format, and how many elements lie beyond: of loss in a format
 * whose ends are the same for all elements. */
static enum tp_status add_range(const struct tp_finding *finding,
                                const struct tp_row *row,
                                struct adding *adding)
{
    const struct tp_number *format = row->target;
    const bool over = strcmp(finding->rule->id, "overflow") == 0;
    const bool under = strcmp(finding->rule->id, "underflow") == 0;
    if ((!over && !under) || !format || format->kind != TP_NUMBER_ELEMENT)
        return TP_OK;
    adding->bin.when = "range";
    return add_bin(adding, format->min_subnormal, format->max,
                   (uint64_t)llround(finding->value *
                                     (double)row->counts.numel));
}

static enum tp_status add_finding(const struct tp_finding *finding,
                                  const struct tp_finding_place *at,
                                  struct tp_summary *sum, struct adding *adding)
{
    const char *when;
    const struct tp_finding_place before =
        tp_finding_before(adding->run, adding->set, finding, at, &when);
    enum tp_status status = TP_OK;
    if (before.row)
        status = add_place(&before, when, sum, adding);
    if (status == TP_OK)
        status = add_place(at, "at", sum, adding);
    return status == TP_OK ? add_range(finding, at->row, adding) : status;
}

enum tp_status tp_finding_bins_make(const struct tp_run *run,
                                    const struct tp_monitor *monitor,
                                    const struct tp_findings *findings,
                                    struct tp_finding_bins *bins,
                                    struct tp_error *err)
{
    struct tp_summary *sum = malloc(sizeof *sum);
    struct adding adding = {
        .run = run, .set = &monitor->series, .bins = bins, .err = err};
    enum tp_status status = sum ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0;
         status == TP_OK && i < findings->count && i < TP_BINNED_FINDINGS;
         i++) {
        const struct tp_finding_place where =
            find(run, &monitor->series, &findings->rows[i]);
        adding.bin.finding = i;
        if (where.row)
            status = add_finding(&findings->rows[i], &where, sum, &adding);
    }
    free(sum);
    return status;
}

void tp_finding_bins_clear(struct tp_finding_bins *bins)
{
    free(bins->rows);
    memset(bins, 0, sizeof *bins);
}
