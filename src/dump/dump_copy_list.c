/* SPDX-License-Identifier: MIT */
#include "dump/dump_copy_list.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/order.h"

/* --- equal contents --------------------------------------------------------
 */

static bool same_shape(const struct tp_dump_item *a,
                       const struct tp_dump_item *b)
{
    return !strcmp(a->dtype, b->dtype) && a->has_shape == b->has_shape &&
           a->dims == b->dims &&
           (!a->dims ||
            !memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape));
}

static bool same_number(const struct tp_dump_number *a,
                        const struct tp_dump_number *b)
{
    return a->kind == b->kind &&
           (a->real == b->real || (isnan(a->real) && isnan(b->real)));
}

bool tp_copy_same(const struct tp_dump_item *a, const struct tp_dump_item *b)
{
    bool same = same_shape(a, b);
    if (!same)
        return false;
    if (*a->md5 && *b->md5)
        return !strcmp(a->md5, b->md5);
    if (a->has_crc && b->has_crc)
        return a->crc == b->crc;
    for (int i = 0; i < TP_DUMP_STATS; i++)
        same &= same_number(&a->stats[i], &b->stats[i]);
    return same;
}

/* Whether anything is known of what a tensor holds. */
static bool is_known(const struct tp_dump_item *item)
{
    return *item->md5 || item->has_crc ||
           item->stats[TP_DUMP_NORM].kind != TP_JSON_NULL;
}

/* --- which tensors ---------------------------------------------------------
 */

static const struct tp_dump_item *item_at(const struct tp_dump *dump,
                                          const struct tp_copy *copy)
{
    return &dump->places[copy->place].items[copy->item];
}

static const struct tp_dump_call *call_at(const struct tp_dump *dump,
                                          const struct tp_copy *copy)
{
    return &dump->places[copy->place].calls[copy->call];
}

/* Adds a path without its numbers, which tell layers apart. */
static void add_path(struct tp_msprobe_part path, struct tp_text *text)
{
    for (size_t i = 0; i < path.length; i++)
        if (!isdigit((unsigned char)path.at[i]))
            tp_text_bytes(text, path.at + i, 1);
}

static void add_parameter(const struct tp_dump *dump,
                          const struct tp_copy *copy, struct tp_text *kind)
{
    const struct tp_msprobe_name *name = &call_at(dump, copy)->name;
    add_path(name->path, kind);
    tp_text_add(kind, " ");
    tp_text_bytes(kind, name->class_name.at, name->class_name.length);
    tp_text_add(kind, " %s", item_at(dump, copy)->argument);
}

/* A weight by its API, argument and shape, and by the line that used it. */
static void add_weight(const struct tp_dump *dump, const struct tp_copy *copy,
                       struct tp_text *kind)
{
    const struct tp_dump_item *item = item_at(dump, copy);
    const struct tp_dump_call *call = call_at(dump, copy);
    tp_text_bytes(kind, call->name.path.at, call->name.path.length);
    tp_text_add(kind, " %s", item->argument);
    for (int i = 0; i < item->dims; i++)
        tp_text_add(kind, " %" PRId64, item->shape[i]);
    tp_text_add(kind, " ");
    tp_dump_call_line(&dump->places[copy->place], call, kind);
}

/* What a collective leaves alike on all ranks is its first argument. */
static bool is_shared(const struct tp_dump_call *call,
                      const struct tp_dump_item *item)
{
    static const char *const apis[] = {"all_reduce",
                                       "broadcast",
                                       "all_gather",
                                       "_all_gather_base",
                                       "all_gather_into_tensor",
                                       NULL};
    return item->place == TP_MSPROBE_OUTPUT && item->argument[0] == '0' &&
           tp_dump_call_is_communication(call) &&
           tp_dump_call_is_any(call, apis);
}

/* Whether an item may be one of several copies, and of which category. */
static bool classify(const struct tp_dump_call *call,
                     const struct tp_dump_item *item,
                     enum tp_copy_category *category)
{
    if (item->kind != TP_DUMP_TENSOR || !call->known || !is_known(item) ||
        tp_dump_item_numel(item) == 0)
        return false;
    *category = TP_COPY_PARAMETER;
    if (item->place == TP_MSPROBE_PARAMETERS && !call->name.gradient &&
        call->name.direction == TP_FORWARD)
        return true;
    *category = TP_COPY_WEIGHT;
    if (tp_dump_item_is_weight(call, item))
        return true;
    *category = TP_COPY_COLLECTIVE;
    return is_shared(call, item);
}

/* --- the list ---------------------------------------------------------------
 */

struct lister {
    const struct tp_dump *dump;
    struct tp_dump_comm comm;
    struct tp_copy_list *list;
};

/* What tells the tensor on all ranks. */
static void add_key(const struct lister *lister, const struct tp_copy *copy,
                    struct tp_text *key)
{
    const struct tp_dump_part *part =
        tp_dump_comm_part(&lister->comm, copy->place, copy->call, 0);
    if (copy->category == TP_COPY_COLLECTIVE && part)
        tp_text_add(key, "%zu %s", part->event,
                    item_at(lister->dump, copy)->argument);
    else
        tp_dump_item_name(call_at(lister->dump, copy),
                          item_at(lister->dump, copy), "kwargs", key);
}

static void add_kind(const struct lister *lister, const struct tp_copy *copy,
                     struct tp_text *kind)
{
    const struct tp_dump_call *call = call_at(lister->dump, copy);
    if (copy->category == TP_COPY_PARAMETER)
        add_parameter(lister->dump, copy, kind);
    else if (copy->category == TP_COPY_WEIGHT)
        add_weight(lister->dump, copy, kind);
    else
        tp_text_bytes(kind, call->name.path.at, call->name.path.length);
}

static enum tp_status add_copy(struct lister *lister, struct tp_copy copy,
                               struct tp_error *err)
{
    struct tp_copy_list *list = lister->list;
    struct tp_text kind = {0}, key = {0};
    add_kind(lister, &copy, &kind);
    add_key(lister, &copy, &key);
    copy.kind = tp_arena_take(&lister->list->arena, &kind);
    copy.key = tp_arena_take(&lister->list->arena, &key);
    enum tp_status status =
        copy.kind && copy.key
            ? tp_grow(&list->copies, &list->capacity, list->count + 1,
                      sizeof *list->copies, err)
            : tp_fail_memory(err);
    if (status == TP_OK)
        list->copies[list->count++] = copy;
    return status;
}

static enum tp_status list_place(struct lister *lister, size_t at,
                                 struct tp_error *err)
{
    const struct tp_dump_place *place = &lister->dump->places[at];
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < place->call_count; i++) {
        const struct tp_dump_call *call = &place->calls[i];
        for (size_t k = call->first;
             k < call->first + call->count && status == TP_OK; k++) {
            struct tp_copy copy = {
                .place = at, .item = k, .call = i, .rank = place->rank};
            if (classify(call, &place->items[k], &copy.category))
                status = add_copy(lister, copy, err);
        }
    }
    return status;
}

static int compare_copies(const void *left, const void *right)
{
    const struct tp_copy *a = left, *b = right;
    int result = tp_order_int64(a->category, b->category);
    if (result == 0)
        result = strcmp(a->kind, b->kind);
    if (result == 0)
        result = strcmp(a->key, b->key);
    if (result == 0)
        result = tp_order_int64(a->rank, b->rank);
    return result ? result : tp_order_size(a->item, b->item);
}

/* Gives each copy the place in its key of the first that is the same. */
static void number_values(const struct tp_dump *dump, struct tp_copy_list *list)
{
    for (size_t i = 0, first = 0; i < list->count; i++) {
        struct tp_copy *copy = &list->copies[i];
        const struct tp_copy *head = &list->copies[first];
        if (copy->category != head->category || strcmp(copy->key, head->key) ||
            strcmp(copy->kind, head->kind))
            first = i;
        copy->value = i - first;
        for (size_t k = first; k < i; k++) {
            const struct tp_copy *one = &list->copies[k];
            if (one->value != k - first ||
                !tp_copy_same(item_at(dump, one), item_at(dump, copy)))
                continue;
            copy->value = one->value;
            break;
        }
    }
}

enum tp_status tp_copy_list_make(const struct tp_dump *dump, size_t first,
                                 size_t end, struct tp_copy_list *list,
                                 struct tp_error *err)
{
    struct lister lister = {.dump = dump, .list = list};
    *list = (struct tp_copy_list){.count = 0};
    enum tp_status status =
        tp_dump_comm_match(dump, first, end, &lister.comm, err);
    for (size_t i = first; i < end && status == TP_OK; i++)
        if (dump->places[i].rank >= 0)
            status = list_place(&lister, i, err);
    tp_dump_comm_clear(&lister.comm);
    if (list->count)
        qsort(list->copies, list->count, sizeof *list->copies, compare_copies);
    number_values(dump, list);
    return status;
}

void tp_copy_list_clear(struct tp_copy_list *list)
{
    free(list->copies);
    tp_arena_clear(&list->arena);
    memset(list, 0, sizeof *list);
}
