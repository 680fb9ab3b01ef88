/* SPDX-License-Identifier: MIT */
/*
 * Two tensors of 8-bit codes: of 65 536 pairs of codes it is counted how often
 * each occurs, and all but the first element that differs follows from these
 * counts, which are integers: in any order, for any number of jobs. Each sum
 * then has at most 65 536 terms, one for each pair of codes, in the order of
 * the codes.
 *
 * Alternative: to decode and sum each element, as those of wider dtypes are
 * (difference_add.c), with three increments where one is enough here.
 *
 * Cost: an increment an element; at the end 65 536 counts a pair of tensors.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stats/difference.h"
#include "stats/difference_math.h"

enum {
    CODES = 256,
    BLOCK = 512, /* elements, of which the keys stay in the first level cache */
    STEP = 16
};

typedef uint8_t bytes __attribute__((vector_size(STEP)));
typedef uint16_t shorts __attribute__((vector_size(2 * STEP)));

/* --- counting ------------------------------------------------------------- */

/* Sets the keys of n elements, x << 8 | y. */
static void set_keys(const unsigned char *x, const unsigned char *y, size_t n,
                     uint16_t *keys)
{
    size_t i = 0;
    bytes a, b;
    for (; i + STEP <= n; i += STEP) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        const shorts key = __builtin_convertvector(a, shorts) << 8 |
                           __builtin_convertvector(b, shorts);
        memcpy(keys + i, &key, sizeof key);
    }
    for (; i < n; i++)
        keys[i] = (uint16_t)(x[i] << 8 | y[i]);
}

static bool is_equal(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* The first of n elements that differs in value; n: none does. */
static size_t first_unequal(const struct tp_difference_plan *plan,
                            const unsigned char *x, const unsigned char *y,
                            size_t n)
{
    size_t i = 0;
    if (plan->same && memcmp(x, y, n) == 0)
        return n;
    while (i < n && is_equal(plan->value_x[x[i]], plan->value_y[y[i]]))
        i++;
    return i;
}

static void count_pairs(const struct tp_difference_plan *plan,
                        const struct tp_difference_spans *spans,
                        struct tp_difference *difference,
                        struct tp_difference_cells *cells)
{
    uint32_t *const even = cells->cell[0], *const odd = cells->cell[1];
    uint32_t *const tables[] = {even, odd, even, odd};
    uint16_t keys[BLOCK];
    for (size_t done = 0; done < spans->n; done += BLOCK) {
        const unsigned char *x = (const unsigned char *)spans->x + done;
        const unsigned char *y = (const unsigned char *)spans->y + done;
        const size_t n = spans->n - done < BLOCK ? spans->n - done : BLOCK;
        size_t i = 0;
        set_keys(x, y, n, keys);
        for (; i + 4 <= n; i += 4)
            tp_count_four(keys + i, 1, tables);
        for (; i < n; i++)
            even[keys[i]]++;
        if (difference->first_at == 0) {
            const size_t at = first_unequal(plan, x, y, n);
            if (at < n)
                difference->first_at = spans->first + (int64_t)(done + at) + 1;
        }
    }
    difference->values += spans->n;
}

void tp_difference_add(const struct tp_difference_plan *plan,
                       const struct tp_difference_spans *spans,
                       struct tp_difference *difference,
                       struct tp_difference_cells *cells)
{
    if (plan->joint)
        count_pairs(plan, spans, difference, cells);
    else
        tp_difference_add_blocks(plan, spans, difference, cells);
}

/* --- from counts to sums -------------------------------------------------- */

/* What pairs of codes are looked up in. */
struct looked_up {
    struct tp_difference *sums; /* what they are added to                   */
    int32_t rank_x[CODES], rank_y[CODES];
    int64_t count_x[CODES], count_y[CODES]; /* of pairs that are finite     */
};

static double relative_error(const struct tp_difference_plan *plan, double x,
                             double y)
{
    if (plan->single) {
        const float e = y == 0 ? FLT_EPSILON : 0, to = (float)y + e;
        return fabsf((((float)x + e) - to) / to);
    }
    const double e = y == 0 ? DBL_EPSILON : 0, to = y + e;
    return fabs(((x + e) - to) / to);
}

/* Adds elements that are finite in both. */
static void add_finite(const struct tp_difference_plan *plan, double x,
                       double y, uint64_t times, struct tp_difference *sums)
{
    const double n = (double)times, d = x - y;
    const double r = relative_error(plan, x, y);
    sums->finite += times;
    sums->differ += x != y ? times : 0;
    sums->below_1e_3 += r < (plan->single ? 1e-3f : 1e-3) ? times : 0;
    sums->below_5e_3 += r < (plan->single ? 5e-3f : 5e-3) ? times : 0;
    sums->xx += n * (x * x);
    sums->yy += n * (y * y);
    sums->xy += n * (x * y);
    sums->dd += n * (d * d);
    sums->abs_d += n * fabs(d);
    sums->max_abs = fmax(sums->max_abs, fabs(d));
    sums->max_relative = fmax(sums->max_relative, r);
}

static void add_pair(const struct tp_difference_plan *plan, unsigned x,
                     unsigned y, uint64_t times, struct looked_up *its)
{
    const double from = plan->value_x[x], to = plan->value_y[y];
    struct tp_difference *sums = its->sums;
    if (!isfinite(from) || !isfinite(to)) {
        tp_count_infinite(from, to, times, sums);
        return;
    }
    const int64_t apart = (int64_t)its->rank_x[x] - its->rank_y[y];
    const uint64_t distance = (uint64_t)(apart < 0 ? -apart : apart);
    add_finite(plan, from, to, times, sums);
    sums->ulp[tp_ulp_bin(distance)] += times;
    if (distance > sums->ulp_max)
        sums->ulp_max = distance;
    its->count_x[x] += (int64_t)times;
    its->count_y[y] += (int64_t)times;
}

static size_t cell_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 16;
}

void tp_difference_close(const struct tp_difference_plan *plan,
                         struct tp_difference *difference, int64_t *totals)
{
    struct looked_up its = {.sums = difference};
    if (!plan->joint)
        return;
    tp_difference_ranks(plan, plan->value_x, its.rank_x);
    tp_difference_ranks(plan, plan->value_y, its.rank_y);
    for (unsigned i = 0; i < TP_DIFFERENCE_CELLS; i++) {
        if (totals[i] != 0)
            add_pair(plan, i >> 8, i & 0xff, (uint64_t)totals[i], &its);
    }
    memset(totals, 0, TP_DIFFERENCE_CELLS * sizeof *totals);
    for (int i = 0; i < CODES; i++) {
        if (its.count_x[i] != 0)
            totals[cell_of(plan->value_x[i])] += its.count_x[i];
        if (its.count_y[i] != 0)
            totals[cell_of(plan->value_y[i])] -= its.count_y[i];
    }
}
