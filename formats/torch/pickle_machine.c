/* SPDX-License-Identifier: MIT */
/*
 * The pickle machine below its opcodes: a window on the input, a stack of
 * references, marks, the memo, and the two arrays that values live in. Values
 * are numbered and lists are runs of one common array, so that a pickle with
 * 10^6 values costs a few large allocations and is dropped at once; objects
 * linked by pointers would cost an allocation each. A list that grows moves to
 * the end of the array and leaves its old place behind, as far as a limit.
 * Input that is not in memory is read in windows of 64 KiB; texts longer than
 * a window stay in the file. Cost: constant for each opcode, amortised.
 */
#include "formats/torch/pickle_machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* Room in the pool of items for each value: a list that grows by doubling
 * leaves its old place behind and half of its new one empty. */
#define ITEMS_MAX (TP_LIMIT_PICKLE_VALUES * 4)

void tp_machine_clear(struct tp_machine *m)
{
    free(m->buffer);
    free(m->stack);
    free(m->memo);
    free(m->marks);
}

enum tp_status tp_machine_fail(struct tp_machine *m, enum tp_status code,
                               const char *reason)
{
    return tp_fail(m->err, code, (int64_t)m->opcode_at,
                   "pickle opcode %s (0x%02x) at byte %" PRIu64 ": %s",
                   m->opcode_name ? m->opcode_name : "unknown", m->opcode,
                   m->opcode_at, reason);
}

/* ---- input ------------------------------------------------------------ */

static enum tp_status refill(struct tp_machine *m)
{
    uint64_t left = m->end - m->position;
    if (m->bytes->memory) {
        m->window = m->bytes->memory;
        m->window_start = 0;
        m->window_end = m->end;
        return TP_OK;
    }
    if (!m->buffer) {
        m->buffer = malloc(TP_MACHINE_WINDOW);
        if (!m->buffer)
            return tp_fail_memory(m->err);
    }
    size_t length = left < TP_MACHINE_WINDOW ? (size_t)left : TP_MACHINE_WINDOW;
    enum tp_status status =
        tp_bytes_read(m->bytes, m->position, m->buffer, length, m->err);
    if (status != TP_OK)
        return status;
    m->window = m->buffer;
    m->window_start = m->position;
    m->window_end = m->position + length;
    return TP_OK;
}

enum tp_status tp_machine_check_left(struct tp_machine *m, uint64_t n)
{
    if (n > m->end - m->position)
        return tp_machine_fail(m, TP_E_DAMAGED,
                               "the data ends inside its argument");
    return TP_OK;
}

enum tp_status tp_machine_take(struct tp_machine *m, size_t n,
                               const unsigned char **p)
{
    /* after a text that was left in the file, the window lies behind */
    if (m->position > m->window_end || n > m->window_end - m->position) {
        enum tp_status status = tp_machine_check_left(m, n);
        if (status == TP_OK)
            status = refill(m);
        if (status != TP_OK)
            return status;
    }
    *p = m->window + (m->position - m->window_start);
    m->position += n;
    return TP_OK;
}

enum tp_status tp_machine_take_number(struct tp_machine *m, unsigned size,
                                      uint64_t *number)
{
    const unsigned char *p;
    enum tp_status status = tp_machine_take(m, size, &p);
    if (status != TP_OK)
        return status;
    *number = 0;
    for (unsigned i = 0; i < size; i++)
        *number |= (uint64_t)p[i] << (8 * i);
    return TP_OK;
}

/* The newline in what the window holds from the position on, or NULL. */
static const unsigned char *find_newline(const struct tp_machine *m)
{
    if (m->position >= m->window_end)
        return NULL;
    size_t left = (size_t)(m->window_end - m->position);
    if (left > TP_MACHINE_WINDOW)
        left = TP_MACHINE_WINDOW;
    return memchr(m->window + (m->position - m->window_start), '\n', left);
}

enum tp_status tp_machine_take_line(struct tp_machine *m,
                                    const unsigned char **p, size_t *length)
{
    const unsigned char *newline = find_newline(m);
    if (!newline && m->position < m->end) {
        enum tp_status status = refill(m);
        if (status != TP_OK)
            return status;
        newline = find_newline(m);
    }
    if (!newline)
        return tp_machine_fail(m, TP_E_DAMAGED, "its text argument has no end");
    *p = m->window + (m->position - m->window_start);
    *length = (size_t)(newline - *p);
    m->position += *length + 1;
    return TP_OK;
}

/* ---- values and the stack --------------------------------------------- */

enum tp_status tp_machine_push(struct tp_machine *m, tp_ref ref)
{
    if (m->depth == m->stack_room) {
        size_t need = m->depth ? m->depth + 1 : TP_MACHINE_ROOM;
        enum tp_status status =
            tp_grow(&m->stack, &m->stack_room, need, sizeof *m->stack, m->err);
        if (status != TP_OK)
            return status;
    }
    m->stack[m->depth++] = ref;
    return TP_OK;
}

enum tp_status tp_machine_new(struct tp_machine *m, enum tp_value_kind kind,
                              struct tp_value **value)
{
    struct tp_pickle *out = m->out;
    if (out->count >= TP_LIMIT_PICKLE_VALUES)
        return tp_machine_fail(m, TP_E_LIMIT, "too many values in one pickle");
    if (out->count >= TP_LIMIT_PICKLE_SHORT + (m->position - m->start) / 2)
        return tp_machine_fail(m, TP_E_LIMIT,
                               "more values than picklers put into as many "
                               "bytes");
    if (out->count == out->capacity) {
        size_t need = out->count ? out->count + 1 : TP_MACHINE_ROOM;
        enum tp_status status = tp_grow(&out->values, &out->capacity, need,
                                        sizeof *out->values, m->err);
        if (status != TP_OK)
            return status;
    }
    struct tp_value *made = &out->values[out->count];
    memset(made, 0, sizeof *made);
    made->kind = (uint8_t)kind;
    made->offset_low = (uint32_t)m->opcode_at;
    made->offset_high = (uint16_t)(m->opcode_at >> 32);
    *value = made;
    return tp_machine_push(m, (tp_ref)out->count++);
}

enum tp_status tp_machine_constant(struct tp_machine *m,
                                   enum tp_value_kind kind, bool truth)
{
    tp_ref *known = &m->constants[kind == TP_VALUE_NONE    ? 0
                                  : kind == TP_VALUE_TUPLE ? 3
                                                           : 1 + truth];
    if (*known)
        return tp_machine_push(m, *known - 1);
    struct tp_value *value;
    enum tp_status status = tp_machine_new(m, kind, &value);
    if (status != TP_OK)
        return status;
    if (kind == TP_VALUE_BOOL)
        value->u.integer = truth;
    *known = (tp_ref)m->out->count;
    return TP_OK;
}

size_t tp_machine_floor(const struct tp_machine *m)
{
    return m->mark_count ? m->marks[m->mark_count - 1] : 0;
}

enum tp_status tp_machine_pop(struct tp_machine *m, tp_ref *ref)
{
    if (m->depth <= tp_machine_floor(m))
        return tp_machine_fail(m, TP_E_DAMAGED, "the stack is empty");
    *ref = m->stack[--m->depth];
    return TP_OK;
}

enum tp_status tp_machine_peek(struct tp_machine *m, tp_ref *ref)
{
    enum tp_status status = tp_machine_pop(m, ref);
    if (status == TP_OK)
        m->depth++;
    return status;
}

enum tp_status tp_machine_pop_mark(struct tp_machine *m, size_t *first,
                                   size_t *count)
{
    if (m->mark_count == 0)
        return tp_machine_fail(m, TP_E_DAMAGED,
                               "there is no mark on the stack");
    *first = m->marks[--m->mark_count];
    *count = m->depth - *first;
    m->depth = *first;
    return TP_OK;
}

/* Makes room for `more` references behind those of a value. */
static enum tp_status reserve(struct tp_machine *m,
                              struct tp_value_items *items, size_t more)
{
    struct tp_pickle *out = m->out;
    size_t need = items->count + more;
    if (need <= items->capacity)
        return TP_OK;
    size_t room = items->count ? 2 * need : need;
    if (room > ITEMS_MAX || out->item_count > ITEMS_MAX - room)
        return tp_machine_fail(m, TP_E_LIMIT, "too many items in one pickle");
    if (out->item_count + room > out->item_capacity) {
        size_t want = out->item_count + room;
        enum tp_status status =
            tp_grow(&out->items, &out->item_capacity,
                    want < TP_MACHINE_ROOM ? TP_MACHINE_ROOM : want,
                    sizeof *out->items, m->err);
        if (status != TP_OK)
            return status;
    }
    if (items->count)
        memcpy(out->items + out->item_count, out->items + items->first,
               items->count * sizeof *out->items);
    items->first = (uint32_t)out->item_count;
    items->capacity = (uint32_t)room;
    out->item_count += room;
    return TP_OK;
}

enum tp_status tp_machine_add_items(struct tp_machine *m,
                                    struct tp_value_items *items,
                                    const tp_ref *refs, size_t count,
                                    bool pairs)
{
    enum tp_status status = reserve(m, items, pairs ? 2 * count : count);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        tp_ref *to = m->out->items + items->first;
        if (pairs)
            to[items->count++] = TP_REF_NONE;
        to[items->count++] = refs[i];
    }
    return TP_OK;
}

enum tp_status tp_machine_push_items(struct tp_machine *m,
                                     enum tp_value_kind kind, size_t first,
                                     size_t count)
{
    struct tp_value_items items = {0};
    enum tp_status status = TP_OK;
    if (count)
        status =
            tp_machine_add_items(m, &items, m->stack + first, count, false);
    struct tp_value *value;
    if (status == TP_OK)
        status = tp_machine_new(m, kind, &value);
    if (status == TP_OK)
        value->u.items = items;
    return status;
}

/* ---- texts ------------------------------------------------------------ */

enum tp_status tp_machine_text(struct tp_machine *m, size_t length, char **text)
{
    /* A few bytes of opcodes may name the same long text again and again:
     * the copies stay in proportion to the input. */
    m->copied += length;
    if (m->copied > 16 * (m->position - m->start) + TP_MACHINE_WINDOW)
        return tp_machine_fail(m, TP_E_LIMIT, "too much repeated text");
    *text = tp_arena_alloc(&m->out->arena, length + 1);
    return *text ? TP_OK : tp_fail_memory(m->err);
}

enum tp_status tp_machine_push_text(struct tp_machine *m,
                                    enum tp_value_kind kind, uint64_t length)
{
    enum tp_status status = tp_machine_check_left(m, length);
    if (status != TP_OK)
        return status;
    struct tp_value_text text = {.length = length, .where = m->position};
    if (m->bytes->memory) {
        text.data = (const char *)m->bytes->memory + m->position;
        m->position += length;
    } else if (length <= TP_MACHINE_WINDOW) {
        const unsigned char *p;
        char *copy = tp_arena_alloc(&m->out->arena, (size_t)length + 1);
        if (!copy)
            return tp_fail_memory(m->err);
        status = tp_machine_take(m, (size_t)length, &p);
        if (status != TP_OK)
            return status;
        memcpy(copy, p, (size_t)length);
        text.data = copy;
    } else {
        m->position += length;
        m->passed += length;
    }
    struct tp_value *value;
    status = tp_machine_new(m, kind, &value);
    if (status == TP_OK)
        value->u.text = text;
    return status;
}

enum tp_status tp_machine_push_global(struct tp_machine *m, const char *module,
                                      size_t module_length, const char *name,
                                      size_t name_length)
{
    size_t length = module_length + 1 + name_length;
    if (length > TP_MACHINE_NAME_MAX)
        return tp_machine_fail(m, TP_E_LIMIT,
                               "the name of a global is too long");
    char *text;
    enum tp_status status = tp_machine_text(m, length, &text);
    if (status != TP_OK)
        return status;
    memcpy(text, module, module_length);
    text[module_length] = '.';
    memcpy(text + module_length + 1, name, name_length);
    if (memchr(text, '\0', length))
        return tp_machine_fail(m, TP_E_DAMAGED,
                               "the name of a global holds a NUL");
    struct tp_value *value;
    status = tp_machine_new(m, TP_VALUE_GLOBAL, &value);
    if (status != TP_OK)
        return status;
    value->u.text = (struct tp_value_text){
        .data = text, .length = length, .where = m->opcode_at};
    return TP_OK;
}
