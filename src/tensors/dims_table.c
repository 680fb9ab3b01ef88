/* SPDX-License-Identifier: MIT */
#include "tensors/dims_table.h"

#include <math.h>
#include <stdlib.h>

#include "base/search.h"
#include "scan/dim_rank.h"

/* A row of /dims. */
struct dims_row {
    uint64_t tensor;
    int64_t axis;
    struct tp_dim_index index;
    double abs_max, l2_norm, ratio, max_ratio;
    const char *risk, *risk_fp16, *risk_bf16;
    uint64_t outliers, dead;
};

#define ROW(member, unit) TP_COLUMN(struct dims_row, member, unit)
#define ROW_AS(name, member, unit) \
    TP_COLUMN_AS(struct dims_row, name, member, unit)

static const struct tp_column columns[] = {
    ROW(tensor, "1"),
    ROW(axis, "1"),
    ROW_AS("index", index.index, "1"),
    ROW_AS("count", index.count, "1"),
    ROW_AS("min", index.min, "value"),
    ROW_AS("max", index.max, "value"),
    ROW_AS("mean", index.mean, "value"),
    ROW_AS("std", index.std, "value"),
    ROW(abs_max, "value"),
    ROW(l2_norm, "value"),
    ROW_AS("dim_ratio", ratio, "1"),
    ROW(risk, ""),
    ROW(outliers, "1"),
    ROW(dead, "1"),
    ROW(max_ratio, "1"),
    ROW(risk_fp16, ""),
    ROW(risk_bf16, ""),
};

static size_t rows_of(const struct tp_dims *dims)
{
    size_t rows = 0;
    for (size_t i = 0; dims && i < dims->count; i++)
        rows += 1 + dims->axes[i].kept;
    return rows;
}

enum tp_status tp_dims_number(struct tp_run *run, struct tp_error *err)
{
    run->dims_first = calloc(run->row_count + 1, sizeof *run->dims_first);
    if (!run->dims_first)
        return tp_fail_memory(err);
    for (size_t i = 0; i < run->row_count; i++)
        run->dims_first[i + 1] =
            run->dims_first[i] + rows_of(run->rows[i].dims);
    return TP_OK;
}

/* The tensor to which a row belongs: the last with dims_first <= row. */
static size_t tensor_of(const struct tp_run *run, size_t row)
{
    size_t above;
    TP_PARTITION_POINT(above, run->row_count, run->dims_first[above] <= row);
    return above - 1;
}

/* The row of the axis as a whole. */
static void describe_axis(const struct tp_row *row,
                          const struct tp_dim_axis *axis, struct dims_row *made)
{
    const char *risk[TP_DIM_REDUCES];
    for (int i = 0; i < TP_DIM_REDUCES; i++)
        risk[i] = tp_dim_risk_name(
            tp_dim_risk_in(axis, row->dtype, (enum tp_dim_reduce)i));
    const uint64_t finite =
        row->counts.values - tp_counts_nonfinite(&row->counts);
    const struct tp_numbers *numbers = &row->numbers;
    made->index = (struct tp_dim_index){
        -1, finite, numbers->min, numbers->max, numbers->mean, numbers->std};
    made->abs_max = numbers->abs_max;
    made->l2_norm = numbers->l2_norm;
    made->ratio = axis->ratio;
    made->max_ratio = axis->max_ratio;
    made->risk = risk[TP_REDUCE_STORED];
    made->risk_fp16 = risk[TP_REDUCE_FP16];
    made->risk_bf16 = risk[TP_REDUCE_BF16];
    made->outliers = axis->outliers;
    made->dead = axis->dead;
}

static void describe_index(const struct tp_dim_axis *axis, size_t kept,
                           struct dims_row *made)
{
    made->index = axis->worst[kept];
    made->abs_max = tp_dim_abs_max(&made->index);
    made->l2_norm = tp_dim_l2_norm(&made->index);
    made->ratio = made->max_ratio = NAN;
    made->risk = made->risk_fp16 = made->risk_bf16 = "";
    made->outliers = tp_dim_is_outlier(axis, &made->index);
    made->dead = tp_dim_is_dead(axis, &made->index);
}

static void make_rows(const void *from, size_t first, size_t count, void *made)
{
    const struct tp_run *run = from;
    struct dims_row *rows = made;
    size_t tensor = tensor_of(run, first), axis = 0, done = 0;
    size_t at = first - run->dims_first[tensor]; /* in the axis */
    while (done < count) {
        const struct tp_row *row = &run->rows[tensor];
        if (!row->dims || axis == row->dims->count) {
            tensor++;
            axis = at = 0;
            continue;
        }
        const struct tp_dim_axis *its = &row->dims->axes[axis];
        if (at > its->kept) {
            at -= its->kept + 1;
            axis++;
            continue;
        }
        rows[done].tensor = tensor;
        rows[done].axis = its->axis;
        if (at == 0)
            describe_axis(row, its, &rows[done++]);
        else
            describe_index(its, at - 1, &rows[done++]);
        at++;
    }
}

void tp_dims_table_make(const struct tp_run *run, struct tp_table *table)
{
    *table = (struct tp_table){
        .name = "dims",
        .columns = columns,
        .column_count = sizeof columns / sizeof *columns,
        .rows = run,
        .row_count = run->dims_first ? run->dims_first[run->row_count] : 0,
        .row_size = sizeof(struct dims_row),
        .make = make_rows,
    };
}
