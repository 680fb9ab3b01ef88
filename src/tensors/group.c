/* SPDX-License-Identifier: MIT */
/*
 * Groups of rows by their labels: for each grouping of the table, rows are
 * sorted by their keys, and each stretch of equal keys is one group, whose
 * summary is merged from those of its rows. Ties go to the earlier row, so sums
 * are always taken in row order and come out the same.
 *
 * A hash table of keys would save the sorting but hold a summary for every
 * group at a time; after sorting, one summary serves all groups. O(n log n)
 * comparisons of at most four labels for each grouping, and one merge of a
 * packed summary for each row of it.
 */
#include "tensors/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"

const struct tp_grouping tp_groupings[] = {
    {"all", {NULL}},
    {"quant_type", {"quant_type"}},
    {"target_format", {"target_format"}},
    {"dtype", {"dtype"}},
    {"layer_type", {"layer_type"}},
    {"layer_idx", {"layer_idx"}},
    {"operation", {"operation"}},
    {"phase", {"phase"}},
    {"component", {"component"}},
    {"tensor_name", {"tensor_name"}},
    {"rank", {"rank"}},
    {"sample_idx", {"sample_idx"}},
    {"iteration", {"iteration"}},
    {"batch_size", {"batch_size"}},
    {"quant_type/layer_type", {"quant_type", "layer_type"}},
    {"quant_type/layer_idx", {"quant_type", "layer_idx"}},
    {"quant_type/operation", {"quant_type", "operation"}},
    {"quant_type/tensor_name", {"quant_type", "tensor_name"}},
    {"quant_type/rank", {"quant_type", "rank"}},
    {"quant_type/iteration", {"quant_type", "iteration"}},
    {"quant_type/layer_idx/operation/tensor_name",
     {"quant_type", "layer_idx", "operation", "tensor_name"}},
    {NULL, {NULL}},
};

/* How a label reads from a row. */
struct field {
    const char *name;
    size_t offset;
    bool is_text;
    const char *(*word)(const struct tp_row *row); /* or NULL: at offset */
};

#define TEXT(name, member)                                \
    {                                                     \
        name, offsetof(struct tp_row, member), true, NULL \
    }
#define NUMBER(name, member)                               \
    {                                                      \
        name, offsetof(struct tp_row, member), false, NULL \
    }

static const struct field fields[] = {
    TEXT("quant_type", label.quant_type),
    {"target_format", 0, true, tp_row_target_word},
    {"dtype", 0, true, tp_row_dtype_word},
    TEXT("layer_type", label.layer_type),
    NUMBER("layer_idx", label.layer_idx),
    TEXT("operation", label.operation),
    TEXT("phase", label.phase),
    TEXT("component", label.component),
    TEXT("tensor_name", label.tensor_name),
    NUMBER("rank", label.rank),
    NUMBER("sample_idx", label.sample_idx),
    NUMBER("iteration", label.iteration),
    NUMBER("batch_size", batch_size),
};

enum { MAX_FIELDS = 4 };

/* A grouping with its names looked up. */
struct key {
    const struct field *fields[MAX_FIELDS];
    size_t count;
};

/* One row with the key to sort it by. */
struct keyed {
    const struct tp_row *row;
    const struct key *key;
};

static const char *text_of(const struct tp_row *row, const struct field *field)
{
    const char *text;
    if (field->word)
        return field->word(row);
    memcpy(&text, (const char *)row + field->offset, sizeof text);
    return text;
}

static int64_t number_of(const struct tp_row *row, const struct field *field)
{
    int64_t number;
    memcpy(&number, (const char *)row + field->offset, sizeof number);
    return number;
}

static void look_up(const struct tp_grouping *grouping, struct key *key)
{
    key->count = 0;
    for (size_t i = 0; i < MAX_FIELDS && grouping->labels[i]; i++) {
        const struct field *field = fields;
        while (strcmp(field->name, grouping->labels[i]))
            field++;
        key->fields[key->count++] = field;
    }
}

static int compare_keys(const struct key *key, const struct tp_row *a,
                        const struct tp_row *b)
{
    for (size_t i = 0; i < key->count; i++) {
        const struct field *field = key->fields[i];
        int result;
        if (field->is_text) {
            const char *left = text_of(a, field), *right = text_of(b, field);
            result = left == right ? 0 : strcmp(left, right);
        } else {
            int64_t left = number_of(a, field), right = number_of(b, field);
            result = tp_order_int64(left, right);
        }
        if (result)
            return result;
    }
    return 0;
}

static int compare_keyed(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    int result = compare_keys(a->key, a->row, b->row);
    return result ? result : tp_order_place(a->row, b->row);
}

static void write_key(const struct key *key, const struct tp_row *row,
                      struct tp_text *text)
{
    for (size_t i = 0; i < key->count; i++) {
        const struct field *field = key->fields[i];
        tp_text_add(text, "%s", i ? "/" : "");
        if (field->is_text)
            tp_text_add(text, "%s",
                        *text_of(row, field) ? text_of(row, field) : "-");
        else if (number_of(row, field) >= 0)
            tp_text_add(text, "%" PRId64, number_of(row, field));
        else
            tp_text_add(text, "-");
    }
}

/* A grouping by labels that no row has would repeat a coarser one. */
static bool occurs(const struct tp_run *run, const struct key *key)
{
    for (size_t i = 0; i < key->count; i++) {
        const struct field *field = key->fields[i];
        bool found = false;
        for (size_t j = 0; j < run->row_count && !found; j++) {
            const struct tp_row *row = &run->rows[j];
            found = field->is_text ? *text_of(row, field) != '\0'
                                   : number_of(row, field) >= 0;
        }
        if (!found)
            return false;
    }
    return run->row_count > 0;
}

/* What one grouping works with. */
struct maker {
    struct tp_run *run;
    struct tp_groups *groups;
    struct tp_summary *sum;
    struct tp_error *err;
};

/* Adds a bin of the newest group. */
static enum tp_status add_bin(void *context, double lower, double upper,
                              uint64_t count)
{
    struct maker *maker = context;
    struct tp_groups *groups = maker->groups;
    enum tp_status status =
        tp_grow(&groups->bins, &groups->bin_capacity, groups->bin_count + 1,
                sizeof *groups->bins, maker->err);
    if (status == TP_OK)
        groups->bins[groups->bin_count++] =
            (struct tp_group_bin){groups->count, lower, upper, count};
    return status;
}

/* Merges rows [first, end) of one key, which are in row order. */
static enum tp_status add_group(struct maker *maker, const char *group_by,
                                const struct keyed *first,
                                const struct keyed *end)
{
    struct tp_groups *groups = maker->groups;
    if (tp_grow(&groups->rows, &groups->capacity, groups->count + 1,
                sizeof *groups->rows, maker->err) != TP_OK)
        return TP_E_MEMORY;
    struct tp_text key = {0};
    write_key(first->key, first->row, &key);
    memset(maker->sum, 0, sizeof *maker->sum);
    for (const struct keyed *k = first; k < end; k++)
        tp_summary_merge_packed(maker->sum, k->row->packed);
    struct tp_group *group = &groups->rows[groups->count];
    group->group_by = group_by;
    group->key = key.failed ? NULL
                            : tp_arena_text(&maker->run->arena,
                                            tp_text_get(&key), key.length);
    group->tensors = (uint64_t)(end - first);
    group->counts = maker->sum->counts;
    tp_summary_numbers(maker->sum, &group->numbers);
    tp_text_clear(&key);
    if (!group->key)
        return tp_fail_memory(maker->err);
    enum tp_status status = TP_OK;
    if (first->key->count <= 2)
        status = tp_summary_bins(maker->sum, add_bin, maker);
    groups->count += status == TP_OK;
    return status;
}

static enum tp_status group_by(struct maker *maker,
                               const struct tp_grouping *grouping,
                               struct keyed *keyed)
{
    struct tp_run *run = maker->run;
    struct key key;
    look_up(grouping, &key);
    if (!occurs(run, &key))
        return TP_OK;
    for (size_t i = 0; i < run->row_count; i++)
        keyed[i] = (struct keyed){&run->rows[i], &key};
    qsort(keyed, run->row_count, sizeof *keyed, compare_keyed);
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < run->row_count && status == TP_OK; i = end) {
        for (end = i + 1; end < run->row_count; end++) {
            if (compare_keys(&key, keyed[i].row, keyed[end].row))
                break;
        }
        status = add_group(maker, grouping->name, keyed + i, keyed + end);
    }
    return status;
}

enum tp_status tp_groups_make(struct tp_run *run, struct tp_groups *groups,
                              struct tp_error *err)
{
    struct keyed *keyed = calloc(run->row_count + 1, sizeof *keyed);
    struct maker maker = {run, groups, calloc(1, sizeof *maker.sum), err};
    enum tp_status status = keyed && maker.sum ? TP_OK : tp_fail_memory(err);
    for (const struct tp_grouping *g = tp_groupings; g->name && status == TP_OK;
         g++)
        status = group_by(&maker, g, keyed);
    free(keyed);
    free(maker.sum);
    return status;
}

void tp_groups_clear(struct tp_groups *groups)
{
    free(groups->rows);
    free(groups->bins);
    memset(groups, 0, sizeof *groups);
}
