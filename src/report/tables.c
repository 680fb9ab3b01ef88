/* SPDX-License-Identifier: MIT */
#include "report/tables.h"

#include <assert.h>

#include "data/label_columns.h"
#include "quant/quant_tables.h"
#include "series/series_tables.h"
#include "stats/stats.h"
#include "tensors/dims_table.h"
#include "tensors/quantised.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define ROW(name, member, unit) TP_COLUMN_AS(struct tp_row, name, member, unit)

static const char *dtype_word(const void *row)
{
    return tp_row_dtype_word(row);
}

static const char *target_word(const void *row)
{
    return tp_row_target_word(row);
}

static const char *scale_word(const void *row)
{
    return tp_row_scale_word(row);
}

static const struct tp_column tensor_labels[] = {
    ROW("file", file, ""),
    ROW("path", path, ""),
    TP_LABEL_COLUMNS(struct tp_row, label),
    ROW("ordinal", ordinal, "1"),
    ROW("rank", label.rank, "1"),
    ROW("sample_idx", label.sample_idx, "1"),
    ROW("group_idx", label.group_idx, "1"),
    ROW("iteration", label.iteration, "1"),
    TP_COLUMN_WORD("dtype", dtype_word),
    TP_COLUMN_WORD("target_format", target_word),
    TP_COLUMN_WORD("scale_rule", scale_word),
    ROW("shape", shape, ""),
};

/* What keys of checkpoints say; the last columns. */
static const struct tp_column key_columns[] = {
    TP_KEY_COLUMNS(struct tp_row, label),
};

#define GROUP(member, unit) TP_COLUMN(struct tp_group, member, unit)

static const struct tp_column group_labels[] = {
    GROUP(group_by, ""),
    GROUP(key, ""),
    GROUP(tensors, "1"),
};

#define BIN(member, unit) TP_COLUMN(struct tp_group_bin, member, unit)

static const struct tp_column bin_columns[] = {
    BIN(group, "1"),
    BIN(lower, "value"),
    BIN(upper, "value"),
    BIN(count, "1"),
};

#define FINDING_BIN(member, unit) TP_COLUMN(struct tp_finding_bin, member, unit)

static const struct tp_column finding_bin_columns[] = {
    FINDING_BIN(finding, "1"),   FINDING_BIN(when, ""),
    FINDING_BIN(tensor, "1"),    FINDING_BIN(iteration, "1"),
    FINDING_BIN(lower, "value"), FINDING_BIN(upper, "value"),
    FINDING_BIN(count, "1"),
};

#define FINDING_POINT(member, unit) \
    TP_COLUMN(struct tp_finding_point, member, unit)

static const struct tp_column finding_point_columns[] = {
    FINDING_POINT(finding, "1"),    FINDING_POINT(metric, ""),
    FINDING_POINT(rank, "1"),       FINDING_POINT(iteration, "1"),
    FINDING_POINT(value, "metric"), FINDING_POINT(note, ""),
};

static const char *severity_word(const void *row)
{
    return tp_severity_name(((const struct tp_finding *)row)->level);
}

static const char *rule_word(const void *row)
{
    return ((const struct tp_finding *)row)->rule->id;
}

static const char *guide_word(const void *row)
{
    return ((const struct tp_finding *)row)->rule->guide;
}

#define FINDING(member, unit) TP_COLUMN(struct tp_finding, member, unit)

static const struct tp_column finding_columns[] = {
    TP_COLUMN_WORD("severity", severity_word),
    TP_COLUMN_WORD("rule", rule_word),
    FINDING(rank, "1"),
    FINDING(iteration, "1"),
    FINDING(layer_idx, "1"),
    FINDING(layer_type, ""),
    FINDING(operation, ""),
    FINDING(phase, ""),
    FINDING(component, ""),
    FINDING(quant_type, ""),
    FINDING(tensor_name, ""),
    FINDING(ordinal, "1"),
    FINDING(metric, ""),
    FINDING(value, "metric"),
    FINDING(baseline, "metric"),
    FINDING(spread, "metric"),
    FINDING(deviation, "spread of /baselines"),
    FINDING(evidence, ""),
    FINDING(suggestion, ""),
    FINDING(consequences, "1"),
    FINDING(file, ""),
    FINDING(path, ""),
    TP_COLUMN_WORD("guide", guide_word),
    FINDING(module, ""),
    FINDING(expert, "1"),
};

/* Labels first, then every row of the statistics table. */
static size_t join_columns(const struct tp_column *labels, size_t count,
                           size_t counts_offset, size_t numbers_offset,
                           struct tp_column *columns)
{
    for (size_t i = 0; i < count; i++)
        columns[i] = labels[i];
    for (const struct tp_stat *stat = tp_stats; stat->name; stat++) {
        bool is_count = stat->type == TP_STAT_INTEGER;
        assert(count < TP_TABLE_COLUMNS_MAX);
        columns[count++] = (struct tp_column){
            stat->name, stat->unit, is_count ? TP_COLUMN_COUNT : TP_COLUMN_REAL,
            stat->offset + (is_count ? counts_offset : numbers_offset), NULL};
    }
    return count;
}

/* The rows of a table that are there: an array. */
#define ROWS(array, count) array, count, sizeof *(array), NULL

void tp_tensors_table_make(const struct tp_row *rows, size_t count,
                           struct tp_column *columns, struct tp_table *table)
{
    size_t column_count = join_columns(
        tensor_labels, COUNT_OF(tensor_labels), offsetof(struct tp_row, counts),
        offsetof(struct tp_row, numbers), columns);
    for (size_t i = 0; i < COUNT_OF(key_columns); i++)
        columns[column_count++] = key_columns[i];
    assert(column_count <= TP_TABLE_COLUMNS_MAX);
    *table =
        (struct tp_table){"tensors", columns, column_count, ROWS(rows, count)};
}

void tp_findings_table_make(const struct tp_findings *findings,
                            struct tp_table *table)
{
    *table = (struct tp_table){"findings", finding_columns,
                               COUNT_OF(finding_columns),
                               ROWS(findings->rows, findings->count)};
}

void tp_run_tables_make(const struct tp_results *results,
                        struct tp_run_tables *tables)
{
    const struct tp_run *run = results->run;
    const struct tp_groups *groups = results->groups;
    struct tp_table *made = tables->tables;
    size_t group_columns = join_columns(
        group_labels, COUNT_OF(group_labels), offsetof(struct tp_group, counts),
        offsetof(struct tp_group, numbers), tables->groups);
    made[TP_TABLE_GROUPS] =
        (struct tp_table){"groups", tables->groups, group_columns,
                          ROWS(groups->rows, groups->count)};
    made[TP_TABLE_HISTOGRAMS] = (struct tp_table){
        "histograms/groups", bin_columns, COUNT_OF(bin_columns),
        ROWS(groups->bins, groups->bin_count)};
    tp_skipped_table(run->skipped, run->skipped_count, &made[TP_TABLE_SKIPPED]);
    tp_tensors_table_make(run->rows, run->row_count + run->aside_count,
                          tables->tensors, &made[TP_TABLE_TENSORS]);
    tp_findings_table_make(results->findings, &made[TP_TABLE_FINDINGS]);
    made[TP_TABLE_FINDING_BINS] = (struct tp_table){
        "histograms/findings", finding_bin_columns,
        COUNT_OF(finding_bin_columns),
        ROWS(results->finding_bins->rows, results->finding_bins->count)};
    made[TP_TABLE_FINDING_SERIES] = (struct tp_table){
        "finding_series", finding_point_columns,
        COUNT_OF(finding_point_columns),
        ROWS(results->finding_series->rows, results->finding_series->count)};
    tp_quant_tables_make(results->quant, &made[TP_TABLE_QUANT_WORST],
                         &made[TP_TABLE_QUANTIZATION],
                         &made[TP_TABLE_QUANT_GROUPS],
                         &made[TP_TABLE_RECOMMENDATIONS]);
    tp_dims_table_make(run, &made[TP_TABLE_DIMS]);
    tp_pairs_table_make(results->pairs, &made[TP_TABLE_PAIRS]);
    tp_quantised_tables_make(run, &made[TP_TABLE_QUANTISED],
                             &made[TP_TABLE_CODE_USE]);
    tp_series_tables_make(results->monitor, &made[TP_TABLE_SERIES],
                          &made[TP_TABLE_BASELINES]);
}
