/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_QUANT_PLACE_H
#define TP_QUANT_QUANT_PLACE_H

#include "base/text.h"
#include "tensors/run.h"

/* Places: which tensors are looked at together. */

/* The ways to group; see tp_quant_groupings for their names. */
enum tp_quant_grouping {
    TP_QUANT_BY_PLACE, /* quant type, layer type and index, operation, name */
    TP_QUANT_BY_NAME,  /* operation, tensor name                            */
    TP_QUANT_BY_LAYER, /* operation, layer index                            */
    TP_QUANT_GROUPINGS
};

/* "quant_type/layer_type/layer_idx/operation/tensor_name", ... */
extern const char *const tp_quant_groupings[TP_QUANT_GROUPINGS];

/* The labels of a group; those it is not grouped by are "" and -1. */
struct tp_quant_place {
    enum tp_quant_grouping grouping;
    const char *group_by; /* name of the grouping                          */
    const char *quant_type, *layer_type, *operation, *tensor_name;
    int64_t layer_idx;
    enum tp_direction direction; /* of operation                           */
};

/* The place of a row. */
struct tp_quant_place tp_quant_place_of(const struct tp_row *row,
                                        enum tp_quant_grouping grouping);

/* Orders places of one grouping, as the data flows. */
int tp_quant_compare_places(const struct tp_quant_place *a,
                            const struct tp_quant_place *b);

/* Whether two places are the same, of the same grouping. */
bool tp_quant_same_place(const struct tp_quant_place *a,
                         const struct tp_quant_place *b);

/* Whether a row belongs to a place. */
bool tp_quant_place_has(const struct tp_quant_place *place,
                        const struct tp_row *row);

/* "mxfp8 linear L2 backward weight": the labels that are there. */
void tp_quant_place_words(const struct tp_quant_place *place,
                          struct tp_text *text);

#endif
