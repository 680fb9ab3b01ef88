/* SPDX-License-Identifier: MIT */
#include "formats/torch/pickle_value.h"

#include <string.h>

const struct tp_value *tp_pickle_value(const struct tp_pickle *pickle,
                                       tp_ref ref)
{
    return ref < pickle->count ? &pickle->values[ref] : NULL;
}

enum tp_value_kind tp_pickle_kind(const struct tp_pickle *pickle, tp_ref ref)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    return value ? (enum tp_value_kind)value->kind : TP_VALUE_NONE;
}

int64_t tp_pickle_offset(const struct tp_pickle *pickle, tp_ref ref)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (!value)
        return -1;
    return (int64_t)((uint64_t)value->offset_high << 32 | value->offset_low);
}

static bool is_sequence(const struct tp_value *value)
{
    return value &&
           (value->kind == TP_VALUE_LIST || value->kind == TP_VALUE_TUPLE ||
            value->kind == TP_VALUE_SET);
}

tp_ref tp_pickle_item(const struct tp_pickle *pickle, tp_ref ref, size_t index)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (!is_sequence(value) || index >= value->u.items.count)
        return TP_REF_NONE;
    return pickle->items[value->u.items.first + index];
}

size_t tp_pickle_length(const struct tp_pickle *pickle, tp_ref ref)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    return is_sequence(value) ? value->u.items.count : 0;
}

bool tp_pickle_pair(const struct tp_pickle *pickle, tp_ref ref, size_t index,
                    tp_ref *key, tp_ref *value)
{
    const struct tp_value *owner = tp_pickle_value(pickle, ref);
    if (!owner ||
        (owner->kind != TP_VALUE_DICT && owner->kind != TP_VALUE_CALL))
        return false;
    const struct tp_value_items *items =
        owner->kind == TP_VALUE_DICT ? &owner->u.items : &owner->u.call.items;
    if (index >= items->count / 2)
        return false;
    *key = pickle->items[items->first + 2 * index];
    *value = pickle->items[items->first + 2 * index + 1];
    return true;
}

tp_ref tp_pickle_lookup(const struct tp_pickle *pickle, tp_ref dict,
                        const char *key)
{
    tp_ref found = TP_REF_NONE, name, value;
    for (size_t i = 0; tp_pickle_pair(pickle, dict, i, &name, &value); i++) {
        if (tp_pickle_kind(pickle, name) == TP_VALUE_STRING &&
            tp_pickle_is(pickle, name, key))
            found = value;
    }
    return found;
}

/*
 * numpy pickles a scalar as scalar(dtype('i8', False, True), b"..."); the
 * dtype's byte order is in its state, (3, '<', ...).
 */
static bool numpy_int(const struct tp_pickle *pickle, tp_ref ref,
                      int64_t *value)
{
    const char *name = tp_pickle_callable(pickle, ref);
    if (!name || (strcmp(name, "numpy.core.multiarray.scalar") != 0 &&
                  strcmp(name, "numpy._core.multiarray.scalar") != 0))
        return false;
    tp_ref args = pickle->values[ref].u.call.args;
    tp_ref dtype = tp_pickle_item(pickle, args, 0);
    const struct tp_value *bytes =
        tp_pickle_value(pickle, tp_pickle_item(pickle, args, 1));
    const char *called = tp_pickle_callable(pickle, dtype);
    if (!called || strcmp(called, "numpy.dtype") != 0 || !bytes ||
        bytes->kind != TP_VALUE_BYTES || !bytes->u.text.data)
        return false;
    const struct tp_value_call *call = &pickle->values[dtype].u.call;
    tp_ref code = tp_pickle_item(pickle, call->args, 0);
    const char *text;
    size_t length, size = (size_t)bytes->u.text.length;
    if (!tp_pickle_text(pickle, code, &text, &length) || length != 2 ||
        (text[0] != 'i' && text[0] != 'u') || (size_t)(text[1] - '0') != size ||
        size < 1 || size > 8)
        return false;
    bool big =
        tp_pickle_is(pickle, tp_pickle_item(pickle, call->state, 1), ">");
    const unsigned char *p = (const unsigned char *)bytes->u.text.data;
    bool negative = text[0] == 'i' && p[big ? 0 : size - 1] & 0x80;
    uint64_t bits = negative ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        bits = bits << 8 | p[big ? i : size - 1 - i];
    if (text[0] == 'u' && bits > INT64_MAX)
        return false;
    memcpy(value, &bits, sizeof *value);
    return true;
}

bool tp_pickle_int(const struct tp_pickle *pickle, tp_ref ref, int64_t *value)
{
    switch (tp_pickle_kind(pickle, ref)) {
    case TP_VALUE_BOOL:
    case TP_VALUE_INT:
        *value = pickle->values[ref].u.integer;
        return true;
    case TP_VALUE_CALL:
        return numpy_int(pickle, ref, value);
    default:
        return false;
    }
}

bool tp_pickle_float(const struct tp_pickle *pickle, tp_ref ref, double *value)
{
    int64_t integer;
    if (tp_pickle_kind(pickle, ref) == TP_VALUE_FLOAT)
        *value = pickle->values[ref].u.real;
    else if (tp_pickle_int(pickle, ref, &integer))
        *value = (double)integer;
    else
        return false;
    return true;
}

bool tp_pickle_text(const struct tp_pickle *pickle, tp_ref ref,
                    const char **text, size_t *length)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (!value || value->kind != TP_VALUE_STRING || !value->u.text.data)
        return false;
    *text = value->u.text.data;
    *length = (size_t)value->u.text.length;
    return true;
}

bool tp_pickle_is(const struct tp_pickle *pickle, tp_ref ref, const char *text)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (!value || !text ||
        (value->kind != TP_VALUE_STRING && value->kind != TP_VALUE_GLOBAL))
        return false;
    size_t length = strlen(text);
    return value->u.text.data && value->u.text.length == length &&
           memcmp(value->u.text.data, text, length) == 0;
}

const char *tp_pickle_callable(const struct tp_pickle *pickle, tp_ref ref)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (value && value->kind == TP_VALUE_CALL)
        value = tp_pickle_value(pickle, value->u.call.callable);
    return value && value->kind == TP_VALUE_GLOBAL ? value->u.text.data : NULL;
}
