/* SPDX-License-Identifier: MIT */
/*
 * The accumulator against plain loops over a bitmap: what it counts by index,
 * runs, holes, stretches, parity; pieces merged against all in one; codes of
 * each dtype against their decoded values.
 */
#include "damage/damage.h"

#include <math.h>

#include "damage/damage_pair.h"
#include "tests/unit/support/damaged.h"

/* --- codes ---------------------------------------------------------------- */

static unsigned kind_of(enum tp_dtype dtype, uint64_t code)
{
    double value;
    const uint16_t two = (uint16_t)code;
    const uint8_t one = (uint8_t)code;
    tp_dtype_decode(dtype,
                    tp_dtype_info(dtype)->size == 1 ? (const void *)&one
                                                    : (const void *)&two,
                    1, &value);
    if (isnan(value))
        return TP_DAMAGE_NAN;
    if (isinf(value))
        return TP_DAMAGE_INF;
    if (value == 0)
        return TP_DAMAGE_ZERO;
    return dtype == TP_BFLOAT16 && fabs(value) >= ldexp(1, 64) ? TP_DAMAGE_HUGE
                                                               : 0;
}

/* All codes in a span, for each choice of kinds. */
static void expect_kinds(enum tp_dtype dtype)
{
    static unsigned char codes[65536 * 2];
    const size_t size = tp_dtype_info(dtype)->size;
    const size_t n = size == 1 ? 256 : 65536;
    for (size_t i = 0; i < n; i++) {
        const uint16_t two = (uint16_t)i;
        codes[i * size] = (unsigned char)i;
        if (size == 2)
            memcpy(codes + 2 * i, &two, 2);
    }
    const struct tp_span span = {dtype, codes, n};
    for (unsigned kinds = 1; kinds < 16; kinds++) {
        struct tp_damage_codes how;
        tp_damage_codes_make(dtype, kinds, &how);
        for (size_t at = 0; at < n; at += 64) {
            uint64_t want = 0;
            for (size_t i = 0; i < 64; i++)
                want |= (uint64_t)((kind_of(dtype, at + i) & kinds) != 0) << i;
            cr_assert_eq(tp_damage_marks(&how, &span, at, 64), want,
                         "%s: kinds %u, code %zu", tp_dtype_info(dtype)->name,
                         kinds, at);
            cr_assert_eq(tp_damage_marks(&how, &span, at, 37),
                         want & (UINT64_MAX >> 27));
        }
    }
}

Test(damage, kinds_of_all_codes)
{
    static const enum tp_dtype dtypes[] = {
        TP_FLOAT16,         TP_BFLOAT16,
        TP_FLOAT8_E4M3FN,   TP_FLOAT8_E5M2,
        TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E5M2FNUZ,
        TP_FLOAT8_E8M0FNU,  TP_INT8,
        TP_UINT8,           TP_INT16,
        TP_UINT16,          TP_BOOL};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        expect_kinds(dtypes[i]);
}

Test(damage, kinds_of_wide_codes)
{
    struct tp_damage_codes how;
    const unsigned all = 15;
    const float small = 1.8e19f, large = 1.85e19f; /* 2^64 is 1.8447e19 */
    const float floats[64] = {0,     -0.f,  NAN,    -NAN, INFINITY, -INFINITY,
                              small, large, -large, 1,    1e-45f,   3.4e38f};
    const struct tp_span four = {TP_FLOAT32, floats, 64};
    tp_damage_codes_make(TP_FLOAT32, all & ~(unsigned)TP_DAMAGE_ZERO, &how);
    cr_expect_eq(tp_damage_marks(&how, &four, 0, 64), 0x9bc);
    tp_damage_codes_make(TP_FLOAT32, TP_DAMAGE_INF, &how);
    cr_expect_eq(tp_damage_marks(&how, &four, 0, 64), 0x30);
    const double doubles[64] = {NAN, 1e154, 1.35e154, -1e308, INFINITY};
    const struct tp_span eight = {TP_FLOAT64, doubles, 64};
    tp_damage_codes_make(TP_FLOAT64, TP_DAMAGE_HUGE, &how);
    cr_expect_eq(tp_damage_marks(&how, &eight, 0, 64), 0xc);
    tp_damage_codes_make(TP_FLOAT64, TP_DAMAGE_NAN, &how);
    cr_expect_eq(tp_damage_marks(&how, &eight, 0, 64), 1);
    const int64_t integers[64] = {1, 0, -1, INT64_MIN};
    const struct tp_span whole = {TP_INT64, integers, 4};
    tp_damage_codes_make(TP_INT64, all, &how);
    cr_expect_eq(tp_damage_marks(&how, &whole, 0, 4), 2);
}

static uint64_t differ(enum tp_dtype dtype, const void *x, const void *y,
                       size_t n)
{
    struct tp_damage_codes how;
    struct tp_damage_differences differences = {0};
    uint64_t words[TP_DAMAGE_BATCH_WORDS];
    tp_damage_codes_make(dtype, 0, &how);
    const struct tp_damage_sides sides = {x, y, n};
    tp_damage_pair_look(&how, &sides, words, &differences);
    for (int i = 1; i < TP_DAMAGE_BATCH_WORDS; i++)
        cr_assert_eq(words[i], 0);
    return words[0];
}

Test(damage, pairs)
{
    float x[64] = {0}, y[64] = {0};
    x[0] = NAN; /* no difference */
    y[0] = -NAN;
    x[1] = 1;
    y[2] = -0.f; /* another bit */
    y[3] = NAN;
    y[63] = 1e-45f;
    cr_expect_eq(differ(TP_FLOAT32, x, y, 64), UINT64_C(0x800000000000000e));
    cr_expect_eq(differ(TP_FLOAT32, x, y, 63), 0xe);
    const int8_t small[64] = {1, 1, 0, 0, 5};
    const struct tp_span a = {TP_FLOAT32, x, 64}, c = {TP_INT8, small, 64};
    /* values, of other dtypes */
    cr_expect_eq(tp_damage_marks_values(&a, &c, 0, 64), 0x11);
    cr_expect_eq(tp_damage_marks_values(&a, &c, 1, 9), 0x8);
}

/* What is told of an element that differs, one by one. */
static void add_plain(const struct tp_damage_codes *codes, uint64_t x,
                      uint64_t y, struct tp_damage_differences *to)
{
    const enum tp_code_order order = tp_code_order_of(codes->dtype);
    const int bits = 8 * (int)codes->size;
    const uint64_t key_x = tp_code_key(order, bits, x);
    const uint64_t key_y = tp_code_key(order, bits, y);
    const unsigned kind = tp_damage_kind_of(codes, y);
    int far = 0, ones = 0, one = 0;
    for (uint64_t d = key_x > key_y ? key_x - key_y : key_y - key_x; d; d /= 2)
        far++;
    for (int i = 0; i < bits; i++) {
        ones += (x ^ y) >> i & 1;
        one = (x ^ y) >> i & 1 ? i : one;
    }
    to->ulp[far]++;
    to->one_bit[one] += ones == 1;
    to->nan += kind == TP_DAMAGE_NAN;
    to->inf += kind == TP_DAMAGE_INF;
    to->zero += kind == TP_DAMAGE_ZERO;
    to->huge += kind == TP_DAMAGE_HUGE;
}

/* A code that differs from another in some way: alike; in one bit; by little;
 * in all; or one at an end of the codes. */
static uint64_t other_code(uint64_t x, uint64_t *seed)
{
    const uint64_t noise = damaged_noise(seed);
    switch (damaged_noise(seed) % 6) {
    case 0:
        return x;
    case 1:
        return x ^ UINT64_C(1) << noise % 64;
    case 2:
        return x + noise % 5 - 2;
    case 3:
        return (noise & 1) << 63 | (noise & 2) << 30 | (noise & 4) << 13 |
               (noise & 8) << 4;
    case 4: /* all exponents' bits of some dtype */
        return ~(noise % 3 << (noise / 8 % 64));
    default:
        return noise;
    }
}

static void expect_plain(enum tp_dtype dtype, enum tp_isa isa, size_t n,
                         uint64_t *seed)
{
    static unsigned char codes[2][TP_DAMAGE_BATCH * 8 + 1];
    unsigned char *x = codes[0] + n % 2, *y = codes[1] + 1 - n % 2;
    uint64_t words[TP_DAMAGE_BATCH_WORDS];
    uint64_t want_words[TP_DAMAGE_BATCH_WORDS] = {0};
    struct tp_damage_differences found, want;
    struct tp_damage_codes how;
    memset(&found, 0, sizeof found);
    memset(&want, 0, sizeof want);
    tp_damage_codes_make(dtype, 0, &how);
    for (size_t i = 0; i < n; i++) { /* low bytes first: little-endian or not */
        const uint64_t a = other_code(damaged_noise(seed), seed);
        const uint64_t b = other_code(a, seed);
        memcpy(x + i * how.size, &a, how.size);
        memcpy(y + i * how.size, &b, how.size);
        const struct tp_span xs = {dtype, x, n}, ys = {dtype, y, n};
        const uint64_t p = tp_damage_code_at(&xs, how.size, i);
        const uint64_t q = tp_damage_code_at(&ys, how.size, i);
        if (p == q || (tp_damage_kind_of(&how, p) == TP_DAMAGE_NAN &&
                       tp_damage_kind_of(&how, q) == TP_DAMAGE_NAN))
            continue;
        want_words[i / 64] |= UINT64_C(1) << i % 64;
        add_plain(&how, p, q, &want);
    }
    const struct tp_damage_sides sides = {x, y, n};
    how.isa = isa;
    tp_damage_pair_look(&how, &sides, words, &found);
    cr_assert_arr_eq(words, want_words, sizeof words, "%s, %zu elements",
                     tp_dtype_info(dtype)->name, n);
    cr_assert_arr_eq(&found, &want, sizeof found, "%s, %zu elements",
                     tp_dtype_info(dtype)->name, n);
}

Test(damage, pairs_against_plain_loops)
{
    static const enum tp_dtype dtypes[] = {
        TP_FLOAT64,         TP_FLOAT32,
        TP_FLOAT16,         TP_BFLOAT16,
        TP_FLOAT8_E4M3FN,   TP_FLOAT8_E5M2,
        TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E5M2FNUZ,
        TP_FLOAT8_E8M0FNU,  TP_INT8,
        TP_UINT8,           TP_INT16,
        TP_UINT16,          TP_INT32,
        TP_UINT32,          TP_INT64,
        TP_UINT64,          TP_BOOL};
    const enum tp_isa isas[] = {TP_ISA_PORTABLE, tp_isa_best()};
    uint64_t seed = 20261122;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t n = 1; n <= TP_DAMAGE_BATCH; n += 73)
            for (int k = 0; k < 2; k++)
                expect_plain(dtypes[i], isas[k], n, &seed);
}

/* One NaN is as good as another. */
Test(damage, nan_in_both)
{
    struct damaged d = damaged_new(TP_BFLOAT16, (int64_t[4]){16, 16});
    struct damaged_found found;
    for (int64_t i = 0; i < 100; i++)
        damaged_set(&d, i, 0x7fc0 + (uint64_t)i % 3);
    memcpy(d.x, d.y, (size_t)d.numel * d.size);
    for (int64_t i = 0; i < 90; i++)
        damaged_set(&d, i, 0xffc1);
    damaged_find(&d, 0, NULL, &found);
    cr_expect_eq(found.damage.damaged, 0);
    cr_expect_eq(found.damage.nan, 0);
    damaged_set(&d, 50, 0x3f80);
    damaged_set(&d, 110, 0x7fc0);
    damaged_find(&d, 0, NULL, &found);
    cr_expect_eq(found.damage.damaged, 2);
    cr_expect_eq(found.damage.nan, 1);
    uint64_t ulp = 0;
    for (int i = 0; i < 65; i++)
        ulp += found.damage.ulp[i];
    cr_expect_eq(ulp, 2);
    damaged_free(&d);
}

/* --- the accumulator ------------------------------------------------------ */

/* Whether an element is damaged, for each. */
struct map {
    int64_t numel;
    const unsigned char *bad;
};

static int64_t index_of(const struct damaged *d, int64_t element, int axis)
{
    for (int i = d->ndim - 1; i > axis; i--)
        element /= d->shape[i];
    return element % d->shape[axis];
}

static void expect_cells(const struct damaged *d, const struct map *map,
                         const struct tp_damage_plan *plan,
                         const int64_t *cells)
{
    for (int i = 0; i < plan->ndim; i++) {
        const struct tp_damage_axis *axis = &plan->axes[i];
        int64_t *want = calloc(axis->cells, sizeof *want);
        for (int64_t k = 0; k < map->numel; k++)
            want[index_of(d, k, axis->axis) >> axis->shift] += map->bad[k];
        for (size_t k = 0; k < axis->cells; k++)
            cr_assert_eq(cells[axis->first_cell + k], want[k],
                         "axis %d, cell %zu", i, k);
        free(want);
    }
}

static void expect_runs(const struct map *map, const struct tp_damage *damage)
{
    uint64_t lengths[TP_DAMAGE_NEAR + 1] = {0}, runs = 0;
    uint64_t holes[TP_DAMAGE_NEAR + 1] = {0};
    int64_t before = -1;
    for (int64_t i = 0, end; i < map->numel; i = end + 1) {
        for (end = i; end < map->numel && map->bad[end];)
            end++;
        if (end == i)
            continue;
        if (runs)
            holes[i - before <= TP_DAMAGE_NEAR ? i - before : 0]++;
        lengths[end - i <= TP_DAMAGE_NEAR ? end - i : 0]++;
        before = end;
        runs++;
    }
    cr_assert_eq(damage->runs, runs);
    if (runs == 0)
        return;
    const struct tp_damage_run ends[2] = {damage->first, damage->last};
    for (uint64_t i = 0; i < 2 && i < runs; i++) {
        const int64_t length = ends[i].end - ends[i].begin;
        lengths[length <= TP_DAMAGE_NEAR ? length : 0]--;
    }
    cr_assert_arr_eq(damage->length, lengths, sizeof lengths);
    cr_assert_arr_eq(damage->hole, holes, sizeof holes);
}

/* The stretches by brute force; the best are those with most elements. */
static void expect_stretches(const struct map *map,
                             const struct tp_damage *damage)
{
    struct tp_damage_stretch *all = calloc((size_t)map->numel + 1, sizeof *all);
    uint64_t count = 0;
    for (int64_t i = 0; i < map->numel; i++) {
        struct tp_damage_stretch *last = &all[count ? count - 1 : 0];
        if (!map->bad[i])
            continue;
        if (count == 0 || i - last->end > TP_DAMAGE_GAP)
            all[count++] = (struct tp_damage_stretch){i, i + 1, 1};
        else
            *last = (struct tp_damage_stretch){last->begin, i + 1,
                                               last->damaged + 1};
    }
    cr_assert_eq(damage->stretches, count);
    if (count)
        cr_assert_arr_eq(&damage->head, &all[0], sizeof *all);
    if (count > 1)
        cr_assert_arr_eq(&damage->tail, &all[count - 1], sizeof *all);
    for (int k = 0; k < TP_DAMAGE_STRETCHES; k++) {
        struct tp_damage_stretch best = {0, 0, 0};
        uint64_t at = 0;
        for (uint64_t i = 1; i + 1 < count; i++) {
            if (all[i].damaged > best.damaged) {
                best = all[i];
                at = i;
            }
        }
        cr_assert_arr_eq(&damage->best[k], &best, sizeof best, "number %d", k);
        all[at].damaged = 0;
    }
    free(all);
}

static void expect_map(struct damaged *d, const struct map *map)
{
    struct tp_damage_view view;
    struct tp_damage_plan plan;
    struct tp_damage all, merged;
    tp_damage_view_plain(d->ndim, d->shape, &view);
    tp_damage_plan_make(d->dtype, 0, &view, &plan);
    int64_t *cells = calloc(plan.cells, sizeof *cells);
    int64_t *summed = calloc(plan.cells, sizeof *cells);
    memset(&all, 0, sizeof all);
    const struct tp_span pair[2] = {{d->dtype, d->x, (size_t)d->numel},
                                    {d->dtype, d->y, (size_t)d->numel}};
    tp_damage_add_pair(&plan, pair, 0, &all, cells);
    struct damaged_found found;
    damaged_find(d, 0, NULL, &found); /* merged pieces */
    merged = found.damage;
    cr_assert_arr_eq(&merged, &all, sizeof all);
    uint64_t bad = 0, odd = 0;
    for (int64_t i = 0; i < map->numel; i++) {
        int64_t sum = 0;
        for (int k = plan.ndim > 1 ? plan.ndim - 2 : 0; k < plan.ndim; k++)
            sum += index_of(d, i, plan.axes[k].axis);
        bad += map->bad[i];
        odd += map->bad[i] && sum % 2;
    }
    cr_assert_eq(all.damaged, bad);
    cr_assert_eq(all.odd, odd);
    expect_cells(d, map, &plan, cells);
    expect_runs(map, &all);
    expect_stretches(map, &all);
    free(cells);
    free(summed);
}

/* Stretches of damage of random lengths, with so much of it intact. */
static void damage_at_random(struct damaged *d, unsigned char *bad, int kind,
                             uint64_t *seed)
{
    static const int64_t lengths[] = {1, 3, 20, 200};
    const uint64_t longest = (uint64_t)lengths[kind % 4];
    const uint64_t hole = (uint64_t)lengths[kind / 4 % 4] * 3;
    int64_t i = (int64_t)(damaged_noise(seed) % hole);
    while (i < d->numel) {
        int64_t n = 1 + (int64_t)(damaged_noise(seed) % longest);
        for (; n > 0 && i < d->numel; n--, i++) {
            d->y[(size_t)i * d->size] ^= 1;
            bad[i] = 1;
        }
        i += 1 + (int64_t)(damaged_noise(seed) % hole);
    }
}

Test(damage, against_plain_loops)
{
    static const int64_t shapes[][4] = {
        {1},      {63},        {64},         {5000},         {30, 64},
        {64, 33}, {7, 1, 129}, {5, 6, 7, 8}, {2, 3, 1, 500}, {2100, 2}};
    static const enum tp_dtype dtypes[] = {TP_INT8, TP_BFLOAT16, TP_FLOAT32,
                                           TP_FLOAT64};
    uint64_t seed = 20260115;
    for (int i = 0; i < 10; i++) {
        for (int kind = 0; kind < 16; kind++) {
            struct damaged d = damaged_new(dtypes[kind % 4], shapes[i]);
            unsigned char *bad = calloc((size_t)d.numel, 1);
            const struct map map = {d.numel, bad};
            d.noise = damaged_noise(&seed);
            damage_at_random(&d, bad, kind, &seed);
            expect_map(&d, &map);
            free(bad);
            damaged_free(&d);
        }
    }
}

Test(damage, nothing)
{
    struct damaged d = damaged_new(TP_FLOAT32, (int64_t[4]){100, 100});
    struct damaged_found found;
    damaged_find(&d, 0, NULL, &found);
    struct tp_damage none;
    memset(&none, 0, sizeof none);
    cr_expect_arr_eq(&found.damage, &none, sizeof none);
    cr_expect_eq(found.shape.name, TP_DAMAGE_NONE);
    damaged_free(&d);
}

/* An axis longer than there are cells. */
Test(damage, wide_cells)
{
    const int64_t n = (INT64_C(1) << 20) + 5;
    struct damaged d = damaged_new(TP_INT8, (int64_t[4]){2, n});
    unsigned char *bad = calloc((size_t)d.numel, 1);
    const struct map map = {d.numel, bad};
    for (int64_t i = 1003; i < 300001; i++)
        bad[i] = 1;
    for (int64_t i = n - 3; i < n + 11; i++)
        bad[i] = 1;
    bad[d.numel - 1] = 1;
    for (int64_t i = 0; i < d.numel; i++)
        d.y[i] ^= bad[i];
    expect_map(&d, &map);
    free(bad);
    damaged_free(&d);
}
