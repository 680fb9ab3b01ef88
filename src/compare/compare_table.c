/* SPDX-License-Identifier: MIT */
#include "compare/compare_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static struct tp_compare_record empty_record(const struct tp_dump_place *place,
                                             size_t call)
{
    return (struct tp_compare_record){.step = place->step,
                                      .rank = place->rank,
                                      .order = (int64_t)call,
                                      .name_a = "",
                                      .name_b = "",
                                      .dtype_a = "",
                                      .dtype_b = "",
                                      .shape_a = "",
                                      .shape_b = "",
                                      .result = "",
                                      .problem = "",
                                      .equal = -1,
                                      .cosine = NAN,
                                      .euc_dist = NAN,
                                      .max_abs_err = NAN,
                                      .max_relative_err = NAN,
                                      .one_thousandth_err_ratio = NAN,
                                      .five_thousandths_err_ratio = NAN,
                                      .max_error = NAN,
                                      .min_error = NAN,
                                      .mean_error = NAN,
                                      .norm_error = NAN,
                                      .error = NAN,
                                      .distance = NAN,
                                      .differing_share = NAN,
                                      .sqnr_db = NAN,
                                      .ulp_p50 = NAN,
                                      .ulp_p99 = NAN,
                                      .ulp_max = NAN,
                                      .ks = NAN,
                                      .first_difference = -1,
                                      .damage = "",
                                      .damage_words = "",
                                      .pair = TP_COMPARE_NONE,
                                      .row = TP_COMPARE_NONE};
}

static void set_elements(const struct tp_compare_line *row,
                         struct tp_compare_record *record)
{
    const struct tp_compare_elements *elements = &row->elements;
    double *const metrics[TP_MSPROBE_METRICS] = {
        &record->cosine,
        &record->euc_dist,
        &record->max_abs_err,
        &record->max_relative_err,
        &record->one_thousandth_err_ratio,
        &record->five_thousandths_err_ratio};
    for (int i = 0; i < TP_MSPROBE_METRICS; i++)
        *metrics[i] = row->metrics[i].value;
    record->differing_share = elements->unequal / elements->values;
    record->first_difference = elements->first;
    record->sqnr_db = elements->sqnr;
    record->ulp_p50 = elements->ulp50;
    record->ulp_p99 = elements->ulp99;
    record->ulp_max = elements->ulp_max;
    record->ks = elements->ks;
}

static struct tp_compare_record record_of(
    const struct tp_comparison *comparison, const struct tp_compare_pair *pair,
    const struct tp_compare_line *row)
{
    const struct tp_compare_entry *a = tp_compare_row_a(pair, row);
    const struct tp_compare_entry *b = tp_compare_row_b(pair, row);
    struct tp_compare_record record = empty_record(pair->a.place, a->call);
    record.name_a = a->name;
    record.dtype_a = a->dtype;
    record.shape_a = a->shape;
    record.level = row->result;
    record.pair = (size_t)(pair - comparison->pairs);
    record.row = (size_t)(row - pair->rows);
    record.result = tp_compare_result_words[row->result];
    record.problem = row->problem;
    if (!b)
        return record;
    record.name_b = b->name;
    record.dtype_b = b->dtype;
    record.shape_b = b->shape;
    record.equal = tp_compare_is_equal(pair, row, comparison->mode);
    record.error = tp_compare_error(pair, row, comparison->mode);
    record.distance = tp_compare_distance(pair, row, comparison->mode);
    if (comparison->mode == TP_COMPARE_STATISTICS) {
        record.max_error = row->shifts[TP_DUMP_MAX].error;
        record.min_error = row->shifts[TP_DUMP_MIN].error;
        record.mean_error = row->shifts[TP_DUMP_MEAN].error;
        record.norm_error = row->shifts[TP_DUMP_NORM].error;
    }
    if (comparison->mode == TP_COMPARE_TENSOR)
        set_elements(row, &record);
    return record;
}

static struct tp_compare_record record_of_b(
    const struct tp_compare_entries *entries, size_t row)
{
    const struct tp_compare_entry *entry = &entries->rows[row];
    struct tp_compare_record record = empty_record(entries->place, entry->call);
    record.name_b = entry->name;
    record.dtype_b = entry->dtype;
    record.shape_b = entry->shape;
    return record;
}

/* A record while they are sorted. */
struct rated {
    enum tp_compare_result level;
    double distance;
    size_t record;
};

static int compare_rated(const void *left, const void *right)
{
    const struct rated *a = left, *b = right;
    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance > b->distance ? -1 : 1;
    return tp_order_size(a->record, b->record);
}

static enum tp_status order_worst(struct tp_compare_records *records,
                                  struct tp_error *err)
{
    struct rated *rated = calloc(records->count + 1, sizeof *rated);
    records->worst = calloc(records->count + 1, sizeof *records->worst);
    if (!rated || !records->worst) {
        free(rated);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < records->count; i++)
        if (records->rows[i].error > 0 &&
            tp_compare_is_judged(records->rows[i].name_a))
            rated[records->worst_count++] = (struct rated){
                records->rows[i].level, records->rows[i].distance, i};
    if (records->worst_count)
        qsort(rated, records->worst_count, sizeof *rated, compare_rated);
    for (size_t i = 0; i < records->worst_count; i++)
        records->worst[i] = rated[i].record;
    free(rated);
    return TP_OK;
}

enum tp_status tp_compare_records_make(const struct tp_comparison *comparison,
                                       struct tp_compare_records *records,
                                       struct tp_error *err)
{
    const size_t most = comparison->counts.rows + comparison->counts.only_b + 1;
    records->rows = calloc(most, sizeof *records->rows);
    if (!records->rows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct tp_compare_pair *pair = &comparison->pairs[i];
        for (size_t k = 0; k < pair->row_count; k++)
            records->rows[records->count++] =
                record_of(comparison, pair, &pair->rows[k]);
        for (size_t k = 0; k < pair->b.count; k++)
            if (!pair->matched_b[k])
                records->rows[records->count++] = record_of_b(&pair->b, k);
    }
    return order_worst(records, err);
}

void tp_compare_records_clear(struct tp_compare_records *records)
{
    free(records->rows);
    free(records->worst);
    memset(records, 0, sizeof *records);
}

#define COLUMN(member, unit) TP_COLUMN(struct tp_compare_record, member, unit)

static const struct tp_column columns[] = {
    COLUMN(step, "1"),
    COLUMN(rank, "1"),
    COLUMN(order, "1"),
    COLUMN(name_a, ""),
    COLUMN(name_b, ""),
    COLUMN(dtype_a, ""),
    COLUMN(dtype_b, ""),
    COLUMN(shape_a, ""),
    COLUMN(shape_b, ""),
    COLUMN(result, ""),
    COLUMN(equal, "1"),
    COLUMN(error, "1"),
    COLUMN(distance, "1"),
    COLUMN(cosine, "1"),
    COLUMN(euc_dist, "tensor units"),
    COLUMN(max_abs_err, "tensor units"),
    COLUMN(max_relative_err, "1"),
    COLUMN(one_thousandth_err_ratio, "1"),
    COLUMN(five_thousandths_err_ratio, "1"),
    COLUMN(max_error, "1"),
    COLUMN(min_error, "1"),
    COLUMN(mean_error, "1"),
    COLUMN(norm_error, "1"),
    COLUMN(differing_share, "1"),
    COLUMN(first_difference, "1"),
    COLUMN(sqnr_db, "dB"),
    COLUMN(ulp_p50, "ULP"),
    COLUMN(ulp_p99, "ULP"),
    COLUMN(ulp_max, "ULP"),
    COLUMN(ks, "1"),
    COLUMN(damage, ""),
    COLUMN(problem, ""),
};

void tp_compare_records_table(const struct tp_compare_records *records,
                              struct tp_table *table)
{
    *table = TP_TABLE_OF("pairs", columns, records->rows, records->count);
}
