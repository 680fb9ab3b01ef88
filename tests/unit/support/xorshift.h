/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_XORSHIFT_H
#define TP_TESTS_XORSHIFT_H

#include <stdint.h>

/*
 * xorshift64 as G. Marsaglia gives it: 64 bits that look random, the same ones
 * of one state every time and on every machine. The state is never 0.
 */
static inline uint64_t xorshift(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
