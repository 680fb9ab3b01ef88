/* SPDX-License-Identifier: MIT */
/*
 * From damaged elements an index to sets of indices, and when to believe in a
 * pattern.
 *
 * An index is in the set if it has at least half as many damaged elements as
 * most elements' indices have (the median, each index weighted with its
 * elements); so a few stray elements add none. The range is the one with the
 * largest sum of +1 for each index in the set and -2 for each that is not
 * (Kadane): it goes on over a hole that is followed by twice as many. Whether
 * enough of it is damaged is asked afterwards.
 *
 * Believing: that 99 % of the damage is inside and 90 % of the inside damaged
 * is not enough, since two elements are always a pattern of something. A
 * pattern is therefore a code for the set of damaged elements: so many bits say
 * which pattern it is, so many how many and which of its elements are damaged,
 * and which others. Of all sets of n of N elements, each as likely, at most
 * 2^-k are shortened by k bits or more (Kraft), whatever the patterns are. 14
 * bits are asked for. Alternative: a test for each kind of pattern, and a
 * correction for their number, which would have to be counted instead. Cost:
 * O(cells), 64 times.
 */
#include "damage/damage_set.h"

#include <math.h>
#include <string.h>

/* --- sets ----------------------------------------------------------------- */

static const double SAVED_BITS = 14;
enum { MISSING = -2, TIMES = 3 };

/* At least half of all damaged elements are at indices with so many. */
static int64_t level_of(const int64_t *cells, size_t count, uint64_t damaged)
{
    int64_t low = 1, high = 1;
    for (size_t i = 0; i < count; i++)
        high = cells[i] > high ? cells[i] : high;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += cells[i] >= middle ? (uint64_t)cells[i] : 0;
        if (2 * sum >= damaged)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The cells of an axis, and which of them count. */
struct view {
    const int64_t *cells;
    size_t count;
    int64_t level;
};

static bool has(const struct view *view, size_t i)
{
    return 2 * view->cells[i] >= view->level;
}

static uint64_t sum_between(const struct view *view, size_t begin, size_t end)
{
    uint64_t sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += (uint64_t)view->cells[i];
    return sum;
}

/* The range that is worth most. */
static void find_range(const struct view *view, size_t *first, size_t *end)
{
    int64_t sum = 0, best = 0;
    size_t begin = 0;
    *first = *end = 0;
    for (size_t i = 0; i < view->count; i++) {
        sum += has(view, i) ? 1 : MISSING;
        if (sum < 0) {
            sum = 0;
            begin = i + 1;
        } else if (sum > best) {
            best = sum;
            *first = begin;
            *end = i + 1;
        }
    }
}

/* Sets `some`: the count, the first ones, and their steps, if there are. */
static void list_some(const struct view *view, struct tp_damage_set *set)
{
    size_t runs = 0, begin = 0, before = 0;
    bool steps = true;
    for (size_t i = 0, end; i < view->count; i = end) {
        for (end = i; end < view->count && has(view, end) == has(view, i);)
            end++;
        if (!has(view, i))
            continue;
        const int64_t width = (int64_t)(end - i);
        if (runs == 0) {
            set->first = (int64_t)i;
            set->width = width;
        } else if (runs == 1) {
            set->step = (int64_t)(i - begin);
        }
        steps =
            steps && (runs < 2 || i - begin == (size_t)set->step) &&
            (width == set->width || (end == view->count && width < set->width));
        for (size_t k = i; k < end; k++, before++) {
            if (before < TP_DAMAGE_LISTED)
                set->listed[before] = (int64_t)k;
        }
        set->inside += sum_between(view, i, end);
        set->end = (int64_t)end;
        begin = i;
        runs++;
    }
    set->count = (int64_t)before;
    set->extent = steps && runs >= TIMES ? TP_DAMAGE_STEPS : TP_DAMAGE_SOME;
}

/* A set of cells as a set of indices. */
static void widen(const struct tp_damage_axis *axis, struct tp_damage_set *set)
{
    if (axis->shift == 0)
        return;
    set->rough = true;
    set->first <<= axis->shift;
    set->end <<= axis->shift;
    set->step <<= axis->shift;
    set->width <<= axis->shift;
    set->count <<= axis->shift;
    if (set->end > axis->length) {
        set->count -= set->end - axis->length;
        set->end = axis->length;
    }
    for (int i = 0; i < TP_DAMAGE_LISTED; i++)
        set->listed[i] <<= axis->shift;
}

void tp_damage_set_find(const struct tp_damage_axis *axis, const int64_t *cells,
                        uint64_t damaged, struct tp_damage_set *set)
{
    const int64_t *its = cells + axis->first_cell;
    const struct view view = {its, axis->cells,
                              level_of(its, axis->cells, damaged)};
    size_t first, end, count = 0;
    memset(set, 0, sizeof *set);
    for (size_t i = 0; i < view.count; i++)
        count += has(&view, i);
    find_range(&view, &first, &end);
    const uint64_t inside = sum_between(&view, first, end);
    const bool most = 100 * (double)inside >= 99 * (double)damaged;
    if ((most && end - first == view.count) || 10 * count >= 9 * view.count) {
        *set = (struct tp_damage_set){.extent = TP_DAMAGE_FULL,
                                      .count = axis->length,
                                      .end = axis->length,
                                      .inside = damaged};
        return;
    }
    if (most)
        *set = (struct tp_damage_set){.extent = TP_DAMAGE_RANGE,
                                      .count = (int64_t)(end - first),
                                      .first = (int64_t)first,
                                      .end = (int64_t)end,
                                      .inside = inside};
    else
        list_some(&view, set);
    widen(axis, set);
}

/* --- belief --------------------------------------------------------------- */

/* What Stirling's ln n! leaves out: less than 10^-3 from n = 1 on. */
static double stirling_rest(double n)
{
    return 1 / (12 * n) - 1 / (360 * n * n * n);
}

/* Without the difference of three large ln n!, which would have no digits left
 * beyond 10^12 elements. */
double tp_damage_choose_bits(uint64_t all, uint64_t n)
{
    const double whole = (double)all, part = (double)n;
    const double rest = (double)(all - n), pi = 3.14159265358979323846;
    if (n == 0 || n >= all)
        return 0;
    const double nats = part * log(whole / part) - rest * log1p(-part / whole) +
                        0.5 * log(whole / (2 * pi * part * rest)) +
                        stirling_rest(whole) - stirling_rest(part) -
                        stirling_rest(rest);
    return nats > 0 ? nats / log(2) : 0;
}

double tp_damage_set_bits(const struct tp_damage_axis *axis,
                          const struct tp_damage_set *set)
{
    const double index = log2((double)axis->length) + 1, which = 2;
    switch (set->extent) {
    case TP_DAMAGE_FULL:
        return which;
    case TP_DAMAGE_RANGE:
        return which + 2 * index;
    case TP_DAMAGE_STEPS:
        return which + 4 * index;
    default:
        return which + index +
               tp_damage_choose_bits(axis->cells,
                                     (uint64_t)(set->count >> axis->shift));
    }
}

double tp_damage_claim_saves(const struct tp_damage_claim *claim,
                             uint64_t damaged, uint64_t all)
{
    if (100 * (double)claim->inside < 99 * (double)damaged ||
        10 * (double)claim->inside < 9 * (double)claim->elements ||
        claim->elements > all)
        return 0;
    const uint64_t inside =
        claim->inside < claim->elements ? claim->inside : claim->elements;
    const double plain = tp_damage_choose_bits(all, damaged);
    const double told =
        claim->bits + log2((double)damaged + 1) +
        tp_damage_choose_bits(claim->elements, inside) +
        tp_damage_choose_bits(all - claim->elements, damaged - inside);
    return plain - told >= SAVED_BITS ? plain - told : 0;
}
