/* SPDX-License-Identifier: MIT */
/*
 * Cells of equal width between limits that are known before, from the minimum
 * and maximum of each tensor; so counts of pieces can be added, and memory does
 * not depend on the tensors. Where a few elements lie far out, binades take the
 * place of equal widths: an axis that is linear near zero and logarithmic
 * beyond would show both, but its tics would be no values that anyone reads.
 * Two decodings, two multiplications or exponents an element.
 */
#include "stats/pair_cells.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { BLOCK = 512 }; /* doubles that stay in the first level cache */

/* Distances are taken of values divided by this, a power of two that rounds
 * nothing: those of a double's largest, times the cells, are beyond it. */
static const double DOWN = 0x1p-7;

struct tp_pair_axis tp_pair_axis_of(double low, double high, double std)
{
    const double most = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    struct tp_pair_axis axis = {.low = low, .high = high};
    const bool at_zero = low < most / 64 && high > -most / 64;
    /* 20 spreads: half of all would share two cells of a linear axis. */
    if (std > 0 && (high / 2 - low / 2) / std > 10 && at_zero) {
        const int top = ilogb(most) + 1, bottom = ilogb(std) - 5;
        const int half = TP_PAIR_CELLS / 2;
        axis.is_signed = true;
        axis.binades = (top - bottom + half - 1) / half;
        axis.inner = top - half * axis.binades;
    } else if (!(high > low)) { /* one value: in the middle of some room */
        const double room = most > 0 ? most / 2 : 1;
        axis.low = fmax(low - room, -DBL_MAX);
        axis.high = fmin(high + room, DBL_MAX);
    }
    return axis;
}

static int clamp(double at, int most)
{
    return at > 0 ? at < most ? (int)at : most : 0;
}

/* Of a finite value, floor(log2(|value|)); below the normal ones -1023. */
static int exponent_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

static int cell_of(const struct tp_pair_axis *axis, double value)
{
    const int half = TP_PAIR_CELLS / 2;
    if (!axis->is_signed)
        return clamp((value * DOWN - axis->low * DOWN) * TP_PAIR_CELLS /
                         (axis->high * DOWN - axis->low * DOWN),
                     TP_PAIR_CELLS - 1);
    const int above = exponent_of(value) - axis->inner;
    int step = above > 0 ? above / axis->binades : 0;
    step = step < half ? step : half - 1;
    return value < 0 ? half - 1 - step : half + step;
}

void tp_pair_count(const struct tp_span *x, const struct tp_span *y,
                   const struct tp_pair_axis *axis, uint32_t *cells)
{
    const unsigned char *at_x = x->codes, *at_y = y->codes;
    const size_t size_x = tp_dtype_info(x->dtype)->size;
    const size_t size_y = tp_dtype_info(y->dtype)->size;
    double vx[BLOCK], vy[BLOCK];
    for (size_t done = 0; done < x->n; done += BLOCK) {
        const size_t left = x->n - done, n = left < BLOCK ? left : BLOCK;
        tp_dtype_decode(x->dtype, at_x + done * size_x, n, vx);
        tp_dtype_decode(y->dtype, at_y + done * size_y, n, vy);
        for (size_t i = 0; i < n; i++) {
            if (isfinite(vx[i]) && isfinite(vy[i]))
                cells[cell_of(axis, vy[i]) * TP_PAIR_CELLS +
                      cell_of(axis, vx[i])]++;
        }
    }
}

double tp_pair_middle(const struct tp_pair_axis *axis, int cell)
{
    const int half = TP_PAIR_CELLS / 2;
    if (!axis->is_signed)
        return (axis->low * DOWN + (axis->high * DOWN - axis->low * DOWN) *
                                       (cell + 0.5) / TP_PAIR_CELLS) /
               DOWN;
    const int step = cell < half ? half - 1 - cell : cell - half;
    const double at = exp2(axis->inner + axis->binades * (step + 0.5));
    return cell < half ? -at : at;
}
