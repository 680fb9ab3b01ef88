/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_SEARCH_H
#define TP_BASE_SEARCH_H

#include <stddef.h>

/*
 * Binary search. `i` is a size_t of the caller's, `before` an expression of i
 * that is true from 0 up to some place and false from there to `count`; i
 * becomes that place (std::partition_point), in about log2(count) evaluations.
 *
 *     size_t i;
 *     TP_PARTITION_POINT(i, count, steps[i].from <= moment);
 *
 * finds the first step that begins after a moment; the last one that has begun
 * is i - 1, unless i is 0. A macro, since lists differ in what they hold and
 * keys in how they compare: bsearch cannot tell where a missing key would be,
 * and calls through a pointer in loops that run once an event.
 */
#define TP_PARTITION_POINT(i, count, before) \
    do {                                     \
        size_t low_ = 0, high_ = (count);    \
        while (low_ < high_) {               \
            (i) = low_ + (high_ - low_) / 2; \
            if (before)                      \
                low_ = (i) + 1;              \
            else                             \
                high_ = (i);                 \
        }                                    \
        (i) = low_;                          \
    } while (0)

#endif
