/* SPDX-License-Identifier: MIT */
#include "quant/quant_tables.h"

#include "base/search.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A row of /quantization. */
struct quant_row {
    uint64_t tensor;
    const char *format, *scale_rule, *rounding;
    struct tp_quant_metrics metrics;
};

/* What both tables of groups begin with. */
#define PLACE(structure)                                                 \
    TP_COLUMN_AS(structure, "group_by", place.group_by, ""),             \
        TP_COLUMN_AS(structure, "quant_type", place.quant_type, ""),     \
        TP_COLUMN_AS(structure, "layer_type", place.layer_type, ""),     \
        TP_COLUMN_AS(structure, "layer_idx", place.layer_idx, "1"),      \
        TP_COLUMN_AS(structure, "operation", place.operation, ""),       \
        TP_COLUMN_AS(structure, "tensor_name", place.tensor_name, "")

/* A metric, and all of them with their units. */
#define METRIC(structure, name, unit) \
    TP_COLUMN_AS(structure, #name, metrics.name, unit)
#define METRICS(structure)                               \
    METRIC(structure, overflow_ratio, "1"),              \
        METRIC(structure, underflow_ratio, "1"),         \
        METRIC(structure, subnormal_ratio, "1"),         \
        METRIC(structure, saturated_block_ratio, "1"),   \
        METRIC(structure, sqnr_db, "dB"),                \
        METRIC(structure, mse, "input^2"),               \
        METRIC(structure, max_abs_error, "value"),       \
        METRIC(structure, mean_rel_error, "1"),          \
        METRIC(structure, cosine, "1")

#define ROW(member, unit) TP_COLUMN(struct quant_row, member, unit)

static const struct tp_column quantization_columns[] = {
    ROW(tensor, "1"),
    ROW(format, ""),
    ROW(scale_rule, ""),
    ROW(rounding, ""),
    METRICS(struct quant_row),
};

#define GROUP(member, unit) TP_COLUMN(struct tp_cast_group, member, unit)
#define GROUP_AS(name, member, unit) \
    TP_COLUMN_AS(struct tp_cast_group, name, member, unit)

static const struct tp_column group_columns[] = {
    PLACE(struct tp_cast_group),
    GROUP(tensors, "1"),
    GROUP(format, ""),
    GROUP(scale_rule, ""),
    GROUP(rounding, ""),
    GROUP(tensor_scale, ""),
    TP_COLUMN_OF_SIGNED(struct tp_cast_group, tensor_scale_min, "log2"),
    TP_COLUMN_OF_SIGNED(struct tp_cast_group, tensor_scale_max, "log2"),
    METRICS(struct tp_cast_group),
    GROUP(sqnr_worst_db, "dB"),
    GROUP(nonfinite_out, "1"),
    GROUP(scale_min, "byte"),
    GROUP(scale_max, "byte"),
    GROUP_AS("hif8_3bit_ratio", regime[TP_HIF8_BITS3], "1"),
    GROUP_AS("hif8_2bit_ratio", regime[TP_HIF8_BITS2], "1"),
    GROUP_AS("hif8_1bit_ratio", regime[TP_HIF8_BITS1], "1"),
    GROUP_AS("hif8_denormal_ratio", regime[TP_HIF8_DENORMAL], "1"),
    GROUP_AS("hif8_below_ratio", regime[TP_HIF8_BELOW], "1"),
    GROUP_AS("hif8_above_ratio", regime[TP_HIF8_ABOVE], "1"),
    GROUP(nonfinite_blocks, "1"),
    GROUP(zero_blocks, "1"),
    GROUP(mx_nonfinite, ""),
};

#define ADVICE(member, unit) TP_COLUMN(struct tp_recommendation, member, unit)

static const char *dtype_word(const void *row)
{
    const struct tp_recommendation *its = row;
    return tp_dtype_info(its->dtype)->name;
}

static const struct tp_column recommendation_columns[] = {
    PLACE(struct tp_recommendation),
    ADVICE(tensors, "1"),
    TP_COLUMN_WORD("dtype", dtype_word),
    ADVICE(format, ""),
    ADVICE(bits, "bit"),
    ADVICE(sqnr_db, "dB"),
    ADVICE(underflow_ratio, "1"),
    ADVICE(scaled_format, ""),
    ADVICE(scaled_bits, "bit"),
    ADVICE(scaled_sqnr_db, "dB"),
    ADVICE(scaled_underflow_ratio, "1"),
    TP_COLUMN_OF_SIGNED(struct tp_recommendation, tensor_scale_min, "log2"),
    TP_COLUMN_OF_SIGNED(struct tp_recommendation, tensor_scale_max, "log2"),
    ADVICE(advice, ""),
    ADVICE(reason, ""),
};

#define CELL(member, unit) TP_COLUMN(struct tp_quant_cell, member, unit)

static const struct tp_column worst_columns[] = {
    CELL(by, ""),          CELL(layer_idx, "1"), CELL(module, ""),
    CELL(iteration, "1"),  CELL(tensor_name, ""), CELL(format, ""),
    CELL(casts, "1"),      CELL(sqnr_db, "dB"),   CELL(target_sqnr_db, "dB"),
};

/* The tensor to which a row of /quantization belongs: the last one with
 * first[tensor] <= row. */
static size_t tensor_of(const struct tp_quant *quant, size_t row)
{
    const size_t *first = quant->first;
    size_t above;
    TP_PARTITION_POINT(above, quant->run->row_count, first[above] <= row);
    return above - 1;
}

static void make_row(const struct tp_run *run, size_t tensor, size_t cast,
                     const struct tp_quant_error *error,
                     struct quant_row *made)
{
    const struct tp_quant_cast *its = &run->plan.casts[cast];
    made->tensor = tensor;
    made->format = its->format;
    made->scale_rule = its->rule;
    made->rounding = its->rounding;
    tp_quant_metrics_of(error, &made->metrics);
}

/* Plain casts come first in a tensor's list, so a tensor's rows are the
 * first ones there. */
static void make_rows(const void *from, size_t first, size_t count,
                      void *made)
{
    const struct tp_quant *quant = from;
    const struct tp_run *run = quant->run;
    struct quant_row *rows = made;
    size_t done = 0;
    for (size_t t = tensor_of(quant, first); done < count; t++) {
        struct tp_quant_error error;
        size_t cast, at = quant->first[t], end = quant->first[t + 1];
        const uint8_t *next = run->rows[t].quant;
        for (; at < end && done < count; at++) {
            next = tp_quant_next(next, &cast, &error);
            if (at >= first)
                make_row(run, t, cast, &error, &rows[done++]);
        }
    }
}

/* Groups of the finest grouping come first; the others are there. */
static void make_groups(const void *from, size_t first, size_t count,
                        void *made)
{
    const struct tp_quant *quant = from;
    struct tp_cast_group *groups = made;
    const size_t own = tp_quant_place_groups(quant);
    const size_t some = first >= own          ? 0
                        : own - first < count ? own - first
                                              : count;
    if (some)
        tp_quant_make_place_groups(quant, first, some, groups);
    for (size_t i = some; i < count; i++)
        groups[i] = quant->groups[first + i - own];
}

void tp_quant_tables_make(const struct tp_quant *quant,
                          struct tp_table *worst,
                          struct tp_table *quantization,
                          struct tp_table *groups,
                          struct tp_table *recommendations)
{
    *worst = TP_TABLE_OF("quantization_worst", worst_columns,
                         quant->worst.cells, quant->worst.count);
    *quantization = (struct tp_table){
        .name = "quantization",
        .columns = quantization_columns,
        .column_count = COUNT_OF(quantization_columns),
        .rows = quant,
        .row_count = quant->first ? quant->first[quant->run->row_count] : 0,
        .row_size = sizeof(struct quant_row),
        .make = make_rows,
    };
    *groups = (struct tp_table){
        .name = "quantization_groups",
        .columns = group_columns,
        .column_count = COUNT_OF(group_columns),
        .rows = quant,
        .row_count = tp_quant_place_groups(quant) + quant->group_count,
        .row_size = sizeof *quant->groups,
        .make = make_groups,
    };
    *recommendations = (struct tp_table){
        .name = "recommendations",
        .columns = recommendation_columns,
        .column_count = COUNT_OF(recommendation_columns),
        .rows = quant->recommendations,
        .row_count = quant->recommendation_count,
        .row_size = sizeof *quant->recommendations,
    };
}
