/* SPDX-License-Identifier: MIT */
/*
 * Peers: the same tensor on several ranks. The rows that have a rank are sorted
 * by all that has to be equal (codes of labels first, then texts), then by the
 * rank; a group is a run of equal ones with at least two ranks. A hash table of
 * the equal part would give the groups too, but not in an order that is the
 * same in every run. O(rows log rows); texts are compared only where all codes
 * are equal.
 */
#include "figures/fig_peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* A row while peers are searched: what has to be equal, and what orders. */
struct candidate {
    int32_t same[6];
    const struct tp_row *row;
    int32_t rank; /* its code, which separates peers */
    uint32_t number;
};

static int compare_same(const struct candidate *a, const struct candidate *b)
{
    for (int i = 0; i < 6; i++) {
        if (a->same[i] != b->same[i])
            return a->same[i] < b->same[i] ? -1 : 1;
    }
    int order = tp_order_int64(a->row->ordinal, b->row->ordinal);
    if (order == 0)
        order = tp_order_int64(a->row->label.part, b->row->label.part);
    if (order == 0)
        order = strcmp(a->row->label.phase, b->row->label.phase);
    if (order == 0)
        order = strcmp(a->row->label.component, b->row->label.component);
    if (order == 0)
        order = strcmp(a->row->shape, b->row->shape);
    return order ? order : strcmp(a->row->path, b->row->path);
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_same(a, b);
    if (order)
        return order;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int64_t s = a->row->label.sample_idx, t = b->row->label.sample_idx;
    if (s != t)
        return s < t ? -1 : 1;
    return tp_order_int64(a->number, b->number);
}

static size_t collect(const struct tp_facts *facts,
                      struct candidate *candidates)
{
    static const enum tp_key same[6] = {TP_KEY_ITERATION, TP_KEY_LAYER,
                                        TP_KEY_NAME,      TP_KEY_LAYER_TYPE,
                                        TP_KEY_PASS,      TP_KEY_QUANT};
    struct tp_pick pick =
        tp_pick_with(tp_pick_all(), TP_KEY_RANK, TP_PICK_PRESENT);
    size_t n = 0;
    for (size_t r = 0; r < facts->run->row_count; r++) {
        if (!tp_picked(facts, &pick, r))
            continue;
        struct candidate *candidate = &candidates[n++];
        for (int i = 0; i < 6; i++)
            candidate->same[i] = facts->code[same[i]][r];
        candidate->row = &facts->run->rows[r];
        candidate->rank = facts->code[TP_KEY_RANK][r];
        candidate->number = (uint32_t)r;
    }
    return n;
}

/* Keeps the groups of at least two ranks. */
static void keep_groups(const struct candidate *sorted, size_t n,
                        struct tp_peers *peers)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && compare_same(&sorted[i], &sorted[end]) == 0)
            end++;
        if (sorted[i].rank == sorted[end - 1].rank)
            continue;
        peers->groups[peers->count++] = (uint32_t)kept;
        for (size_t k = i; k < end; k++)
            peers->rows[kept++] = sorted[k].number;
    }
    peers->groups[peers->count] = (uint32_t)kept;
}

void tp_peers_find(struct tp_fig *fig, struct tp_peers *peers)
{
    size_t rows = fig->facts->run->row_count;
    struct candidate *candidates = calloc(rows + 1, sizeof *candidates);
    *peers = (struct tp_peers){
        .rows = calloc(rows + 1, sizeof *peers->rows),
        .groups = calloc(rows + 1, sizeof *peers->groups),
    };
    if (candidates && peers->rows && peers->groups) {
        size_t n = collect(fig->facts, candidates);
        qsort(candidates, n, sizeof *candidates, compare_candidates);
        keep_groups(candidates, n, peers);
    } else {
        fig->failed = true;
    }
    free(candidates);
}

void tp_peers_clear(struct tp_peers *peers)
{
    free(peers->rows);
    free(peers->groups);
    *peers = (struct tp_peers){0};
}

double *tp_fig_row_values(struct tp_fig *fig)
{
    size_t rows = fig->facts->run->row_count;
    double *values = tp_fig_alloc(fig, rows + 1, sizeof *values);
    for (size_t r = 0; values && r < rows; r++)
        values[r] = NAN;
    return values;
}
