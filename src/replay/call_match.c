/* SPDX-License-Identifier: MIT */
/*
 * The shortest script of calls that one run makes alone, by the greedy
 * algorithm of Myers (An O(ND) Difference Algorithm, Algorithmica 1, 1986): of
 * paths with d lone calls, the furthest on each diagonal is kept, for all d, to
 * walk back. Time n + d^2 comparisons of names, memory 8 d^2 bytes. Runs that
 * are worth comparing part in few places; behind MOST lone calls the furthest
 * path is taken as found, and the search begins anew from its end.
 */
#include "replay/call_match.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1024 }; /* 8 MiB of paths                                     */

void tp_call_pairs_clear(struct tp_call_pairs *pairs)
{
    free(pairs->pairs);
    memset(pairs, 0, sizeof *pairs);
}

static bool same_part(struct tp_msprobe_part a, struct tp_msprobe_part b)
{
    return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

/* Whether two calls call the same. */
static bool same_call(const struct tp_dump_call *a,
                      const struct tp_dump_call *b)
{
    if (!a->known || !b->known)
        return !strcmp(a->key, b->key);
    return a->name.kind == b->name.kind &&
           a->name.direction == b->name.direction &&
           same_part(a->name.type, b->name.type) &&
           same_part(a->name.path, b->name.path);
}

/* What is left of two lists. */
struct lists {
    const struct tp_dump_place *a, *b;
    size_t first_a, first_b;
    int64_t length_a, length_b;
    /* [d^2 + d + k]: how far in A the furthest path is that has d lone calls
     * and ends on diagonal k, A - B */
    int64_t *paths;
};

static int64_t *path_of(const struct lists *lists, int64_t d, int64_t k)
{
    return &lists->paths[d * d + d + k];
}

static bool agree(const struct lists *lists, int64_t x, int64_t y)
{
    return x < lists->length_a && y < lists->length_b &&
           same_call(&lists->a->calls[lists->first_a + (size_t)x],
                     &lists->b->calls[lists->first_b + (size_t)y]);
}

/* Whether the path to (d, k) comes by a lone call of B, from diagonal k + 1;
 * else by one of A. */
static bool comes_by_b(const struct lists *lists, int64_t d, int64_t k)
{
    return k == -d || (k != d && *path_of(lists, d - 1, k - 1) <
                                     *path_of(lists, d - 1, k + 1));
}

/* Where in A the path to (d, k) is after its last lone call. */
static int64_t begin_of(const struct lists *lists, int64_t d, int64_t k)
{
    if (d == 0)
        return 0;
    return comes_by_b(lists, d, k) ? *path_of(lists, d - 1, k + 1)
                                   : *path_of(lists, d - 1, k - 1) + 1;
}

/* The end of a path: d lone calls, on diagonal k. */
struct end {
    int64_t d, k;
};

/* Whether a path ends where both lists do. */
static bool extend(const struct lists *lists, int64_t d, struct end *end)
{
    int64_t furthest = -1;
    for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = begin_of(lists, d, k);
        while (agree(lists, x, x - k))
            x++;
        *path_of(lists, d, k) = x;
        if (x <= lists->length_a && x - k <= lists->length_b &&
            2 * x - k > furthest) {
            furthest = 2 * x - k;
            *end = (struct end){d, k};
        }
    }
    return furthest == lists->length_a + lists->length_b;
}

static enum tp_status add_pair(struct tp_call_pairs *pairs, size_t a, size_t b,
                               struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&pairs->pairs, &pairs->capacity, pairs->count + 1,
                sizeof *pairs->pairs, err);
    if (status == TP_OK)
        pairs->pairs[pairs->count++] = (struct tp_call_pair){a, b};
    return status;
}

static void turn_round(struct tp_call_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const struct tp_call_pair pair = pairs[i];
        pairs[i] = pairs[count - 1 - i];
        pairs[count - 1 - i] = pair;
    }
}

/* Walks a path back from its end, and adds its pairs in order. */
static enum tp_status add_path(const struct lists *lists, struct end end,
                               struct tp_call_pairs *pairs,
                               struct tp_error *err)
{
    const size_t before = pairs->count;
    enum tp_status status = TP_OK;
    int64_t k = end.k, x = *path_of(lists, end.d, k);
    for (int64_t d = end.d; d >= 0 && status == TP_OK; d--) {
        const int64_t begin = begin_of(lists, d, k);
        for (; x > begin && status == TP_OK; x--)
            status = add_pair(pairs, lists->first_a + (size_t)(x - 1),
                              lists->first_b + (size_t)(x - 1 - k), err);
        if (d == 0 || status != TP_OK)
            break;
        if (comes_by_b(lists, d, k)) {
            status = add_pair(pairs, SIZE_MAX,
                              lists->first_b + (size_t)(x - k - 1), err);
            k++;
        } else {
            status =
                add_pair(pairs, lists->first_a + (size_t)(--x), SIZE_MAX, err);
            k--;
        }
    }
    turn_round(pairs->pairs + before, pairs->count - before);
    return status;
}

/* Matches from the begin of the lists, up to MOST lone calls; what is left
 * begins behind that. */
static enum tp_status match_part(struct lists *lists,
                                 struct tp_call_pairs *pairs,
                                 struct tp_error *err)
{
    struct end end = {0, 0};
    size_t capacity = 0;
    for (int64_t d = 0; d < MOST; d++) {
        enum tp_status status =
            tp_grow(&lists->paths, &capacity, (size_t)((d + 1) * (d + 1)),
                    sizeof *lists->paths, err);
        if (status != TP_OK)
            return status;
        if (extend(lists, d, &end))
            break;
    }
    enum tp_status status = add_path(lists, end, pairs, err);
    const int64_t x = *path_of(lists, end.d, end.k);
    lists->first_a += (size_t)x;
    lists->first_b += (size_t)(x - end.k);
    lists->length_a -= x;
    lists->length_b -= x - end.k;
    return status;
}

enum tp_status tp_call_match(const struct tp_dump_place *a,
                             const struct tp_dump_place *b,
                             struct tp_call_pairs *pairs, struct tp_error *err)
{
    struct lists lists = {.a = a,
                          .b = b,
                          .length_a = (int64_t)a->call_count,
                          .length_b = (int64_t)b->call_count};
    enum tp_status status = TP_OK;
    while (lists.length_a + lists.length_b > 0 && status == TP_OK) {
        lists.paths = NULL;
        status = match_part(&lists, pairs, err);
        free(lists.paths);
    }
    return status;
}
