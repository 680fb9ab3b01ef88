/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_H
#define TP_DAMAGE_DAMAGE_H

#include "base/limits.h"
#include "damage/damage_marks.h"

/*
 * Where the damaged elements of a tensor lie: an accumulator over its elements
 * in the order in which they are stored, from which damage_shape.h tells the
 * pattern. Memory is 3 kB and at most 2 MB for each axis, whatever the tensor.
 */

enum {
    /* Cells of an axis; of one that is longer (a flat buffer; no vocabulary
     * is) each cell stands for a power of two of indices. */
    TP_DAMAGE_CELLS = 1 << 18,
    /* A stretch ends where more than this many intact elements follow. Where
     * nine of ten are damaged at random, so long a hole has a chance of
     * 10^-32. */
    TP_DAMAGE_GAP = 32,
    /* The stretches kept, those with most damaged elements. */
    TP_DAMAGE_STRETCHES = 8,
    /* Runs and holes are counted by their length up to this. */
    TP_DAMAGE_NEAR = 64
};

/* An axis as it is walked; those of length 1 are left out. */
struct tp_damage_axis {
    int axis;       /* of the tensor                                       */
    int64_t length; /* indices                                             */
    int64_t inner;  /* elements from one index to the next                 */
    int shift;      /* a cell is 2^shift indices                           */
    size_t cells, first_cell; /* among tp_damage_add's                     */
};

/* What is looked at, and in what: all that does not change on the way. */
struct tp_damage_plan {
    struct tp_damage_codes codes;
    int ndim; /* axes that are longer than 1, the slowest in memory first   */
    struct tp_damage_axis axes[TP_LIMIT_DIMS + 1];
    int64_t numel;   /* real numbers                                       */
    uint64_t repeat; /* each stands for so many; 1, unless it is set       */
    size_t cells;    /* of all axes, and some                              */
    int tensor_ndim;
    int64_t tensor_shape[TP_LIMIT_DIMS + 1];
};

/* An axis of a tensor for a plan. */
struct tp_damage_view {
    int ndim; /* axes in the order of memory, the slowest first            */
    int64_t shape[TP_LIMIT_DIMS + 1];
    int axis[TP_LIMIT_DIMS + 1]; /* of the tensor                          */
    int tensor_ndim;
    int64_t tensor_shape[TP_LIMIT_DIMS + 1]; /* as people know it          */
};

/*
 * Plans for a tensor of at least one element of a dtype that is not complex;
 * parts of complex numbers are an axis of length 2. `kinds`: what is damage
 * (enum tp_damage_kind); 0: what differs from another tensor.
 */
void tp_damage_plan_make(enum tp_dtype dtype, unsigned kinds,
                         const struct tp_damage_view *view,
                         struct tp_damage_plan *plan);

/* The view of a tensor that is stored row-major. */
void tp_damage_view_plain(int ndim, const int64_t *shape,
                          struct tp_damage_view *view);

/* Elements [begin, end), all damaged, their neighbours not. */
struct tp_damage_run {
    int64_t begin, end;
};

/* Runs with holes of at most TP_DAMAGE_GAP elements. */
struct tp_damage_stretch {
    int64_t begin, end;
    uint64_t damaged;
};

/* What is kept of a piece, but for its cells. All-zero bytes are empty. */
struct tp_damage {
    uint64_t damaged;
    uint64_t nan, inf, zero, huge; /* of these: what they are              */
    uint64_t odd; /* of these: the indices of the last two axes add up to an
                     odd number                                            */
    /* Runs: the first and the last one, which may go on in other pieces, and
     * those between by their length; holes between runs likewise. */
    uint64_t runs;
    struct tp_damage_run first, last;
    uint64_t length[TP_DAMAGE_NEAR + 1], hole[TP_DAMAGE_NEAR + 1];
    /* Stretches: likewise, and the best of those between. */
    uint64_t stretches;
    struct tp_damage_stretch head, tail, best[TP_DAMAGE_STRETCHES];
    /* Of pairs of one dtype: elements in which one bit differs, and by their
     * distance in units in the last place: [k] from 2^(k-1) to below 2^k. */
    uint64_t one_bit[64], ulp[65];
};

/*
 * Adds the elements of a span; the first is number `first` of the walk. `cells`
 * are the plan's, all zero before; cells of pieces may be added up in any
 * order. cells[0] is above 0 once an element was damaged. Cannot fail.
 */
void tp_damage_add(const struct tp_damage_plan *plan,
                   const struct tp_span *span, int64_t first,
                   struct tp_damage *damage, int64_t *cells);

/* The same of a pair, as many elements each: what of the second differs from
 * the first, in a bit or, between dtypes, in its value. Two NaN are equal. */
void tp_damage_add_pair(const struct tp_damage_plan *plan,
                        const struct tp_span pair[2], int64_t first,
                        struct tp_damage *damage, int64_t *cells);

/* Adds `from` to `into`; merge pieces in the order of the tensor. */
void tp_damage_merge(struct tp_damage *into, const struct tp_damage *from);

#endif
