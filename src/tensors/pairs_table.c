/* SPDX-License-Identifier: MIT */
#include "data/label_columns.h"
#include "tensors/pairs.h"

/* A row of /pairs. */
struct pair_row {
    uint64_t tensor_x, tensor_y;
    struct tp_label label;
    int64_t ordinal;
    const char *type_x, *type_y, *dtype_x, *dtype_y, *shape, *error;
    struct tp_pair_numbers numbers;
};

#define ROW(member, unit) TP_COLUMN(struct pair_row, member, unit)
#define LABEL(member, unit) \
    TP_COLUMN_AS(struct pair_row, #member, label.member, unit)
#define NUMBER(member, unit) \
    TP_COLUMN_AS(struct pair_row, #member, numbers.member, unit)

static const struct tp_column columns[] = {
    ROW(tensor_x, "1"),
    ROW(tensor_y, "1"),
    LABEL(layer_type, ""),
    LABEL(layer_idx, "1"),
    LABEL(operation, ""),
    LABEL(phase, ""),
    LABEL(component, ""),
    LABEL(tensor_name, ""),
    ROW(ordinal, "1"),
    LABEL(rank, "1"),
    LABEL(sample_idx, "1"),
    LABEL(iteration, "1"),
    TP_COLUMN_AS(struct pair_row, "quant_type_x", type_x, ""),
    TP_COLUMN_AS(struct pair_row, "quant_type_y", type_y, ""),
    ROW(dtype_x, ""),
    ROW(dtype_y, ""),
    ROW(shape, ""),
    NUMBER(values, "1"),
    NUMBER(finite, "1"),
    NUMBER(nan, "1"),
    NUMBER(inf, "1"),
    NUMBER(equal, "1"),
    NUMBER(pearson_r, "1"),
    NUMBER(one_minus_r, "1"),
    NUMBER(slope, "y/x"),
    NUMBER(intercept, "value"),
    NUMBER(cosine, "1"),
    NUMBER(one_minus_cosine, "1"),
    NUMBER(mse, "value^2"),
    NUMBER(mean_abs_diff, "value"),
    NUMBER(max_abs_diff, "value"),
    NUMBER(max_abs_diff_at, "element"),
    NUMBER(max_rel_diff, "1"),
    NUMBER(max_rel_diff_at, "element"),
    ROW(error, ""),
    TP_KEY_COLUMNS(struct pair_row, label),
};

/* Numbers of a pair that could not be compared: none. */
static struct tp_pair_numbers no_numbers(void)
{
    static const struct tp_pair_sums empty = {.values = 0};
    static const struct tp_pair_scale scale = {0, 0, 0};
    struct tp_pair_numbers numbers;
    tp_pair_numbers(&empty, &scale, &numbers);
    return numbers;
}

static void make_rows(const void *from, size_t first, size_t count, void *made)
{
    const struct tp_pairs *pairs = from;
    struct pair_row *rows = made;
    for (size_t i = 0; i < count; i++) {
        const struct tp_pair *pair = &pairs->rows[first + i];
        const struct tp_row *x = &pairs->run->rows[pair->x];
        const struct tp_row *y = &pairs->run->rows[pair->y];
        rows[i] = (struct pair_row){.tensor_x = pair->x,
                                    .tensor_y = pair->y,
                                    .label = y->label,
                                    .ordinal = y->ordinal,
                                    .type_x = tp_pair_type(x),
                                    .type_y = tp_pair_type(y),
                                    .dtype_x = tp_row_dtype_word(x),
                                    .dtype_y = tp_row_dtype_word(y),
                                    .shape = y->shape,
                                    .error = pair->error,
                                    .numbers = *pair->error ? no_numbers()
                                                            : pair->numbers};
    }
}

void tp_pairs_table_make(const struct tp_pairs *pairs, struct tp_table *table)
{
    *table = (struct tp_table){.name = "pairs",
                               .columns = columns,
                               .column_count = sizeof columns / sizeof *columns,
                               .rows = pairs,
                               .row_count = pairs->worst ? pairs->count : 0,
                               .row_size = sizeof(struct pair_row),
                               .make = make_rows};
}
