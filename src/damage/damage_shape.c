/* SPDX-License-Identifier: MIT */
/*
 * The simplest pattern that holds (damage_set.h) is named. Tried are, in this
 * order: all elements; one element; what saves most bits of some indices of one
 * axis, all of the others free, a checkerboard, and one stretch in memory; a
 * block, that is indices of several axes; several stretches; every k-th element
 * in memory. Indices of one axis are named by the first that fits: the last,
 * partial tile; a head; an expert; tokens; one channel; the end from a tile on;
 * every k-th index; rows or columns. So a more special name wins over a general
 * one of the same elements, and a pattern of fewer axes over one of more.
 * Damage of nine tenths of a tensor without a pattern is damage of everything.
 *
 * What happened to the bits is told first, where it is one thing: single bits
 * that flip and rounding have causes of their own, wherever they are.
 *
 * Cost: O(cells) for each axis; nothing is allocated.
 */
#include "damage/damage_shape.h"

#include <math.h>
#include <string.h>

#include "damage/damage_axes.h"

/* Tiles of kernels: powers of two. */
enum { SMALLEST_TILE = 8, LARGEST_TILE = 256 };

/* log2 of the families of patterns there are, rounded up. */
static const double FAMILY_BITS = 4;

/* What one look needs. */
struct look {
    const struct tp_damage_plan *plan;
    const struct tp_damage *damage;
    const int64_t *cells;
    struct tp_damage_axes axes;
    struct tp_damage_shape *shape;
};

/* Takes a pattern that saves more than what was taken before. */
static bool takes(const struct look *look, const struct tp_damage_claim *claim,
                  double *saved)
{
    struct tp_damage_shape *shape = look->shape;
    const double saves =
        tp_damage_claim_saves(claim, shape->damaged, shape->numel);
    if (saves <= *saved)
        return false;
    *saved = saves;
    shape->elements = claim->elements;
    shape->inside = claim->inside;
    return true;
}

/* --- one axis ------------------------------------------------------------- */

/* The largest tile that an index is a multiple of; 0: none. */
static int64_t tile_of(int64_t index)
{
    int64_t tile = LARGEST_TILE;
    while (tile >= SMALLEST_TILE && index % tile)
        tile /= 2;
    return tile >= SMALLEST_TILE ? tile : 0;
}

/* Whether [first, end) is all of the last tile, which `length` cuts short. */
static bool is_partial_tile(int64_t first, int64_t end, int64_t length)
{
    const int64_t tile = tile_of(first);
    return end == length && first > 0 && tile && length % tile &&
           end - first < tile;
}

static bool is_end(int64_t first, int64_t end, int64_t length)
{
    return end == length && first > 0 && tile_of(first);
}

static enum tp_damage_name name_axis(const struct look *look, int at)
{
    const struct tp_damage_axis *axis = &look->plan->axes[at];
    const struct tp_damage_set *set = &look->shape->sets[at];
    const struct tp_damage_axes *axes = &look->axes;
    const bool range = set->extent == TP_DAMAGE_RANGE;
    const bool exact = range && !set->rough; /* its ends are no cells' */
    const bool last = axis->axis == look->plan->tensor_ndim - 1;
    look->shape->head_dim = 0;
    if (exact && is_partial_tile(set->first, set->end, axis->length))
        return TP_DAMAGE_TAIL;
    if (exact && last && axes->heads_in_last)
        look->shape->head_dim =
            tp_damage_head_dim(set->first, set->end, axis->length);
    if (axis->axis == axes->heads || look->shape->head_dim)
        return TP_DAMAGE_HEAD;
    if (axis->axis == axes->experts)
        return TP_DAMAGE_EXPERT;
    if (range && axis->axis == axes->tokens)
        return TP_DAMAGE_TOKENS;
    if (axis->axis == axes->features && set->count == 1)
        return TP_DAMAGE_CHANNEL;
    if (exact && is_end(set->first, set->end, axis->length))
        return TP_DAMAGE_TAIL;
    if (set->extent == TP_DAMAGE_STEPS)
        return TP_DAMAGE_STRIDE;
    return last && look->plan->tensor_ndim > 1 ? TP_DAMAGE_COLUMNS
                                               : TP_DAMAGE_ROWS;
}

/* Some indices of one axis. Of a tensor with one axis this is a stretch or a
 * stride. */
static void try_axes(const struct look *look, double *saved)
{
    const struct tp_damage_plan *plan = look->plan;
    struct tp_damage_shape *shape = look->shape;
    for (int i = 0; i < plan->ndim; i++) {
        const struct tp_damage_axis *axis = &plan->axes[i];
        const struct tp_damage_set *set = &shape->sets[i];
        const uint64_t line = (uint64_t)(plan->numel / axis->length);
        const struct tp_damage_claim claim = {
            (uint64_t)set->count * line, set->inside,
            FAMILY_BITS + log2(plan->ndim) + tp_damage_set_bits(axis, set)};
        if (set->extent == TP_DAMAGE_FULL ||
            (plan->ndim == 1 && set->extent != TP_DAMAGE_STEPS) ||
            !takes(look, &claim, saved))
            continue;
        shape->axis = i;
        shape->where = name_axis(look, i);
        if (shape->where == TP_DAMAGE_TAIL)
            shape->tile = tile_of(set->first);
    }
}

/* --- the order of memory -------------------------------------------------- */

static void try_checkerboard(const struct look *look, double *saved)
{
    const struct tp_damage_plan *plan = look->plan;
    const uint64_t odd = look->damage->odd;
    const uint64_t even = look->damage->damaged - odd;
    const struct tp_damage_claim claim = {
        (uint64_t)plan->numel / 2, odd > even ? odd : even, FAMILY_BITS + 1};
    if (plan->ndim > 1 && takes(look, &claim, saved))
        look->shape->where = TP_DAMAGE_CHECKERBOARD;
}

/* Damaged elements of a stretch: fewer are told in as many bits one by one, as
 * a place costs no more than half of what a stretch does. */
enum { SHORTEST_STRETCH = 4 };

/* The best stretches, the first and last ones included, by their place: the
 * fewest that hold 99 %, as far as there are. */
static void take_stretches(const struct tp_damage *damage,
                           struct tp_damage_shape *shape)
{
    struct tp_damage_stretch all[TP_DAMAGE_STRETCHES + 2];
    int count = 0;
    memcpy(all, damage->best, sizeof damage->best);
    while (count < TP_DAMAGE_STRETCHES && all[count].damaged)
        count++;
    all[count++] = damage->head;
    if (damage->stretches > 1)
        all[count++] = damage->tail;
    shape->stretches = 0;
    uint64_t inside = 0;
    while (100 * (double)inside < 99 * (double)damage->damaged &&
           shape->stretches < TP_DAMAGE_STRETCHES) {
        int best = 0;
        for (int i = 1; i < count; i++)
            best = all[i].damaged > all[best].damaged ? i : best;
        if (all[best].damaged < SHORTEST_STRETCH)
            return;
        int at = shape->stretches++;
        for (; at > 0 && shape->stretch[at - 1].begin > all[best].begin; at--)
            shape->stretch[at] = shape->stretch[at - 1];
        shape->stretch[at] = all[best];
        inside += all[best].damaged;
        all[best].damaged = 0;
    }
}

/* Whether all stretches are whole lines along the last axis. */
static bool are_rows(const struct tp_damage_plan *plan,
                     const struct tp_damage_shape *shape)
{
    if (plan->ndim < 2)
        return false;
    const int64_t length = plan->axes[plan->ndim - 1].length;
    for (int i = 0; i < shape->stretches; i++) {
        if (shape->stretch[i].begin % length || shape->stretch[i].end % length)
            return false;
    }
    return true;
}

/* At most so many of them. */
static void try_band(const struct look *look, int most, double *saved)
{
    struct tp_damage_shape *shape = look->shape;
    const int64_t numel = look->plan->numel;
    const double place = log2((double)numel) + 1;
    take_stretches(look->damage, shape);
    struct tp_damage_claim claim = {
        0, 0, FAMILY_BITS + 3 + 2 * place * shape->stretches};
    for (int i = 0; i < shape->stretches; i++) {
        claim.elements +=
            (uint64_t)(shape->stretch[i].end - shape->stretch[i].begin);
        claim.inside += shape->stretch[i].damaged;
    }
    if (shape->stretches > most || !takes(look, &claim, saved))
        return;
    const struct tp_damage_stretch *first = shape->stretch;
    shape->axis = -1;
    shape->where = TP_DAMAGE_BAND;
    if (are_rows(look->plan, shape)) {
        shape->where = TP_DAMAGE_ROWS;
    } else if (shape->stretches == 1 &&
               is_partial_tile(first->begin, first->end, numel)) {
        shape->where = TP_DAMAGE_TAIL;
        shape->tile = tile_of(first->begin);
    }
}

/* What most of the counts [1, TP_DAMAGE_NEAR] are. */
static int64_t usual(const uint64_t *counts)
{
    int64_t best = 1;
    for (int i = 2; i <= TP_DAMAGE_NEAR; i++)
        best = counts[i] > counts[best] ? i : best;
    return best;
}

/* Runs that are not of this length, and holes that are not of that. */
static uint64_t count_odd(const struct tp_damage *damage, int64_t width,
                          int64_t hole)
{
    const struct tp_damage_run *first = &damage->first, *last = &damage->last;
    const uint64_t runs = damage->runs - 2 - damage->length[width] +
                          (first->end - first->begin != width) +
                          (last->end - last->begin != width);
    return runs + damage->runs - 1 - damage->hole[hole];
}

/* Runs of the usual length with holes of the usual length. Each that is not
 * like that loses two runs, and costs its place and length. */
static void try_stride(const struct look *look, double *saved)
{
    const struct tp_damage *damage = look->damage;
    struct tp_damage_shape *shape = look->shape;
    if (damage->runs < 4)
        return;
    const int64_t width = usual(damage->length);
    const int64_t hole = usual(damage->hole);
    const uint64_t odd = count_odd(damage, width, hole);
    const uint64_t runs = damage->runs > 2 * odd ? damage->runs - 2 * odd : 0;
    const int64_t end = damage->last.end, first = damage->first.begin;
    const double place = log2((double)look->plan->numel) + 1;
    const struct tp_damage_claim claim = {
        (uint64_t)((end - first + hole) / (width + hole) * width),
        runs * (uint64_t)width,
        FAMILY_BITS + 12 + 2 * place + 2 * (double)odd * place};
    if (!takes(look, &claim, saved))
        return;
    shape->where = TP_DAMAGE_STRIDE;
    shape->axis = -1;
    shape->width = width;
    shape->step = width + hole;
}

/* --- several axes --------------------------------------------------------- */

static void try_block(const struct look *look, double *saved)
{
    const struct tp_damage_plan *plan = look->plan;
    struct tp_damage_shape *shape = look->shape;
    uint64_t outside = 0, elements = 1;
    double bits = FAMILY_BITS;
    for (int i = 0; i < plan->ndim; i++) {
        const struct tp_damage_set *set = &shape->sets[i];
        outside += shape->damaged - set->inside;
        elements *= (uint64_t)set->count;
        bits += tp_damage_set_bits(&plan->axes[i], set);
    }
    const struct tp_damage_claim claim = {
        elements, outside < shape->damaged ? shape->damaged - outside : 0,
        bits};
    if (takes(look, &claim, saved))
        shape->where = TP_DAMAGE_BLOCK;
}

/* --- where, and what ------------------------------------------------------ */

static void find_pattern(const struct look *look)
{
    double saved = 0;
    try_axes(look, &saved);
    try_checkerboard(look, &saved);
    try_band(look, 1, &saved);
    if (saved == 0)
        try_block(look, &saved);
    if (saved == 0)
        try_band(look, TP_DAMAGE_STRETCHES, &saved);
    if (saved == 0)
        try_stride(look, &saved);
}

static void find_where(const struct look *look)
{
    const struct tp_damage_plan *plan = look->plan;
    struct tp_damage_shape *shape = look->shape;
    const uint64_t damaged = shape->damaged, all = shape->numel;
    shape->elements = shape->inside = damaged;
    if (damaged == 0 || damaged == all || damaged == 1) {
        shape->where = damaged == 0     ? TP_DAMAGE_NONE
                       : damaged == all ? TP_DAMAGE_EVERYTHING
                                        : TP_DAMAGE_ELEMENT;
        return;
    }
    for (int i = 0; i < plan->ndim; i++)
        tp_damage_set_find(&plan->axes[i], look->cells, damaged,
                           &shape->sets[i]);
    find_pattern(look);
    if (shape->where != TP_DAMAGE_NONE)
        return;
    shape->elements = all;
    shape->where = 10 * (double)damaged >= 9 * (double)all
                       ? TP_DAMAGE_EVERYTHING
                       : TP_DAMAGE_SCATTERED;
    /* no pattern of these elements alone could have been believed */
    const struct tp_damage_claim least = {damaged, damaged, FAMILY_BITS};
    shape->few = tp_damage_claim_saves(&least, damaged, all) == 0;
}

/*
 * Distances that another order of summation gives: three quarters of the
 * significand's bits agree. One ULP, or one step of an integer, always is.
 */
int tp_damage_rounding_bits(enum tp_dtype dtype)
{
    return tp_dtype_info(dtype)->significand / 4 + 1;
}

/* Elements in which the bits of a distance of rounding all differ alike by
 * chance: one in 2^14 times, half of all distances of one ULP being the lowest
 * bit alone. */
enum { ALIKE_BY_CHANCE = 14 };

/* What happened to the bits of a pair, if it is one thing. */
static void find_bits(const struct look *look)
{
    const struct tp_damage *damage = look->damage;
    struct tp_damage_shape *shape = look->shape;
    const double most = 0.99 * (double)damage->damaged;
    const int limit = tp_damage_rounding_bits(look->plan->codes.dtype);
    uint64_t near = 0, ones = 0;
    int bit = 0, k = 0;
    for (; k < 64 && (double)near < most; k++)
        near += damage->ulp[k];
    for (int i = 0; i < 64; i++) {
        ones += damage->one_bit[i];
        bit = damage->one_bit[i] > damage->one_bit[bit] ? i : bit;
    }
    const bool rounding = (double)near >= most && k - 1 <= limit;
    shape->bit = bit;
    shape->ulp_bits = k - 1;
    if ((double)damage->one_bit[bit] >= most &&
        (!rounding || damage->damaged >= ALIKE_BY_CHANCE))
        shape->name = TP_DAMAGE_BIT;
    else if (rounding)
        shape->name = TP_DAMAGE_ROUNDING;
    else if ((double)ones >= most)
        shape->name = TP_DAMAGE_BITS;
}

static bool has_bits(const struct tp_damage *damage)
{
    for (int i = 0; i < 65; i++) {
        if (damage->ulp[i])
            return true;
    }
    return false;
}

void tp_damage_shape_find(const struct tp_damage_plan *plan,
                          const struct tp_damage *damage, const int64_t *cells,
                          const struct tp_label *label,
                          struct tp_damage_shape *shape)
{
    const struct look look = {plan, damage, cells,
                              tp_damage_axes_of(plan, label), shape};
    memset(shape, 0, sizeof *shape);
    shape->damaged = damage->damaged;
    shape->numel = (uint64_t)plan->numel;
    shape->first = damage->first.begin;
    shape->end = damage->runs > 1 ? damage->last.end : damage->first.end;
    shape->axis = -1;
    find_where(&look);
    shape->name = shape->where;
    if (has_bits(damage) && plan->codes.dtype != TP_BOOL &&
        (double)damage->zero < 0.99 * (double)damage->damaged)
        find_bits(&look);
}
