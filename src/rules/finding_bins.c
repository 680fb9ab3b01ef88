/* SPDX-License-Identifier: MIT */
/*
 * A finding names one tensor of one file. The series that has it as a point
 * knows which rows make that point and the one before, and their packed
 * summaries have the bins: nothing is read again.
 *
 * Cost: each of the worst findings looks through the rows of all series once.
 */
#include "rules/finding_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "series/series.h"

/* Where a finding's tensor is: a point of a series, or else a row. */
struct where {
    const struct tp_run_series *series; /* NULL: no series has it          */
    size_t point;
    const struct tp_row *row; /* NULL: no tensor is named                  */
};

static bool has_row(const struct tp_row *const *rows, size_t count,
                    const struct tp_row *row)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i] == row)
            return true;
    return false;
}

static struct where find(const struct tp_run *run,
                         const struct tp_series_set *set,
                         const struct tp_finding *finding)
{
    struct where where = {NULL, 0, tp_finding_row(run, finding)};
    for (size_t s = 0; where.row && s < set->count; s++) {
        for (size_t p = 0; p < set->series[s].count; p++) {
            size_t count;
            const struct tp_row *const *rows =
                tp_series_rows(set, &set->series[s], p, &count);
            if (has_row(rows, count, where.row))
                return (struct where){&set->series[s], p, where.row};
        }
    }
    return where;
}

/* What the bins of one summary are added with. */
struct adding {
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

/* The rows of a point, together. */
static enum tp_status add_point(const struct tp_series_set *set,
                                const struct where *where, size_t point,
                                struct tp_summary *sum, struct adding *adding)
{
    size_t count;
    const struct tp_row *const *rows =
        tp_series_rows(set, where->series, point, &count);
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < count; i++)
        tp_summary_merge_packed(sum, rows[i]->packed);
    adding->bin.iteration = tp_series_at(set, where->series)[point];
    return add_summary(adding, sum);
}

static enum tp_status add_finding(const struct tp_series_set *set,
                                  const struct tp_finding *finding,
                                  const struct where *where,
                                  struct tp_summary *sum, struct adding *adding)
{
    const bool changed = finding->origin || !isnan(finding->baseline);
    enum tp_status status = TP_OK;
    if (where->series && where->point > 0 && changed) {
        adding->bin.when = "before";
        status = add_point(set, where, where->point - 1, sum, adding);
    }
    adding->bin.when = "at";
    if (where->series && status == TP_OK)
        return add_point(set, where, where->point, sum, adding);
    memset(sum, 0, sizeof *sum);
    tp_summary_merge_packed(sum, where->row->packed);
    adding->bin.iteration = where->row->label.iteration;
    return status == TP_OK ? add_summary(adding, sum) : status;
}

enum tp_status tp_finding_bins_make(const struct tp_run *run,
                                    const struct tp_monitor *monitor,
                                    const struct tp_findings *findings,
                                    struct tp_finding_bins *bins,
                                    struct tp_error *err)
{
    struct tp_summary *sum = malloc(sizeof *sum);
    struct adding adding = {.bins = bins, .err = err};
    enum tp_status status = sum ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0;
         status == TP_OK && i < findings->count && i < TP_BINNED_FINDINGS;
         i++) {
        const struct where where =
            find(run, &monitor->series, &findings->rows[i]);
        adding.bin.finding = i;
        if (where.row)
            status = add_finding(&monitor->series, &findings->rows[i], &where,
                                 sum, &adding);
    }
    free(sum);
    return status;
}

void tp_finding_bins_clear(struct tp_finding_bins *bins)
{
    free(bins->rows);
    memset(bins, 0, sizeof *bins);
}
