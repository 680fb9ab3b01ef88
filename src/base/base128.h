/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_BASE128_H
#define TP_BASE_BASE128_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Numbers as groups of seven bits a byte, whose high bit says "more". */

/* How many numbers end within these bytes; eight are looked at at a time. */
static inline size_t tp_numbers_ended(const uint8_t *bytes, size_t length)
{
    const uint64_t high = 0x8080808080808080u, low = 0x0101010101010101u;
    size_t more = 0, i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        /* each byte 0 or 1; their sum ends up in the highest */
        more += (((word & high) >> 7) * low) >> 56;
    }
    for (; i < length; i++)
        more += bytes[i] >> 7;
    return length - more;
}

#endif
