/* SPDX-License-Identifier: MIT */
#include "quant/quant_place.h"

#include <inttypes.h>

#include "base/order.h"

const char *const tp_quant_groupings[TP_QUANT_GROUPINGS] = {
    "quant_type/layer_type/layer_idx/operation/tensor_name",
    "operation/tensor_name",
    "operation/layer_idx",
};

void tp_quant_place_words(const struct tp_quant_place *place,
                          struct tp_text *text)
{
    const char *const words[] = {place->quant_type, place->layer_type};
    for (size_t i = 0; i < 2; i++) {
        if (*words[i]) {
            tp_text_printable(text, words[i]);
            tp_text_add(text, " ");
        }
    }
    if (place->layer_idx >= 0)
        tp_text_add(text, "L%" PRId64 " ", place->layer_idx);
    tp_text_printable(text, place->operation);
    tp_text_add(text, "%s", *place->operation ? " " : "");
    tp_text_printable(text, place->tensor_name);
}

struct tp_quant_place tp_quant_place_of(const struct tp_row *row,
                                        enum tp_quant_grouping grouping)
{
    const struct tp_label *label = &row->label;
    bool full = grouping == TP_QUANT_BY_PLACE;
    const char *name = *label->tensor_name ? label->tensor_name : row->path;
    return (struct tp_quant_place){
        .grouping = grouping,
        .group_by = tp_quant_groupings[grouping],
        .quant_type = full ? label->quant_type : "",
        .layer_type = full ? label->layer_type : "",
        .operation = label->operation,
        .direction = label->direction,
        .tensor_name = grouping == TP_QUANT_BY_LAYER ? "" : name,
        .layer_idx = grouping == TP_QUANT_BY_NAME ? -1 : label->layer_idx,
    };
}

int tp_quant_compare_places(const struct tp_quant_place *a,
                            const struct tp_quant_place *b)
{
    int result = tp_order_text(a->quant_type, b->quant_type);
    if (!result)
        result = tp_order_text(a->layer_type, b->layer_type);
    if (!result)
        result = tp_order_int64(a->layer_idx, b->layer_idx);
    /* forward before backward, as the dataflow goes */
    if (!result)
        result = tp_order_text(b->operation, a->operation);
    return result ? result : tp_order_text(a->tensor_name, b->tensor_name);
}

bool tp_quant_same_place(const struct tp_quant_place *a,
                         const struct tp_quant_place *b)
{
    return a->grouping == b->grouping && tp_quant_compare_places(a, b) == 0;
}

bool tp_quant_place_has(const struct tp_quant_place *place,
                        const struct tp_row *row)
{
    struct tp_quant_place its = tp_quant_place_of(row, place->grouping);
    return tp_quant_compare_places(place, &its) == 0;
}
