/* SPDX-License-Identifier: MIT */
/*
 * Sums modulo 2^64 of mixed codes (incremental hashing, Bellare and Micciancio
 * 1997): each code is mixed to 64 bits, for the order together with its place,
 * and added. A sum does not depend on the grid by which a tensor is read, so
 * that ranges are read in parallel, and the sum of a whole is that of its
 * shards; a chain of blocks (xxHash, SHA) has neither. By chance two tensors
 * have the same order digest, or the same half of a bag, once in 2^64; a bag
 * has two halves by independent mixing, 128 bits. Codes can be made to collide
 * on purpose: digests only nominate, and content_check.c compares elements.
 * Cost: five multiplications an element.
 */
#include "compare/content_digest.h"

#include <string.h>

#include "data/encode.h"

/* Codes at a time: they stay in the first level cache. */
enum { BATCH = 512 };

bool tp_content_casts(enum tp_dtype from, enum tp_dtype to)
{
    const bool wide = from == TP_FLOAT64 || from == TP_FLOAT32;
    const bool half = to == TP_FLOAT16 || to == TP_BFLOAT16;
    return from == to || (wide && half) ||
           (from == TP_FLOAT64 && to == TP_FLOAT32);
}

/* --- codes ---------------------------------------------------------------- */

#define WIDEN(name, type)                                         \
    static void name(const void *codes, size_t n, uint64_t *wide) \
    {                                                             \
        const unsigned char *at = codes;                          \
        for (size_t i = 0; i < n; i++) {                          \
            type code;                                            \
            memcpy(&code, at + i * sizeof code, sizeof code);     \
            wide[i] = code;                                       \
        }                                                         \
    }

WIDEN(widen_8, uint8_t)
WIDEN(widen_16, uint16_t)
WIDEN(widen_32, uint32_t)
WIDEN(widen_64, uint64_t)

static void widen(enum tp_dtype dtype, const void *codes, size_t n,
                  uint64_t *wide)
{
    switch (tp_dtype_info(dtype)->code_size) {
    case 1:
        widen_8(codes, n, wide);
        break;
    case 2:
        widen_16(codes, n, wide);
        break;
    case 4:
        widen_32(codes, n, wide);
        break;
    default:
        widen_64(codes, n, wide);
        break;
    }
}

/* The code of +Inf; 0: codes are left alone. */
static uint64_t infinity_of(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_FLOAT64:
        return 0x7ff0000000000000;
    case TP_FLOAT32:
        return 0x7f800000;
    case TP_BFLOAT16:
        return 0x7f80;
    case TP_FLOAT16:
        return 0x7c00;
    default:
        return 0;
    }
}

/* Gives all NaN one code, and both zeros. */
static void unite(enum tp_dtype dtype, uint64_t *codes, size_t n)
{
    const uint64_t infinity = infinity_of(dtype);
    const int bits = 8 * tp_dtype_info(dtype)->code_size;
    const uint64_t sign = (uint64_t)1 << (bits - 1);
    if (infinity == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const uint64_t magnitude = codes[i] & (sign - 1);
        const uint64_t code = magnitude == 0 ? 0 : codes[i];
        codes[i] = magnitude > infinity ? infinity + 1 : code;
    }
}

static void narrow_to_32(uint64_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value;
        uint32_t bits;
        memcpy(&value, &codes[i], sizeof value);
        const float narrow = (float)value;
        memcpy(&bits, &narrow, sizeof bits);
        codes[i] = bits;
    }
}

/* The carry out of the lower half rounds; NaN were made to have none. */
static void narrow_to_bf16(uint64_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t code = codes[i];
        const bool nan = (code & 0x7fffffff) > 0x7f800000;
        codes[i] = nan ? 0x7fc0 : (code + 0x7fff + ((code >> 16) & 1)) >> 16;
    }
}

static void narrow_to_fp16(uint64_t *codes, size_t n)
{
    const struct tp_number *number = tp_number_by_dtype(TP_FLOAT16);
    uint32_t bits[BATCH];
    uint16_t narrow[BATCH];
    for (size_t i = 0; i < n; i++)
        bits[i] = (uint32_t)codes[i];
    tp_number_encode_f32(number, TP_ROUND_DEFAULT, bits, n, narrow);
    for (size_t i = 0; i < n; i++)
        codes[i] = narrow[i];
}

static void make_batch(enum tp_dtype from, enum tp_dtype to, const void *codes,
                       size_t n, uint64_t *canonical)
{
    widen(from, codes, n, canonical);
    if (from == TP_FLOAT64 && to != from)
        narrow_to_32(canonical, n);
    if (to == TP_BFLOAT16 && from != to)
        narrow_to_bf16(canonical, n);
    if (to == TP_FLOAT16 && from != to)
        narrow_to_fp16(canonical, n);
    unite(to, canonical, n);
}

void tp_content_codes(enum tp_dtype from, enum tp_dtype to, const void *codes,
                      size_t n, uint64_t *canonical)
{
    const unsigned char *at = codes;
    const size_t size = tp_dtype_info(from)->code_size;
    for (size_t i = 0; i < n; i += BATCH)
        make_batch(from, to, at + i * size, n - i < BATCH ? n - i : BATCH,
                   canonical + i);
}

/* --- digests -------------------------------------------------------------- */

/* Odd constants without pattern: the finaliser of splitmix64 (Steele, Lea and
 * Flood 2014) and fractions of the golden ratio and of roots. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define MIX_1 UINT64_C(0xbf58476d1ce4e5b9)
#define MIX_2 UINT64_C(0x94d049bb133111eb)
#define MIX_3 UINT64_C(0xd6e8feb86659fd93)
#define MIX_4 UINT64_C(0xa0761d6478bd642f)

static inline uint64_t mix(uint64_t code)
{
    uint64_t x = code + GOLDEN;
    x = (x ^ (x >> 30)) * MIX_1;
    x = (x ^ (x >> 27)) * MIX_2;
    return x ^ (x >> 31);
}

static inline uint64_t turn(uint64_t x, uint64_t factor)
{
    x *= factor;
    return x ^ (x >> 32);
}

void tp_content_digest_add(const uint64_t *canonical, size_t n, uint64_t first,
                           struct tp_content_digest *digest)
{
    uint64_t order = 0, one = 0, two = 0, place = (first + 1) * GOLDEN;
    for (size_t i = 0; i < n; i++, place += GOLDEN) {
        const uint64_t mixed = mix(canonical[i]);
        one += mixed;
        two += turn(mixed, MIX_3);
        order += turn(mixed ^ place, MIX_4);
    }
    digest->order += order;
    digest->bag[0] += one;
    digest->bag[1] += two;
}

void tp_content_digest_merge(struct tp_content_digest *digest,
                             const struct tp_content_digest *more)
{
    digest->order += more->order;
    digest->bag[0] += more->bag[0];
    digest->bag[1] += more->bag[1];
}
