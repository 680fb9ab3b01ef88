/* SPDX-License-Identifier: MIT */
/*
 * Parts of quantised objects. A part is a call that rebuilds a tensor, maybe
 * in wrappers; it becomes a tensor as any other does. What lies transposed or
 * in tiles becomes a view that does not, so that nothing else knows of it;
 * the alternative, to copy scales into order, would need their memory. Cost:
 * as of a tensor each.
 */
#include "formats/torch/torch_scaled_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "data/tensor_axes.h"

static const char *path_with(struct tp_maker *m, const char *suffix)
{
    size_t a = strlen(m->path), b = strlen(suffix);
    char *text = tp_arena_alloc(m->builder->arena, a + b + 1);
    if (text) {
        memcpy(text, m->path, a);
        memcpy(text + a, suffix, b);
    }
    return text;
}

/* The call behind wrappers of one argument, Parameter and the like. */
static tp_ref plain_call(const struct tp_pickle *pickle, tp_ref ref)
{
    for (int i = 0; i < 4; i++) {
        const struct tp_torch_global *global =
            tp_torch_global_find(tp_pickle_callable(pickle, ref));
        if (tp_pickle_kind(pickle, ref) != TP_VALUE_CALL || !global ||
            global->role != TP_TORCH_WRAPPER)
            break;
        ref = tp_pickle_item(pickle, pickle->values[ref].u.call.args, 0);
    }
    return ref;
}

static bool is_none(const struct tp_pickle *pickle, tp_ref ref)
{
    return tp_pickle_kind(pickle, ref) == TP_VALUE_NONE;
}

static enum tp_status read_tensor(struct tp_maker *m, tp_ref ref,
                                  struct tp_tensor *tensor,
                                  struct tp_error *err)
{
    const struct tp_pickle *pickle = m->builder->pickle;
    ref = plain_call(pickle, ref);
    const struct tp_torch_global *global =
        tp_pickle_kind(pickle, ref) == TP_VALUE_CALL
            ? tp_torch_global_find(tp_pickle_callable(pickle, ref))
            : NULL;
    if (!global || global->role != TP_TORCH_TENSOR)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                       "a part of %s is no tensor", m->name);
    return tp_torch_rebuild(m->builder, global, pickle->values[ref].u.call.args,
                            tensor, err);
}

enum tp_status tp_part_add(struct tp_maker *m, tp_ref ref, const char *suffix,
                           const struct tp_tensor **part, struct tp_error *err)
{
    *part = NULL;
    if (is_none(m->builder->pickle, ref))
        return TP_OK;
    struct tp_tensor *tensor = &m->tensors[*m->count];
    enum tp_status status = read_tensor(m, ref, tensor, err);
    if (status != TP_OK)
        return status;
    tensor->path = path_with(m, suffix);
    tensor->encoded = true;
    *part = tensor;
    ++*m->count;
    return tensor->path ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_part_hidden(struct tp_maker *m, tp_ref ref,
                              const struct tp_tensor **part,
                              struct tp_error *err)
{
    *part = NULL;
    if (is_none(m->builder->pickle, ref))
        return TP_OK;
    struct tp_tensor *tensor =
        tp_arena_alloc(m->builder->arena, sizeof *tensor);
    if (!tensor)
        return tp_fail_memory(err);
    *part = tensor;
    return read_tensor(m, ref, tensor, err);
}

struct tp_tensor *tp_part_copy(struct tp_maker *m,
                               const struct tp_tensor *tensor,
                               struct tp_error *err)
{
    struct tp_tensor *copy = tp_arena_alloc(m->builder->arena, sizeof *copy);
    if (copy)
        *copy = *tensor;
    else
        tp_fail_memory(err);
    return copy;
}

const struct tp_tensor *tp_part_turned(struct tp_maker *m,
                                       const struct tp_tensor *tensor,
                                       struct tp_error *err)
{
    struct tp_tensor *view = tp_part_copy(m, tensor, err);
    if (!view)
        return NULL;
    int64_t *axes = tp_tensor_new_axes(view, view->ndim, m->builder->arena);
    if (!axes) {
        tp_fail_memory(err);
        return NULL;
    }
    for (int i = 0; i < view->ndim; i++) {
        int from = i + 1 < view->ndim ? i + 1 : 0;
        axes[i] = tensor->shape[from];
        axes[view->ndim + i] = tensor->stride[from];
    }
    return view;
}

const struct tp_tensor *tp_part_untiled(struct tp_maker *m,
                                        const struct tp_tensor *tensor,
                                        int64_t rows, int64_t *columns,
                                        struct tp_error *err)
{
    const int64_t down = (rows + 127) / 128, across = (*columns + 3) / 4;
    int64_t expected = 1;
    bool dense = true;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        dense &= tensor->shape[i] == 1 || tensor->stride[i] == expected;
        expected *= tensor->shape[i];
    }
    if (!dense || tensor->numel != down * across * 512) {
        tp_fail(err, TP_E_DAMAGED, -1,
                "its scales in tiles of 128 by 4 are %" PRId64
                ", its shape asks for %" PRId64,
                tensor->numel, down * across * 512);
        return NULL;
    }
    struct tp_tensor *view = tp_part_copy(m, tensor, err);
    if (!view)
        return NULL;
    const int64_t axes[] = {down,         4, 32, across, 4,
                            across * 512, 4, 16, 512,    1};
    int64_t *kept = tp_tensor_new_axes(view, 5, m->builder->arena);
    if (!kept) {
        tp_fail_memory(err);
        return NULL;
    }
    memcpy(kept, axes, sizeof axes);
    *columns = across * 4;
    return view;
}

struct tp_scaled *tp_part_scaled(struct tp_maker *m,
                                 const struct tp_tensor *codes,
                                 const struct tp_number *number,
                                 struct tp_error *err)
{
    struct tp_scaled *s = tp_arena_alloc(m->builder->arena, sizeof *s);
    if (!s) {
        tp_fail_memory(err);
        return NULL;
    }
    s->layout = m->name;
    s->codes = codes;
    s->number = number;
    s->packing =
        number && number->bits == 4 ? TP_PACKED_NIBBLES : TP_PACKED_NOT;
    s->scale.dtype = s->zero.dtype = s->factor.dtype = TP_DTYPE_COUNT;
    s->scale.constant = 1;
    return s;
}

enum tp_status tp_part_shape(struct tp_maker *m, tp_ref ref,
                             struct tp_part_shape *shape, struct tp_error *err)
{
    enum tp_status status =
        tp_torch_dims(m->builder->pickle, ref, shape->size, &shape->ndim, err);
    shape->rows = shape->columns = 1;
    for (int i = 0; status == TP_OK && i < shape->ndim; i++) {
        int64_t n = shape->size[i];
        if (n < 0 || (n && shape->rows > (INT64_MAX >> 8) / n))
            return tp_fail(err, TP_E_DAMAGED, -1,
                           "its shape is impossible at [%d]", i);
        if (i + 1 < shape->ndim)
            shape->rows *= n;
        else
            shape->columns = n;
    }
    return status;
}

enum tp_status tp_part_value(struct tp_maker *m, struct tp_scaled *s,
                             const struct tp_part_shape *shape,
                             const char *suffix, struct tp_error *err)
{
    const char *path = path_with(m, suffix);
    if (!path)
        return tp_fail_memory(err);
    struct tp_tensor *tensor = &m->tensors[*m->count];
    enum tp_status status = tp_scaled_check(s, err);
    if (status == TP_OK)
        status = tp_scaled_tensor(s, path, m->builder->arena, tensor, err);
    if (status != TP_OK)
        return status;
    int64_t *axes = tp_tensor_new_axes(tensor, shape->ndim, m->builder->arena);
    if (!axes)
        return tp_fail_memory(err);
    for (int i = 0; i < shape->ndim; i++)
        axes[i] = shape->size[i];
    tp_dense_strides(shape->ndim, axes, axes + shape->ndim);
    ++*m->count;
    return tp_tensor_check(tensor, err);
}

static enum tp_status codes_differ(const struct tp_tensor *codes,
                                   const struct tp_part_shape *shape,
                                   struct tp_error *err)
{
    struct tp_text a = {0}, b = {0};
    for (int i = 0; i < shape->ndim; i++)
        tp_text_add(&a, "%s%" PRId64, i ? "," : "", shape->size[i]);
    for (int i = 0; i < codes->ndim; i++)
        tp_text_add(&b, "%s%" PRId64, i ? "," : "", codes->shape[i]);
    enum tp_status status =
        a.failed || b.failed
            ? tp_fail_memory(err)
            : tp_fail(err, TP_E_DAMAGED, -1,
                      "its shape is given as [%s], its codes are [%s]",
                      tp_text_get(&a), tp_text_get(&b));
    tp_text_clear(&a);
    tp_text_clear(&b);
    return status;
}

enum tp_status tp_part_lines(struct tp_scaled *s,
                             const struct tp_part_shape *shape,
                             struct tp_error *err)
{
    s->ndim = 2;
    s->shape[0] = shape->rows;
    s->shape[1] = shape->columns;
    bool same = s->codes->ndim == shape->ndim;
    for (int i = 0; same && i < shape->ndim; i++) {
        int64_t n = s->codes->shape[i];
        bool packed = s->packing == TP_PACKED_NIBBLES && i + 1 == shape->ndim;
        same = (packed ? 2 * n : n) == shape->size[i];
    }
    return same ? TP_OK : codes_differ(s->codes, shape, err);
}

void tp_part_blocks(struct tp_block_scale *scale, int64_t down, int64_t across,
                    int64_t pitch_down, int64_t pitch_across)
{
    scale->block[0] = down > 0 ? down : 1;
    scale->block[1] = across > 0 ? across : 1;
    scale->pitch[0] = pitch_down;
    scale->pitch[1] = pitch_across;
}

tp_ref tp_part_argument(struct tp_maker *m, size_t i)
{
    return tp_pickle_item(m->builder->pickle, m->object.args, i);
}

enum tp_status tp_part_need(struct tp_maker *m, const void *part,
                            const char *what, struct tp_error *err)
{
    return part ? TP_OK
                : tp_fail(err, TP_E_DAMAGED,
                          tp_pickle_offset(m->builder->pickle, m->object.call),
                          "%s without %s", m->name, what);
}

bool tp_part_is_true(struct tp_maker *m, tp_ref ref)
{
    int64_t value = 0;
    return tp_pickle_int(m->builder->pickle, ref, &value) && value;
}
