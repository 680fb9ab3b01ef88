/* SPDX-License-Identifier: MIT */
/*
 * A product of matrices and sum|a b|, by size:
 *
 *  - small: two sums side by side in fp64, the same on any machine;
 *  - up to LARGE: two products of BLAS in fp64, of values and of magnitudes;
 *  - beyond: sum|a b| <= sum over stretches of 8 of |a|_2 |b|_2 (Cauchy and
 *    Schwarz), an eighth of the work. That is at most the bound times 1.6 for
 *    what is normally distributed, and of the bound alone, which is already
 *    the worst case of k roundings. Values of at most 11 bits, whose products
 *    are exact in fp32, are multiplied in fp32, STRETCH terms at a time, and
 *    these sums added in fp64: off by less than gamma_STRETCH sum|a b|, which
 *    the bound takes in. So each element is known to a fraction of what the
 *    device may be off, and none is left out, as sampling or a check of sums
 *    would. fp64 where the range of the values might leave that of fp32.
 *
 * Memory: magnitudes, or a copy in fp32, of both sides.
 */
#include "replay/product.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay/blas.h"

/* Multiplications up to which a call of BLAS gains nothing, and from which a
 * second product costs more than the reading of the operands. */
static const double SMALL = 1 << 18, LARGE = 1 << 27;

/* A tile of the result, 4 MiB, stays in the cache while it is added to. */
enum { ROWS = 512, COLUMNS = 1024, STRETCH = 512, LINE = 8 };

/* --- small ---------------------------------------------------------------- */

/* Sums of products and of their magnitudes, in four lanes. */
static void multiply_row(const double *a, const double *b, int64_t k,
                         double *sum, double *magnitude)
{
    double s[4] = {0}, t[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= k; i += 4)
        for (int lane = 0; lane < 4; lane++) {
            const double product = a[i + lane] * b[i + lane];
            s[lane] += product;
            t[lane] += fabs(product);
        }
    for (; i < k; i++) {
        s[0] += a[i] * b[i];
        t[0] += fabs(a[i] * b[i]);
    }
    *sum = (s[0] + s[1]) + (s[2] + s[3]);
    *magnitude = (t[0] + t[1]) + (t[2] + t[3]);
}

static void multiply_small(const struct tp_product *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at = i * p->n + j;
            multiply_row(p->left + i * p->k, p->right + j * p->k, p->k,
                         &p->value[at], &p->bound[at]);
            p->bound[at] *= p->gamma;
        }
}

/* --- in fp64 -------------------------------------------------------------- */

/* All in one call; BLAS counts in int. */
static void multiply_doubles(const struct tp_blas *blas,
                             const struct tp_product *p, double factor)
{
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    blas->dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, factor,
                p->left, k, p->right, k, 0, p->value, n);
}

/* The bound, by two matrices of k terms that are not negative. */
static struct tp_product bound_of(const struct tp_product *p,
                                  const double *left, const double *right,
                                  int64_t k)
{
    struct tp_product bound = *p;
    bound.left = left;
    bound.right = right;
    bound.value = p->bound;
    bound.k = k;
    return bound;
}

static double *magnitudes(const double *value, int64_t count)
{
    double *size = malloc((size_t)count * sizeof *size);
    for (int64_t i = 0; size && i < count; i++)
        size[i] = fabs(value[i]);
    return size;
}

static enum tp_status bound_by_magnitudes(const struct tp_blas *blas,
                                          const struct tp_product *p,
                                          struct tp_error *err)
{
    double *left = magnitudes(p->left, p->m * p->k);
    double *right = magnitudes(p->right, p->n * p->k);
    const bool held = left && right;
    const struct tp_product bound = bound_of(p, left, right, p->k);
    if (held)
        multiply_doubles(blas, &bound, p->gamma);
    free(left);
    free(right);
    return held ? TP_OK : tp_fail_memory(err);
}

/* --- large ---------------------------------------------------------------- */

/* What the finite values of a matrix are, but for zeros. */
struct range {
    double least, most; /* magnitudes                                       */
    bool narrow;        /* of 12 significant bits at most                   */
};

static struct range range_of(const double *value, int64_t count)
{
    struct range range = {INFINITY, 0, true};
    uint64_t bits, all = 0;
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(value[i]);
        memcpy(&bits, &value[i], sizeof bits);
        all |= bits;
        if (size < range.least && size > 0)
            range.least = size;
        if (size > range.most && size < INFINITY)
            range.most = size;
    }
    range.narrow = (all & ((1ULL << 41) - 1)) == 0;
    return range;
}

/* L2 norms of stretches of LINE along each row: [rows][lines]. */
static double *norms(const double *value, int64_t rows, int64_t k,
                     int64_t lines)
{
    double *norm = malloc((size_t)(rows * lines) * sizeof *norm);
    for (int64_t i = 0; norm && i < rows * lines; i++) {
        const int64_t first = i % lines * LINE;
        const int64_t end = first + LINE < k ? first + LINE : k;
        const double *x = value + i / lines * k;
        double square = 0;
        for (int64_t j = first; j < end; j++)
            square += x[j] * x[j];
        norm[i] = sqrt(square);
    }
    return norm;
}

static float *floats(const double *value, int64_t count)
{
    float *single = malloc((size_t)count * sizeof *single);
    for (int64_t i = 0; single && i < count; i++)
        single[i] = (float)value[i];
    return single;
}

/* A product of floats, whose stretches are added in fp64. */
struct singles {
    const struct tp_blas *blas;
    const float *left, *right;
    float *part; /* of a tile                                               */
    int64_t m, n, k;
    double *value;
};

static void add_tile(const struct singles *s, int64_t i, int64_t j)
{
    const int64_t rows = s->m - i < ROWS ? s->m - i : ROWS;
    const int64_t columns = s->n - j < COLUMNS ? s->n - j : COLUMNS;
    for (int64_t at = 0; at < s->k; at += STRETCH) {
        const int64_t k = s->k - at < STRETCH ? s->k - at : STRETCH;
        s->blas->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows,
                       (int)columns, (int)k, 1, s->left + i * s->k + at,
                       (int)s->k, s->right + j * s->k + at, (int)s->k, 0,
                       s->part, (int)columns);
        for (int64_t row = 0; row < rows; row++) {
            double *to = s->value + (i + row) * s->n + j;
            const float *from = s->part + row * columns;
            for (int64_t column = 0; column < columns; column++)
                to[column] = (at ? to[column] : 0) + (double)from[column];
        }
    }
}

static enum tp_status multiply_singles(const struct tp_blas *blas,
                                       const struct tp_product *p,
                                       struct tp_error *err)
{
    float *a = floats(p->left, p->m * p->k);
    float *b = floats(p->right, p->n * p->k);
    float *part = malloc(sizeof *part * ROWS * COLUMNS);
    const bool held = a && b && part;
    const struct singles singles = {blas, a,    b,    part,
                                    p->m, p->n, p->k, p->value};
    for (int64_t i = 0; held && i < p->m; i += ROWS)
        for (int64_t j = 0; j < p->n; j += COLUMNS)
            add_tile(&singles, i, j);
    free(a);
    free(b);
    free(part);
    return held ? TP_OK : tp_fail_memory(err);
}

/* Norms are rounded to fp32 and their sums there: less than 2^-14. */
static enum tp_status bound_by_norms(const struct tp_blas *blas,
                                     const struct tp_product *p, bool single,
                                     struct tp_error *err)
{
    const int64_t lines = (p->k + LINE - 1) / LINE;
    double *left = norms(p->left, p->m, p->k, lines);
    double *right = norms(p->right, p->n, p->k, lines);
    const double own = (STRETCH + 1) * ldexp(1, -24);
    enum tp_status status = left && right ? TP_OK : tp_fail_memory(err);
    const struct tp_product bound = bound_of(p, left, right, lines);
    if (status == TP_OK && single)
        status = multiply_singles(blas, &bound, err);
    else if (status == TP_OK)
        multiply_doubles(blas, &bound, p->gamma);
    for (int64_t i = 0; status == TP_OK && single && i < p->m * p->n; i++)
        p->bound[i] *= (p->gamma + own) * (1 + ldexp(1, -14));
    free(left);
    free(right);
    return status;
}

/* Whether squares of all values, and of these the roots, are numbers. */
static bool fit_norms(const struct range *range)
{
    return range->most < 1e150 && range->least > 1e-150;
}

/* Whether fp32 holds all products, their sums and the norms. */
static bool fit_singles(const struct range *left, const struct range *right,
                        int64_t k)
{
    const double most = ldexp(1, 120), least = ldexp(1, -100);
    return left->narrow && right->narrow && left->most < most &&
           right->most < most && left->least > least && right->least > least &&
           left->least * right->least > least &&
           left->most * right->most * (double)k < most;
}

static enum tp_status multiply_large(const struct tp_blas *blas,
                                     const struct tp_product *p,
                                     struct tp_error *err)
{
    const struct range left = range_of(p->left, p->m * p->k);
    const struct range right = range_of(p->right, p->n * p->k);
    const bool single = fit_singles(&left, &right, p->k);
    enum tp_status status = TP_OK;
    if (single)
        status = multiply_singles(blas, p, err);
    else
        multiply_doubles(blas, p, 1);
    if (status != TP_OK)
        return status;
    return fit_norms(&left) && fit_norms(&right)
               ? bound_by_norms(blas, p, single, err)
               : bound_by_magnitudes(blas, p, err);
}

enum tp_status tp_product_run(const struct tp_product *product,
                              struct tp_error *err)
{
    const double work =
        (double)product->m * (double)product->n * (double)product->k;
    if (work <= SMALL) {
        multiply_small(product);
        return TP_OK;
    }
    struct tp_blas blas;
    enum tp_status status = tp_blas_open(&blas, err);
    if (status != TP_OK)
        return status;
    if (work >= LARGE) {
        status = multiply_large(&blas, product, err);
    } else {
        multiply_doubles(&blas, product, 1);
        status = bound_by_magnitudes(&blas, product, err);
    }
    tp_blas_close(&blas);
    return status;
}
