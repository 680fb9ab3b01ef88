/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DIFFERENCE_MATH_H
#define TP_STATS_DIFFERENCE_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stats/difference.h"

/* Between difference.c and those it is made of. */

/* --- bins of distances ---------------------------------------------------- */

/* The bins of distances: floating numbers with three bits of fraction, so that
 * 0 to 15 are exact. */

/* The bin of a distance. */
static inline unsigned tp_ulp_bin(uint64_t distance)
{
    if (distance == 0)
        return 0;
    const unsigned top = 63 - (unsigned)__builtin_clzll(distance);
    const uint64_t three =
        top < 3 ? distance << (3 - top) : distance >> (top - 3);
    return 1 + 8 * top + (unsigned)(three & 7);
}

/* The largest distance of a bin that is in use. */
static inline double tp_ulp_bin_end(unsigned bin)
{
    if (bin == 0)
        return 0;
    const int top = (int)(bin - 1) / 8;
    return ceil(ldexp(9 + (bin - 1) % 8, top - 3)) - 1;
}

/* --- counting ------------------------------------------------------------- */

/* Adds to the counts of four keys, neighbours in different tables so that those
 * that are equal do not wait for each other. */
static inline void tp_count_four(const uint16_t *keys, uint32_t by,
                                 uint32_t *const *tables)
{
    uint64_t four;
    memcpy(&four, keys, sizeof four);
    tables[0][four & 0xffff] += by;
    tables[1][four >> 16 & 0xffff] += by;
    tables[2][four >> 32 & 0xffff] += by;
    tables[3][four >> 48] += by;
}

/* Counts elements of which one is not finite; returns whether they differ. */
static inline bool tp_count_infinite(double x, double y, uint64_t times,
                                     struct tp_difference *sums)
{
    sums->nan_x += isnan(x) ? times : 0;
    sums->nan_y += isnan(y) ? times : 0;
    sums->inf_x += isinf(x) ? times : 0;
    sums->inf_y += isinf(y) ? times : 0;
    if (isnan(x) && isnan(y)) {
        sums->both_nan += times;
        return false;
    }
    if (isinf(x) && isinf(y))
        *(x == y ? &sums->same_inf : &sums->opposite_inf) += times;
    sums->differ += x != y ? times : 0;
    return x != y;
}

/* --- wider codes, and 8-bit codes ------------------------------------------
 */

/* tp_difference_add of a plan that is not joint. */
void tp_difference_add_blocks(const struct tp_difference_plan *plan,
                              const struct tp_difference_spans *spans,
                              struct tp_difference *difference,
                              struct tp_difference_cells *cells);

/* Sets the ranks of 256 values: two are as many units in the last place apart
 * as their ranks. Those of values that are not finite mean nothing. */
void tp_difference_ranks(const struct tp_difference_plan *plan,
                         const float *values, int32_t *ranks);

#endif
