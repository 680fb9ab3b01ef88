/* SPDX-License-Identifier: MIT */
/* What is left of an axis is what fewer indices to keep would have left. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan/dim_rank.h"
#include "tests/unit/support/xorshift.h"

enum { LENGTH = 300 };

/* Magnitudes with ties, zeros and indices without a finite value. */
static void fill(struct tp_dim_cells *cells, uint64_t *seed, unsigned kind)
{
    for (size_t i = 0; i < cells->length; i++) {
        const uint64_t draw = xorshift(seed);
        double value = ldexp(1, (int)(draw % (kind % 2 ? 7 : 60)));
        if (kind % 3 == 0 && draw % 5 == 0)
            value = 0;
        cells->n[i] = kind % 4 == 3 && draw % 11 == 0 ? 0 : 16;
        cells->min[i] = draw % 2 ? -value : 0;
        cells->max[i] = draw % 2 ? 0 : value;
        cells->mean[i] = value / 3;
        cells->m2[i] = value;
    }
}

static struct tp_dim_axis rank(const struct tp_dim_cells *cells, size_t keep,
                               struct tp_dim_index worst[TP_DIM_KEPT])
{
    struct tp_dim_ranker *ranker = tp_dim_ranker_new();
    const struct tp_dim_units units = {0, 1, 16};
    struct tp_dim_axis axis = {.worst = worst};
    cr_assert(ranker);
    tp_dim_ranker_begin(ranker, &units);
    tp_dim_ranker_add(ranker, cells);
    axis.kept = tp_dim_ranker_finish(ranker, keep, &axis, worst);
    free(ranker);
    return axis;
}

Test(dim_rank, a_cut_leaves_what_fewer_would_have)
{
    uint64_t seed = 7;
    for (unsigned kind = 0; kind < 60; kind++) {
        const size_t length = kind < 50 ? LENGTH - kind : 70 - kind;
        double *memory = calloc(tp_dim_cells_room(length), sizeof *memory);
        struct tp_dim_index most[TP_DIM_KEPT], less[TP_DIM_KEPT];
        struct tp_dim_cells cells;
        cr_assert(memory);
        tp_dim_cells_place(&cells, length, memory);
        fill(&cells, &seed, kind);
        struct tp_dim_axis axis = rank(&cells, TP_DIM_KEPT, most);
        for (size_t keep = TP_DIM_KEPT / 2; keep >= 4; keep /= 2) {
            const struct tp_dim_axis truth = rank(&cells, keep, less);
            if (keep < axis.kept)
                cr_assert(tp_dim_axis_cut(&axis, keep));
            cr_assert_eq(axis.kept, truth.kept);
            for (size_t i = 0; i < truth.kept; i++)
                cr_assert_eq(most[i].index, less[i].index, "%u, %zu of %zu",
                             kind, i, keep);
        }
        free(memory);
    }
}
