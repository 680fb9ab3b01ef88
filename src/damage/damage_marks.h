/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_MARKS_H
#define TP_DAMAGE_DAMAGE_MARKS_H

#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "stats/code_key.h"

/*
 * Which elements of a span are damaged: those that by themselves are not what
 * a tensor should hold, or those that differ from the elements of another.
 */

/* What may be wrong with one element; added up where several count. */
enum tp_damage_kind {
    TP_DAMAGE_NAN = 1,
    TP_DAMAGE_INF = 2,
    TP_DAMAGE_ZERO = 4,
    /* Finite, of a magnitude whose square the dtype's exponents cannot hold:
     * no norm and no second moment of such a tensor exists. bfloat16 and
     * float32: 2^64 and above; float64: 2^512; others have none. */
    TP_DAMAGE_HUGE = 8
};

/* How a dtype's codes show that; made once for a tensor. */
struct tp_damage_codes {
    enum tp_dtype dtype;  /* of one real number                             */
    unsigned size;        /* bytes of a code                                */
    enum tp_isa isa;      /* whose loops are used; equal results            */
    unsigned kinds;       /* of enum tp_damage_kind: damage, without a pair */
    uint64_t mask;        /* of the magnitude of a wider code               */
    uint64_t huge, inf;   /* magnitudes; above inf: NaN                     */
    uint8_t of_byte[256]; /* kinds of each code of one byte                */
    struct {              /* and the codes of each kind but HUGE: e5m2 has
                             6 NaN                                          */
        int count;
        uint8_t code[8];
    } list[TP_DAMAGE_HUGE];
    /* those of them that are damage; e5m2 has most, 10 in all */
    uint8_t bad[16];
    int bad_count;
};

/* Describes the codes of a dtype, not complex. */
void tp_damage_codes_make(enum tp_dtype dtype, unsigned kinds,
                          struct tp_damage_codes *codes);

/* The kind of one code; 0: none of them. */
unsigned tp_damage_kind_of(const struct tp_damage_codes *codes, uint64_t code);

/* One of `n` codes in memory, as an integer. */
uint64_t tp_damage_code_at(const struct tp_span *span, unsigned size, size_t i);

/* Elements that are looked at in one go. */
enum { TP_DAMAGE_WORD = 64 };

/*
 * Marks elements [at, at + n) of a span, n at most TP_DAMAGE_WORD: bit i is set
 * where element at + i is one of codes->kinds.
 */
uint64_t tp_damage_marks(const struct tp_damage_codes *codes,
                         const struct tp_span *span, size_t at, size_t n);

/*
 * The same where the values of x and y differ, which have different dtypes; y
 * is what may be damaged. Two NaN are equal.
 */
uint64_t tp_damage_marks_values(const struct tp_span *x,
                                const struct tp_span *y, size_t at, size_t n);

/* Bytes of 0 and 1 to bits, the first byte lowest. */
static inline uint64_t tp_damage_gather(
    const unsigned char flags[TP_DAMAGE_WORD])
{
    uint64_t word = 0;
    for (int i = 0; i < TP_DAMAGE_WORD / 8; i++) {
        uint64_t eight;
        memcpy(&eight, flags + 8 * i, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        eight = __builtin_bswap64(eight);
#endif
        word |= (eight * UINT64_C(0x0102040810204080)) >> 56 << (8 * i);
    }
    return word;
}

/* The codes of the marked ones of elements [at, at + 64); how many. */
int tp_damage_codes_take(const struct tp_span *span, size_t at, uint64_t word,
                         uint64_t codes[TP_DAMAGE_WORD]);

#endif
