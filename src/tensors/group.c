/* SPDX-License-Identifier: MIT */
/*
 * Groups of rows by their labels: for each grouping of the table, rows are
 * sorted by their keys, and each stretch of equal keys is one group, whose
 * summary is merged from those of its rows. Rows of one key stay in their
 * order, so sums are always taken in row order and come out the same.
 *
 * Labels have few values: these are sorted once, and rows then by counting how
 * many there are of each. A hash table of keys would save that, but hold a
 * summary for every group at a time; after sorting, one summary serves all
 * groups. Cost: a look-up for each row and label, a pass over the rows for each
 * label of a grouping, and one merge of a packed summary for each row of it.
 */
#include "tensors/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/notes.h"
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

/* Places of a field's values in their order, by row; equal ones are one. */
struct codes {
    uint32_t *of_row;
    uint32_t count;
};

/* A grouping with its names looked up. */
struct key {
    const struct field *fields[MAX_FIELDS];
    const struct codes *codes[MAX_FIELDS];
    size_t count;
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

/* --- places in order ------------------------------------------------------ */

/* A value of a field: its text, mostly one pointer for all that are equal, or
 * its number. */
struct value {
    uint64_t bits;
    uint32_t place; /* in the order of all; first, in which it was met     */
    bool used;
};

/* The values of a field that were met, by open addressing. */
struct values {
    struct value *slots;
    size_t capacity, count; /* a power of two; at most half is used        */
};

static uint64_t bits_of(const struct tp_row *row, const struct field *field)
{
    return field->is_text ? (uint64_t)(uintptr_t)text_of(row, field)
                          : (uint64_t)number_of(row, field);
}

static struct value *find_value(const struct values *values, uint64_t bits)
{
    size_t at = (size_t)tp_hash_number(bits);
    while (at &= values->capacity - 1,
           values->slots[at].used && values->slots[at].bits != bits)
        at++;
    return &values->slots[at];
}

static bool double_values(struct values *values)
{
    struct values larger = {.capacity = values->capacity * 2,
                            .count = values->count};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < values->capacity; i++) {
        const struct value *value = &values->slots[i];
        if (value->used)
            *find_value(&larger, value->bits) = *value;
    }
    free(values->slots);
    *values = larger;
    return true;
}

/* The values of a field; each row has the place where its value was met. */
static bool collect_values(const struct tp_run *run, const struct field *field,
                           struct values *values, uint32_t *of_row)
{
    enum { FIRST = 64 };
    *values = (struct values){.capacity = FIRST};
    values->slots = calloc(FIRST, sizeof *values->slots);
    if (!values->slots)
        return false;
    for (size_t i = 0; i < run->row_count; i++) {
        const uint64_t bits = bits_of(&run->rows[i], field);
        struct value *value = find_value(values, bits);
        if (!value->used) {
            *value = (struct value){bits, (uint32_t)values->count++, true};
            of_row[i] = value->place;
            if (values->count > values->capacity / 2 && !double_values(values))
                return false;
        } else {
            of_row[i] = value->place;
        }
    }
    return true;
}

static int compare_texts(const void *left, const void *right)
{
    const struct value *a = left, *b = right;
    return tp_order_text((const char *)(uintptr_t)a->bits,
                         (const char *)(uintptr_t)b->bits);
}

static int compare_numbers(const void *left, const void *right)
{
    const struct value *a = left, *b = right;
    return tp_order_int64((int64_t)a->bits, (int64_t)b->bits);
}

/* Sorts the values; order[place where it was met] becomes the place among all
 * that differ, of which there are *count. */
static void order_values(struct values *values, bool is_text, uint32_t *order,
                         uint32_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < values->capacity; i++)
        if (values->slots[i].used)
            values->slots[n++] = values->slots[i];
    int (*compare)(const void *, const void *) =
        is_text ? compare_texts : compare_numbers;
    qsort(values->slots, n, sizeof *values->slots, compare);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare(&values->slots[i - 1], &values->slots[i]))
            ++*count;
        order[values->slots[i].place] = *count - 1;
    }
}

static enum tp_status make_codes(const struct tp_run *run,
                                 const struct field *field,
                                 struct codes *codes, struct tp_error *err)
{
    struct values values;
    uint32_t *order = NULL;
    codes->of_row = calloc(run->row_count + 1, sizeof *codes->of_row);
    bool good =
        codes->of_row && collect_values(run, field, &values, codes->of_row);
    if (good)
        order = calloc(values.count + 1, sizeof *order);
    if (order) {
        order_values(&values, field->is_text, order, &codes->count);
        for (size_t i = 0; i < run->row_count; i++)
            codes->of_row[i] = order[codes->of_row[i]];
    }
    if (codes->of_row)
        free(values.slots);
    free(order);
    return order ? TP_OK : tp_fail_memory(err);
}

/* Sorts `from` by one field into `to`; rows of one value stay in order. */
static void sort_by(const struct codes *codes, const uint32_t *from,
                    uint32_t *to, size_t n, uint32_t *begin)
{
    memset(begin, 0, (codes->count + 1) * sizeof *begin);
    for (size_t i = 0; i < n; i++)
        begin[codes->of_row[i] + 1]++;
    for (uint32_t i = 0; i < codes->count; i++)
        begin[i + 1] += begin[i];
    for (size_t i = 0; i < n; i++)
        to[begin[codes->of_row[from[i]]]++] = from[i];
}

static bool are_equal(const struct key *key, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < key->count; i++)
        if (key->codes[i]->of_row[a] != key->codes[i]->of_row[b])
            return false;
    return true;
}

/* --- groups --------------------------------------------------------------- */

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

enum { FIELDS = sizeof fields / sizeof *fields };

/* What one grouping works with. */
struct maker {
    struct tp_run *run;
    struct tp_groups *groups;
    struct tp_summary *sum;
    struct codes codes[FIELDS]; /* made when they are first asked for       */
    uint32_t *order, *other;    /* rows                                     */
    uint32_t *begin;            /* of values among sorted rows              */
    struct tp_error *err;
};

static enum tp_status look_up(struct maker *maker,
                              const struct tp_grouping *grouping,
                              struct key *key)
{
    enum tp_status status = TP_OK;
    key->count = 0;
    for (size_t i = 0;
         i < MAX_FIELDS && grouping->labels[i] && status == TP_OK; i++) {
        const struct field *field = fields;
        while (strcmp(field->name, grouping->labels[i]))
            field++;
        struct codes *codes = &maker->codes[field - fields];
        if (!codes->of_row)
            status = make_codes(maker->run, field, codes, maker->err);
        key->codes[key->count] = codes;
        key->fields[key->count++] = field;
    }
    return status;
}

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
                                const struct key *by, const uint32_t *first,
                                const uint32_t *end)
{
    struct tp_groups *groups = maker->groups;
    const struct tp_row *rows = maker->run->rows;
    if (tp_grow(&groups->rows, &groups->capacity, groups->count + 1,
                sizeof *groups->rows, maker->err) != TP_OK)
        return TP_E_MEMORY;
    struct tp_text key = {0};
    write_key(by, &rows[*first], &key);
    memset(maker->sum, 0, sizeof *maker->sum);
    for (const uint32_t *row = first; row < end; row++)
        tp_summary_merge_packed(maker->sum, rows[*row].packed);
    struct tp_group *group = &groups->rows[groups->count];
    group->group_by = group_by;
    group->key = tp_arena_take(&maker->run->arena, &key);
    group->tensors = (uint64_t)(end - first);
    group->counts = maker->sum->counts;
    tp_summary_numbers(maker->sum, &group->numbers);
    if (!group->key)
        return tp_fail_memory(maker->err);
    enum tp_status status = TP_OK;
    if (by->count <= 2)
        status = tp_summary_bins(maker->sum, add_bin, maker);
    groups->count += status == TP_OK;
    return status;
}

/* Sorts the rows by all fields, the last one first. */
static void sort_rows(struct maker *maker, const struct key *key)
{
    const size_t n = maker->run->row_count;
    for (size_t i = 0; i < n; i++)
        maker->order[i] = (uint32_t)i;
    for (size_t i = key->count; i-- > 0;) {
        sort_by(key->codes[i], maker->order, maker->other, n, maker->begin);
        uint32_t *sorted = maker->other;
        maker->other = maker->order;
        maker->order = sorted;
    }
}

static enum tp_status group_by(struct maker *maker,
                               const struct tp_grouping *grouping)
{
    const size_t n = maker->run->row_count;
    struct key key;
    enum tp_status status = look_up(maker, grouping, &key);
    if (status != TP_OK || !occurs(maker->run, &key))
        return status;
    sort_rows(maker, &key);
    const uint32_t *order = maker->order;
    for (size_t i = 0, end; i < n && status == TP_OK; i = end) {
        for (end = i + 1; end < n && are_equal(&key, order[i], order[end]);)
            end++;
        status = add_group(maker, grouping->name, &key, order + i, order + end);
    }
    return status;
}

enum tp_status tp_groups_make(struct tp_run *run, struct tp_groups *groups,
                              struct tp_error *err)
{
    const size_t n = run->row_count + 2;
    struct maker maker = {.run = run,
                          .groups = groups,
                          .sum = calloc(1, sizeof *maker.sum),
                          .order = calloc(n, sizeof *maker.order),
                          .other = calloc(n, sizeof *maker.other),
                          .begin = calloc(n, sizeof *maker.begin),
                          .err = err};
    enum tp_status status =
        maker.sum && maker.order && maker.other && maker.begin && n < UINT32_MAX
            ? TP_OK
            : tp_fail_memory(err);
    for (const struct tp_grouping *g = tp_groupings; g->name && status == TP_OK;
         g++)
        status = group_by(&maker, g);
    for (size_t i = 0; i < FIELDS; i++)
        free(maker.codes[i].of_row);
    free(maker.sum);
    free(maker.order);
    free(maker.other);
    free(maker.begin);
    return status;
}

void tp_groups_clear(struct tp_groups *groups)
{
    free(groups->rows);
    free(groups->bins);
    memset(groups, 0, sizeof *groups);
}
