/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_DIFFERENCE_MATH_H
#define TP_STATS_DIFFERENCE_MATH_H

#include <math.h>
#include <stdint.h>

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

#endif
