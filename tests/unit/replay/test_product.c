/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "replay/product.h"

/* A product, and beside it one of plain sums. */
struct trial {
    struct tp_product product;
    double *left, *right, *value, *bound;
};

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/* Values in -1 to 1 of so many bits. */
static double *fill(int64_t count, int bits, uint64_t seed)
{
    double *value = calloc((size_t)count + 1, sizeof *value);
    const int64_t half = (int64_t)1 << (bits - 1);
    for (int64_t i = 0; i < count; i++)
        value[i] =
            (double)((int64_t)(next(&seed) % (2 * (uint64_t)half)) - half) /
            (double)half;
    return value;
}

static struct trial make(int64_t m, int64_t n, int64_t k, int bits)
{
    struct trial t = {.left = fill(m * k, bits, 1),
                      .right = fill(n * k, bits, 2),
                      .value = calloc((size_t)(m * n) + 1, sizeof *t.value),
                      .bound = calloc((size_t)(m * n) + 1, sizeof *t.bound)};
    t.product = (struct tp_product){
        t.left, t.right, t.value, t.bound, m, n, k, ldexp((double)k + 1, -24)};
    return t;
}

static void run(struct trial *t)
{
    struct tp_error err = {0};
    cr_assert_eq(tp_product_run(&t->product, &err), TP_OK);
}

static void clear(struct trial *t)
{
    free(t->left);
    free(t->right);
    free(t->value);
    free(t->bound);
}

/* Each element within a part of its bound, each bound at least sum|a b| and
 * at most `most` times that. */
static void check(const struct trial *t, double part, double most)
{
    const struct tp_product *p = &t->product;
    for (int64_t i = 0; i<p->m; i += p->m> 100 ? 37 : 1)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < p->k; l++) {
                const double product =
                    t->left[i * p->k + l] * t->right[j * p->k + l];
                sum += product;
                size += fabs(product);
            }
            const int64_t at = i * p->n + j;
            const double bound = p->gamma * size * (1 - 1e-12);
            cr_assert(fabs(t->value[at] - sum) <= part * bound, "%g %g %g",
                      t->value[at], sum, bound);
            cr_assert(t->bound[at] >= bound && t->bound[at] <= most * bound,
                      "%g %g", t->bound[at], bound);
        }
}

Test(product, of_any_size_is_the_sum_of_products)
{
    static const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},
                                       {64, 65, 70},  {1, 700, 900},
                                       {130, 90, 60}, {512, 515, 513}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        struct trial t = make(s[0], s[1], s[2], 40);
        run(&t);
        check(&t, 1e-6, s[0] > 500 ? 1.6 : 1 + 1e-9);
        clear(&t);
    }
}

/* Of 8 bits: multiplied in fp32, in stretches; off by a part of the bound. */
Test(product, of_half_precision_is_known_to_a_part_of_its_bound)
{
    struct trial t = make(600, 1100, 700, 8);
    run(&t);
    check(&t, 0.1, 3);
    clear(&t);
}

/* A value that fp32 does not hold, and one whose product it does not. Beside an
 * outlier a norm says little of the terms that are small. */
Test(product, beyond_single_precision_is_computed_in_double)
{
    struct trial t = make(512, 512, 513, 8);
    t.left[5] = ldexp(1, 200);
    t.right[513] = ldexp(1, -140);
    run(&t);
    check(&t, 1e-6, INFINITY);
    clear(&t);
}

Test(product, of_nothing_is_zero)
{
    struct trial t = make(2, 2, 0, 8);
    t.value[3] = 7;
    run(&t);
    cr_assert_eq(t.value[3], 0);
    clear(&t);
}

/* NaN and infinity go where they are used, and nowhere else, by each path. */
Test(product, keeps_nan_and_infinity_in_their_row)
{
    static const int64_t sizes[][3] = {
        {4, 4, 4}, {80, 80, 80}, {512, 512, 520}};
    for (int bits = 8; bits <= 40; bits += 32)
        for (size_t i = 0; i < 3; i++) {
            const int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
            struct trial t = make(m, n, k, bits);
            t.left[k + 1] = NAN;
            t.left[2 * k + 1] = INFINITY;
            for (int64_t j = 0; j < n; j++)
                t.right[j * k + 1] = j == 1 ? 0 : 1;
            run(&t);
            cr_assert(isfinite(t.value[0]) && isfinite(t.bound[0]));
            cr_assert(isnan(t.value[n]) && isnan(t.value[n + 1]));
            cr_assert_eq(t.value[2 * n], INFINITY);
            cr_assert(isnan(t.value[2 * n + 1]));
            cr_assert(isfinite(t.value[3 * n]));
            clear(&t);
        }
}

static void *run_beside(void *trial)
{
    run(trial);
    return NULL;
}

/* So that --jobs changes no byte. */
Test(product, has_the_same_bits_beside_others)
{
    static const int64_t sizes[][3] = {
        {130, 90, 60}, {512, 515, 513}, {600, 1100, 700}};
    enum { THREADS = 3 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i];
        const size_t size = (size_t)(s[0] * s[1]) * sizeof(double);
        struct trial alone = make(s[0], s[1], s[2], 8), beside[THREADS];
        pthread_t threads[THREADS];
        run(&alone);
        for (int k = 0; k < THREADS; k++) {
            beside[k] = make(s[0], s[1], s[2], 8);
            cr_assert_eq(
                pthread_create(&threads[k], NULL, run_beside, &beside[k]), 0);
        }
        for (int k = 0; k < THREADS; k++) {
            cr_assert_eq(pthread_join(threads[k], NULL), 0);
            cr_assert_arr_eq(beside[k].value, alone.value, size);
            cr_assert_arr_eq(beside[k].bound, alone.bound, size);
            clear(&beside[k]);
        }
        clear(&alone);
    }
}

struct repeated {
    struct trial trial;
    const double *value; /* as it is alone ...                              */
    int power;           /* ... times 2^power                               */
    int64_t others;      /* values that came out otherwise                  */
};

static void *repeat(void *context)
{
    enum { TIMES = 2000 };
    struct repeated *r = context;
    const int64_t size = r->trial.product.m * r->trial.product.n;
    for (int i = 0; i < TIMES; i++) {
        run(&r->trial);
        for (int64_t at = 0; at < size; at++)
            r->others += r->trial.value[at] != ldexp(r->value[at], r->power);
    }
    return NULL;
}

/* OpenBLAS without threads of its own does not guard its buffers: then one
 * product in fifty is wrong. */
Test(product, has_the_same_bits_each_time_beside_others)
{
    enum { THREADS = 4 };
    struct trial alone = make(64, 128, 300, 8);
    struct repeated beside[THREADS];
    pthread_t threads[THREADS];
    run(&alone);
    for (int k = 0; k < THREADS; k++) {
        beside[k] = (struct repeated){make(64, 128, 300, 8), alone.value, k, 0};
        for (int64_t i = 0; i < 64L * 300; i++)
            beside[k].trial.left[i] = ldexp(beside[k].trial.left[i], k);
        cr_assert_eq(pthread_create(&threads[k], NULL, repeat, &beside[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        cr_assert_eq(pthread_join(threads[k], NULL), 0);
        cr_assert_eq(beside[k].others, 0);
        clear(&beside[k].trial);
    }
    clear(&alone);
}
