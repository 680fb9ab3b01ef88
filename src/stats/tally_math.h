/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_TALLY_MATH_H
#define TP_STATS_TALLY_MATH_H

#include <stdint.h>
#include <string.h>

#include "base/host_device.h"
#include "stats/tally.h"

/* The part of stats/tally.h that processor and devices share. */

/* Exponent field of a magnitude > 0, as if there were no subnormals. */
TP_HOST_DEVICE static inline int
tp_magnitude_field(const struct tp_block_plan *plan, unsigned magnitude)
{
    const int field = (int)(magnitude >> plan->fraction_bits);
    if (field > 0)
        return field;
    /* its bits, by the exponent it has as a binary32 */
    const float value = (float)magnitude;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int length = (int)(bits >> 23) - 126;
    return length - plan->fraction_bits;
}

/* The class of a magnitude below the smallest normal value, 1 .. fewer. */
TP_HOST_DEVICE static inline unsigned
tp_small_class(const struct tp_tally_plan *plan, int slot, unsigned magnitude)
{
    const int r =
        plan->normal[slot] - tp_magnitude_field(&plan->blocks, magnitude);
    return r > plan->precision ? (unsigned)TP_TALLY_ZERO
                               : (unsigned)TP_TALLY_FEWER + (unsigned)r - 1;
}

#endif
