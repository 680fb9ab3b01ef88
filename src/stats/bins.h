/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_BINS_H
#define TP_STATS_BINS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/host_device.h"

/*
 * The bin of the summary histogram of a finite nonzero value, inline for the
 * loops that need one per value: the upper 12 bits of the value truncated to
 * binary32.
 */
TP_HOST_DEVICE static inline unsigned tp_bin_of(double value)
{
    float nearest = (float)value;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    /* The conversion rounds to nearest; one step back truncates, and turns
     * an infinity into the largest finite value. */
    bits -= fabs((double)nearest) > fabs(value);
    return bits >> 20;
}

#endif
