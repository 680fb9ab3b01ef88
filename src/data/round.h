/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_ROUND_H
#define TP_DATA_ROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "data/number.h"

/*
 * Rounding to the values of a number format, eight doubles at a time, inline
 * for the loops of each instruction set. No step of it depends on how many
 * lanes the processor has, so that all sets give the same bits.
 *
 * Vectors go through pointers: by value, they would be passed differently by
 * functions of different instruction sets.
 */
enum { TP_LANES = 8 };
typedef double tp_lanes __attribute__((vector_size(TP_LANES * 8)));
typedef int64_t tp_lane_ints __attribute__((vector_size(TP_LANES * 8)));
typedef uint64_t tp_lane_bits __attribute__((vector_size(TP_LANES * 8)));

#define TP_LANES_INLINE static inline __attribute__((always_inline))

/* A format as rounding needs it: two exponents, as fields of a double. */
struct tp_rounder {
    int64_t least;    /* binades below share the step of this one         */
    int64_t most;     /* and those above (all overflow) that of this one  */
    int64_t fraction; /* bits kept; HiF8: the most                        */
    double max;
    double overflowed; /* what more than max becomes: max or infinity     */
};

enum tp_rounder_kind { TP_ROUNDER_EVEN, TP_ROUNDER_TAPERED, TP_ROUNDER_AWAY };

/* The rounder of elements of a format, whose scale is 2^scale. */
static inline struct tp_rounder tp_rounder_of(const struct tp_number *number,
                                              enum tp_rounding rounding,
                                              int scale)
{
    /* e3m2, e2m3 and e2m1 have nothing else to become */
    const bool saturates = rounding == TP_ROUND_SATURATE ||
                           number->kind != TP_NUMBER_ELEMENT ||
                           number->bits < 8;
    const int least = number->ties_away ? -22 : number->emin;
    struct tp_rounder rounder = {
        .least = 1023 + least + scale,
        .fraction = number->precision - 1,
        .max = number->max,
    };
    uint64_t bits;
    memcpy(&bits, &rounder.max, sizeof bits);
    bits += (uint64_t)(int64_t)scale << 52;
    memcpy(&rounder.max, &bits, sizeof bits);
    rounder.most = (int64_t)(bits >> 52) + 1;
    rounder.overflowed = saturates ? rounder.max : __builtin_inf();
    return rounder;
}

/* How a format rounds: HiF8 tapers, and ties go away by default. */
static inline enum tp_rounder_kind
tp_rounder_kind_of(const struct tp_number *number, enum tp_rounding rounding)
{
    return !number->ties_away           ? TP_ROUNDER_EVEN
           : rounding == TP_ROUND_EVEN ? TP_ROUNDER_TAPERED
                                        : TP_ROUNDER_AWAY;
}

/* Lanes of `yes` where the mask is -1, of `no` where it is 0. */
#define TP_SELECT(mask, yes, no)                                            \
    ((tp_lanes)(((tp_lane_ints)(mask) & (tp_lane_ints)(yes)) |              \
                (~(tp_lane_ints)(mask) & (tp_lane_ints)(no))))

#define TP_CLAMP(x, bound, relation)                                        \
    do {                                                                    \
        const tp_lane_ints beyond = (x)relation(bound);                     \
        (x) = (beyond & (bound)) | (~beyond & (x));                         \
    } while (0)

/*
 * The values nearest to the magnitudes a >= 0 (infinity and NaN included).
 * Adding 2^52 steps leaves no room for anything below a step, and the
 * addition rounds to nearest, ties to even.
 */
TP_LANES_INLINE void tp_round_lanes(const struct tp_rounder *rounder,
                                    enum tp_rounder_kind kind,
                                    const tp_lanes *a, tp_lanes *q)
{
    tp_lane_ints e = (tp_lane_ints)((tp_lane_bits)*a >> 52);
    TP_CLAMP(e, rounder->least, <);
    TP_CLAMP(e, rounder->most, >);
    tp_lane_ints step = e;
    if (kind == TP_ROUNDER_EVEN) {
        step -= rounder->fraction;
    } else {
        /* 3 bits for |e| <= 3, 2 up to 7, 1 up to 15, none below 2^-15; signs
         * instead of comparisons, which compilers take lane by lane */
        const tp_lane_ints above = e - 1023, sign = above >> 63;
        const tp_lane_ints size = (above ^ sign) - sign;
        const tp_lane_ints bits =
            3 + ((3 - size) >> 63) + ((7 - size) >> 63);
        step -= bits & ((-16 - above) >> 63);
    }
    const tp_lanes magic = (tp_lanes)((step + 52) << 52);
    tp_lanes t = (*a + magic) - magic;
    if (kind == TP_ROUNDER_AWAY) {
        const tp_lanes half = (tp_lanes)((step - 1) << 52);
        const tp_lane_ints tie = *a - t == half; /* went down */
        t += (tp_lanes)(tie & (tp_lane_ints)(half + half));
    }
    const tp_lanes overflowed = rounder->overflowed - (tp_lanes){0};
    *q = TP_SELECT(t > rounder->max, overflowed, t);
}

#endif
