/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_CODE_USE_H
#define TP_STATS_CODE_USE_H

#include "base/memory.h"
#include "data/scaled.h"

/*
 * How a quantised tensor uses what it has: how often each code occurs, what
 * its scales are, and how much of the format's range each block fills.
 * Scaling by amax makes nearly every block's largest code the format's
 * largest; a scale that is 0, NaN or infinite takes its block with it.
 */
enum { TP_CODE_USE_CODES = 256 };

struct tp_code_use {
    uint64_t elements;
    uint64_t at_max; /* elements of the largest magnitude there is     */
    uint64_t zero;   /* elements that are 0 before they are scaled     */
    uint64_t scales; /* that some element has; 0: none are stored      */
    uint64_t unused; /* stored beyond them: padding                    */
    uint64_t scale_nan, scale_inf, scale_zero, scale_negative;
    uint64_t scale_saturated;    /* at the largest their dtype of 8 bits has  */
    uint64_t scale_powers;       /* of two                                    */
    double scale_min, scale_max; /* finite and positive; NaN: none is      */
    uint64_t blocks; /* 0: not counted, see tp_code_use_count           */
    uint64_t blocks_at_max, blocks_below_half, blocks_zero;
    uint64_t blocks_lost; /* whose scale is NaN, infinite, or 0 and a code is
                             not                                            */
    uint64_t codes;       /* the format has; 0: more than 256               */
    uint64_t codes_used;
    uint64_t code[TP_CODE_USE_CODES];
};

/*
 * Counts all of a tensor, in one reading of its codes and scales. Blocks are
 * not counted where those that begin before any ends are more than 2^22, as
 * they can be in scales along an axis that is not the last one. Fails as
 * storage->read does, and with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_code_use_count(const struct tp_scaled *scaled,
                                 struct tp_code_use *use, struct tp_error *err);

/* The value of a code before it is scaled. */
double tp_code_use_value(const struct tp_scaled *scaled, unsigned code);

#endif
