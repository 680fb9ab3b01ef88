/* SPDX-License-Identifier: MIT */
/*
 * Claims of a round are disjoint, so that each is compared by a task of its own
 * and the order of tasks decides nothing. A claim by the order of elements is
 * true or dropped. One by a bag is tried in order, with axes permuted, along
 * each axis, its parts in each order, and by rows; if nothing of that holds,
 * equal bags of 128 bits are left, which say that the elements are the same
 * and no more. Cost: one reading of both sides, mostly.
 */
#include "compare/content_claim.h"

#include <stdlib.h>
#include <string.h>

const struct tp_content_tensor *tp_content_tensor_at(
    const struct tp_content_matcher *m, size_t side, size_t item)
{
    return &m->content->sides[side].tensors[item];
}

bool tp_content_is_free(const struct tp_content_matcher *m, size_t side,
                        const struct tp_content_unit *unit)
{
    for (size_t i = 0; i < unit->count; i++)
        if (m->taken[side][unit->items[i]] ||
            tp_content_tensor_at(m, side, unit->items[i])->numel == 0)
            return false;
    return true;
}

static void set_taken(struct tp_content_matcher *m,
                      const struct tp_content_match *match, bool taken)
{
    for (size_t side = 0; side < 2 && !match->copy; side++)
        for (size_t i = 0; i < match->counts[side]; i++)
            m->taken[side][match->items[side][i]] = taken;
}

/* --- claims --------------------------------------------------------------- */

/* All of both sides are one value. */
static bool is_constant(const struct tp_content_matcher *m,
                        const struct tp_content_match *match)
{
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < match->counts[side]; i++)
            if (!tp_content_tensor_at(m, side, match->items[side][i])->constant)
                return false;
    return true;
}

static bool is_cast(const struct tp_content_matcher *m,
                    const struct tp_content_match *match)
{
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < match->counts[side]; i++)
            if (tp_content_tensor_at(m, side, match->items[side][i])
                    ->views[0]
                    .dtype != match->dtype)
                return true;
    return false;
}

bool tp_content_same_shape(const struct tp_content_tensor *a,
                           const struct tp_content_tensor *b)
{
    return a->shape_text == b->shape_text ||
           !strcmp(a->shape_text, b->shape_text);
}

/* Collects the tensors of a side; false: no memory. */
static bool set_items(struct tp_content_matcher *m,
                      const struct tp_content_sides *sides, size_t side,
                      struct tp_content_claim *claim)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < sides->counts[side]; i++)
        all += sides->units[side][i]->count;
    size_t *items = tp_arena_alloc(&m->content->arena, all * sizeof *items);
    for (size_t i = 0; items && i < sides->counts[side]; i++) {
        const struct tp_content_unit *unit = sides->units[side][i];
        memcpy(items + at, unit->items, unit->count * sizeof *items);
        at += unit->count;
        claim->family |= unit->count > 1;
        if (sides->counts[side] == 1)
            continue;
        claim->part_side = side;
        claim->parts[claim->part_count++] = unit->count;
    }
    claim->match.items[side] = items;
    claim->match.counts[side] = all;
    return items != NULL;
}

enum tp_status tp_content_claim_add(struct tp_content_matcher *m,
                                    const struct tp_content_sides *sides,
                                    struct tp_error *err)
{
    struct tp_content_claim claim = {
        .match = {.dtype = sides->dtype, .copy = sides->copy},
        .kind = sides->kind};
    if (!set_items(m, sides, 0, &claim) || !set_items(m, sides, 1, &claim))
        return tp_fail_memory(err);
    claim.family &= claim.part_count == 0;
    claim.match.constant = is_constant(m, &claim.match);
    claim.match.cast = is_cast(m, &claim.match);
    enum tp_status status = tp_grow(&m->claims, &m->claim_capacity,
                                    m->claim_count + 1, sizeof *m->claims, err);
    if (status != TP_OK)
        return status;
    m->claims[m->claim_count++] = claim;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < claim.match.counts[side]; i++)
            m->taken[side][claim.match.items[side][i]] = true;
    return TP_OK;
}

/* What was found is what. */
static enum tp_content_relation relation_of(
    const struct tp_content_matcher *m, const struct tp_content_claim *claim)
{
    const struct tp_content_match *match = &claim->match;
    if (match->counts[0] > 1 && match->counts[1] > 1)
        return TP_CONTENT_RESHARDED;
    if (match->counts[0] + match->counts[1] > 2)
        return claim->family ? TP_CONTENT_SPLIT : TP_CONTENT_FUSED;
    switch (match->proof.how) {
    case TP_CONTENT_IN_ORDER:
        return tp_content_same_shape(
                   tp_content_tensor_at(m, 0, match->items[0][0]),
                   tp_content_tensor_at(m, 1, match->items[1][0]))
                   ? TP_CONTENT_EQUAL
                   : TP_CONTENT_RESHAPED;
    case TP_CONTENT_PERMUTED:
        return TP_CONTENT_TRANSPOSED;
    default:
        return TP_CONTENT_SAME_ELEMENTS;
    }
}

/* Whether 128 bits of digests are enough to say "the same elements": not where
 * elements have few values, as masks do. */
static bool is_rich(const struct tp_content_match *match)
{
    const struct tp_dtype_info *info = tp_dtype_info(match->dtype);
    return info->kind == TP_CLASS_FLOAT && info->code_size >= 2 &&
           !match->constant;
}

/* --- comparing ------------------------------------------------------------ */

/* Puts the pieces of a side into order number `number` of them. */
static void arrange(const struct tp_content_claim *claim, int number,
                    size_t *items)
{
    const size_t *from = claim->match.items[claim->part_side];
    size_t left[TP_CONTENT_PARTS], at[TP_CONTENT_PARTS], sum = 0, done = 0;
    for (size_t i = 0; i < claim->part_count; i++) {
        left[i] = i;
        at[i] = sum;
        sum += claim->parts[i];
    }
    for (size_t i = 0, rest = claim->part_count; i < claim->part_count;
         i++, rest--) {
        const size_t pick = (size_t)number % rest, part = left[pick];
        number /= (int)rest;
        memmove(&left[pick], &left[pick + 1], (rest - pick - 1) * sizeof *left);
        memcpy(items + done, from + at[part],
               claim->parts[part] * sizeof *items);
        done += claim->parts[part];
    }
}

static enum tp_status check_lists(struct tp_content_matcher *m,
                                  struct tp_content_checker *checker,
                                  struct tp_content_claim *claim, bool rows,
                                  struct tp_error *err)
{
    struct tp_content_match *match = &claim->match;
    const size_t all = match->counts[0] + match->counts[1];
    const struct tp_content_tensor **tensors = calloc(all, sizeof *tensors);
    if (!tensors)
        return tp_fail_memory(err);
    for (size_t i = 0; i < all; i++)
        tensors[i] = i < match->counts[0]
                         ? tp_content_tensor_at(m, 0, match->items[0][i])
                         : tp_content_tensor_at(
                               m, 1, match->items[1][i - match->counts[0]]);
    const struct tp_content_tensors lists[2] = {
        {tensors, match->counts[0]},
        {tensors + match->counts[0], match->counts[1]}};
    enum tp_status status =
        rows ? tp_content_check_rows(checker, match->dtype, lists,
                                     &match->proof, err)
             : tp_content_check(checker, match->dtype, lists, &match->proof,
                                err);
    free(tensors);
    return status;
}

/* Tries the pieces in each order; keeps the one that is right. */
static enum tp_status check_orders(struct tp_content_matcher *m,
                                   struct tp_content_checker *checker,
                                   struct tp_content_claim *claim,
                                   struct tp_error *err)
{
    const size_t side = claim->part_side, count = claim->match.counts[side];
    const int orders = claim->part_count == 3 ? 6 : 2;
    size_t *items = calloc(count, sizeof *items);
    size_t *given = claim->match.items[side];
    struct tp_content_claim turned = *claim;
    enum tp_status status = items ? TP_OK : tp_fail_memory(err);
    turned.match.items[side] = items;
    for (int i = 0; i < orders && status == TP_OK; i++) {
        arrange(claim, i, items);
        status = check_lists(m, checker, &turned, false, err);
        if (status == TP_OK && turned.match.proof.how != TP_CONTENT_DIFFER) {
            memcpy(given, items, count * sizeof *items);
            break;
        }
    }
    claim->match.proof = turned.match.proof;
    free(items);
    return status;
}

static void check_task(void *context, size_t index, unsigned worker)
{
    struct tp_content_matcher *m = context;
    struct tp_content_claim *claim = &m->claims[index];
    struct tp_error err = {.code = TP_OK};
    enum tp_status status = TP_OK;
    if (m->reading->stop && *m->reading->stop)
        return;
    if (!m->checkers[worker])
        m->checkers[worker] = tp_content_checker_new();
    struct tp_content_checker *checker = m->checkers[worker];
    if (!checker)
        status = tp_fail_memory(&err);
    else if (claim->part_count > 1)
        status = check_orders(m, checker, claim, &err);
    else
        status = check_lists(m, checker, claim, false, &err);
    if (status == TP_OK && claim->match.proof.how == TP_CONTENT_DIFFER &&
        claim->kind != TP_CONTENT_BY_ORDER)
        status = check_lists(m, checker, claim, true, &err);
    if (checker)
        status = tp_content_check_end(checker, status, &err);
    if (status != TP_OK)
        claim->match.proof.how = TP_CONTENT_DIFFER;
    claim->unread = status != TP_OK;
    if (status == TP_E_MEMORY)
        m->errors[worker] = err;
}

static enum tp_status keep_match(struct tp_content_matcher *m,
                                 const struct tp_content_claim *claim,
                                 struct tp_error *err)
{
    struct tp_content *content = m->content;
    enum tp_status status =
        tp_grow(&content->matches, &content->capacity, content->count + 1,
                sizeof *content->matches, err);
    if (status != TP_OK)
        return status;
    content->matches[content->count] = claim->match;
    content->matches[content->count++].relation = relation_of(m, claim);
    return TP_OK;
}

enum tp_status tp_content_round_end(const struct tp_content_matcher *m,
                                    struct tp_error *err)
{
    if (m->reading->stop && *m->reading->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    for (unsigned i = 0; i < tp_pool_size(m->reading->pool); i++)
        if (m->errors[i].code != TP_OK)
            return tp_fail_memory(err);
    return TP_OK;
}

/* Of tensors that could be read once, but not again to be compared, nothing is
 * claimed. */
static void drop_unread(struct tp_content_matcher *m,
                        const struct tp_content_claim *claim)
{
    const struct tp_content_match *match = &claim->match;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < match->counts[side]; i++)
            m->content->sides[side].tensors[match->items[side][i]].read =
                false;
    set_taken(m, match, false);
}

/* Compares all claims of a round, and keeps what is true. */
enum tp_status tp_content_settle(struct tp_content_matcher *m,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    tp_pool_for(m->reading->pool, m->claim_count, check_task, m);
    status = tp_content_round_end(m, err);
    for (size_t i = 0; i < m->claim_count && status == TP_OK; i++) {
        const struct tp_content_claim *claim = &m->claims[i];
        if (claim->unread)
            drop_unread(m, claim);
        else if (claim->match.proof.how != TP_CONTENT_DIFFER ||
            (claim->kind != TP_CONTENT_BY_ORDER && is_rich(&claim->match)))
            status = keep_match(m, claim, err);
        else
            set_taken(m, &claim->match, false);
    }
    m->claim_count = 0;
    return status;
}
