/* SPDX-License-Identifier: MIT */
/*
 * A dump does not say what is sharded. So of each kind of tensor (a parameter
 * of all layers, the weights that one line of the program uses) the grouping
 * of ranks by equal contents that most of its tensors have is taken for what
 * is meant: all ranks, every second rank, none. A tensor that splits a group
 * has a copy that differs. Kinds of which there are too few tells this way
 * only what nearly is a copy: half of the elements equal, bit by bit, or all
 * statistics within a thousandth, which parts of a whole have only by chance.
 * To know the layout of the ranks from the configuration would be simpler;
 * msprobe does not record it. Cost: n log n comparisons of names, and one
 * comparison of two tensors for each copy that differs.
 */
#include "dump/dump_copies.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/order.h"
#include "dump/dump_copy_list.h"
#include "dump/dump_pair.h"

/* Tensors of a kind from which on most of them tell how it is shared. */
enum { KIND_LEAST = 3 };

/* Statistics of copies that drifted apart. Means of two parts of a random
 * whole are independent, and as near in one case of a thousand. */
static const double near_enough = 1e-3;

static const char *const category_words[] = {[TP_COPY_PARAMETER] = "parameter",
                                             [TP_COPY_WEIGHT] = "weight",
                                             [TP_COPY_COLLECTIVE] =
                                                 "collective"};

/* A tensor: its copies [first, end) of the list. */
struct key {
    size_t first, end;
    size_t same; /* keys of the kind that are grouped alike                */
};

struct judge {
    const struct tp_dump *dump;
    const struct tp_copy *copies; /* of the step                           */
    struct tp_dump_copies *out;
    struct key *keys; /* of the kind                                       */
    size_t key_count;
    const struct key *usual; /* grouped as most of the kind are; or NULL   */
    bool near; /* half of the others are nearly copies                     */
};

/* --- copies -----------------------------------------------------------------
 */

static const struct tp_dump_item *item_of(const struct judge *judge,
                                          const struct tp_copy *copy)
{
    return &judge->dump->places[copy->place].items[copy->item];
}

static bool near_numbers(const struct tp_dump_number *a,
                         const struct tp_dump_number *b)
{
    return a->kind != TP_JSON_NULL && b->kind != TP_JSON_NULL &&
           fabs(a->real - b->real) <=
               near_enough * fmax(fabs(a->real), fabs(b->real));
}

/* Whether two copies that differ were one; `share`: of elements that differ, 0
 * where only what the json says of them does. */
static enum tp_status is_near(const struct judge *judge,
                              const struct tp_copy *a, const struct tp_copy *b,
                              bool *near, double *share, struct tp_error *err)
{
    const struct tp_dump_item *x = item_of(judge, a), *y = item_of(judge, b);
    struct tp_dump_pair pair = {.read = false};
    enum tp_status status = TP_OK;
    *share = NAN;
    *near = tp_dump_item_numel(x) == tp_dump_item_numel(y);
    if (*near && x->file && y->file)
        status = tp_dump_pair_compare(x, y, &pair, &judge->out->unread,
                                      &judge->out->arena, err);
    if (pair.read && pair.numel)
        *share = (double)pair.differing / (double)pair.numel;
    bool told = true;
    for (int i = 0; i < TP_DUMP_STATS; i++)
        told &= near_numbers(&x->stats[i], &y->stats[i]);
    *near &= told || *share <= 0.5;
    return status;
}

/* The first of the copies whose value most of [0, count) have; NULL: no value
 * has more than half of them. */
static const struct tp_copy *most_common(const struct tp_copy *const *members,
                                         size_t count, size_t *agree)
{
    const struct tp_copy *best = NULL;
    *agree = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < count; k++)
            same += members[k]->value == members[i]->value;
        if (same > *agree) {
            *agree = same;
            best = members[i];
        }
    }
    return *agree * 2 > count ? best : NULL;
}

/* --- rows --------------------------------------------------------------------
 */

static double norm_difference(const struct tp_dump_item *a,
                              const struct tp_dump_item *b)
{
    const struct tp_dump_number *x = &a->stats[TP_DUMP_NORM];
    const struct tp_dump_number *y = &b->stats[TP_DUMP_NORM];
    const double scale = fmax(fabs(x->real), fabs(y->real));
    return x->kind == TP_JSON_NULL || y->kind == TP_JSON_NULL
               ? NAN
               : fabs(x->real - y->real) / (scale > 0 ? scale : 1);
}

/* What copies were compared with, and how many of them have it. */
struct verdict {
    const struct tp_copy *reference;
    size_t ranks, agree;
};

static enum tp_status add_row(struct judge *judge, const struct tp_copy *odd,
                              const struct verdict *verdict, double share,
                              struct tp_error *err)
{
    struct tp_dump_copies *out = judge->out;
    const struct tp_dump_place *place = &judge->dump->places[odd->place];
    struct tp_text name = {0};
    enum tp_status status = tp_grow(&out->rows, &out->capacity, out->count + 1,
                                    sizeof *out->rows, err);
    if (status != TP_OK)
        return status;
    tp_dump_item_name(&place->calls[odd->call], item_of(judge, odd), "kwargs",
                      &name);
    const char *own = tp_arena_take(&out->arena, &name);
    out->rows[out->count++] = (struct tp_dump_copy_row){
        .step = place->step,
        .rank = odd->rank,
        .reference = verdict->reference->rank,
        .kind = category_words[odd->category],
        .name = own ? own : "",
        .order = (int64_t)odd->call,
        .ranks = (int64_t)verdict->ranks,
        .agree = (int64_t)verdict->agree,
        .share = share,
        .norm = norm_difference(item_of(judge, odd),
                                item_of(judge, verdict->reference))};
    return TP_OK;
}

/* Whether another tensor of the kind has what this copy has: then calls are
 * numbered otherwise on its rank, and nothing can be said. */
static bool is_elsewhere(const struct judge *judge, const struct tp_copy *odd)
{
    bool found = false;
    if (odd->category != TP_COPY_WEIGHT)
        return false;
    for (size_t i = 0; i < judge->key_count && !found; i++)
        for (size_t k = judge->keys[i].first; k < judge->keys[i].end && !found;
             k++)
            found = strcmp(judge->copies[k].key, odd->key) != 0 &&
                    tp_copy_same(item_of(judge, &judge->copies[k]),
                                 item_of(judge, odd));
    return found;
}

/* Copies that should be equal: says which are not. */
static enum tp_status judge_members(struct judge *judge,
                                    const struct tp_copy *const *members,
                                    size_t count, bool need_near,
                                    struct tp_error *err)
{
    size_t agree;
    const struct tp_copy *usual = most_common(members, count, &agree);
    const struct tp_copy *reference = usual ? usual : members[0];
    const struct verdict verdict = {reference, count, usual ? agree : 0};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        bool near;
        double share;
        if (members[i]->value == reference->value ||
            is_elsewhere(judge, members[i]))
            continue;
        status = is_near(judge, reference, members[i], &near, &share, err);
        if (status == TP_OK && (near || !need_near) && share != 0)
            status = add_row(judge, members[i], &verdict, share, err);
    }
    return status;
}

/* --- keys --------------------------------------------------------------------
 */

static bool is_equal(const struct judge *judge, const struct key *key)
{
    bool equal = true;
    for (size_t i = key->first; i < key->end; i++)
        equal &= judge->copies[i].value == 0;
    return equal;
}

/* Whether two tensors are on the same ranks, grouped alike. */
static bool grouped_alike(const struct judge *judge, const struct key *a,
                          const struct key *b)
{
    const size_t count = a->end - a->first;
    bool alike = count == b->end - b->first;
    for (size_t i = 0; i < count && alike; i++) {
        const struct tp_copy *x = &judge->copies[a->first + i];
        const struct tp_copy *y = &judge->copies[b->first + i];
        alike = x->rank == y->rank && x->value == y->value;
    }
    return alike;
}

static bool same_ranks(const struct judge *judge, const struct key *a,
                       const struct key *b)
{
    const size_t count = a->end - a->first;
    bool same = count == b->end - b->first;
    for (size_t i = 0; i < count && same; i++)
        same = judge->copies[a->first + i].rank ==
               judge->copies[b->first + i].rank;
    return same;
}

/* The first tensor of the kind that is grouped as this one is. */
static struct key *first_alike(const struct judge *judge, const struct key *key)
{
    struct key *one = judge->keys;
    while (one < key && !(one->same && grouped_alike(judge, key, one)))
        one++;
    return one;
}

/* The grouping that two thirds of the kind have, if there is one. */
static void find_usual(struct judge *judge)
{
    const struct key *best = NULL;
    judge->usual = NULL;
    for (size_t i = 0; i < judge->key_count; i++)
        first_alike(judge, &judge->keys[i])->same++;
    for (size_t i = 0; i < judge->key_count; i++)
        if (!best || judge->keys[i].same > best->same)
            best = &judge->keys[i];
    if (best && judge->key_count >= KIND_LEAST &&
        best->same * 3 >= judge->key_count * 2)
        judge->usual = best;
}

/* Whether half of the tensors that are not equal are nearly so. */
static enum tp_status find_near(struct judge *judge, struct tp_error *err)
{
    size_t other = 0, near = 0;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < judge->key_count && status == TP_OK; i++) {
        const struct key *key = &judge->keys[i];
        const struct tp_copy *first = &judge->copies[key->first];
        bool one = false;
        double share;
        size_t k = key->first;
        while (k < key->end && judge->copies[k].value == 0)
            k++;
        if (k == key->end)
            continue;
        other++;
        status = is_near(judge, first, &judge->copies[k], &one, &share, err);
        near += one;
    }
    judge->near = other && near * 2 >= other;
    return status;
}

/* Judges a tensor group by group of the usual grouping. */
static enum tp_status judge_groups(struct judge *judge, const struct key *key,
                                   const struct tp_copy **members,
                                   struct tp_error *err)
{
    const struct tp_copy *usual = &judge->copies[judge->usual->first];
    const size_t count = key->end - key->first;
    enum tp_status status = TP_OK;
    for (size_t group = 0; group < count && status == TP_OK; group++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++)
            if (usual[i].value == group)
                members[found++] = &judge->copies[key->first + i];
        if (found > 1)
            status = judge_members(judge, members, found, false, err);
    }
    return status;
}

static enum tp_status judge_key(struct judge *judge, const struct key *key,
                                struct tp_error *err)
{
    const size_t count = key->end - key->first;
    enum tp_status status = TP_OK;
    judge->out->compared++;
    if (is_equal(judge, key)) {
        judge->out->equal++;
        return TP_OK;
    }
    const size_t before = judge->out->count;
    const struct tp_copy **members = calloc(count, sizeof *members);
    if (!members)
        return tp_fail_memory(err);
    if (judge->usual && same_ranks(judge, key, judge->usual))
        status = judge_groups(judge, key, members, err);
    for (size_t i = 0; i < count; i++)
        members[i] = &judge->copies[key->first + i];
    if (status == TP_OK && judge->near && judge->out->count == before)
        status = judge_members(judge, members, count, true, err);
    judge->out->sharded += judge->out->count == before;
    free(members);
    return status;
}

/* --- kinds -------------------------------------------------------------------
 */

/* Whether two copies are of one kind and, if asked for, of one tensor. */
static bool belong(const struct tp_copy *a, const struct tp_copy *b, bool key)
{
    return a->category == b->category && !strcmp(a->kind, b->kind) &&
           (!key || !strcmp(a->key, b->key));
}

/* The copies [first, end) are of one kind. */
static enum tp_status judge_kind(struct judge *judge, size_t first, size_t end,
                                 struct tp_error *err)
{
    judge->keys = calloc(end - first, sizeof *judge->keys);
    judge->key_count = 0;
    if (!judge->keys)
        return tp_fail_memory(err);
    for (size_t i = first, next; i < end; i = next) {
        for (next = i + 1; next < end && belong(&judge->copies[i],
                                                &judge->copies[next], true);)
            next++;
        if (next - i > 1)
            judge->keys[judge->key_count++] = (struct key){i, next, 0};
    }
    find_usual(judge);
    enum tp_status status = find_near(judge, err);
    for (size_t i = 0; i < judge->key_count && status == TP_OK; i++)
        status = judge_key(judge, &judge->keys[i], err);
    free(judge->keys);
    return status;
}

static enum tp_status judge_step(const struct tp_dump *dump, size_t first,
                                 size_t end, struct tp_dump_copies *copies,
                                 struct tp_error *err)
{
    struct tp_copy_list list;
    enum tp_status status = tp_copy_list_make(dump, first, end, &list, err);
    struct judge judge = {.dump = dump, .copies = list.copies, .out = copies};
    for (size_t i = 0, next; i < list.count && status == TP_OK; i = next) {
        for (next = i + 1; next < list.count &&
                           belong(&list.copies[i], &list.copies[next], false);)
            next++;
        status = judge_kind(&judge, i, next, err);
    }
    tp_copy_list_clear(&list);
    return status;
}

/* --- findings ----------------------------------------------------------------
 */

/* By kind and rank, in time: what one finding is about. */
static int compare_findings(const void *left, const void *right)
{
    const struct tp_dump_copy_row *a = left, *b = right;
    int result = strcmp(a->kind, b->kind);
    if (result == 0)
        result = tp_order_int64(a->rank, b->rank);
    if (result == 0)
        result = tp_order_int64(a->agree > 0, b->agree > 0);
    if (result == 0)
        result = tp_order_int64(a->step, b->step);
    if (result == 0)
        result = tp_order_int64(a->order, b->order);
    return result ? result : strcmp(a->name, b->name);
}

/* The worst first: by elements, then by norms; what is not known last. */
static int compare_worst(const void *left, const void *right)
{
    const struct tp_dump_copy_row *a = left, *b = right;
    int result = tp_order_int64(isnan(a->share), isnan(b->share));
    if (result == 0)
        result = tp_order_double(b->share, a->share);
    if (result == 0)
        result = tp_order_int64(isnan(a->norm), isnan(b->norm));
    if (result == 0)
        result = tp_order_double(b->norm, a->norm);
    return result ? result : compare_findings(left, right);
}

static bool one_finding(const struct tp_dump_copy_row *a,
                        const struct tp_dump_copy_row *b)
{
    return !strcmp(a->kind, b->kind) && a->rank == b->rank &&
           (a->agree > 0) == (b->agree > 0);
}

/* Whether a rank has a finding about parameters already: weights that functions
 * are given are the same, seen once more. Rows are as compare_findings has
 * them. */
static bool is_told(const struct tp_dump_copies *copies,
                    const struct tp_dump_copy_row *row)
{
    bool told = false;
    for (size_t i = 0; i < copies->count && !told; i++)
        told =
            !strcmp(copies->rows[i].kind, category_words[TP_COPY_PARAMETER]) &&
            copies->rows[i].rank == row->rank;
    return told && !strcmp(row->kind, category_words[TP_COPY_WEIGHT]);
}

/* What `count` rows from `row` on say. */
static void add_evidence(const struct tp_dump_copy_row *row, size_t count,
                         struct tp_text *text)
{
    if (row->agree)
        tp_text_add(text,
                    "Rank %" PRId64 "'s copy of %s differs from what %" PRId64
                    " of %" PRId64 " ranks have",
                    row->rank, row->name, row->agree, row->ranks);
    else
        tp_text_add(text,
                    "The copies of %s on ranks %" PRId64 " and %" PRId64
                    " differ",
                    row->name, row->reference, row->rank);
    if (!isnan(row->share))
        tp_text_add(text, ", in %.3g %% of the elements", 100 * row->share);
    if (row->norm > 0)
        tp_text_add(text, "; the norms by %.3g %%", 100 * row->norm);
    tp_text_add(text, ".");
    if (count > 1)
        tp_text_add(text, " So do %zu more of this rank; see the table copies.",
                    count - 1);
}

static enum tp_status add_finding(const struct tp_dump_copy_row *row,
                                  size_t count,
                                  struct tp_dump_findings *findings,
                                  struct tp_error *err)
{
    const struct tp_dump_place place = {.step = row->step, .rank = row->rank};
    struct tp_dump_finding *finding;
    struct tp_text text = {0};
    enum tp_status status = tp_dump_finding_add(
        findings, TP_CHECK_COPIES, TP_SEVERITY_MEDIUM, &place, &finding, err);
    if (status != TP_OK)
        return status;
    add_evidence(row, count, &text);
    finding->order = row->order;
    finding->name = tp_dump_finding_text(findings, "%s", row->name);
    finding->expected = "equal on all ranks that share it";
    finding->found = "different";
    finding->evidence = tp_arena_words(&findings->arena, &text);
    finding->suggestion =
        !strcmp(row->kind, "collective")
            ? "A collective leaves the same on all its ranks: look at the "
              "link and the device of this one, and for a result that was "
              "used before it was waited for."
            : "Weights drift apart when ranks start from different ones, when "
              "a gradient is not reduced, or when an update is not "
              "deterministic: compare the first step, then the reduced "
              "gradients.";
    tp_text_clear(&text);
    return TP_OK;
}

static enum tp_status add_findings(struct tp_dump_copies *copies,
                                   struct tp_dump_findings *findings,
                                   struct tp_error *err)
{
    struct tp_dump_copy_row *rows = copies->rows;
    enum tp_status status = TP_OK;
    if (copies->count)
        qsort(rows, copies->count, sizeof *rows, compare_findings);
    for (size_t i = 0, end; i < copies->count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < copies->count && one_finding(&rows[i], &rows[end]);)
            end++;
        if (!is_told(copies, &rows[i]))
            status = add_finding(&rows[i], end - i, findings, err);
    }
    if (copies->count)
        qsort(rows, copies->count, sizeof *rows, compare_worst);
    return status;
}

/* --- the whole
 * ---------------------------------------------------------------- */

enum tp_status tp_dump_copies_find(const struct tp_dump *dump,
                                   struct tp_dump_copies *copies,
                                   struct tp_dump_findings *findings,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < dump->place_count && status == TP_OK; i = end) {
        for (end = i + 1; end < dump->place_count &&
                          dump->places[end].step == dump->places[i].step;)
            end++;
        if (end - i > 1)
            status = judge_step(dump, i, end, copies, err);
    }
    return status == TP_OK ? add_findings(copies, findings, err) : status;
}

void tp_dump_copies_clear(struct tp_dump_copies *copies)
{
    free(copies->rows);
    tp_arena_clear(&copies->arena);
    memset(copies, 0, sizeof *copies);
}

static const struct tp_column columns[] = {
    TP_COLUMN(struct tp_dump_copy_row, step, "1"),
    TP_COLUMN(struct tp_dump_copy_row, rank, "1"),
    TP_COLUMN(struct tp_dump_copy_row, reference, "1"),
    TP_COLUMN(struct tp_dump_copy_row, kind, ""),
    TP_COLUMN(struct tp_dump_copy_row, name, ""),
    TP_COLUMN(struct tp_dump_copy_row, order, "1"),
    TP_COLUMN(struct tp_dump_copy_row, ranks, "1"),
    TP_COLUMN(struct tp_dump_copy_row, agree, "1"),
    TP_COLUMN(struct tp_dump_copy_row, share, "1"),
    TP_COLUMN(struct tp_dump_copy_row, norm, "1"),
};

void tp_dump_copies_table(const struct tp_dump_copies *copies,
                          struct tp_table *table)
{
    *table = TP_TABLE_OF("copies", columns, copies->rows, copies->count);
}
