/* SPDX-License-Identifier: MIT */
/*
 * What the sums of two tensors give (difference_add.c makes them), and how
 * they are merged. One less the cosine is taken from the sum of the squared
 * differences, as in pair.c, since near 1 the cosine has no digits left for it.
 * Quantiles of distances are read from their bins. The distance of the two
 * distributions is the largest sum, from the least value up, of the cells in
 * the order of their values (Kolmogorov and Smirnov); the alternative, to sort
 * both tensors, needs their memory.
 *
 * Cost: 65 536 additions a pair of tensors, as vectors skip what is empty.
 */
#include "stats/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "data/dtype_math.h"
#include "stats/difference_math.h"

/* --- plans ---------------------------------------------------------------- */

/* The exponent of the smallest normal number of a floating dtype. */
static int least_of(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_FLOAT64:
        return DBL_MIN_EXP - 1;
    case TP_FLOAT32:
    case TP_BFLOAT16:
    case TP_FLOAT8_E8M0FNU:
        return FLT_MIN_EXP - 1;
    default:
        return 1 - tp_layout_of(dtype).bias;
    }
}

/* Sets the unit in the last place. */
static void set_unit(struct tp_difference_plan *plan)
{
    const int p = tp_dtype_info(plan->x)->significand;
    const int q = tp_dtype_info(plan->y)->significand;
    const int least_x = p > 0 ? least_of(plan->x) : 0;
    const int least_y = q > 0 ? least_of(plan->y) : 0;
    const bool is_x =
        q == 0 || (p > 0 && p < q) || (p == q && least_x > least_y);
    plan->fraction = (is_x ? p : q) - 1;
    plan->least = is_x ? least_x : least_y;
}

static void set_values(enum tp_dtype dtype, float *values)
{
    for (unsigned i = 0; tp_dtype_info(dtype)->size == 1 && i < 256; i++)
        values[i] = (float)tp_code_value(dtype, i);
}

void tp_difference_plan_make(enum tp_dtype x, enum tp_dtype y, enum tp_isa isa,
                             struct tp_difference_plan *plan)
{
    const struct tp_dtype_info *a = tp_dtype_info(x), *b = tp_dtype_info(y);
    memset(plan, 0, sizeof *plan);
    plan->x = x;
    plan->y = y;
    plan->isa = tp_isa_known(isa);
    plan->same = x == y;
    plan->single = a->kind == TP_CLASS_FLOAT && a->size <= 4 &&
                   b->kind == TP_CLASS_FLOAT && b->size <= 4;
    plan->raw_cells = plan->same && a->size == 2;
    plan->joint = a->size == 1 && b->size == 1;
    set_unit(plan);
    set_values(x, plan->value_x);
    set_values(y, plan->value_y);
}

/* --- merging -------------------------------------------------------------- */

void tp_difference_merge(struct tp_difference *into,
                         const struct tp_difference *from)
{
    into->values += from->values;
    into->finite += from->finite;
    into->nan_x += from->nan_x;
    into->nan_y += from->nan_y;
    into->inf_x += from->inf_x;
    into->inf_y += from->inf_y;
    into->both_nan += from->both_nan;
    into->same_inf += from->same_inf;
    into->opposite_inf += from->opposite_inf;
    into->differ += from->differ;
    into->below_1e_3 += from->below_1e_3;
    into->below_5e_3 += from->below_5e_3;
    into->xx += from->xx;
    into->yy += from->yy;
    into->xy += from->xy;
    into->dd += from->dd;
    into->abs_d += from->abs_d;
    into->max_abs = fmax(into->max_abs, from->max_abs);
    into->max_relative = fmax(into->max_relative, from->max_relative);
    if (from->ulp_max > into->ulp_max)
        into->ulp_max = from->ulp_max;
    if (into->first_at == 0)
        into->first_at = from->first_at;
    for (int i = 0; i < TP_DIFFERENCE_ULP_BINS; i++)
        into->ulp[i] += from->ulp[i];
}

static void multiply(uint64_t *counts, size_t n, uint64_t by)
{
    for (size_t i = 0; i < n; i++)
        counts[i] *= by;
}

void tp_difference_repeat(struct tp_difference *difference, uint64_t repeat)
{
    struct tp_difference *d = difference;
    uint64_t *const counts[] = {
        &d->values, &d->finite,     &d->nan_x,      &d->nan_y,
        &d->inf_x,  &d->inf_y,      &d->both_nan,   &d->same_inf,
        &d->differ, &d->below_1e_3, &d->below_5e_3, &d->opposite_inf};
    double *const sums[] = {&d->xx, &d->yy, &d->xy, &d->dd, &d->abs_d};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] *= repeat;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] *= (double)repeat;
    multiply(d->ulp, TP_DIFFERENCE_ULP_BINS, repeat);
}

enum { LINE = 16 }; /* cells looked at together, as most are empty */

/* Adds a table to the totals. */
static void flush_cells(uint32_t *count, int64_t *totals)
{
    for (size_t at = 0; at < TP_DIFFERENCE_CELLS; at += LINE) {
        uint32_t *line = &count[at], any = 0;
        for (int i = 0; i < LINE; i++)
            any |= line[i];
        if (any == 0)
            continue;
        for (int i = 0; i < LINE; i++)
            totals[at + (size_t)i] += (int32_t)line[i];
        memset(line, 0, LINE * sizeof *line);
    }
}

void tp_difference_flush(struct tp_difference_cells *cells,
                         struct tp_difference *difference, int64_t *totals)
{
    for (int t = 0; t < 2; t++)
        flush_cells(cells->cell[t], totals);
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < TP_DIFFERENCE_ULP_BINS; i++)
            difference->ulp[i] += cells->ulp[t][i];
    }
    memset(cells->ulp, 0, sizeof cells->ulp);
}

/* --- numbers -------------------------------------------------------------- */

static bool is_empty(const int64_t *line)
{
    int64_t any = 0;
    for (int i = 0; i < LINE; i++)
        any |= line[i];
    return any == 0;
}

enum { ZERO_KEY = 0x8000 }; /* of 0; that of -0 is the one before */

/* The largest distance of the distributions, in elements. Between -0 and 0,
 * which are one value, nothing is compared. */
static uint64_t ks_elements(const struct tp_difference_plan *plan,
                            const int64_t *totals)
{
    const enum tp_code_order order =
        plan->raw_cells ? tp_code_order_of(plan->x) : TP_ORDER_FLOAT;
    int64_t sum = 0, most = 0;
    for (uint64_t key = 0; key < TP_DIFFERENCE_CELLS; key++) {
        const uint64_t code = tp_code_of_key(order, 16, key);
        if (key % LINE == 0 && is_empty(totals + code / LINE * LINE))
            key += LINE - 1; /* lines of keys are lines of codes */
        else
            sum += totals[code];
        if (key == ZERO_KEY - 1 && order == TP_ORDER_FLOAT)
            continue;
        const int64_t distance = sum < 0 ? -sum : sum;
        most = distance > most ? distance : most;
    }
    return (uint64_t)most;
}

/* The least distance that a share of the elements are within. */
static double ulp_quantile(const struct tp_difference *difference, double share)
{
    const double wanted = share * (double)difference->finite;
    uint64_t within = 0;
    for (unsigned i = 0; i < TP_DIFFERENCE_ULP_BINS; i++) {
        within += difference->ulp[i];
        if ((double)within >= wanted)
            return fmin(tp_ulp_bin_end(i), (double)difference->ulp_max);
    }
    return (double)difference->ulp_max;
}

static void set_cosine(const struct tp_difference *sums,
                       struct tp_difference_numbers *numbers)
{
    const double x = sqrt(sums->xx), y = sqrt(sums->yy);
    const double cosine = sums->xy / x / y;
    numbers->norm_x = x;
    numbers->norm_y = y;
    if (!(x > 0) || !(y > 0) || isnan(cosine))
        return;
    numbers->cosine = fmax(-1, fmin(1, cosine));
    numbers->one_minus_cosine = 1 - numbers->cosine;
    if (cosine > 0.5 && x < 2 * y && y < 2 * x)
        numbers->one_minus_cosine =
            fmax(0, (sums->dd - (x - y) * (x - y)) / x / y / 2);
}

/* Numbers that need an element. */
static void set_errors(const struct tp_difference *sums,
                       struct tp_difference_numbers *numbers)
{
    const double n = (double)sums->finite;
    set_cosine(sums, numbers);
    numbers->l2 = sqrt(sums->dd);
    numbers->mean_abs = sums->abs_d / n;
    numbers->max_abs = sums->max_abs;
    numbers->max_relative = sums->max_relative;
    numbers->below_1e_3 = (double)sums->below_1e_3 / n;
    numbers->below_5e_3 = (double)sums->below_5e_3 / n;
    numbers->ulp_p50 = ulp_quantile(sums, 0.5);
    numbers->ulp_p99 = ulp_quantile(sums, 0.99);
    numbers->ulp_max = (double)sums->ulp_max;
    if (sums->yy > 0 || sums->dd > 0)
        numbers->sqnr_db = 10 * log10(sums->yy / sums->dd);
}

void tp_difference_numbers(const struct tp_difference_plan *plan,
                           const struct tp_difference *difference,
                           const int64_t *totals,
                           struct tp_difference_numbers *numbers)
{
    const struct tp_difference *sums = difference;
    const uint64_t matched =
        sums->both_nan + sums->same_inf + sums->opposite_inf;
    *numbers = (struct tp_difference_numbers){
        .values = sums->values,
        .finite = sums->finite,
        .nan_x = sums->nan_x,
        .nan_y = sums->nan_y,
        .inf_x = sums->inf_x,
        .inf_y = sums->inf_y,
        .nonfinite_apart = sums->values - sums->finite - matched,
        .differ = sums->differ,
        .differ_share = (double)sums->differ / (double)sums->values,
        .first_at = sums->first_at - 1,
    };
    double *const unknown[] = {
        &numbers->cosine,     &numbers->one_minus_cosine, &numbers->l2,
        &numbers->norm_x,     &numbers->norm_y,           &numbers->mean_abs,
        &numbers->max_abs,    &numbers->max_relative,     &numbers->below_1e_3,
        &numbers->below_5e_3, &numbers->sqnr_db,          &numbers->ulp_p50,
        &numbers->ulp_p99,    &numbers->ulp_max,          &numbers->ks};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        *unknown[i] = NAN;
    if (sums->finite == 0)
        return;
    set_errors(sums, numbers);
    if (totals)
        numbers->ks = (double)ks_elements(plan, totals) / (double)sums->finite;
}
