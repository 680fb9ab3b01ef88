/* SPDX-License-Identifier: MIT */
/*
 * Words of 64 marks. A loop compares 64 codes into bytes of 0 and 1, which
 * compilers turn into vector instructions; a multiplication gathers eight such
 * bytes into eight bits. Alternative: movemask of each instruction set, which
 * would be twice as fast. About one instruction a byte of codes; values of two
 * dtypes are decoded and compared one by one. Pairs of one dtype:
 * damage_pair.c.
 */
#include "damage/damage_marks.h"

#include <math.h>
#include <string.h>

/* --- kinds ---------------------------------------------------------------- */

static unsigned kind_of_value(double value)
{
    if (isnan(value))
        return TP_DAMAGE_NAN;
    if (isinf(value))
        return TP_DAMAGE_INF;
    return value == 0 ? TP_DAMAGE_ZERO : 0;
}

/* The exponent field all ones, and that of 2^64 or 2^512; 10 bits of fp16's
 * exponents reach 2^15, the square root of which is an everyday value. */
static void set_magnitudes(struct tp_damage_codes *codes)
{
    switch (codes->dtype) {
    case TP_FLOAT64:
        codes->inf = UINT64_C(0x7ff) << 52;
        codes->huge = (UINT64_C(1023) + 512) << 52;
        break;
    case TP_FLOAT32:
        codes->inf = UINT64_C(0xff) << 23;
        codes->huge = (UINT64_C(127) + 64) << 23;
        break;
    case TP_BFLOAT16:
        codes->inf = UINT64_C(0xff) << 7;
        codes->huge = (UINT64_C(127) + 64) << 7;
        break;
    case TP_FLOAT16:
        codes->inf = codes->huge = UINT64_C(0x1f) << 10;
        break;
    default: /* integers: zero is all there is */
        codes->inf = codes->huge = UINT64_MAX;
    }
}

static void list_byte(struct tp_damage_codes *codes, uint8_t code,
                      unsigned kind)
{
    codes->of_byte[code] = (uint8_t)kind;
    if (kind)
        codes->list[kind].code[codes->list[kind].count++] = code;
}

void tp_damage_codes_make(enum tp_dtype dtype, unsigned kinds,
                          struct tp_damage_codes *codes)
{
    memset(codes, 0, sizeof *codes);
    codes->dtype = dtype;
    codes->kinds = kinds;
    codes->isa = tp_isa_best();
    codes->size = tp_dtype_info(dtype)->code_size;
    const int bits = 8 * (int)codes->size;
    codes->mask = UINT64_MAX >> (64 - bits);
    if (tp_code_order_of(dtype) == TP_ORDER_FLOAT)
        codes->mask >>= 1;
    set_magnitudes(codes);
    for (int i = 0; i < 256 && codes->size == 1; i++) {
        const uint8_t code = (uint8_t)i;
        double value;
        tp_dtype_decode(dtype, &code, 1, &value);
        list_byte(codes, code, kind_of_value(value));
        if (codes->of_byte[i] & kinds)
            codes->bad[codes->bad_count++] = code;
    }
}

unsigned tp_damage_kind_of(const struct tp_damage_codes *codes, uint64_t code)
{
    const uint64_t magnitude = code & codes->mask;
    if (codes->size == 1)
        return codes->of_byte[code & 255];
    if (magnitude == 0)
        return TP_DAMAGE_ZERO;
    if (magnitude > codes->inf)
        return TP_DAMAGE_NAN;
    if (magnitude == codes->inf && codes->inf != UINT64_MAX)
        return TP_DAMAGE_INF;
    return magnitude >= codes->huge && codes->huge != UINT64_MAX
               ? TP_DAMAGE_HUGE
               : 0;
}

uint64_t tp_damage_code_at(const struct tp_span *span, unsigned size, size_t i)
{
    const unsigned char *code = (const unsigned char *)span->codes + i * size;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        return *code;
    case 2:
        memcpy(&two, code, sizeof two);
        return two;
    case 4:
        memcpy(&four, code, sizeof four);
        return four;
    default:
        memcpy(&eight, code, sizeof eight);
        return eight;
    }
}

/* --- one tensor ----------------------------------------------------------- */

/* Flags of 64 codes of a type: any of four tests, of which each is on (all
 * ones) or off. */
#define FLAG_KINDS(type, name)                                                \
    static void name(const struct tp_damage_codes *codes, const void *at,     \
                     unsigned char flags[TP_DAMAGE_WORD])                     \
    {                                                                         \
        const type mask = (type)codes->mask, inf = (type)codes->inf;          \
        const type huge = (type)codes->huge;                                  \
        const bool nan = codes->kinds & TP_DAMAGE_NAN;                        \
        const bool infinite = codes->kinds & TP_DAMAGE_INF;                   \
        const bool zero = codes->kinds & TP_DAMAGE_ZERO;                      \
        const bool large = codes->kinds & TP_DAMAGE_HUGE;                     \
        type code[TP_DAMAGE_WORD];                                            \
        memcpy(code, at, sizeof code);                                        \
        for (int i = 0; i < TP_DAMAGE_WORD; i++) {                            \
            const type m = code[i] & mask;                                    \
            flags[i] =                                                        \
                (unsigned char)((nan & (m > inf)) | (infinite & (m == inf)) | \
                                (zero & (m == 0)) |                           \
                                (large & (m >= huge) & (m < inf)));           \
        }                                                                     \
    }

FLAG_KINDS(uint16_t, flag_kinds16)
FLAG_KINDS(uint32_t, flag_kinds32)
FLAG_KINDS(uint64_t, flag_kinds64)

/* The few codes of a byte that are damage, one after the other. */
static void flag_kinds8(const struct tp_damage_codes *codes,
                        const unsigned char *at,
                        unsigned char flags[TP_DAMAGE_WORD])
{
    unsigned char code[TP_DAMAGE_WORD], found[TP_DAMAGE_WORD] = {0};
    memcpy(code, at, sizeof code);
    for (int k = 0; k < codes->bad_count; k++) {
        const unsigned char bad = codes->bad[k];
        for (int i = 0; i < TP_DAMAGE_WORD; i++)
            found[i] |= code[i] == bad;
    }
    memcpy(flags, found, sizeof found);
}

static bool is_wide_integer(const struct tp_damage_codes *codes)
{
    return codes->inf == UINT64_MAX && codes->size > 1;
}

/* One after the other: an end of a span, and integers. */
static uint64_t mark_each(const struct tp_damage_codes *codes,
                          const struct tp_span *span, size_t at, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t code = tp_damage_code_at(span, codes->size, at + i);
        if (tp_damage_kind_of(codes, code) & codes->kinds)
            word |= UINT64_C(1) << i;
    }
    return word;
}

uint64_t tp_damage_marks(const struct tp_damage_codes *codes,
                         const struct tp_span *span, size_t at, size_t n)
{
    const unsigned char *first =
        (const unsigned char *)span->codes + at * codes->size;
    unsigned char flags[TP_DAMAGE_WORD];
    if (n < TP_DAMAGE_WORD || is_wide_integer(codes))
        return mark_each(codes, span, at, n);
    switch (codes->size) {
    case 1:
        flag_kinds8(codes, first, flags);
        break;
    case 2:
        flag_kinds16(codes, first, flags);
        break;
    case 4:
        flag_kinds32(codes, first, flags);
        break;
    default:
        flag_kinds64(codes, first, flags);
    }
    return tp_damage_gather(flags);
}

/* --- two tensors ---------------------------------------------------------- */

uint64_t tp_damage_marks_values(const struct tp_span *x,
                                const struct tp_span *y, size_t at, size_t n)
{
    const size_t size_x = tp_dtype_info(x->dtype)->code_size;
    const size_t size_y = tp_dtype_info(y->dtype)->code_size;
    double a[TP_DAMAGE_WORD], b[TP_DAMAGE_WORD];
    uint64_t word = 0;
    tp_dtype_decode(x->dtype, (const char *)x->codes + at * size_x, n, a);
    tp_dtype_decode(y->dtype, (const char *)y->codes + at * size_y, n, b);
    for (size_t i = 0; i < n; i++) {
        const bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        word |= (uint64_t)!same << i;
    }
    return word;
}

/* --- codes ---------------------------------------------------------------- */

#define TAKE_CODES(type, name)                                               \
    static int name(const unsigned char *at, uint64_t word, uint64_t *codes) \
    {                                                                        \
        int count = 0;                                                       \
        for (; word; word &= word - 1) {                                     \
            type code;                                                       \
            memcpy(&code, at + (size_t)__builtin_ctzll(word) * sizeof code,  \
                   sizeof code);                                             \
            codes[count++] = code;                                           \
        }                                                                    \
        return count;                                                        \
    }

TAKE_CODES(uint8_t, take_codes8)
TAKE_CODES(uint16_t, take_codes16)
TAKE_CODES(uint32_t, take_codes32)
TAKE_CODES(uint64_t, take_codes64)

int tp_damage_codes_take(const struct tp_span *span, size_t at, uint64_t word,
                         uint64_t codes[TP_DAMAGE_WORD])
{
    const size_t size = tp_dtype_info(span->dtype)->code_size;
    const unsigned char *first = (const unsigned char *)span->codes + at * size;
    switch (size) {
    case 1:
        return take_codes8(first, word, codes);
    case 2:
        return take_codes16(first, word, codes);
    case 4:
        return take_codes32(first, word, codes);
    default:
        return take_codes64(first, word, codes);
    }
}
