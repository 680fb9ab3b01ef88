/* SPDX-License-Identifier: MIT */
#include "tensors/row.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void write_shape(const struct tp_tensor *tensor,
                        char shape[TP_ROW_SHAPE_MAX])
{
    size_t used = (size_t)snprintf(shape, TP_ROW_SHAPE_MAX, "[");
    for (int i = 0; i < tensor->ndim; i++)
        used += (size_t)snprintf(shape + used, TP_ROW_SHAPE_MAX - used,
                                 "%s%" PRId64, i ? "," : "", tensor->shape[i]);
    snprintf(shape + used, TP_ROW_SHAPE_MAX - used, "]");
}

/* The quant type's format, or the one equal to the dtype, or NULL. */
static const struct tp_number *find_target(const struct tp_dtype_info *dtype,
                                           const struct tp_label *label,
                                           const struct tp_row_rules *rules)
{
    if (dtype->kind != TP_CLASS_FLOAT)
        return NULL;
    const struct tp_number *target =
        label->quant_type[0] ? tp_number_by_quant_type(label->quant_type)
                             : NULL;
    if (!target)
        return tp_number_by_dtype(dtype->real);
    if (target->kind == TP_NUMBER_MX && rules->backward_format &&
        label->direction == TP_BACKWARD)
        return rules->backward_format;
    return target;
}

/* Weights have no batch; [s, b, ...] activations carry it second, the
 * probabilities [b, heads, s, s] first. */
static int64_t batch_size(const struct tp_tensor *tensor,
                          const struct tp_label *label)
{
    if (label->batch_size >= 0)
        return label->batch_size;
    if (label->roles & TP_ROLE_ATTENTION)
        return tensor->ndim == 4 ? tensor->shape[0] : -1;
    if (!label->operation[0] || label->roles & TP_ROLE_WEIGHT ||
        tensor->ndim < 3)
        return -1;
    return tensor->shape[1];
}

const struct tp_number *tp_row_describe(const struct tp_tensor *tensor,
                                        const struct tp_label *label,
                                        const struct tp_row_rules *rules,
                                        char shape[TP_ROW_SHAPE_MAX],
                                        struct tp_row *row)
{
    const struct tp_dtype_info *dtype = tp_dtype_info(tensor->dtype);
    const struct tp_number *target = find_target(dtype, label, rules);
    bool scaled = target && target->kind != TP_NUMBER_ELEMENT;
    memset(row, 0, sizeof *row);
    write_shape(tensor, shape);
    row->label = *label;
    row->path = tensor->path;
    row->dtype = tensor->dtype;
    row->target = target;
    row->scale_rule = rules->mx_scale;
    row->shape = shape;
    for (int i = 0; i < 2; i++)
        row->first_dims[i] = i < tensor->ndim ? tensor->shape[i] : -1;
    row->batch_size = batch_size(tensor, label);
    row->aside = tensor->encoded || label->roles & TP_ROLE_COUNTER;
    row->target_max = target && !scaled ? target->max : NAN;
    return target;
}

bool tp_row_is_of(const struct tp_row *row, const struct tp_tensor *tensor)
{
    char shape[TP_ROW_SHAPE_MAX];
    write_shape(tensor, shape);
    return row->dtype == tensor->dtype && !strcmp(row->shape, shape) &&
           !strcmp(row->path, tensor->path);
}

void tp_row_measure(struct tp_row *row, const struct tp_scan_result *scan)
{
    row->counts = scan->summary.counts;
    tp_summary_scalars(&scan->summary, &row->numbers);
    memcpy(row->numbers.quantile, scan->quantile, sizeof scan->quantile);
}

/* Adds a type unless it is there; equal texts are one pointer, since labels
 * were interned. False: it was there, or the list is full. */
static bool is_new(const char **types, size_t *count, const char *type)
{
    for (size_t i = 0; i < *count; i++) {
        if (types[i] == type)
            return false;
    }
    if (*count == TP_ROW_TYPES_MAX)
        return false;
    types[(*count)++] = type;
    return true;
}

void tp_row_note_unknown_types(struct tp_run *run)
{
    const char *types[TP_ROW_TYPES_MAX] = {""};
    size_t count = 0;
    for (size_t i = 0; i < run->row_count; i++) {
        const char *type = run->rows[i].label.quant_type;
        if (type[0] && is_new(types, &count, type) &&
            !tp_number_by_quant_type(type))
            tp_run_note(run,
                        "quant_type \"%s\" names no known number "
                        "format; its tensors are judged against their own "
                        "dtype",
                        type);
    }
}
