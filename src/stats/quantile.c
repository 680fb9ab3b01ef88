/* SPDX-License-Identifier: MIT */
/*
 * Quantiles as numpy's default has them (type 7 of Hyndman and Fan): which two
 * neighbours in sorted order each of the levels needs, and the way from one to
 * the other. Where values come from is the caller's matter: a list of codes or
 * a selection. Other types differ by about one rank at most; this is the one
 * that users compare with.
 *
 * Cost: seven levels. The median of a list sorts it, n log n: lists are short.
 */
#include "stats/quantile.h"

#include <math.h>

#include "base/order.h"

void tp_ranks_of(uint64_t n, uint64_t repeat, struct tp_ranks *ranks)
{
    ranks->n = n;
    uint64_t last = n ? n * repeat - 1 : 0;
    for (int i = 0; i < TP_QUANTILES; i++) {
        double position = tp_quantile_levels[i] * (double)last;
        double floor_position = floor(position);
        uint64_t low = (uint64_t)floor_position;
        low = low < last ? low : last; /* (double)last may round up */
        ranks->rank[2 * i] = low / repeat;
        ranks->rank[2 * i + 1] = (low < last ? low + 1 : last) / repeat;
        ranks->fraction[i] = position - floor_position;
    }
}

/* As numpy does it: from the nearer end, so that equal ends stay exact. */
static double between(double a, double b, double t)
{
    double step = b - a;
    if (!isfinite(step))
        return a * (1 - t) + b * t;
    return t < 0.5 ? a + step * t : b - step * (1 - t);
}

void tp_ranks_quantiles(const struct tp_ranks *ranks,
                        const double ordered[TP_RANKS],
                        double quantile[TP_QUANTILES])
{
    for (int i = 0; i < TP_QUANTILES; i++) {
        quantile[i] = NAN;
        if (ranks->n > 0)
            quantile[i] =
                between(ordered[2 * i], ordered[2 * i + 1], ranks->fraction[i]);
    }
}

double tp_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    tp_sort_double(values, n);
    return tp_sorted_median(values, n);
}

double tp_sorted_median(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Hoare's selection: each round keeps the side that holds the rank. */
double tp_select_rank(double *values, size_t n, size_t rank)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, k = high;
        while (i <= k) {
            while (values[i] < pivot)
                i++;
            while (values[k] > pivot)
                k--;
            if (i <= k) {
                double moved = values[i];
                values[i++] = values[k];
                values[k] = moved;
                if (k == 0)
                    break;
                k--;
            }
        }
        if (rank <= k)
            high = k;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}
