/* SPDX-License-Identifier: MIT */
/*
 * Sums of binary32 values by their leading 17 bits, and casts from them:
 * stats/float_bins.h says why they are exact. Each bin of the result is two
 * groups of values, those at its edge and those inside, and a group is rounded
 * once. With n values inside, of mean m and sum of squared distances from it V,
 * the sum of (x - q)^2 is n (m - q)^2 + V; V comes from integers of 128 bits,
 * since n times the squares and the square of the sum may agree in all digits
 * that a double has.
 *
 * Alternative: rounding every value (quantize.c), some five nanoseconds a value
 * and format; this is one or two a value for any number of formats.
 *
 * Cost: 3 MiB of bins a worker, of which values touch those of their binades
 * (6 KiB each); 6 MiB of totals a tensor; some ten nanoseconds a bin and format
 * at the end.
 */
#include "stats/float_bins.h"

#include <math.h>
#include <string.h>

#include "data/dtype_math.h"
#include "stats/float_bins_math.h"

__extension__ typedef unsigned __int128 wide;

enum { SHIFT = TP_FLOAT_BIN_SHIFT, LOW = (1 << SHIFT) - 1 };

bool tp_float_bins_suit(const struct tp_quant_spec *spec)
{
    return spec->number->kind == TP_NUMBER_ELEMENT &&
           spec->number->precision <= 32 - 1 - 8 - SHIFT &&
           spec->rounding != TP_ROUND_HYBRID;
}

/* --- counting ------------------------------------------------------------- */

void tp_float_bins_add(const struct tp_span *span, struct tp_float_bin *bins)
{
    const unsigned char *at = span->codes;
    for (size_t i = 0; i < span->n; i++) {
        uint32_t code;
        memcpy(&code, at + 4 * i, sizeof code);
        tp_float_bin_add(&bins[code >> SHIFT], code);
    }
}

static void add_squares(struct tp_float_bin_total *total, uint64_t squares)
{
    total->squares[0] += squares;
    total->squares[1] += total->squares[0] < squares;
}

void tp_float_bins_flush(struct tp_float_bin *bins, size_t n,
                         struct tp_float_bin_total *totals)
{
    for (size_t i = 0; i < n; i++) {
        struct tp_float_bin *bin = &bins[i];
        struct tp_float_bin_total *total = &totals[i];
        if (bin->sum == 0 && bin->edge == 0)
            continue;
        total->edge += bin->edge;
        total->inner += bin->sum >> TP_FLOAT_BIN_COUNT;
        total->sum += bin->sum & ((UINT64_C(1) << TP_FLOAT_BIN_COUNT) - 1);
        add_squares(total, bin->squares);
        if (bin->most > total->most)
            total->most = bin->most;
        if (bin->least > total->least)
            total->least = bin->least;
        *bin = (struct tp_float_bin){0};
    }
}

/* --- casting -------------------------------------------------------------- */

/* What a magnitude becomes, scaled. */
static double rounded(const struct tp_float_cast *cast, double y)
{
    tp_lanes lanes = {y}, q;
    switch (cast->kind) {
    case TP_ROUNDER_EVEN:
        tp_round_lanes(&cast->rounder, TP_ROUNDER_EVEN, &lanes, &q);
        break;
    case TP_ROUNDER_TAPERED:
        tp_round_lanes(&cast->rounder, TP_ROUNDER_TAPERED, &lanes, &q);
        break;
    default: tp_round_lanes(&cast->rounder, TP_ROUNDER_AWAY, &lanes, &q);
    }
    return q[0];
}

/* Values of one sign that become the same. */
struct group {
    double n;
    double edge, step;   /* magnitudes are edge + low * step               */
    double low;          /* the mean                                       */
    double spread;       /* sum of squared distances from it               */
    double least, most;  /* low                                            */
    uint64_t count;
    bool negative;
};

static void add_sums(const struct group *g, double q,
                     struct tp_quant_error *sums)
{
    const double x = g->edge + g->low * g->step;
    /* the edge and q have few bits: their difference is exact */
    const double d = g->edge - q + g->low * g->step;
    const double spread = g->spread * g->step * g->step;
    const double first = fabs(g->edge - q + g->least * g->step);
    const double last = fabs(g->edge - q + g->most * g->step);
    sums->sum_xx += g->n * x * x + spread;
    sums->sum_dd += g->n * d * d + spread;
    sums->sum_xq += g->n * x * q;
    sums->sum_qq += g->n * q * q;
    sums->max_abs_error = fmax(sums->max_abs_error, fmax(first, last));
    if (x > 0) /* q / x about the mean: 1 + spread / n / x^2 */
        sums->sum_relative += g->n * fabs(d) / x -
                              copysign(q / x * (spread / x / x), d);
}

static void add_group(struct tp_float_cast *cast, const struct group *g)
{
    struct tp_quant_error *sums = &cast->sums;
    const double x = g->edge + g->low * g->step, y = x * cast->limits.there;
    const double scaled = rounded(cast, y);
    const bool lost = isinf(scaled);
    sums->values += g->count;
    if (y >= cast->limits.overflow || lost)
        *(g->negative ? &sums->lower_overflow : &sums->upper_overflow) +=
            g->count;
    if (lost) {
        sums->nonfinite_out += g->count;
        return;
    }
    sums->summed += g->count;
    if (x > 0) {
        sums->nonzero += g->count;
        sums->underflow += scaled == 0 ? g->count : 0;
        sums->subnormal += scaled < cast->limits.min_normal ? g->count : 0;
    }
    add_sums(g, scaled * cast->limits.back, sums);
}

static double spread_of(const struct tp_float_bin_total *total)
{
    const wide squares = (wide)total->squares[1] << 64 | total->squares[0];
    const wide n = total->inner, sum = total->sum;
    return (double)(n * squares - sum * sum) / (double)total->inner;
}

bool tp_float_cast_bin(struct tp_float_cast *cast, uint32_t code,
                       const struct tp_float_bin_total *total)
{
    const int field = (int)(code >> 23 & 0xff);
    struct group g = {
        .n = (double)total->edge,
        .edge = tp_float_of(code & 0x7fffffff),
        .step = tp_power_of_two((field > 0 ? field : 1) - 150),
        .count = total->edge,
        .negative = code >> 31,
    };
    if (g.count > 0)
        add_group(cast, &g);
    g.n = (double)total->inner;
    g.count = total->inner;
    if (g.count == 0)
        return true;
    g.low = (double)total->sum / g.n;
    g.spread = spread_of(total);
    g.least = LOW + 1 - total->least;
    g.most = total->most;
    if (field == 0 &&
        rounded(cast, (g.edge + g.most * g.step) * cast->limits.there) > 0)
        return false;
    add_group(cast, &g);
    return true;
}

/* A bin of infinities (at its edge, without a fraction) and NaN. */
static void add_special(struct tp_float_cast *cast, uint32_t index,
                        const struct tp_float_bin_total *total)
{
    struct tp_quant_error *sums = &cast->sums;
    const uint64_t count = total->edge + total->inner;
    sums->values += count;
    sums->nonfinite_in += count;
    if (index << (SHIFT + 9) == 0)
        *(index << SHIFT >> 31 ? &sums->lower_overflow
                               : &sums->upper_overflow) += total->edge;
}

bool tp_float_bins_cast(const struct tp_float_bin_total *totals,
                        const struct tp_quant_spec *spec, double amax,
                        struct tp_quant_error *error)
{
    const int scale = tp_quant_tensor_scale(spec, amax);
    struct tp_float_cast cast = {
        .rounder = tp_rounder_of(spec->number, spec->rounding, 0),
        .kind = tp_rounder_kind_of(spec->number, spec->rounding),
        .limits = tp_quant_limits_of(spec, scale),
    };
    for (uint32_t i = 0; i < TP_FLOAT_BINS; i++) {
        const struct tp_float_bin_total *total = &totals[i];
        if (total->edge == 0 && total->inner == 0)
            continue;
        if ((i << SHIFT & 0x7f800000) == 0x7f800000)
            add_special(&cast, i, total);
        else if (!tp_float_cast_bin(&cast, i << SHIFT, total))
            return false;
    }
    cast.sums.tensor_scale = scale;
    tp_quant_merge(error, &cast.sums, 1);
    return true;
}
