/* SPDX-License-Identifier: MIT */
/*
 * Packed numbers, casts, axes and codes of rows. Each is written from a copy
 * whose pointers are replaced: by nothing where what they point to follows, by
 * a number where they point to a text. Reading checks every length against
 * what is left, since whoever uses these later does not.
 */
#include "state/state_numbers.h"

#include <string.h>

#include "scan/dim_rank.h"
#include "tensors/cast_plan.h"
#include "tensors/quantised.h"

static enum tp_status add_dims(const struct tp_dims *dims,
                               struct tp_state_bytes *numbers, uint64_t *at,
                               struct tp_error *err)
{
    const struct tp_dims head = {.count = dims->count};
    enum tp_status status =
        tp_state_bytes_add(numbers, &head, sizeof head, at, err);
    for (size_t i = 0; i < dims->count && status == TP_OK; i++) {
        struct tp_dim_axis axis = dims->axes[i];
        axis.worst = NULL;
        status = tp_state_bytes_add(numbers, &axis, sizeof axis, NULL, err);
    }
    for (size_t i = 0; i < dims->count && status == TP_OK; i++)
        status = tp_state_bytes_add(
            numbers, dims->axes[i].worst,
            dims->axes[i].kept * sizeof(struct tp_dim_index), NULL, err);
    return status;
}

/* The texts of codes and scales. */
enum { CODE_TEXTS = 4 };
static const size_t code_texts[CODE_TEXTS] = {
    offsetof(struct tp_quantised, layout),
    offsetof(struct tp_quantised, format),
    offsetof(struct tp_quantised, codes_path),
    offsetof(struct tp_quantised, scales_path),
};

/* Behind the struct: numbers of the texts, then share and value. */
static enum tp_status add_codes(const struct tp_quantised *codes,
                                const struct tp_state_numbering *texts,
                                struct tp_state_bytes *numbers, uint64_t *at,
                                struct tp_error *err)
{
    struct tp_quantised head = *codes;
    uint64_t number[CODE_TEXTS];
    enum tp_status status = TP_OK;
    for (int i = 0; i < CODE_TEXTS && status == TP_OK; i++) {
        const char *text;
        memcpy(&text, (const char *)codes + code_texts[i], sizeof text);
        status = texts->number(texts->context, text, &number[i], err);
        memset((char *)&head + code_texts[i], 0, sizeof text);
    }
    const size_t floats = codes->share ? codes->codes * sizeof(float) : 0;
    head.share = head.value = NULL;
    head.codes_before = floats > 0; /* set when rows are numbered */
    if (status == TP_OK)
        status = tp_state_bytes_add(numbers, &head, sizeof head, at, err);
    if (status == TP_OK)
        status = tp_state_bytes_add(numbers, number, sizeof number, NULL, err);
    if (status == TP_OK)
        status = tp_state_bytes_add(numbers, codes->share, floats, NULL, err);
    if (status == TP_OK)
        status = tp_state_bytes_add(numbers, codes->value, floats, NULL, err);
    return status;
}

enum tp_status tp_state_number_add(enum tp_state_kind kind, const void *value,
                                   const struct tp_state_numbering *texts,
                                   struct tp_state_bytes *numbers, uint64_t *at,
                                   struct tp_error *err)
{
    size_t casts = 0;
    switch (kind) {
    case TP_STATE_PACKED:
        return tp_state_bytes_add(numbers, value,
                                  tp_packed_bytes(value, SIZE_MAX), at, err);
    case TP_STATE_CASTS:
        return tp_state_bytes_add(
            numbers, value, tp_quant_bytes(value, SIZE_MAX, &casts), at, err);
    case TP_STATE_DIMS:
        return add_dims(value, numbers, at, err);
    default:
        return add_codes(value, texts, numbers, at, err);
    }
}

/* --- reading -------------------------------------------------------------- */

/* Each takes its bytes of `room` and returns how many these are; 0: they are
 * not what they should be. */

static size_t read_dims(unsigned char *at, size_t room)
{
    struct tp_dims *dims = (void *)at;
    if (room < sizeof *dims ||
        dims->count > (room - sizeof *dims) / sizeof *dims->axes)
        return 0;
    dims->axes = (void *)(dims + 1);
    const struct tp_dim_index *next = (void *)(dims->axes + dims->count);
    size_t used = sizeof *dims + dims->count * sizeof *dims->axes;
    for (size_t i = 0; i < dims->count; i++) {
        struct tp_dim_axis *axis = &dims->axes[i];
        if (axis->kept > TP_DIM_KEPT ||
            axis->kept > (room - used) / sizeof *next ||
            (unsigned)axis->risk > TP_DIM_HIGH ||
            (unsigned)axis->reduce >= TP_DTYPE_COUNT)
            return 0;
        used += axis->kept * sizeof *next;
        axis->worst = axis->kept ? next : NULL;
        next += axis->kept;
    }
    return used;
}

static size_t read_codes(unsigned char *at, size_t room,
                         const struct tp_state_words *words)
{
    struct tp_quantised *codes = (void *)at;
    uint64_t number[CODE_TEXTS];
    const size_t used = sizeof *codes + sizeof number;
    if (room < used)
        return 0;
    memcpy(number, codes + 1, sizeof number);
    for (int i = 0; i < CODE_TEXTS; i++) {
        if (number[i] >= words->count)
            return 0;
        memcpy(at + code_texts[i], &words->texts[number[i]],
               sizeof words->texts[number[i]]);
    }
    const bool has_floats = codes->codes_before == 1;
    codes->share = codes->value = NULL;
    codes->codes_before = 0;
    if (!has_floats)
        return used;
    if (codes->codes > (room - used) / 2 / sizeof(float))
        return 0;
    const size_t floats = tp_state_room(codes->codes * sizeof(float));
    if (2 * floats > room - used)
        return 0;
    codes->share = (void *)(at + used);
    codes->value = (void *)(at + used + floats);
    return used + 2 * floats;
}

const void *tp_state_number_next(struct tp_state_reader *reader,
                                 enum tp_state_kind kind, uint64_t at)
{
    struct tp_state_bytes *numbers = reader->numbers;
    if (at != reader->next || at > numbers->size)
        return NULL;
    unsigned char *bytes = numbers->data + at;
    const size_t room = numbers->size - (size_t)at;
    size_t used;
    switch (kind) {
    case TP_STATE_PACKED:
        used = tp_packed_bytes(bytes, room);
        break;
    case TP_STATE_CASTS:
        used = tp_quant_bytes(bytes, room, &reader->casts);
        break;
    case TP_STATE_DIMS:
        used = read_dims(bytes, room);
        break;
    default:
        used = read_codes(bytes, room, &reader->words);
    }
    reader->next += tp_state_room(used);
    return used ? bytes : NULL;
}
