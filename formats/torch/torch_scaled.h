/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_SCALED_H
#define TP_TORCH_TORCH_SCALED_H

#include "formats/torch/torch_rebuild.h"

/*
 * Objects that hold codes and scales in place of values: torch's quantised
 * tensors, TransformerEngine's and torchao's classes. A row of the table says
 * by which function or class they are known, and how they become tensors:
 * those of codes and scales, and one of the values (data/scaled.h).
 */
struct tp_torch_layout;

/* Tensors that are made; there is room for all. */
struct tp_torch_made {
    struct tp_tensor *tensors;
    size_t count;
};

/* The row of an object; NULL: it is none of these. */
const struct tp_torch_layout *tp_torch_layout_of(
    const struct tp_pickle *pickle, const struct tp_torch_object *object);

/* How many tensors an object of the layout makes at most. */
size_t tp_torch_layout_parts(const struct tp_torch_layout *layout);

/* Whether the layout's codes and scales are attributes of the object, which
 * whoever walks the attributes finds. */
bool tp_torch_layout_walks(const struct tp_torch_layout *layout);

/*
 * Makes the tensors of an object at `path`: made->count of them. Fails
 * with TP_E_DAMAGED where parts contradict each other and TP_E_UNSUPPORTED;
 * parts that could be read are there then, too, the values are not.
 */
enum tp_status tp_torch_scaled(struct tp_torch_builder *builder,
                               const struct tp_torch_layout *layout,
                               const struct tp_torch_object *object,
                               const char *path, struct tp_torch_made *made,
                               struct tp_error *err);

/* Marks as encoded the tensors that follow a tensor of values and are
 * attributes of the same object: codes and scales of layouts that are walked.
 */
void tp_torch_scaled_mark(struct tp_tensor *tensors, size_t count);

#endif
