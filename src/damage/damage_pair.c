/* SPDX-License-Identifier: MIT */
/*
 * Blocks of 512 elements, which stay in the first level cache, and loops over
 * vectors of codes: which differ, what they hold, and how far they are apart.
 * Elements that are alike are 0 apart and so count nowhere; none is taken out
 * or looked at alone. Histograms are counted by one short pass for each bin
 * that is not empty: most blocks have two or three, and increments in memory of
 * the same bin wait for each other.
 *
 * Alternative: taking the marked elements out, one by one: less where few
 * differ, several times as much where a third does. Cost: some operations on
 * each vector, and three on it for each pass; most for float64, where there may
 * be 64 passes.
 */
#include "damage/damage_pair.h"

#include <string.h>

enum { VECTOR = 32 }; /* bytes */
#define INLINE static inline __attribute__((always_inline))

#define CODE uint8_t
#define SIGNED int8_t
#define NAME(x) x##_8
#include "damage/damage_pair.inc"

#define CODE uint16_t
#define SIGNED int16_t
#define NAME(x) x##_16
#include "damage/damage_pair.inc"

#define CODE uint32_t
#define SIGNED int32_t
#define NAME(x) x##_32
#include "damage/damage_pair.inc"

#define CODE uint64_t
#define SIGNED int64_t
#define NAME(x) x##_64
#include "damage/damage_pair.inc"

INLINE void look_any(const struct tp_damage_codes *codes,
                     const struct tp_damage_sides *sides,
                     uint64_t words[TP_DAMAGE_BATCH_WORDS],
                     struct tp_damage_differences *differences)
{
    switch (codes->size) {
    case 1:
        look_8(codes, sides, words, differences);
        break;
    case 2:
        look_16(codes, sides, words, differences);
        break;
    case 4:
        look_32(codes, sides, words, differences);
        break;
    default:
        look_64(codes, sides, words, differences);
    }
}

typedef void look_fn(const struct tp_damage_codes *codes,
                     const struct tp_damage_sides *sides,
                     uint64_t words[TP_DAMAGE_BATCH_WORDS],
                     struct tp_damage_differences *differences);

static void look_portable(const struct tp_damage_codes *codes,
                          const struct tp_damage_sides *sides,
                          uint64_t words[TP_DAMAGE_BATCH_WORDS],
                          struct tp_damage_differences *differences)
{
    look_any(codes, sides, words, differences);
}

#if defined(__x86_64__)
TP_TARGET_AVX2 static void look_avx2(const struct tp_damage_codes *codes,
                                     const struct tp_damage_sides *sides,
                                     uint64_t words[TP_DAMAGE_BATCH_WORDS],
                                     struct tp_damage_differences *differences)
{
    look_any(codes, sides, words, differences);
}
#endif

/* Vectors of AVX-512 would need loops of their own. */
static look_fn *const look_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(look_portable, look_avx2, look_avx2);

void tp_damage_pair_look(const struct tp_damage_codes *codes,
                         const struct tp_damage_sides *sides,
                         uint64_t words[TP_DAMAGE_BATCH_WORDS],
                         struct tp_damage_differences *differences)
{
    look_by[codes->isa](codes, sides, words, differences);
}
