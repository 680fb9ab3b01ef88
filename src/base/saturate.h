/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_SATURATE_H
#define TP_BASE_SATURATE_H

#include <stdint.h>

/*
 * a + b; what 64 bits do not hold is the end of their range. For sums of
 * numbers that files name and nothing bounds: only damaged ones get there.
 */
static inline int64_t tp_saturate_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

#endif
