/* SPDX-License-Identifier: MIT */
/*
 * torchao's tensors: subclasses without a storage, whose codes and scales are
 * attributes by names that changed in 2025. The shape is that of the values;
 * after a transposition codes and scales are views, and pairs of codes lie
 * along an axis that is not the last one: such a tensor is described as it was
 * stored, and its values are transposed. Definitions:
 * torchao/prototype/mx_formats, torchao/quantization. Cost: as of a tensor.
 */
#include "formats/torch/torch_scaled_ao.h"
#include "data/tensor_axes.h"

#include <inttypes.h>
#include <string.h>

/* The last two axes exchanged. */
static enum tp_status swap_last(struct tp_maker *m, struct tp_tensor *view,
                                struct tp_error *err)
{
    const struct tp_tensor old = *view;
    const int a = view->ndim - 2, b = view->ndim - 1;
    int64_t *shape = tp_tensor_new_axes(view, old.ndim, m->builder->arena);
    if (!shape)
        return tp_fail_memory(err);
    for (int i = 0; i < old.ndim; i++) {
        const int from = i == a ? b : i == b ? a : i;
        shape[i] = old.shape[from];
        shape[old.ndim + i] = old.stride[from];
    }
    return TP_OK;
}

/* An attribute by its names, of which later versions dropped the first. */
static tp_ref attribute(struct tp_maker *m, const char *name, const char *old)
{
    const struct tp_pickle *pickle = m->builder->pickle;
    tp_ref found = tp_pickle_lookup(pickle, m->object.state, name);
    return found == TP_REF_NONE ? tp_pickle_lookup(pickle, m->object.state, old)
                                : found;
}

/* What the attribute elem_dtype says: a dtype of torch or a word. */
static const struct tp_number *ao_number(struct tp_maker *m, tp_ref ref)
{
    static const struct {
        const char *word, *id;
    } rows[] = {{"torch.float8_e4m3fn", "e4m3"},
                {"torch.float8_e5m2", "e5m2"},
                {"torch.float4_e2m1fn_x2", "e2m1"},
                {"fp4_e2m1", "e2m1"},
                {"fp6_e2m3", "e2m3"},
                {"fp6_e3m2", "e3m2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tp_pickle_is(m->builder->pickle, ref, rows[i].word))
            return tp_number_by_id(rows[i].id);
    }
    return NULL;
}

/* What the three classes have in common. */
struct ao {
    const struct tp_tensor *codes, *scale, *factor;
    const struct tp_number *number;
    struct tp_part_shape shape;
    int64_t block[TP_SCALED_DIMS + 1]; /* ended by 0                      */
    bool tiled;
};

/* Codes of two in a byte that were transposed later: the pairs lie along the
 * axis before the last one. All is described as it was, and turned at last. */
static bool is_turned(const struct ao *ao, enum tp_packing packing)
{
    const struct tp_tensor *codes = ao->codes;
    int n = codes->ndim;
    return packing == TP_PACKED_NIBBLES && n >= 2 && codes->stride[n - 1] > 1 &&
           codes->stride[n - 2] == 1 && ao->shape.ndim == n &&
           2 * codes->shape[n - 2] == ao->shape.size[n - 2];
}

static enum tp_status ao_turn(struct tp_maker *m, struct ao *ao,
                              struct tp_error *err)
{
    struct tp_tensor *codes = tp_part_copy(m, ao->codes, err);
    struct tp_tensor *scale = codes ? tp_part_copy(m, ao->scale, err) : NULL;
    if (!scale)
        return TP_E_MEMORY;
    if (swap_last(m, codes, err) != TP_OK ||
        (scale->ndim >= 2 && swap_last(m, scale, err) != TP_OK))
        return TP_E_MEMORY;
    ao->codes = codes;
    ao->scale = scale;
    int64_t *size = ao->shape.size + ao->shape.ndim - 2;
    int64_t keep = size[0];
    size[0] = size[1];
    size[1] = keep;
    ao->shape.columns = size[1];
    ao->shape.rows = 1;
    for (int i = 0; i + 1 < ao->shape.ndim; i++)
        ao->shape.rows *= ao->shape.size[i];
    return TP_OK;
}

static enum tp_status ao_blocks(struct tp_maker *m, struct ao *ao,
                                struct tp_scaled *s, struct tp_error *err)
{
    s->scale.tensor = ao->scale;
    if (ao->tiled) {
        int64_t line = (ao->shape.columns + ao->block[0] - 1) / ao->block[0];
        enum tp_status status = tp_part_lines(s, &ao->shape, err);
        if (status != TP_OK)
            return status;
        s->scale.tensor =
            tp_part_untiled(m, ao->scale, ao->shape.rows, &line, err);
        tp_part_blocks(&s->scale, 1, ao->block[0], line, 1);
        return s->scale.tensor ? TP_OK : err->code;
    }
    if (ao->shape.ndim > TP_SCALED_DIMS)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "%s of %d dimensions",
                       s->layout, ao->shape.ndim);
    s->ndim = ao->shape.ndim;
    memcpy(s->shape, ao->shape.size, (size_t)s->ndim * sizeof *s->shape);
    if (tp_block_scale_fit(&s->scale, s, ao->block, false))
        return TP_OK;
    return tp_fail(err, TP_E_DAMAGED, -1,
                   "its scales do not fit its shape in blocks of %" PRId64,
                   ao->block[0]);
}

static enum tp_status ao_value(struct tp_maker *m, struct ao *ao,
                               struct tp_error *err)
{
    enum tp_status status =
        tp_part_need(m, ao->codes && ao->scale && ao->number ? m : NULL,
                     "codes, scales or a dtype of ours", err);
    struct tp_scaled *s =
        status == TP_OK ? tp_part_scaled(m, ao->codes, ao->number, err) : NULL;
    if (!s)
        return status == TP_OK ? TP_E_MEMORY : status;
    bool turned = is_turned(ao, s->packing) && !ao->tiled;
    if (turned)
        status = ao_turn(m, ao, err);
    s->codes = ao->codes;
    if (status == TP_OK)
        status = ao_blocks(m, ao, s, err);
    if (status == TP_OK && ao->factor) {
        s->factor.tensor = ao->factor;
        s->factor_use = TP_FACTOR_TIMES;
        status = tp_block_scale_fit(&s->factor, s, (const int64_t[]){0}, false)
                     ? TP_OK
                     : tp_fail(err, TP_E_DAMAGED, -1,
                               "its factor of scales has a shape of its own");
    }
    if (status == TP_OK)
        status = tp_part_value(m, s, &ao->shape, "#value", err);
    if (status == TP_OK && turned)
        status = swap_last(m, &m->tensors[*m->count - 1], err);
    return status;
}

/* Reads what all have; one block length or one for each axis. */
static enum tp_status ao_parts(struct tp_maker *m, struct ao *ao,
                               struct tp_error *err)
{
    const struct tp_pickle *pickle = m->builder->pickle;
    memset(ao, 0, sizeof *ao);
    enum tp_status status =
        tp_part_hidden(m, attribute(m, "qdata", "_data"), &ao->codes, err);
    if (status == TP_OK)
        status =
            tp_part_hidden(m, attribute(m, "scale", "_scale"), &ao->scale, err);
    if (status == TP_OK)
        status = tp_part_shape(m, tp_part_argument(m, 2), &ao->shape, err);
    tp_ref size = attribute(m, "block_size", "_block_size");
    size_t n = tp_pickle_length(pickle, size);
    if (!tp_pickle_int(pickle, size, &ao->block[0]) &&
        (n == 0 || n > TP_SCALED_DIMS))
        status = tp_part_need(m, NULL, "a size of blocks", err);
    for (size_t i = 0; status == TP_OK && i < n; i++)
        tp_pickle_int(pickle, tp_pickle_item(pickle, size, i), &ao->block[i]);
    for (size_t i = 0; status == TP_OK && (i == 0 || ao->block[i]); i++) {
        if (ao->block[i] < 1 || ao->block[i] > INT32_MAX)
            status = tp_fail(err, TP_E_DAMAGED, -1,
                             "blocks of %" PRId64 " values", ao->block[i]);
    }
    ao->tiled = tp_part_is_true(
        m, attribute(m, "is_swizzled_scales", "_is_swizzled_scales"));
    return status;
}

enum tp_status tp_ao_mx(struct tp_maker *m, struct tp_error *err)
{
    struct ao ao;
    enum tp_status status = ao_parts(m, &ao, err);
    if (status != TP_OK)
        return status;
    if (!ao.scale)
        status = tp_part_hidden(m, attribute(m, "_scale_e8m0", "_scale_e8m0"),
                                &ao.scale, err);
    ao.number = ao_number(m, attribute(m, "elem_dtype", "_elem_dtype"));
    return status == TP_OK ? ao_value(m, &ao, err) : status;
}

enum tp_status tp_ao_nvfp4(struct tp_maker *m, struct tp_error *err)
{
    struct ao ao;
    enum tp_status status = ao_parts(m, &ao, err);
    if (status != TP_OK)
        return status;
    if (!ao.scale)
        status = tp_part_hidden(m, attribute(m, "_scale_e4m3", "_scale_e4m3"),
                                &ao.scale, err);
    if (status == TP_OK)
        status = tp_part_hidden(
            m, attribute(m, "per_tensor_scale", "_per_tensor_scale"),
            &ao.factor, err);
    ao.number = tp_number_by_id("e2m1");
    return status == TP_OK ? ao_value(m, &ao, err) : status;
}

enum tp_status tp_ao_float8(struct tp_maker *m, struct tp_error *err)
{
    struct ao ao;
    enum tp_status status = ao_parts(m, &ao, err);
    if (status != TP_OK)
        return status;
    if (ao.codes)
        ao.number = tp_number_by_dtype(ao.codes->dtype);
    if (ao.number && ao.number->bits != 8)
        ao.number = NULL;
    return ao_value(m, &ao, err);
}
