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

/* The metrics, with their units; `at` is where the struct has them. */
#define METRICS(structure)                                                  \
    TP_COLUMN_AS(structure, "overflow_ratio", metrics.overflow_ratio, "1"), \
    TP_COLUMN_AS(structure, "underflow_ratio", metrics.underflow_ratio, "1"),\
    TP_COLUMN_AS(structure, "subnormal_ratio", metrics.subnormal_ratio, "1"),\
    TP_COLUMN_AS(structure, "saturated_block_ratio",                        \
                 metrics.saturated_block_ratio, "1"),                       \
    TP_COLUMN_AS(structure, "sqnr_db", metrics.sqnr_db, "dB"),              \
    TP_COLUMN_AS(structure, "mse", metrics.mse, "input^2"),                 \
    TP_COLUMN_AS(structure, "max_abs_error", metrics.max_abs_error, "value"),\
    TP_COLUMN_AS(structure, "mean_rel_error", metrics.mean_rel_error, "1"), \
    TP_COLUMN_AS(structure, "cosine", metrics.cosine, "1")

#define ROW(name, unit, type, member)                                    \
    {                                                                    \
        name, unit, TP_COLUMN_##type, offsetof(struct quant_row, member), NULL \
    }

static const struct tp_column quantization_columns[] = {
    ROW("tensor", "1", COUNT, tensor),
    ROW("format", "", TEXT, format),
    ROW("scale_rule", "", TEXT, scale_rule),
    ROW("rounding", "", TEXT, rounding),
    METRICS(struct quant_row),
};

#define GROUP(name, unit, type, member)                                       \
    {                                                                         \
        name, unit, TP_COLUMN_##type, offsetof(struct tp_cast_group, member), \
            NULL \
    }

static const struct tp_column group_columns[] = {
    GROUP("group_by", "", TEXT, place.group_by),
    GROUP("quant_type", "", TEXT, place.quant_type),
    GROUP("layer_type", "", TEXT, place.layer_type),
    GROUP("layer_idx", "1", INTEGER, place.layer_idx),
    GROUP("operation", "", TEXT, place.operation),
    GROUP("tensor_name", "", TEXT, place.tensor_name),
    GROUP("tensors", "1", COUNT, tensors),
    GROUP("format", "", TEXT, format),
    GROUP("scale_rule", "", TEXT, scale_rule),
    GROUP("rounding", "", TEXT, rounding),
    GROUP("tensor_scale", "", TEXT, tensor_scale),
    GROUP("tensor_scale_min", "log2", INTEGER, tensor_scale_min),
    GROUP("tensor_scale_max", "log2", INTEGER, tensor_scale_max),
    METRICS(struct tp_cast_group),
    GROUP("sqnr_worst_db", "dB", REAL, sqnr_worst_db),
    GROUP("nonfinite_out", "1", COUNT, nonfinite_out),
    GROUP("scale_min", "byte", INTEGER, scale_min),
    GROUP("scale_max", "byte", INTEGER, scale_max),
    GROUP("hif8_3bit_ratio", "1", REAL, regime[TP_HIF8_BITS3]),
    GROUP("hif8_2bit_ratio", "1", REAL, regime[TP_HIF8_BITS2]),
    GROUP("hif8_1bit_ratio", "1", REAL, regime[TP_HIF8_BITS1]),
    GROUP("hif8_denormal_ratio", "1", REAL, regime[TP_HIF8_DENORMAL]),
    GROUP("hif8_below_ratio", "1", REAL, regime[TP_HIF8_BELOW]),
    GROUP("hif8_above_ratio", "1", REAL, regime[TP_HIF8_ABOVE]),
    GROUP("nonfinite_blocks", "1", COUNT, nonfinite_blocks),
    GROUP("zero_blocks", "1", COUNT, zero_blocks),
    GROUP("mx_nonfinite", "", TEXT, mx_nonfinite),
};

#define ADVICE(name, unit, type, member)            \
    {                                               \
        name, unit, TP_COLUMN_##type,               \
            offsetof(struct tp_recommendation, member), NULL \
    }

static const char *dtype_word(const void *row)
{
    const struct tp_recommendation *its = row;
    return tp_dtype_info(its->dtype)->name;
}

static const struct tp_column recommendation_columns[] = {
    ADVICE("group_by", "", TEXT, place.group_by),
    ADVICE("quant_type", "", TEXT, place.quant_type),
    ADVICE("layer_type", "", TEXT, place.layer_type),
    ADVICE("layer_idx", "1", INTEGER, place.layer_idx),
    ADVICE("operation", "", TEXT, place.operation),
    ADVICE("tensor_name", "", TEXT, place.tensor_name),
    ADVICE("tensors", "1", COUNT, tensors),
    TP_COLUMN_WORD("dtype", dtype_word),
    ADVICE("format", "", TEXT, format),
    ADVICE("bits", "bit", INTEGER, bits),
    ADVICE("sqnr_db", "dB", REAL, sqnr_db),
    ADVICE("underflow_ratio", "1", REAL, underflow_ratio),
    ADVICE("scaled_format", "", TEXT, scaled_format),
    ADVICE("scaled_bits", "bit", INTEGER, scaled_bits),
    ADVICE("scaled_sqnr_db", "dB", REAL, scaled_sqnr_db),
    ADVICE("scaled_underflow_ratio", "1", REAL, scaled_underflow_ratio),
    ADVICE("tensor_scale_min", "log2", INTEGER, tensor_scale_min),
    ADVICE("tensor_scale_max", "log2", INTEGER, tensor_scale_max),
    ADVICE("advice", "", TEXT, advice),
    ADVICE("reason", "", TEXT, reason),
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

void tp_quant_tables_make(const struct tp_quant *quant,
                          struct tp_table *quantization,
                          struct tp_table *groups,
                          struct tp_table *recommendations)
{
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
        .rows = quant->groups,
        .row_count = quant->group_count,
        .row_size = sizeof *quant->groups,
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
