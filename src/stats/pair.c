/* SPDX-License-Identifier: MIT */
/*
 * Two tensors, element by element: blocks of 512 pairs are decoded to doubles,
 * and all else is three short loops over the block: extremes and equality; sums
 * about zero; central sums about the block's own means, corrected for what
 * rounding left of these. Blocks are merged by the pairwise formulas, so that a
 * mean of 10^6 with a spread of 1 costs no digits.
 *
 * 1 - r is not taken from r, which near 1 has no digits left for it, but from
 * the central sum of the differences d = x - y, summed on its own:
 *     2 (sx sy - sxy) = sd^2 - (sx - sy)^2, with sx^2 = sum (x - mean)^2
 * and all terms on the right are small where x and y are alike; what rounding
 * of sx - sy leaves is some 2^-52 sqrt(8 (1 - r)). Likewise for the cosine,
 * with sums about zero.
 *
 * Alternatives: one pass of raw products, which cancel when means are large;
 * correlation of ranks, which needs the values sorted. Memory is read once, the
 * loops find the block in the first level cache; about 60 operations a pair, of
 * which one division. The number of lanes is part of the definition of the
 * sums, so that every machine gives the same bits.
 */
#include "stats/pair.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum {
    BLOCK = 512, /* 3 arrays of doubles stay in the first level cache */
    LANES = 2    /* as many as a vector of any 64-bit processor holds */
};
typedef double lanes __attribute__((vector_size(LANES * 8)));
typedef int64_t lane_bits __attribute__((vector_size(LANES * 8)));

#define INLINE static inline __attribute__((always_inline))

/* Pairs of finite values; room for the last group of lanes. */
struct block {
    double x[BLOCK + LANES], y[BLOCK + LANES], d[BLOCK + LANES];
    uint16_t at[BLOCK]; /* where in the block, if some were left out */
    size_t n, padded;
    bool whole;    /* none was                                  */
    int64_t first; /* element                                   */
};

/* --- lanes ---------------------------------------------------------------- */

INLINE void load(const double *v, lanes *x)
{
    memcpy(x, v, sizeof *x);
}

INLINE void magnitude(const lanes *x, lanes *a)
{
    *a = (lanes)((lane_bits)*x & INT64_MAX);
}

/* The greater of each; `a` where one is NaN. */
INLINE void greater(const lanes *a, const lanes *b, lanes *most)
{
    lane_bits take = *b > *a;
    *most = (lanes)(((lane_bits)*b & take) | ((lane_bits)*a & ~take));
}

static double fold(const lanes *x)
{
    return (*x)[0] + (*x)[1];
}

static double fold_most(const lanes *x)
{
    return (*x)[0] > (*x)[1] ? (*x)[0] : (*x)[1];
}

/* --- a block -------------------------------------------------------------- */

static bool all_finite(const struct block *block)
{
    lanes sum = {0}, x, y; /* 0 * v is 0, or NaN if v is not finite */
    for (size_t i = 0; i < block->padded; i += LANES) {
        load(block->x + i, &x);
        load(block->y + i, &y);
        sum += 0 * x + 0 * y;
    }
    return fold(&sum) == 0;
}

/* Counts what is not finite in both and keeps the rest, in order. */
static void keep_finite(struct block *block, struct tp_pair_sums *sums)
{
    size_t kept = 0;
    for (size_t i = 0; i < block->n; i++) {
        const double x = block->x[i], y = block->y[i];
        if (isnan(x) || isnan(y)) {
            sums->nan++;
        } else if (isinf(x) || isinf(y)) {
            sums->inf++;
        } else {
            block->at[kept] = (uint16_t)i;
            block->x[kept] = x;
            block->y[kept++] = y;
        }
    }
    block->whole = kept == block->n;
    block->n = kept;
}

/* Fills the last group of lanes with zeros. */
static void pad(struct block *block)
{
    block->padded = (block->n + LANES - 1) / LANES * LANES;
    for (size_t i = block->n; i < block->padded; i++)
        block->x[i] = block->y[i] = 0;
}

static double relative(double x, double y)
{
    const double a = fabs(x), b = fabs(y);
    const double r = fabs(x - y) / (a > b ? a : b);
    return r > 2 ? 2 : r; /* x - y may overflow; 0 / 0 is no difference */
}

static int64_t element(const struct block *block, size_t i)
{
    return block->first + (block->whole ? (int64_t)i : block->at[i]);
}

/* The first element with the largest value, if that is larger than before. */
static void place_most(const struct block *block, double most_d,
                       double most_relative, struct tp_pair_sums *sums)
{
    if (most_d > sums->max_d) {
        size_t i = 0;
        while (fabs(block->d[i]) != most_d)
            i++;
        sums->max_d = most_d;
        sums->max_d_at = element(block, i);
    }
    if (most_relative > sums->max_relative) {
        size_t i = 0;
        while (relative(block->x[i], block->y[i]) != most_relative)
            i++;
        sums->max_relative = most_relative;
        sums->max_relative_at = element(block, i);
    }
}

/* What of a block is the same in all its elements. */
struct constant {
    bool x, y;
};

/* Sets d; counts what is equal and finds what differs most. */
static struct constant compare(struct block *block, struct tp_pair_sums *sums)
{
    const lanes two = {2, 2};
    lanes most_d = {0}, most_r = {0}, x, y, d, a, b, r;
    lane_bits equal = {0}, moved_x = {0}, moved_y = {0};
    for (size_t i = 0; i < block->padded; i += LANES) {
        load(block->x + i, &x);
        load(block->y + i, &y);
        d = x - y;
        memcpy(block->d + i, &d, sizeof d);
        equal -= x == y; /* a true comparison is -1 */
        magnitude(&x, &a);
        magnitude(&y, &b);
        greater(&a, &b, &b);
        magnitude(&d, &a);
        greater(&most_d, &a, &most_d);
        r = a / b;
        greater(&most_r, &r, &most_r);
    }
    for (size_t i = 0; i + LANES <= block->n; i += LANES) {
        load(block->x + i, &x);
        load(block->y + i, &y);
        moved_x |= x != block->x[0];
        moved_y |= y != block->y[0];
    }
    const size_t last = block->n - 1;
    sums->equal += (uint64_t)(equal[0] + equal[1]) - (block->padded - block->n);
    lane_bits over = most_r > two;
    most_r = (lanes)(((lane_bits)two & over) | ((lane_bits)most_r & ~over));
    place_most(block, fold_most(&most_d), fold_most(&most_r), sums);
    return (struct constant){
        !(moved_x[0] | moved_x[1]) && block->x[last] == block->x[0],
        !(moved_y[0] | moved_y[1]) && block->y[last] == block->y[0]};
}

/* In two steps: scales reach +-1200, beyond any power of two in a double. */
static void divide(double *v, size_t n, int scale)
{
    const double half = ldexp(1, -scale / 2);
    for (size_t i = 0; scale && i < n; i++)
        v[i] = v[i] * half * half;
}

/* To the units of the scale. The difference of large numbers may be beyond a
 * double, that of the divided ones is not, and rounds alike. */
static void rescale(struct block *block, const struct tp_pair_scale *scale)
{
    const double half = ldexp(1, -scale->difference / 2);
    for (size_t i = 0; scale->difference > 0 && i < block->n; i++)
        block->d[i] = block->x[i] * half * half - block->y[i] * half * half;
    if (scale->difference < 0)
        divide(block->d, block->n, scale->difference);
    divide(block->x, block->n, scale->x);
    divide(block->y, block->n, scale->y);
}

static void raw_sums(const struct block *block, struct tp_pair_sums *sums)
{
    lanes sx = {0}, sy = {0}, sd = {0}, xx = {0}, yy = {0}, xy = {0}, dd = {0},
          ad = {0}, x, y, d, a;
    for (size_t i = 0; i < block->padded; i += LANES) {
        load(block->x + i, &x);
        load(block->y + i, &y);
        load(block->d + i, &d);
        magnitude(&d, &a);
        sx += x;
        sy += y;
        sd += d;
        ad += a;
        xx += x * x;
        yy += y * y;
        xy += x * y;
        dd += d * d;
    }
    const double n = (double)block->n;
    sums->mean_x.high = fold(&sx) / n;
    sums->mean_y.high = fold(&sy) / n;
    sums->mean_d.high = fold(&sd) / n;
    sums->xx = fold(&xx);
    sums->yy = fold(&yy);
    sums->xy = fold(&xy);
    sums->dd = fold(&dd);
    sums->abs_d = fold(&ad);
}

/* Fills the last group of lanes with the means, which add nothing. */
static void pad_with_means(struct block *block, const struct tp_pair_sums *sums)
{
    for (size_t i = block->n; i < block->padded; i++) {
        block->x[i] = sums->mean_x.high;
        block->y[i] = sums->mean_y.high;
        block->d[i] = sums->mean_d.high;
    }
}

/* Sums about the rounded means, then moved to the true ones, from which these
 * are off by the mean of what is left. */
static void central_sums(const struct block *block, struct tp_pair_sums *sums)
{
    lanes sx = {0}, sy = {0}, sd = {0}, xx = {0}, yy = {0}, xy = {0}, dd = {0},
          x, y, d;
    for (size_t i = 0; i < block->padded; i += LANES) {
        load(block->x + i, &x);
        load(block->y + i, &y);
        load(block->d + i, &d);
        x -= sums->mean_x.high;
        y -= sums->mean_y.high;
        d -= sums->mean_d.high;
        sx += x;
        sy += y;
        sd += d;
        xx += x * x;
        yy += y * y;
        xy += x * y;
        dd += d * d;
    }
    const double n = (double)block->n;
    const double by_x = fold(&sx) / n, by_y = fold(&sy) / n;
    const double by_d = fold(&sd) / n;
    sums->mean_x.low = by_x;
    sums->mean_y.low = by_y;
    sums->mean_d.low = by_d;
    sums->m2_x = fold(&xx) - n * by_x * by_x;
    sums->m2_y = fold(&yy) - n * by_y * by_y;
    sums->m2_d = fold(&dd) - n * by_d * by_d;
    sums->m_xy = fold(&xy) - n * by_x * by_y;
}

/* Takes a block of at least one pair of finite values. */
static void add_block(struct block *block, const struct tp_pair_scale *scale,
                      struct tp_pair_sums *sums)
{
    struct tp_pair_sums its;
    memset(&its, 0, sizeof its);
    its.finite = block->n;
    pad(block);
    const struct constant constant = compare(block, &its);
    rescale(block, scale);
    raw_sums(block, &its);
    pad_with_means(block, &its);
    central_sums(block, &its);
    if (constant.x) { /* exactly, so that r is known not to exist */
        its.mean_x = (struct tp_pair_mean){block->x[0], 0};
        its.m2_x = its.m_xy = 0;
    }
    if (constant.y) {
        its.mean_y = (struct tp_pair_mean){block->y[0], 0};
        its.m2_y = its.m_xy = 0;
    }
    tp_pair_merge(sums, &its);
}

void tp_pair_add(const struct tp_span *x, const struct tp_span *y,
                 int64_t first, const struct tp_pair_scale *scale,
                 struct tp_pair_sums *sums)
{
    const unsigned char *at_x = x->codes, *at_y = y->codes;
    const size_t size_x = tp_dtype_info(x->dtype)->size;
    const size_t size_y = tp_dtype_info(y->dtype)->size;
    struct block block;
    struct tp_pair_sums call; /* so that the call alone decides the rounding */
    memset(&call, 0, sizeof call);
    for (size_t done = 0; done < x->n; done += BLOCK) {
        const size_t left = x->n - done, n = left < BLOCK ? left : BLOCK;
        tp_dtype_decode(x->dtype, at_x + done * size_x, n, block.x);
        tp_dtype_decode(y->dtype, at_y + done * size_y, n, block.y);
        block.n = n;
        block.first = first + (int64_t)done;
        block.whole = true;
        pad(&block);
        if (!all_finite(&block))
            keep_finite(&block, &call);
        call.values += n;
        if (block.n > 0)
            add_block(&block, scale, &call);
    }
    tp_pair_merge(sums, &call);
}

/* --- sums ----------------------------------------------------------------- */

static int scale_of(double abs_max)
{
    if (!(abs_max > 0) || isinf(abs_max))
        return 0;
    return 400 * (int)floor((ilogb(abs_max) + 200) / 400.0);
}

struct tp_pair_scale tp_pair_scale_of(double x_abs_max, double y_abs_max)
{
    return (struct tp_pair_scale){
        scale_of(x_abs_max), scale_of(y_abs_max),
        scale_of(x_abs_max > y_abs_max ? x_abs_max : y_abs_max)};
}

static void merge_most(struct tp_pair_sums *into,
                       const struct tp_pair_sums *from)
{
    if (from->max_d > into->max_d) {
        into->max_d = from->max_d;
        into->max_d_at = from->max_d_at;
    }
    if (from->max_relative > into->max_relative) {
        into->max_relative = from->max_relative;
        into->max_relative_at = from->max_relative_at;
    }
}

static double between(const struct tp_pair_mean *from,
                      const struct tp_pair_mean *to)
{
    return (to->high - from->high) + (to->low - from->low);
}

/* Adds to a mean: high becomes the sum, low what rounding took of it. */
static void move(struct tp_pair_mean *mean, double by)
{
    const double added = mean->low + by, high = mean->high + added;
    const double part = high - mean->high;
    mean->low = (mean->high - (high - part)) + (added - part);
    mean->high = high;
}

/* Chan, Golub and LeVeque: each central sum of the union is that of the parts
 * plus a term in the difference of their means. */
static void merge_central(struct tp_pair_sums *into,
                          const struct tp_pair_sums *from)
{
    const double na = (double)into->finite, nb = (double)from->finite;
    const double share = nb / (na + nb), weight = na * share;
    const double x = between(&into->mean_x, &from->mean_x);
    const double y = between(&into->mean_y, &from->mean_y);
    const double d = between(&into->mean_d, &from->mean_d);
    into->m2_x += from->m2_x + x * x * weight;
    into->m2_y += from->m2_y + y * y * weight;
    into->m2_d += from->m2_d + d * d * weight;
    into->m_xy += from->m_xy + x * y * weight;
    move(&into->mean_x, x * share);
    move(&into->mean_y, y * share);
    move(&into->mean_d, d * share);
}

static void copy_central(struct tp_pair_sums *into,
                         const struct tp_pair_sums *from)
{
    into->mean_x = from->mean_x;
    into->mean_y = from->mean_y;
    into->mean_d = from->mean_d;
    into->m2_x = from->m2_x;
    into->m2_y = from->m2_y;
    into->m2_d = from->m2_d;
    into->m_xy = from->m_xy;
}

void tp_pair_merge(struct tp_pair_sums *into, const struct tp_pair_sums *from)
{
    merge_most(into, from);
    if (into->finite == 0) /* with both halves of the means */
        copy_central(into, from);
    else if (from->finite > 0)
        merge_central(into, from);
    into->values += from->values;
    into->nan += from->nan;
    into->inf += from->inf;
    into->finite += from->finite;
    into->equal += from->equal;
    into->xx += from->xx;
    into->yy += from->yy;
    into->xy += from->xy;
    into->dd += from->dd;
    into->abs_d += from->abs_d;
}

void tp_pair_repeat(struct tp_pair_sums *sums, uint64_t repeat)
{
    uint64_t *const counts[] = {&sums->values, &sums->nan, &sums->inf,
                                &sums->finite, &sums->equal};
    double *const totals[] = {&sums->m2_x, &sums->m2_y, &sums->m2_d,
                              &sums->m_xy, &sums->xx,   &sums->yy,
                              &sums->xy,   &sums->dd,   &sums->abs_d};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] *= repeat;
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        *totals[i] *= (double)repeat;
}

/* --- numbers -------------------------------------------------------------- */

/* Sums of squares of x, y and d, about the means or about zero, and of x y. */
struct squares {
    double x, y, d, xy;
};

/*
 * Sets *product to xy / (|x| |y|), NaN when one is 0, and *rest to 1 less that.
 * Of the two ways to it the better one: through the differences where x and y
 * are alike, directly elsewhere.
 */
static void angle(const struct squares *sum, const struct tp_pair_scale *scale,
                  double *product, double *rest)
{
    const double x = sqrt(sum->x), y = sqrt(sum->y);
    *product = *rest = NAN;
    if (!(x > 0) || !(y > 0))
        return;
    const double cosine = sum->xy / x / y;
    *product = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
    *rest = 1 - *product;
    const double dx = ldexp(x, scale->x - scale->difference);
    const double dy = ldexp(y, scale->y - scale->difference);
    if (cosine > 0.5 && dx < 2 * dy && dy < 2 * dx) {
        const double through = (sum->d - (dx - dy) * (dx - dy)) / dx / dy / 2;
        *rest = through > 0 ? through : 0;
    }
}

void tp_pair_numbers(const struct tp_pair_sums *sums,
                     const struct tp_pair_scale *scale,
                     struct tp_pair_numbers *numbers)
{
    const struct squares central = {sums->m2_x, sums->m2_y, sums->m2_d,
                                    sums->m_xy};
    const struct squares raw = {sums->xx, sums->yy, sums->dd, sums->xy};
    const double n = sums->finite ? (double)sums->finite : NAN;
    *numbers = (struct tp_pair_numbers){
        .values = sums->values,
        .finite = sums->finite,
        .nan = sums->nan,
        .inf = sums->inf,
        .equal = sums->equal,
        .slope = NAN,
        .intercept = NAN,
        .mse = ldexp(sums->dd / n, 2 * scale->difference),
        .mean_abs_diff = ldexp(sums->abs_d / n, scale->difference),
        .max_abs_diff = sums->finite ? sums->max_d : NAN,
        .max_abs_diff_at = sums->max_d > 0 ? sums->max_d_at : -1,
        .max_rel_diff = sums->finite ? sums->max_relative : NAN,
        .max_rel_diff_at = sums->max_relative > 0 ? sums->max_relative_at : -1,
    };
    angle(&central, scale, &numbers->pearson_r, &numbers->one_minus_r);
    angle(&raw, scale, &numbers->cosine, &numbers->one_minus_cosine);
    if (isnan(numbers->pearson_r))
        return;
    const double slope = sums->m_xy / sums->m2_x; /* in units of y over x */
    numbers->slope = ldexp(slope, scale->y - scale->x);
    numbers->intercept =
        ldexp((sums->mean_y.high - slope * sums->mean_x.high) +
                  (sums->mean_y.low - slope * sums->mean_x.low),
              scale->y);
}
