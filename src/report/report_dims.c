/* SPDX-License-Identifier: MIT */
#include "report/report_dims.h"

#include <inttypes.h>

#include "rules/dims_advice.h"
#include "scan/dim_rank.h"

/* A number of an index, as columns and members show it. */
struct number {
    const char *name;
    double value;
};

enum { NUMBERS = 6 };

/* Indices shown from each end of the list. */
enum { ENDS = 8 };

static void list_numbers(const struct tp_dim_index *index,
                         struct number numbers[NUMBERS])
{
    const struct number its[NUMBERS] = {
        {"min", index->min},   {"max", index->max},
        {"mean", index->mean}, {"std", index->std},
        {"abs_max", tp_dim_abs_max(index)},
        {"l2_norm", tp_dim_l2_norm(index)}};
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = its[i];
}

static void add_index_line(const struct tp_dim_axis *axis,
                           const struct tp_dim_index *index,
                           struct tp_text *text)
{
    struct number numbers[NUMBERS];
    list_numbers(index, numbers);
    tp_text_add(text, "    %10" PRId64 " %10" PRIu64, index->index,
                index->count);
    for (int i = 0; i < NUMBERS; i++)
        tp_text_add(text, " %13.6g", numbers[i].value);
    tp_text_add(text, "%s\n", tp_dim_is_outlier(axis, index) ? "  outlier"
                              : tp_dim_is_dead(axis, index)  ? "  dead"
                                                             : "");
}

/* The risk of sums over an axis in each dtype, as words by tp_dim_reduce. */
static void list_risks(const struct tp_row *row, const struct tp_dim_axis *axis,
                       const char *risks[TP_DIM_REDUCES])
{
    for (int i = 0; i < TP_DIM_REDUCES; i++)
        risks[i] = tp_dim_risk_name(
            tp_dim_risk_in(axis, row->dtype, (enum tp_dim_reduce)i));
}

static void add_axis(const struct tp_row *row, const struct tp_dim_axis *axis,
                     struct tp_text *text)
{
    struct tp_text advice = {0};
    struct number numbers[NUMBERS];
    const struct tp_dim_index none = {0};
    const char *risks[TP_DIM_REDUCES];
    bool is_stored = axis->reduce == row->dtype;
    list_risks(row, axis, risks);
    tp_dim_advice(axis, &advice);
    /* six digits: 1200 / 0.8 of what was stored in float32 shows as 1500 */
    tp_text_add(text,
                "  axis %d, %" PRId64 " indices: dim_ratio %.9g, max_ratio "
                "%.6g, risk_level %s, outliers %" PRIu64 ", dead %" PRIu64
                "\n    risk of a sum in %s (stored): %s, in fp16: %s, in bf16: "
                "%s%s%s\n    suggestion: %s\n",
                axis->axis, axis->length, axis->ratio, axis->max_ratio,
                tp_dim_risk_name(axis->risk), axis->outliers, axis->dead,
                tp_row_dtype_word(row), risks[TP_REDUCE_STORED],
                risks[TP_REDUCE_FP16], risks[TP_REDUCE_BF16],
                is_stored ? "" : "; risk_level is for ",
                is_stored ? "" : tp_dtype_info(axis->reduce)->name,
                tp_text_get(&advice));
    text->failed |= advice.failed;
    tp_text_clear(&advice);
    list_numbers(&none, numbers);
    tp_text_add(text, "    %10s %10s", "index", "count");
    for (int i = 0; i < NUMBERS; i++)
        tp_text_add(text, " %13s", numbers[i].name);
    tp_text_add(text, "\n");
    for (size_t i = 0; i < axis->kept; i++) {
        if (axis->kept <= 2 * ENDS || i < ENDS || i >= axis->kept - ENDS)
            add_index_line(axis, &axis->worst[i], text);
        else if (i == ENDS)
            tp_text_add(text, "    %10s\n", "...");
    }
}

/* The axes as they are listed: those with few values an index come last. NULL
 * when there are no more; `at` counts from 0. */
static const struct tp_dim_axis *listed_axis(const struct tp_row *row,
                                             size_t at)
{
    size_t count = row->dims ? row->dims->count : 0;
    for (size_t i = 0; i < 2 * count; i++) {
        const struct tp_dim_axis *axis = &row->dims->axes[i % count];
        if (tp_dim_has_few(axis) == (i >= count) && at-- == 0)
            return axis;
    }
    return NULL;
}

void tp_report_dims_text(const struct tp_row *row, struct tp_text *text)
{
    const struct tp_dim_axis *axis;
    for (size_t i = 0; (axis = listed_axis(row, i)); i++)
        add_axis(row, axis, text);
}

static void add_index_json(const struct tp_dim_index *index,
                           struct tp_text *text)
{
    struct number numbers[NUMBERS];
    list_numbers(index, numbers);
    tp_text_add(text, "\"%" PRId64 "\": {\"count\": %" PRIu64, index->index,
                index->count);
    for (int i = 0; i < NUMBERS; i++) {
        tp_text_add(text, ", \"%s\": ", numbers[i].name);
        tp_text_json_number(text, numbers[i].value);
    }
    tp_text_add(text, "}");
}

static void add_axis_json(const struct tp_row *row,
                          const struct tp_dim_axis *axis, struct tp_text *text)
{
    struct tp_text advice = {0};
    const char *risks[TP_DIM_REDUCES];
    list_risks(row, axis, risks);
    tp_dim_advice(axis, &advice);
    tp_text_add(text,
                "{\"axis\": %d, \"indices\": %" PRId64 ", \"dim_ratio\": ",
                axis->axis, axis->length);
    tp_text_json_number(text, axis->ratio);
    tp_text_add(text, ", \"max_ratio\": ");
    tp_text_json_number(text, axis->max_ratio);
    tp_text_add(text,
                ", \"risk_level\": \"%s\", \"reduce_dtype\": \"%s\"",
                tp_dim_risk_name(axis->risk),
                tp_dtype_info(axis->reduce)->name);
    for (int i = 0; i < TP_DIM_REDUCES; i++)
        tp_text_add(text, "%s\"%s\": \"%s\"", i ? ", " : ", \"risks\": {",
                    tp_dim_reduce_words[i], risks[i]);
    tp_text_add(text,
                "}, \"outliers\": %" PRIu64 ", \"dead\": %" PRIu64
                ", \"suggestion\": ",
                axis->outliers, axis->dead);
    tp_text_json(text, tp_text_get(&advice));
    text->failed |= advice.failed;
    tp_text_clear(&advice);
    tp_text_add(text, ", \"dim_stats\": {");
    for (size_t i = 0; i < axis->kept; i++) {
        tp_text_add(text, i ? ", " : "");
        add_index_json(&axis->worst[i], text);
    }
    tp_text_add(text, "}}");
}

void tp_report_dims_json(const struct tp_row *row, struct tp_text *text)
{
    const struct tp_dim_axis *axis;
    tp_text_add(text, "[");
    for (size_t i = 0; (axis = listed_axis(row, i)); i++) {
        tp_text_add(text, i ? ",\n    " : "");
        add_axis_json(row, axis, text);
    }
    tp_text_add(text, "]");
}
