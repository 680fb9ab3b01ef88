/* SPDX-License-Identifier: MIT */
/*
 * Which rows are the same tensor in two quant types. Rows are sorted by all
 * that has to be equal, then by quant type, highest precision first, then by
 * sample and group; a run of rows that are equal so far is one tensor, and the
 * partner of a row among those of another type is searched there by halving. A
 * hash table would find them, too, but not in an order that is the same in
 * every run. O(rows log rows), and the pairs.
 */
#include "tensors/pair_find.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

/* A row with what is compared often. */
struct candidate {
    const struct tp_row *row;
    const char *name; /* tensor_name, gradients under their true one */
};

const char *tp_pair_type(const struct tp_row *row)
{
    return row->label.quant_type[0] ? row->label.quant_type
                                    : tp_row_dtype_word(row);
}

/* Bits of the number format that a quant type means, or of the dtype. */
static int bits_of(const struct tp_row *row)
{
    static const struct {
        const char *type;
        int bits;
    } words[] = {{"fp64", 64}, {"fp32", 32}, {"tf32", 19}};
    const char *type = tp_pair_type(row);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(type, words[i].type))
            return words[i].bits;
    }
    const struct tp_number *number = tp_number_by_quant_type(type);
    if (number)
        return number->bits;
    enum tp_dtype dtype = tp_dtype_by_name(type);
    dtype = dtype == TP_DTYPE_COUNT ? row->dtype : dtype;
    return 8 * tp_dtype_info(dtype)->code_size;
}

int tp_pair_compare_types(const struct tp_row *a, const struct tp_row *b)
{
    const char *left = tp_pair_type(a), *right = tp_pair_type(b);
    if (!strcmp(left, right))
        return 0;
    const int order = bits_of(b) - bits_of(a);
    return order ? order : strcmp(left, right);
}

/* Whether there is anything to compare. */
static bool fits(const struct tp_row *x, const struct tp_row *y)
{
    return x->counts.numel > 0 &&
           tp_dtype_info(x->dtype)->parts == tp_dtype_info(y->dtype)->parts;
}

/* What has to be equal. */
static int compare_tensors(const struct candidate *a, const struct candidate *b)
{
    const struct tp_row *p = a->row, *q = b->row;
    const struct tp_label *l = &p->label, *m = &q->label;
    const int64_t left[] = {l->iteration, l->layer_idx, l->rank, p->ordinal};
    const int64_t right[] = {m->iteration, m->layer_idx, m->rank, q->ordinal};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] != right[i])
            return tp_order_int64(left[i], right[i]);
    }
    const char *const texts[] = {a->name,  l->layer_type, l->operation,
                                 l->phase, l->component,  p->shape,
                                 p->path};
    const char *const others[] = {b->name,  m->layer_type, m->operation,
                                  m->phase, m->component,  q->shape,
                                  q->path};
    int order = 0;
    for (size_t i = 0; order == 0 && i < sizeof texts / sizeof *texts; i++)
        order = tp_order_text(texts[i], others[i]);
    return order;
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_tensors(a, b);
    if (order == 0)
        order = tp_pair_compare_types(a->row, b->row);
    if (order == 0)
        order =
            tp_order_int64(a->row->label.sample_idx, b->row->label.sample_idx);
    return order ? order : tp_order_place(a->row, b->row);
}

/* --- partners ------------------------------------------------------------- */

/* The rows of a tensor in one quant type, by sample. */
struct types {
    const struct candidate *rows;
    size_t count;
};

static int64_t sample_of(const struct types *type, size_t i)
{
    return type->rows[i].row->label.sample_idx;
}

/* Whether all rows are of one sample. */
static bool is_single(const struct types *type)
{
    return sample_of(type, 0) == sample_of(type, type->count - 1);
}

static bool is_same_group(const struct tp_row *a, const struct tp_row *b)
{
    const int64_t its = a->label.group_idx, other = b->label.group_idx;
    return its == other || its < 0 || other < 0;
}

/* Weights are the same for all samples. */
static bool is_weight(const struct tp_row *row)
{
    return row->label.roles & (TP_ROLE_WEIGHT | TP_ROLE_BIAS);
}

/* The row of `type` that is the same tensor as row i of `other`, or NULL. */
static const struct tp_row *partner_of(const struct types *type,
                                       const struct types *other, size_t i)
{
    const struct tp_row *row = other->rows[i].row;
    int64_t sample = row->label.sample_idx;
    if ((sample < 0 || sample_of(type, 0) < 0) &&
        (is_weight(row) || (is_single(type) && is_single(other))))
        sample = sample_of(type, 0);
    size_t at;
    TP_PARTITION_POINT(at, type->count, sample_of(type, at) < sample);
    for (; at < type->count && sample_of(type, at) == sample; at++) {
        if (is_same_group(type->rows[at].row, row))
            return type->rows[at].row;
    }
    return NULL;
}

static enum tp_status add_pairs(const struct types *x, const struct types *y,
                                bool based, struct tp_pairs *pairs,
                                struct tp_error *err)
{
    const struct tp_row *rows = pairs->run->rows;
    for (size_t i = 0; i < y->count; i++) {
        const struct tp_row *partner = partner_of(x, y, i);
        if (!partner || !fits(partner, y->rows[i].row))
            continue;
        if (tp_grow(&pairs->rows, &pairs->capacity, pairs->count + 1,
                    sizeof *pairs->rows, err) != TP_OK)
            return TP_E_MEMORY;
        pairs->rows[pairs->count++] =
            (struct tp_pair){.x = (size_t)(partner - rows),
                             .y = (size_t)(y->rows[i].row - rows),
                             .based = based,
                             .error = ""};
    }
    return TP_OK;
}

/* The rows of the first quant type of `count` candidates. */
static struct types first_type(const struct candidate *rows, size_t count)
{
    size_t n = 1;
    while (n < count && tp_pair_compare_types(rows[0].row, rows[n].row) == 0)
        n++;
    return (struct types){rows, n};
}

/* Pairs up the quant types of one tensor. */
static enum tp_status pair_up(const struct candidate *rows, size_t count,
                              bool all, struct tp_pairs *pairs,
                              struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && (all || i == 0);) {
        const struct types x = first_type(rows + i, count - i);
        const bool based = i == 0;
        i += x.count;
        for (size_t j = i; j < count && status == TP_OK;) {
            const struct types y = first_type(rows + j, count - j);
            status = add_pairs(&x, &y, based, pairs, err);
            j += y.count;
        }
    }
    return status;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct tp_pair *a = left, *b = right;
    return a->x != b->x ? tp_order_size(a->x, b->x) : tp_order_size(a->y, b->y);
}

enum tp_status tp_pairs_find(const struct tp_run *run, bool all,
                             struct tp_pairs *pairs, struct tp_error *err)
{
    const size_t count = run->row_count;
    struct candidate *rows = calloc(count + 1, sizeof *rows);
    enum tp_status status = rows ? TP_OK : tp_fail_memory(err);
    pairs->run = run;
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = (struct candidate){
            &run->rows[i],
            tp_label_true_name(&run->rows[i].label, run->rows[i].path)};
    if (rows && count)
        qsort(rows, count, sizeof *rows, compare_candidates);
    for (size_t i = 0, end; i < count && status == TP_OK; i = end) {
        end = i + 1;
        while (end < count && compare_tensors(&rows[i], &rows[end]) == 0)
            end++;
        status = pair_up(rows + i, end - i, all, pairs, err);
    }
    free(rows);
    if (pairs->count)
        qsort(pairs->rows, pairs->count, sizeof *pairs->rows, compare_pairs);
    return status;
}

void tp_pairs_clear(struct tp_pairs *pairs)
{
    tp_arena_clear(&pairs->arena);
    free(pairs->rows);
    free(pairs->worst);
    free(pairs->scatters);
    memset(pairs, 0, sizeof *pairs);
}
