/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_SELECT_MATH_H
#define TP_STATS_SELECT_MATH_H

#include <stdint.h>

#include "base/host_device.h"
#include "stats/select.h"

/*
 * The part of stats/select.h that processor and devices share: where a key
 * belongs in the readings after the first. `bits` is select->bits, apart so
 * that loops can know it when they are compiled.
 */
#define TP_SELECT_INLINE \
    TP_HOST_DEVICE static inline __attribute__((always_inline))

/* The group a key belongs to; select->groups if none. */
TP_SELECT_INLINE unsigned tp_select_group(const struct tp_select *select,
                                          int bits, uint64_t key)
{
    unsigned group = select->first_group[key >> (bits - 16)];
    if (group-- == 0)
        return select->groups;
    uint64_t prefix = key >> (bits - select->known);
    while (group < select->groups && select->prefix[group] < prefix)
        group++;
    if (group < select->groups && select->prefix[group] == prefix)
        return group;
    return select->groups;
}

/* The counter of TP_SELECT_DIGIT that a key of a group belongs to. */
TP_SELECT_INLINE unsigned tp_select_counter(const struct tp_select *select,
                                            int bits, unsigned group,
                                            uint64_t key)
{
    const int shift = bits - select->known - select->digit;
    const uint64_t mask = ((uint64_t)1 << select->digit) - 1;
    return (group << select->digit) + (unsigned)(key >> shift & mask);
}

#endif
