/* SPDX-License-Identifier: MIT */
/*
 * Quantised objects of pickles. Nothing is called: from the arguments of the
 * call, or the attributes, that are known by their place or name the tensors
 * of codes and scales are rebuilt as any others, and how they make values is
 * described (data/scaled.h). A tensor is taken as lines of its last axis,
 * since blocks and padding count those; what lies transposed or in tiles
 * becomes a view that does not. To run the classes' own code would need them,
 * and a device; to show only codes tells nobody what was trained with. Cost:
 * as of a tensor each.
 */
#include "formats/torch/torch_scaled.h"

#include <string.h>

#include "formats/torch/torch_scaled_ao.h"
#include "formats/torch/torch_scaled_te.h"

struct tp_torch_layout {
    const char *module; /* what the name starts with                      */
    const char *word;   /* and its last part                              */
    const char *class;  /* or the class's own, where a class is named     */
    const char *name;   /* in tables                                      */
    size_t parts;
    bool walks;
    enum tp_status (*make)(struct tp_maker *m, struct tp_error *err);
};

/* ---- torch's quantised dtypes ----------------------------------------------
 */

static enum tp_status torch_per_channel(struct tp_maker *m, struct tp_scaled *s,
                                        tp_ref how, struct tp_error *err)
{
    const struct tp_pickle *pickle = m->builder->pickle;
    const struct tp_tensor *scale, *zero;
    int64_t axis = -1;
    enum tp_status status =
        tp_part_add(m, tp_pickle_item(pickle, how, 1), "#scales", &scale, err);
    if (status == TP_OK)
        status = tp_part_add(m, tp_pickle_item(pickle, how, 2), "#zero_points",
                             &zero, err);
    if (status != TP_OK)
        return status;
    if (!tp_pickle_int(pickle, tp_pickle_item(pickle, how, 3), &axis) ||
        axis < 0 || axis >= s->ndim || !scale || !zero ||
        scale->numel != s->shape[axis] || zero->numel != s->shape[axis])
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "its scales and zero points are not one for each "
                       "index of an axis");
    s->scale.tensor = scale;
    s->zero.tensor = zero;
    for (int i = 0; i < s->ndim; i++) {
        int64_t length = s->shape[i] > 0 ? s->shape[i] : 1;
        s->scale.block[i] = s->zero.block[i] = i == axis ? 1 : length;
        s->scale.pitch[i] = s->zero.pitch[i] = i == axis;
    }
    return TP_OK;
}

static enum tp_status torch_quantised(struct tp_maker *m, struct tp_error *err)
{
    static const struct tp_torch_global plain = {"torch._utils._rebuild_tensor",
                                                 TP_TORCH_TENSOR, NULL, 0, 0};
    const struct tp_pickle *pickle = m->builder->pickle;
    struct tp_tensor *codes = &m->tensors[*m->count];
    enum tp_status status =
        tp_torch_rebuild(m->builder, &plain, m->object.args, codes, err);
    if (status != TP_OK)
        return status;
    codes->path = m->path;
    codes->encoded = true;
    ++*m->count;
    struct tp_scaled *s = tp_part_scaled(m, codes, NULL, err);
    if (!s)
        return TP_E_MEMORY;
    struct tp_part_shape shape = {.ndim = codes->ndim};
    s->ndim = codes->ndim > 0 ? codes->ndim : 1;
    s->shape[0] = 1;
    for (int i = 0; i < codes->ndim; i++) {
        shape.size[i] = codes->shape[i];
        if (i < TP_SCALED_DIMS)
            s->shape[i] = codes->shape[i];
    }
    tp_ref how = tp_part_argument(m, 4);
    tp_ref scheme = tp_pickle_item(pickle, how, 0);
    bool each =
        tp_pickle_is(pickle, scheme, "torch.per_channel_affine") ||
        tp_pickle_is(pickle, scheme, "torch.per_channel_affine_float_qparams");
    if (s->ndim > TP_SCALED_DIMS)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "a quantised tensor of %d dimensions", s->ndim);
    if (each)
        status = torch_per_channel(m, s, how, err);
    else if (!tp_pickle_is(pickle, scheme, "torch.per_tensor_affine") ||
             !tp_pickle_float(pickle, tp_pickle_item(pickle, how, 1),
                              &s->scale.constant) ||
             !tp_pickle_float(pickle, tp_pickle_item(pickle, how, 2),
                              &s->zero.constant))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "a quantised tensor of a scheme that is neither per "
                         "tensor nor per channel");
    return status == TP_OK ? tp_part_value(m, s, &shape, "#value", err)
                           : status;
}

/* ---- the table ------------------------------------------------------------
 */

static const struct tp_torch_layout layouts[] = {
    {"torch._utils.", "_rebuild_qtensor", NULL, "torch quantised tensor", 4,
     false, torch_quantised},
    {"transformer_engine.", "_make_float8_tensor_in_reduce_ex", "Float8Tensor",
     "TransformerEngine Float8Tensor", 4, false, tp_te_float8},
    {"transformer_engine.", "_make_mxfp8_tensor_in_reduce_ex", "MXFP8Tensor",
     "TransformerEngine MXFP8Tensor", 6, false, tp_te_mxfp8},
    {"transformer_engine.", "_make_float8_blockwise_tensor_in_reduce_ex",
     "Float8BlockwiseQTensor", "TransformerEngine Float8BlockwiseQTensor", 6,
     false, tp_te_blockwise},
    {"transformer_engine.", "_make_nvfp4_tensor_in_reduce_ex", "NVFP4Tensor",
     "TransformerEngine NVFP4Tensor", 7, false, tp_te_nvfp4},
    {"torchao.", NULL, "MXTensor", "torchao MXTensor", 1, true, tp_ao_mx},
    {"torchao.", NULL, "NVFP4Tensor", "torchao NVFP4Tensor", 1, true,
     tp_ao_nvfp4},
    {"torchao.", NULL, "Float8Tensor", "torchao Float8Tensor", 1, true,
     tp_ao_float8},
};

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* The row whose `word`, or `class` where asked for, is the name's last part. */
static const struct tp_torch_layout *find(const char *name, bool class)
{
    for (size_t i = 0; name && i < sizeof layouts / sizeof *layouts; i++) {
        const struct tp_torch_layout *row = &layouts[i];
        const char *part = class ? row->class : row->word;
        if (part && !strncmp(name, row->module, strlen(row->module)) &&
            !strcmp(last_part(name), part))
            return row;
    }
    return NULL;
}

const struct tp_torch_layout *tp_torch_layout_of(
    const struct tp_pickle *pickle, const struct tp_torch_object *object)
{
    const char *name = tp_pickle_callable(pickle, object->call);
    if (name && strcmp(last_part(name), "_rebuild_wrapper_subclass") != 0)
        return find(name, false);
    if (name) {
        name =
            tp_pickle_callable(pickle, tp_pickle_item(pickle, object->args, 0));
        const struct tp_torch_layout *row = find(name, true);
        return row && row->walks ? row : NULL;
    }
    /* before 2026: getattr(Class, "_make_in_reduce_ex")(...) */
    tp_ref callable = tp_pickle_kind(pickle, object->call) == TP_VALUE_CALL
                          ? pickle->values[object->call].u.call.callable
                          : TP_REF_NONE;
    name = tp_pickle_callable(pickle, callable);
    if (!name || tp_pickle_kind(pickle, callable) != TP_VALUE_CALL ||
        strcmp(last_part(name), "getattr") != 0)
        return NULL;
    tp_ref from = pickle->values[callable].u.call.args;
    if (!tp_pickle_is(pickle, tp_pickle_item(pickle, from, 1),
                      "_make_in_reduce_ex"))
        return NULL;
    return find(tp_pickle_callable(pickle, tp_pickle_item(pickle, from, 0)),
                true);
}

size_t tp_torch_layout_parts(const struct tp_torch_layout *layout)
{
    return layout->parts;
}

bool tp_torch_layout_walks(const struct tp_torch_layout *layout)
{
    return layout->walks;
}

enum tp_status tp_torch_scaled(struct tp_torch_builder *builder,
                               const struct tp_torch_layout *layout,
                               const struct tp_torch_object *object,
                               const char *path, struct tp_torch_made *made,
                               struct tp_error *err)
{
    struct tp_maker m = {.builder = builder,
                         .name = layout->name,
                         .object = *object,
                         .path = path,
                         .tensors = made->tensors,
                         .count = &made->count};
    made->count = 0;
    return layout->make(&m, err);
}

/* Whether a path leads to an attribute of what is at the first
 * `length` bytes of `owner`. */
static bool is_below(const char *path, const char *owner, size_t length)
{
    return strncmp(path, owner, length) == 0 &&
           path[length] == (length ? '.' : path[0]);
}

void tp_torch_scaled_mark(struct tp_tensor *tensors, size_t count)
{
    static const char value[] = "#value";
    const char *owner = NULL;
    size_t owned = 0;
    for (size_t i = 0; i < count; i++) {
        struct tp_tensor *tensor = &tensors[i];
        size_t length = strlen(tensor->path);
        if (tensor->scaled && length >= strlen(value)) {
            owner = tensor->path;
            owned = length - strlen(value);
        } else if (owner && is_below(tensor->path, owner, owned)) {
            tensor->encoded = true;
        } else {
            owner = NULL;
        }
    }
}
