/* SPDX-License-Identifier: MIT */
/*
 * Units with their digests are sorted, and runs of equal ones are classes. In a
 * class with one unit of each side there is nothing to decide. In others all
 * pairs are rated by their names and the best is taken first (greedy; the best
 * assignment of all would not be truer, as all of a class are equal). Cost: a
 * sort, and the pairs of each class.
 */
#include "compare/content_class.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* Pairs of a class whose names are compared; of a larger class units are taken
 * in their order: 24 bytes each. */
enum { NAME_PAIRS = 1 << 19 };

/* A unit of a side in a dtype. */
struct entry {
    enum tp_dtype dtype;
    int64_t numel;
    uint64_t digest[2];
    size_t side, unit;
    bool own; /* it is stored so                                           */
};

struct maker {
    struct tp_content_matcher *m;
    enum tp_content_kind kind;
    bool casts;
    struct entry *entries;
    size_t count, capacity;
};

/* Entries of A, then of B. */
struct class
{
    const struct entry *at;
    size_t counts[2];
};

/* --- entries -------------------------------------------------------------- */

static int compare_classes(const struct entry *a, const struct entry *b)
{
    int result = tp_order_int64(a->dtype, b->dtype);
    if (result == 0)
        result = tp_order_int64(a->numel, b->numel);
    if (result == 0)
        result = tp_order_uint64(a->digest[0], b->digest[0]);
    return result ? result : tp_order_uint64(a->digest[1], b->digest[1]);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int result = compare_classes(a, b);
    if (result == 0)
        result = tp_order_size(a->side, b->side);
    return result ? result : tp_order_size(a->unit, b->unit);
}

static const struct tp_content_unit *unit_of(const struct maker *maker,
                                             const struct entry *its)
{
    return &maker->m->units[its->side].units[its->unit];
}

static bool is_free(const struct maker *maker, const struct entry *its)
{
    return tp_content_is_free(maker->m, its->side, unit_of(maker, its));
}

/* Adds a unit in every dtype that all its members can be told in. */
static enum tp_status add_entries(struct maker *maker, size_t side,
                                  size_t number, struct tp_error *err)
{
    const struct tp_content_matcher *m = maker->m;
    const struct tp_content_unit *unit = &m->units[side].units[number];
    const struct tp_content_tensor *first =
        tp_content_tensor_at(m, side, unit->items[0]);
    const int views = maker->casts ? first->view_count : 1;
    enum tp_status status = TP_OK;
    if (!tp_content_is_free(m, side, unit) ||
        (unit->count > 1 && maker->kind != TP_CONTENT_BY_FAMILY))
        return TP_OK;
    for (int i = 0; i < views && status == TP_OK; i++) {
        struct entry entry = {.dtype = first->views[i].dtype,
                              .numel = unit->numel,
                              .side = side,
                              .unit = number};
        struct tp_content_digest digest;
        if (!tp_content_unit_digest(&m->content->sides[side], unit, entry.dtype,
                                    &digest, &entry.own))
            continue;
        entry.digest[0] =
            maker->kind == TP_CONTENT_BY_ORDER ? digest.order : digest.bag[0];
        entry.digest[1] = digest.bag[1];
        status = tp_grow(&maker->entries, &maker->capacity, maker->count + 1,
                         sizeof *maker->entries, err);
        if (status == TP_OK)
            maker->entries[maker->count++] = entry;
    }
    return status;
}

/* --- pairs ---------------------------------------------------------------- */

/* Whether two entries may be a pair of this round, free or not. */
static bool fits(const struct maker *maker, const struct entry *a,
                 const struct entry *b)
{
    return (a->own || b->own) &&
           (maker->kind != TP_CONTENT_BY_FAMILY ||
            unit_of(maker, a)->count + unit_of(maker, b)->count > 2);
}

static double score_of(const struct maker *maker, const struct entry *a,
                       const struct entry *b)
{
    const struct tp_content_tensor *x =
        tp_content_tensor_at(maker->m, 0, unit_of(maker, a)->items[0]);
    const struct tp_content_tensor *y =
        tp_content_tensor_at(maker->m, 1, unit_of(maker, b)->items[0]);
    return tp_content_alike(x->key, y->key) +
           tp_content_alike(x->full, y->full) / 16 +
           (tp_content_same_shape(x, y) ? 1.0 / 64 : 0);
}

static enum tp_status claim_pair(struct maker *maker, const struct entry *a,
                                 const struct entry *b, bool copy,
                                 struct tp_error *err)
{
    const struct tp_content_sides sides = {
        .units = {{unit_of(maker, a)}, {unit_of(maker, b)}},
        .counts = {1, 1},
        .dtype = a->dtype,
        .kind = maker->kind,
        .copy = copy};
    return tp_content_claim_add(maker->m, &sides, err);
}

struct rated {
    double score;
    size_t a, b;
};

static int compare_rated(const void *left, const void *right)
{
    const struct rated *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    const int result = tp_order_size(a->a, b->a);
    return result ? result : tp_order_size(a->b, b->b);
}

/* Pairs whose names are most alike come first. */
static enum tp_status pair_by_names(struct maker *maker,
                                    const struct class *class,
                                    struct tp_error *err)
{
    const size_t all = class->counts[0] * class->counts[1];
    struct rated *rated = calloc(all, sizeof *rated);
    enum tp_status status = rated ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < all && rated; i++) {
        const size_t a = i / class->counts[1];
        const size_t b = class->counts[0] + i % class->counts[1];
        rated[i] =
            (struct rated){score_of(maker, &class->at[a], &class->at[b]), a, b};
    }
    if (rated)
        qsort(rated, all, sizeof *rated, compare_rated);
    for (size_t i = 0; i < all && status == TP_OK; i++) {
        const struct entry *a = &class->at[rated[i].a];
        const struct entry *b = &class->at[rated[i].b];
        if (fits(maker, a, b) && is_free(maker, a) && is_free(maker, b))
            status = claim_pair(maker, a, b, false, err);
    }
    free(rated);
    return status;
}

static enum tp_status pair_in_order(struct maker *maker,
                                    const struct class *class,
                                    struct tp_error *err)
{
    const size_t first = class->counts[0], end = first + class->counts[1];
    enum tp_status status = TP_OK;
    for (size_t i = 0, next = first; i < first && next < end; i++) {
        const struct entry *a = &class->at[i];
        size_t k = next;
        while (k < end && !(fits(maker, a, &class->at[k]) &&
                            is_free(maker, &class->at[k])))
            k++;
        if (k == end || !is_free(maker, a))
            continue;
        next = k + 1;
        status = claim_pair(maker, a, &class->at[k], false, err);
        if (status != TP_OK)
            return status;
    }
    return status;
}

/* What is left over on one side is a copy of what it is most like. */
static enum tp_status add_copies(struct maker *maker, const struct class *class,
                                 size_t side, struct tp_error *err)
{
    const size_t first[2] = {0, class->counts[0]};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < class->counts[side] && status == TP_OK; i++) {
        const struct entry *its = &class->at[first[side] + i];
        const struct entry *best = NULL;
        double most = -1;
        const size_t others = class->counts[!side];
        if (!is_free(maker, its))
            continue;
        for (size_t k = 0; k < others && (k == 0 || others < NAME_PAIRS >> 8);
             k++) {
            const struct entry *other = &class->at[first[!side] + k];
            const double score = side ? score_of(maker, other, its)
                                      : score_of(maker, its, other);
            if (score <= most || !fits(maker, its, other))
                continue;
            most = score;
            best = other;
        }
        if (best)
            status = side ? claim_pair(maker, best, its, true, err)
                          : claim_pair(maker, its, best, true, err);
    }
    return status;
}

static enum tp_status claim_class(struct maker *maker,
                                  const struct class *class,
                                  struct tp_error *err)
{
    if (class->counts[0] == 0 || class->counts[1] == 0)
        return TP_OK;
    enum tp_status status = class->counts[0] <= NAME_PAIRS / class->counts[1]
                                ? pair_by_names(maker, class, err)
                                : pair_in_order(maker, class, err);
    for (size_t side = 0;
         side < 2 && status == TP_OK && maker->kind != TP_CONTENT_BY_FAMILY;
         side++)
        status = add_copies(maker, class, side, err);
    return status;
}

enum tp_status tp_content_claim_classes(struct tp_content_matcher *m,
                                        enum tp_content_kind kind, bool casts,
                                        struct tp_error *err)
{
    struct maker maker = {.m = m, .kind = kind, .casts = casts};
    enum tp_status status = TP_OK;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < m->units[side].count && status == TP_OK; i++)
            status = add_entries(&maker, side, i, err);
    if (status == TP_OK && maker.count)
        qsort(maker.entries, maker.count, sizeof *maker.entries,
              compare_entries);
    for (size_t i = 0; i < maker.count && status == TP_OK;) {
        struct class class = {.at = &maker.entries[i]};
        for (; i < maker.count &&
               compare_classes(class.at, &maker.entries[i]) == 0;
             i++)
            class.counts[maker.entries[i].side]++;
        status = claim_class(&maker, &class, err);
    }
    free(maker.entries);
    return status;
}
