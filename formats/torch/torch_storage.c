/* SPDX-License-Identifier: MIT */
/*
 * Storages as a pickle names them: a persistent id holds class, key and number
 * of elements. The ids of a payload are collected into one array, sorted by
 * key, where a tensor finds its storage by binary search; a hash table would
 * hardly find it sooner among the some hundred keys of a file. The dtype
 * follows from the class's name. A storage that is a plain range of the file
 * is read where it lies, by position, from any thread. Cost: a sort of the
 * ids, log n comparisons for each tensor, no copy of any element.
 */
#include "formats/torch/torch_storage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"

/* Keys are numbers of up to 20 digits; long ones would make sorting slow. */
enum { KEY_MAX_BYTES = 256 };

/* ---- persistent ids --------------------------------------------------- */

/* Storages of torch's quantised dtypes hold codes; the last two hold several
 * in a byte. What scales them is among the arguments of their tensors. */
static const struct {
    const char *name;
    enum tp_dtype codes;
} quantised[] = {
    {"QUInt8Storage", TP_UINT8},   {"QInt8Storage", TP_INT8},
    {"QInt32Storage", TP_INT32},   {"QUInt4x2Storage", TP_UINT8},
    {"QUInt2x4Storage", TP_UINT8},
};

/* The dtype of "torch.FloatStorage", "torch.cuda.FloatStorage", ... */
static enum tp_status class_dtype(struct tp_torch_id *id, struct tp_error *err)
{
    const char *class_name = strrchr(id->class_name, '.');
    class_name = class_name ? class_name + 1 : id->class_name;
    id->dtype = TP_DTYPE_COUNT;
    if (strncmp(id->class_name, "torch.", strlen("torch.")) != 0)
        return tp_fail(err, TP_E_UNSUPPORTED, id->at,
                       "a storage of the foreign class %s", id->class_name);
    if (strcmp(class_name, "UntypedStorage") == 0 ||
        strcmp(class_name, "_UntypedStorage") == 0)
        return TP_OK;
    id->dtype = tp_dtype_by_storage(class_name);
    for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++) {
        if (strcmp(quantised[i].name, class_name) == 0)
            id->dtype = quantised[i].codes;
    }
    if (id->dtype == TP_DTYPE_COUNT)
        return tp_fail(err, TP_E_UNSUPPORTED, id->at,
                       "storages of class %s are not supported",
                       id->class_name);
    return TP_OK;
}

/* A text or, in torch.package, a number. */
static bool read_key(const struct tp_pickle *pickle, tp_ref ref,
                     struct tp_torch_id *id)
{
    id->number = -1;
    if (tp_pickle_text(pickle, ref, &id->key, &id->key_length))
        return true;
    return tp_pickle_int(pickle, ref, &id->number) && id->number >= 0;
}

enum tp_status tp_torch_id_read(const struct tp_pickle *pickle, tp_ref ref,
                                struct tp_torch_id *id, struct tp_error *err)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    tp_ref args = value && value->kind == TP_VALUE_PERSISTENT
                      ? value->u.call.args
                      : TP_REF_NONE;
    const struct tp_value *class_value =
        tp_pickle_value(pickle, tp_pickle_item(pickle, args, 1));
    *id = (struct tp_torch_id){
        .view = tp_pickle_item(pickle, args, 5),
        .at = tp_pickle_offset(pickle, ref),
    };
    if (!tp_pickle_is(pickle, tp_pickle_item(pickle, args, 0), "storage") ||
        !class_value || class_value->kind != TP_VALUE_GLOBAL ||
        !read_key(pickle, tp_pickle_item(pickle, args, 2), id) ||
        !tp_pickle_int(pickle, tp_pickle_item(pickle, args, 4), &id->numel))
        return tp_fail(err, TP_E_DAMAGED, id->at,
                       "the persistent id names no torch storage");
    if (id->key_length > KEY_MAX_BYTES)
        return tp_fail(err, TP_E_LIMIT, id->at, "a storage key of %zu bytes",
                       id->key_length);
    id->class_name = class_value->u.text.data;
    if (tp_pickle_kind(pickle, id->view) == TP_VALUE_NONE)
        id->view = TP_REF_NONE;
    enum tp_status status = class_dtype(id, err);
    uint64_t element = tp_torch_id_element(id);
    if (status == TP_OK &&
        (id->numel < 0 || (uint64_t)id->numel > INT64_MAX / element))
        status = tp_fail(err, TP_E_DAMAGED, id->at,
                         "a storage of %" PRId64 " elements", id->numel);
    return status;
}

uint64_t tp_torch_id_element(const struct tp_torch_id *id)
{
    return id->dtype == TP_DTYPE_COUNT ? 1 : tp_dtype_info(id->dtype)->size;
}

/* ---- the table -------------------------------------------------------- */

static int compare_keys(const struct tp_torch_id *a,
                        const struct tp_torch_id *b)
{
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->key_length != b->key_length)
        return a->key_length < b->key_length ? -1 : 1;
    return a->key_length ? memcmp(a->key, b->key, a->key_length) : 0;
}

/* By key, then by place, so that the first mention leads its key. */
static int compare_entries(const void *a, const void *b)
{
    const struct tp_torch_id *x = &((const struct tp_torch_entry *)a)->id;
    const struct tp_torch_id *y = &((const struct tp_torch_entry *)b)->id;
    int order = compare_keys(x, y);
    return order ? order : tp_order_uint64(x->at, y->at);
}

enum tp_status tp_torch_table_read(const struct tp_pickle *pickle,
                                   struct tp_arena *arena,
                                   struct tp_torch_table *table,
                                   struct tp_error *err)
{
    memset(table, 0, sizeof *table);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < pickle->count; i++)
        count += pickle->values[i].kind == TP_VALUE_PERSISTENT;
    struct tp_torch_entry *entries =
        tp_arena_alloc(arena, count * sizeof *entries);
    if (!entries)
        return tp_fail_memory(err);
    count = 0;
    for (size_t i = 0; i < pickle->count; i++) {
        if (pickle->values[i].kind == TP_VALUE_PERSISTENT &&
            tp_torch_id_read(pickle, (tp_ref)i, &entries[count].id, NULL) ==
                TP_OK)
            count++;
    }
    if (count)
        qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 ||
            compare_keys(&entries[kept - 1].id, &entries[i].id) != 0)
            entries[kept++] = entries[i];
    }
    table->entries = entries;
    table->count = kept;
    return TP_OK;
}

struct tp_torch_entry *tp_torch_table_find(const struct tp_torch_table *table,
                                           const struct tp_torch_id *id)
{
    size_t i;
    TP_PARTITION_POINT(i, table->count,
                       compare_keys(&table->entries[i].id, id) < 0);
    return i < table->count && compare_keys(&table->entries[i].id, id) == 0
               ? &table->entries[i]
               : NULL;
}
