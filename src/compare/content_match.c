/* SPDX-License-Identifier: MIT */
/*
 * Rounds, from what is certain to what needs a search; what one round matched
 * is gone for the next: tensors whose digests of the order agree (equal,
 * reshaped), whose bags agree (transposed), each as stored and then rounded to
 * a shorter dtype; then families (split); then sums of two and three (fused).
 * Each claim is compared element by element before it counts. The alternative,
 * all against all, reads everything many times. Cost: one reading for digests,
 * one more of what is matched; some 2 kB a tensor.
 */
#include "compare/content_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "compare/content_class.h"

/* Tensors of equal shape that are looked at for one without a partner, up to
 * how many elements, and up to how many there may be without one. */
enum { NEAR_MOST = 4, NEAR_NUMEL = 1 << 26, NEAR_TENSORS = 4096 };

/* --- sums ----------------------------------------------------------------- */

/* Looks for the parts of a whole. */
struct search {
    struct tp_content_matcher *m;
    size_t side;         /* of the whole                                   */
    enum tp_dtype dtype; /* in which they sum up                           */
    bool own;            /* that of the whole                              */
    struct tp_content_part *parts; /* [units of the other side]            */
    size_t *order;
    size_t count;
};

/* Whether all axes but one are the same: what can be concatenated. */
static bool may_join(const struct tp_content_tensor *a,
                     const struct tp_content_tensor *b)
{
    int differ = 0;
    for (int i = 0; i < a->ndim && a->ndim == b->ndim; i++)
        differ += a->shape[i] != b->shape[i];
    return a->ndim == b->ndim && differ <= 1;
}

static bool is_varied(const struct tp_content_matcher *m, size_t side,
                      const struct tp_content_unit *unit)
{
    return !tp_content_tensor_at(m, side, unit->items[0])->constant;
}

static void list_parts(struct search *s, const struct tp_content_unit *whole)
{
    const struct tp_content_matcher *m = s->m;
    const struct tp_content_units *units = &m->units[!s->side];
    const struct tp_content_tensor *like =
        tp_content_tensor_at(m, s->side, whole->items[0]);
    s->count = 0;
    for (size_t i = 0; i < units->count; i++) {
        const struct tp_content_unit *unit = &units->units[i];
        struct tp_content_part *part = &s->parts[s->count];
        bool own;
        if (unit->numel >= whole->numel ||
            !tp_content_is_free(m, !s->side, unit) ||
            !is_varied(m, !s->side, unit) ||
            !may_join(like,
                      tp_content_tensor_at(m, !s->side, unit->items[0])) ||
            !tp_content_unit_digest(&m->content->sides[!s->side], unit,
                                    s->dtype, &part->digest, &own) ||
            !(own || s->own))
            continue;
        part->numel = unit->numel;
        part->number = i;
        s->count++;
    }
    tp_content_parts_sort(s->parts, s->count, s->order);
}

/* Whether no tensor is in two of the units. */
static bool are_apart(const struct tp_content_unit *const *units, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            for (size_t x = 0; x < units[i]->count; x++)
                for (size_t y = 0; y < units[k]->count; y++)
                    if (units[i]->items[x] == units[k]->items[y])
                        return false;
    return true;
}

/* Claims the parts of a whole, if there are some. */
static enum tp_status claim_sum(struct search *s,
                                const struct tp_content_unit *whole,
                                struct tp_error *err)
{
    struct tp_content_matcher *m = s->m;
    struct tp_content_part target = {.numel = whole->numel};
    size_t found[TP_CONTENT_PARTS];
    if (!tp_content_unit_digest(&m->content->sides[s->side], whole, s->dtype,
                                &target.digest, &s->own))
        return TP_OK;
    list_parts(s, whole);
    struct tp_content_sides sides = {.dtype = s->dtype,
                                     .kind = TP_CONTENT_BY_SUM};
    const size_t count =
        tp_content_sum_find(&target, s->parts, s->count, s->order, found);
    sides.units[s->side][0] = whole;
    sides.counts[s->side] = 1;
    sides.counts[!s->side] = count;
    for (size_t i = 0; i < count; i++)
        sides.units[!s->side][i] =
            &m->units[!s->side].units[s->parts[found[i]].number];
    return count && are_apart(sides.units[!s->side], count)
               ? tp_content_claim_add(m, &sides, err)
               : TP_OK;
}

static enum tp_status claim_sums(struct tp_content_matcher *m, size_t side,
                                 struct tp_error *err)
{
    const size_t most = m->units[!side].count + 1;
    struct search s = {.m = m,
                       .side = side,
                       .parts = calloc(most, sizeof *s.parts),
                       .order = calloc(most, sizeof *s.order)};
    enum tp_status status = s.parts && s.order ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < m->units[side].count && status == TP_OK; i++) {
        const struct tp_content_unit *whole = &m->units[side].units[i];
        const struct tp_content_tensor *first =
            tp_content_tensor_at(m, side, whole->items[0]);
        for (int k = 0;
             k < first->view_count && status == TP_OK &&
             tp_content_is_free(m, side, whole) && is_varied(m, side, whole);
             k++) {
            s.dtype = first->views[k].dtype;
            status = claim_sum(&s, whole, err);
        }
    }
    free(s.parts);
    free(s.order);
    return status;
}

/* --- rounds --------------------------------------------------------------- */

static enum tp_status run_rounds(struct tp_content_matcher *m,
                                 struct tp_error *err)
{
    static const enum tp_content_kind kinds[] = {
        TP_CONTENT_BY_ORDER, TP_CONTENT_BY_BAG, TP_CONTENT_BY_FAMILY};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int casts = 0; casts < 2 && status == TP_OK; casts++) {
            status = tp_content_claim_classes(m, kinds[i], casts, err);
            if (status == TP_OK)
                status = tp_content_settle(m, err);
        }
    for (size_t side = 0; side < 2 && status == TP_OK; side++) {
        status = claim_sums(m, side, err);
        if (status == TP_OK)
            status = tp_content_settle(m, err);
    }
    return status;
}

static int compare_matches(const void *left, const void *right)
{
    const struct tp_content_match *a = left, *b = right;
    int result = tp_order_size(a->items[0][0], b->items[0][0]);
    if (result == 0)
        result = tp_order_size(a->items[1][0], b->items[1][0]);
    return result;
}

/* Sorts matches, and says for each tensor which is its own. */
static enum tp_status index_matches(struct tp_content *content,
                                    struct tp_error *err)
{
    if (content->count)
        qsort(content->matches, content->count, sizeof *content->matches,
              compare_matches);
    for (size_t side = 0; side < 2; side++) {
        const size_t all = content->sides[side].count;
        content->match_of[side] = calloc(all + 1, sizeof(size_t));
        content->near[side] = calloc(all + 1, sizeof *content->near[side]);
        if (!content->match_of[side] || !content->near[side])
            return tp_fail_memory(err);
        for (size_t i = 0; i < all; i++) {
            content->match_of[side][i] = SIZE_MAX;
            content->near[side][i].item = SIZE_MAX;
        }
    }
    for (size_t i = content->count; i-- > 0;) /* the first is kept */
        for (size_t side = 0; side < 2; side++)
            for (size_t k = 0; k < content->matches[i].counts[side]; k++) {
                size_t *its =
                    &content
                         ->match_of[side][content->matches[i].items[side][k]];
                if (*its == SIZE_MAX || !content->matches[i].copy)
                    *its = i;
            }
    return TP_OK;
}

/* --- what is nearest ------------------------------------------------------ */

struct nearest {
    struct tp_content_matcher *m;
    struct {
        size_t side, item;
    } * tasks;
    size_t count;
    size_t *alone[2]; /* tensors without a partner                         */
    size_t alone_count[2];
};

/* The tensors of equal shape without a partner whose names are most alike. */
static size_t candidates(const struct nearest *n, size_t side, size_t item,
                         size_t best[NEAR_MOST])
{
    const struct tp_content_matcher *m = n->m;
    const struct tp_content_tensor *its = tp_content_tensor_at(m, side, item);
    double scores[NEAR_MOST];
    size_t count = 0;
    for (size_t i = 0; i < n->alone_count[!side]; i++) {
        const size_t other = n->alone[!side][i];
        const struct tp_content_tensor *that =
            tp_content_tensor_at(m, !side, other);
        if (!tp_content_same_shape(its, that) ||
            tp_dtype_info(its->dtype)->parts !=
                tp_dtype_info(that->dtype)->parts)
            continue;
        const double score = tp_content_alike(its->full, that->full) +
                             tp_content_alike(its->key, that->key);
        size_t at = count < NEAR_MOST ? count : NEAR_MOST - 1;
        if (count < NEAR_MOST)
            count++;
        else if (scores[at] >= score)
            continue;
        for (; at > 0 && scores[at - 1] < score; at--) {
            scores[at] = scores[at - 1];
            best[at] = best[at - 1];
        }
        scores[at] = score;
        best[at] = other;
    }
    return count;
}

static void near_task(void *context, size_t index, unsigned worker)
{
    const struct nearest *n = context;
    struct tp_content_matcher *m = n->m;
    const size_t side = n->tasks[index].side, item = n->tasks[index].item;
    struct tp_content_near *near = &m->content->near[side][item];
    size_t best[NEAR_MOST];
    if (!m->checkers[worker])
        m->checkers[worker] = tp_content_checker_new();
    struct tp_content_checker *checker = m->checkers[worker];
    if (!checker)
        tp_fail_memory(&m->errors[worker]);
    if (!checker || (m->reading->stop && *m->reading->stop))
        return;
    const size_t count = candidates(n, side, item, best);
    for (size_t i = 0; i < count; i++) {
        struct tp_content_distance distance;
        struct tp_error err = {.code = TP_OK};
        const struct tp_content_tensor *a = tp_content_tensor_at(m, side, item);
        const struct tp_content_tensor *b =
            tp_content_tensor_at(m, !side, best[i]);
        enum tp_status status =
            tp_content_distance(checker, side ? b : a, side ? a : b, &distance,
                                &err);
        status = tp_content_check_end(checker, status, &err);
        if (status == TP_E_MEMORY)
            tp_fail_memory(&m->errors[worker]);
        if (status != TP_OK)
            continue;
        if (near->item != SIZE_MAX && distance.differ >= near->distance.differ)
            continue;
        near->item = best[i];
        near->distance = distance;
    }
}

static enum tp_status find_nearest(struct tp_content_matcher *m,
                                   struct tp_error *err)
{
    struct tp_content *content = m->content;
    const size_t all = content->sides[0].count + content->sides[1].count + 1;
    struct nearest n = {.m = m, .tasks = calloc(all, sizeof *n.tasks)};
    enum tp_status status = n.tasks ? TP_OK : tp_fail_memory(err);
    for (size_t side = 0; side < 2 && status == TP_OK; side++) {
        n.alone[side] = calloc(all, sizeof *n.alone[side]);
        if (!n.alone[side])
            status = tp_fail_memory(err);
        for (size_t i = 0; i < content->sides[side].count && status == TP_OK;
             i++) {
            const struct tp_content_tensor *its =
                &content->sides[side].tensors[i];
            if (content->match_of[side][i] != SIZE_MAX || !its->read ||
                its->numel == 0 || its->numel > NEAR_NUMEL)
                continue;
            n.alone[side][n.alone_count[side]++] = i;
            n.tasks[n.count].side = side;
            n.tasks[n.count++].item = i;
        }
    }
    if (status == TP_OK && n.alone_count[0] <= NEAR_TENSORS &&
        n.alone_count[1] <= NEAR_TENSORS) {
        tp_pool_for(m->reading->pool, n.count, near_task, &n);
        status = tp_content_round_end(m, err);
    }
    free(n.tasks);
    free(n.alone[0]);
    free(n.alone[1]);
    return status;
}

/* --- all ------------------------------------------------------------------ */

static enum tp_status begin(struct tp_content_matcher *m, struct tp_error *err)
{
    const unsigned workers = tp_pool_size(m->reading->pool);
    enum tp_status status = TP_OK;
    m->checkers = calloc(workers, sizeof *m->checkers);
    m->errors = calloc(workers, sizeof *m->errors);
    if (!m->checkers || !m->errors)
        return tp_fail_memory(err);
    for (size_t side = 0; side < 2 && status == TP_OK; side++) {
        const struct tp_content_side *its = &m->content->sides[side];
        m->taken[side] = calloc(its->count + 1, sizeof(bool));
        status = m->taken[side]
                     ? tp_content_units_make(its, &m->units[side], err)
                     : tp_fail_memory(err);
    }
    return status;
}

static void end(struct tp_content_matcher *m)
{
    for (unsigned i = 0; m->checkers && i < tp_pool_size(m->reading->pool); i++)
        tp_content_checker_free(m->checkers[i]);
    for (size_t side = 0; side < 2; side++) {
        tp_content_units_clear(&m->units[side]);
        free(m->taken[side]);
    }
    free(m->checkers);
    free(m->errors);
    free(m->claims);
}

enum tp_status tp_content_compare(const struct tp_content_options *options,
                                  struct tp_content *content,
                                  struct tp_error *err)
{
    struct tp_content_matcher m = {.content = content,
                                   .reading = &options->reading};
    const char *const roots[2] = {options->a, options->b};
    enum tp_status status = TP_OK;
    for (size_t side = 0; side < 2 && status == TP_OK; side++) {
        const struct tp_content_wish wish = {roots[side], options->steps,
                                             options->ranks};
        status = tp_content_list(&wish, &content->sides[side], err);
    }
    if (status == TP_OK)
        status = tp_content_read(content->sides, &options->reading, err);
    if (status == TP_OK)
        status = begin(&m, err);
    if (status == TP_OK)
        status = run_rounds(&m, err);
    if (status == TP_OK)
        status = index_matches(content, err);
    if (status == TP_OK)
        status = find_nearest(&m, err);
    end(&m);
    return status;
}
