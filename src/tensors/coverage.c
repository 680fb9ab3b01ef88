/* SPDX-License-Identifier: MIT */
/*
 * What a run lacks over its iterations. Each row with an iteration says that a
 * rank of a run was present then; these are sorted by run, rank and iteration,
 * and equal ones joined with their number. A rank's iterations are then walked
 * along with those of all ranks of its run, and gaps are found against the
 * usual step: the median step, if more than half of the steps are equal to it.
 * An iteration was saved more than once when it has a multiple of the median
 * number of rows.
 *
 * A table of ranks and iterations would be simpler to read off, but iterations
 * are any numbers, mostly far apart. O(n log n) for n rows. At most 8 notes of
 * this kind are written, the others are counted.
 */
#include "tensors/coverage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "tensors/complete.h"
#include "tensors/saved.h"

enum { NOTES_MAX = 8 }; /* of one kind; more ranks are alike */

/* That a rank of a run was there in an iteration. */
struct presence {
    const char *quant_type;
    int64_t rank, iteration;
    size_t rows;
};

static int compare_runs(const struct presence *a, const struct presence *b)
{
    return a->quant_type == b->quant_type
               ? 0
               : strcmp(a->quant_type, b->quant_type);
}

static int compare(const void *left, const void *right)
{
    const struct presence *a = left, *b = right;
    int result = compare_runs(a, b);
    if (!result)
        result = tp_order_int64(a->rank, b->rank);
    return result ? result : tp_order_int64(a->iteration, b->iteration);
}

/* Sorted, without repetitions; NULL when out of memory. */
static struct presence *find_presences(const struct tp_run *run, size_t *count)
{
    struct presence *list = calloc(run->row_count + 1, sizeof *list);
    size_t n = 0;
    *count = 0;
    for (size_t i = 0; list && i < run->row_count; i++) {
        const struct tp_label *label = &run->rows[i].label;
        if (label->iteration >= 0)
            list[n++] = (struct presence){label->quant_type, label->rank,
                                          label->iteration, 1};
    }
    if (n)
        qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n; i++) {
        if (*count == 0 || compare(&list[*count - 1], &list[i]))
            list[(*count)++] = list[i];
        else
            list[*count - 1].rows++;
    }
    return list;
}

/* One rank's part of the list, with its run's name in words. */
struct rank {
    const struct presence *first;
    size_t count;
    char name[64];
};

static void name_rank(struct rank *rank)
{
    const char *type = rank->first->quant_type;
    snprintf(rank->name, sizeof rank->name, "rank %" PRId64 "%s%.40s",
             rank->first->rank, *type ? " of " : "", type);
}

/* How many of the iterations of `all` a rank lacks before its own last one;
 * the first of them in *lacking. */
static size_t count_lacking(const struct rank *rank, const int64_t *all,
                            size_t count, int64_t *lacking)
{
    size_t found = 0, i = 0;
    for (size_t k = 0; k < count && i < rank->count; k++) {
        if (rank->first[i].iteration == all[k])
            i++;
        else if (found++ == 0)
            *lacking = all[k];
    }
    return found;
}

/* Iterations with a multiple of the usual number of tensors; the first of them
 * in *repeated. `sizes` has room for the rank's iterations. */
static size_t count_repeated(const struct rank *rank, size_t *sizes,
                             int64_t *repeated)
{
    size_t found = 0;
    for (size_t i = 0; i < rank->count; i++)
        sizes[i] = rank->first[i].rows;
    tp_sort_size(sizes, rank->count);
    size_t usual = sizes[rank->count / 2];
    for (size_t i = 0; i < rank->count; i++) {
        size_t rows = rank->first[i].rows;
        if (rows > usual && rows % usual == 0 && found++ == 0)
            *repeated = rank->first[i].iteration;
    }
    return found;
}

static void note_repeated(struct tp_run *run, const struct rank *rank,
                          size_t *notes)
{
    int64_t iteration = -1;
    size_t *sizes = calloc(rank->count, sizeof *sizes);
    size_t count = sizes ? count_repeated(rank, sizes, &iteration) : 0;
    run->arena.failed |= !sizes;
    free(sizes);
    if (count && (*notes)++ < NOTES_MAX)
        tp_run_note(run,
                    "%s has %zu iteration%s saved more than once, as after a "
                    "restart, the first %" PRId64
                    ": norms of gradients are means over the copies",
                    rank->name, count, count == 1 ? "" : "s", iteration);
}

/* Where no rank of a run has what the step between iterations promises. */
static void note_gaps(struct tp_run *run, const char *name, const int64_t *all,
                      size_t count, size_t *notes)
{
    int64_t *steps = calloc(count, sizeof *steps);
    int64_t step = steps ? tp_usual_step(all, count, steps) : 0;
    size_t gaps = 0, first = 0;
    for (size_t i = 1; i < count && step; i++) {
        if (all[i] - all[i - 1] > step && gaps++ == 0)
            first = i;
    }
    if (gaps && (*notes)++ < NOTES_MAX)
        tp_run_note(run,
                    "%s has %zu gap%s in its iterations, which are %" PRId64
                    " apart otherwise, the first from %" PRId64 " to %" PRId64,
                    name, gaps, gaps == 1 ? "" : "s", step, all[first - 1],
                    all[first]);
    run->arena.failed |= !steps;
    free(steps);
}

static void note_rank(struct tp_run *run, struct rank *rank, const int64_t *all,
                      size_t count, size_t *notes)
{
    int64_t last = rank->first[rank->count - 1].iteration, lacking = -1;
    size_t gaps = count_lacking(rank, all, count, &lacking);
    name_rank(rank);
    if (last < all[count - 1] && (*notes)++ < NOTES_MAX)
        tp_run_note(run,
                    "%s ends with iteration %" PRId64 ", the run with %" PRId64,
                    rank->name, last, all[count - 1]);
    if (gaps && (*notes)++ < NOTES_MAX)
        tp_run_note(run,
                    "%s has no tensor in %zu iteration%s that other ranks "
                    "have, the first %" PRId64,
                    rank->name, gaps, gaps == 1 ? "" : "s", lacking);
}

/* The iterations of one run, over all its ranks, into `all`. */
static size_t union_of(const struct presence *list, size_t count, int64_t *all)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        all[i] = list[i].iteration;
    tp_sort_int64(all, count);
    for (size_t i = 0; i < count; i++) {
        if (n == 0 || all[n - 1] != all[i])
            all[n++] = all[i];
    }
    return n;
}

static void note_run(struct tp_run *run, const struct presence *list,
                     size_t count, int64_t *all, size_t *notes)
{
    size_t iterations = union_of(list, count, all);
    const char *name = list->quant_type[0] ? list->quant_type : "the run";
    if (iterations == 1 && (*notes)++ < NOTES_MAX)
        tp_run_note(run,
                    "%s has one iteration only, so there is nothing to "
                    "compare with over time",
                    name);
    note_gaps(run, name, all, iterations, notes);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].rank == list[i].rank;)
            end++;
        struct rank rank = {.first = &list[i], .count = end - i};
        note_rank(run, &rank, all, iterations, notes);
        note_repeated(run, &rank, notes);
    }
}

enum tp_status tp_coverage_note(struct tp_run *run, struct tp_error *err)
{
    size_t count, without = 0, notes = 0;
    struct presence *list = find_presences(run, &count);
    int64_t *all = calloc(count + 1, sizeof *all);
    for (size_t i = 0; i < run->row_count; i++)
        without += run->rows[i].label.iteration < 0;
    if (list && all && count && without)
        tp_run_note(run, "%zu tensor%s no iteration and %s in no series",
                    without, without == 1 ? " has" : "s have",
                    without == 1 ? "is" : "are");
    for (size_t i = 0, end; list && all && i < count; i = end) {
        for (end = i + 1; end < count && !compare_runs(&list[i], &list[end]);)
            end++;
        note_run(run, list + i, end - i, all, &notes);
    }
    if (notes > NOTES_MAX)
        tp_run_note(run, "... and %zu more notes of this kind",
                    notes - NOTES_MAX);
    enum tp_status status = list && all ? TP_OK : tp_fail_memory(err);
    free(list);
    free(all);
    return status == TP_OK ? tp_complete_note(run, err) : status;
}
