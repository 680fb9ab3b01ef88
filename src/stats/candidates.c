/* SPDX-License-Identifier: MIT */
/*
 * Candidates for order statistics, as Floyd and Rivest narrow a selection by a
 * sample: of s sampled values, those before the wanted one of level p are
 * s p +- sqrt(s p (1 - p)), if the sample is fair; from DEVIATIONS of these
 * before it to as many behind it all top digits are kept. For seven levels that
 * is 4 / sqrt(s) of the values for each deviation, 2 % of a million.
 *
 * Alternatives: reading again, which costs as much as counting the digits; a
 * bound that always holds, which needs several readings, or much memory.
 *
 * Cost: a few comparisons of 16 codes at once with each span; of portable code,
 * a look at a bit for each.
 */
#include "stats/candidates.h"

#include <math.h>
#include <string.h>

#include "data/dtype.h"

enum {
    SPANS = TP_CANDIDATES_SPANS,
    DEVIATIONS = 4,
    PART = 8, /* at most one value of a sample in so many is kept, */
    MOST_BYTES = TP_CANDIDATES_BYTES / 2 /* and of all about so much */
};

/* --- the plan ------------------------------------------------------------- */

static void add_span(struct tp_candidates *candidates, uint32_t first,
                     uint32_t last)
{
    candidates->first[candidates->spans] = first;
    candidates->last[candidates->spans++] = last;
    for (uint32_t i = first; i <= last; i++)
        candidates->among[i / 64] |= UINT64_C(1) << i % 64;
}

/* Keys of one sign are codes that follow each other, the negative ones
 * backwards. */
static void add_keys(struct tp_candidates *candidates, uint32_t first,
                     uint32_t last)
{
    const uint32_t half = TP_SELECT_TOP / 2;
    if (first < half)
        add_span(candidates, last < half ? TP_SELECT_TOP - 1 - last : half,
                 TP_SELECT_TOP - 1 - first);
    if (last >= half)
        add_span(candidates, first < half ? 0 : first - half, last - half);
}

/* The top digits of the key of a rank. */
static uint32_t digits_at(const uint64_t *totals, double rank)
{
    uint32_t at = 0;
    for (double sum = (double)totals[0]; sum <= rank && at < TP_SELECT_TOP - 1;)
        sum += (double)totals[++at];
    return at;
}

static uint64_t sum_of(const uint64_t *totals, uint32_t first, uint32_t last)
{
    uint64_t sum = 0;
    for (uint32_t i = first; i <= last; i++)
        sum += totals[i];
    return sum;
}

bool tp_candidates_plan(struct tp_candidates *candidates, enum tp_dtype dtype,
                        const uint64_t *totals, uint64_t count)
{
    const int exponent = dtype == TP_FLOAT32 ? 8 : 11;
    const uint32_t special = 1u << (TP_SELECT_TOP_BITS - 1 - exponent);
    const double below = (double)sum_of(totals, 0, special - 1);
    const double n =
        (double)sum_of(totals, special, TP_SELECT_TOP - 1 - special);
    double kept = 0;
    int64_t done = -1; /* the last digits that are in a span */
    memset(candidates, 0, sizeof *candidates);
    candidates->dtype = dtype;
    candidates->bits = 8 * tp_dtype_info(dtype)->size;
    for (int i = 0; i < TP_QUANTILES && n > 0; i++) {
        const double p = tp_quantile_levels[i], at = below + p * (n - 1);
        const double margin = DEVIATIONS * sqrt(n * p * (1 - p)) + 1;
        uint32_t first = digits_at(totals, at - margin);
        const uint32_t last = digits_at(totals, at + margin);
        if ((int64_t)first <= done)
            first = (uint32_t)(done + 1);
        if (first > last)
            continue;
        add_keys(candidates, first, last);
        kept += (double)sum_of(totals, first, last);
        done = last;
    }
    return n > 0 && kept * PART <= n &&
           kept / n * (double)count * candidates->bits / 8 <= MOST_BYTES;
}

bool tp_candidates_have(const struct tp_candidates *candidates,
                        const struct tp_select *select)
{
    for (unsigned g = 0; g < select->groups; g++) {
        const uint64_t code = tp_code_of_key(TP_ORDER_FLOAT, TP_SELECT_TOP_BITS,
                                             select->prefix[g]);
        if (!(candidates->among[code / 64] >> code % 64 & 1))
            return false;
    }
    return true;
}

/* --- keeping -------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

INLINE void keep_each(const struct tp_candidates *candidates, size_t size,
                      const unsigned char *at, size_t n,
                      struct tp_kept_codes *kept)
{
    uint64_t length = kept->length;
    for (size_t i = 0; i < n; i++, at += size) {
        uint32_t top; /* the leading four bytes of a code */
        memcpy(&top, at + size - sizeof top, sizeof top);
        top >>= 32 - TP_SELECT_TOP_BITS;
        if (!(candidates->among[top / 64] >> top % 64 & 1))
            continue;
        if (length < TP_CANDIDATES_ROOM)
            memcpy(kept->codes + length * size, at, size);
        length++;
    }
    kept->length = length;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Spans as vectors: where each begins, and how many digits follow. Those there
 * are not hold nothing. */
struct lanes {
    __m512i first[SPANS], more[SPANS];
};

/* Instances for codes of 32 and 64 bits: keeps those of 64 bytes. Without a
 * branch, since whether there are some is hard to foresee. */
#define KEEP(bits, mask_type)                                              \
    TP_TARGET_AVX512 static inline uint64_t keep_##bits(                   \
        const struct lanes *lanes, const unsigned char *codes,             \
        struct tp_kept_codes *kept, uint64_t length)                       \
    {                                                                      \
        const uint64_t to =                                                \
            length < TP_CANDIDATES_ROOM ? length : TP_CANDIDATES_ROOM;     \
        const __m512i code = _mm512_loadu_si512(codes);                    \
        const __m512i top =                                                \
            _mm512_srli_epi##bits(code, bits - TP_SELECT_TOP_BITS);        \
        mask_type outside = (mask_type)~0u;                                \
        _Pragma("GCC unroll 8") for (int i = 0; i < SPANS; i++) outside =  \
            _mm512_mask_cmpgt_epu##bits##_mask(                            \
                outside, _mm512_sub_epi##bits(top, lanes->first[i]),       \
                lanes->more[i]);                                           \
        const mask_type found = (mask_type)~outside;                       \
        _mm512_storeu_si512(kept->codes + to * (bits / 8),                 \
                            _mm512_maskz_compress_epi##bits(found, code)); \
        return length + (unsigned)__builtin_popcount(found);               \
    }

KEEP(32, __mmask16)
KEEP(64, __mmask8)

/* Takes whole vectors; returns how many codes these are. */
TP_TARGET_AVX512 static size_t keep_vectors(
    const struct tp_candidates *candidates, const struct tp_span *span,
    struct tp_kept_codes *kept)
{
    const size_t each = 512 / (size_t)candidates->bits;
    const unsigned char *at = span->codes;
    uint64_t length = kept->length;
    struct lanes lanes;
    size_t done = 0;
    for (unsigned i = 0; i < SPANS; i++) {
        const bool used = i < candidates->spans;
        const int first = used ? (int)candidates->first[i] : TP_SELECT_TOP;
        const int more =
            used ? (int)(candidates->last[i] - candidates->first[i]) : 0;
        lanes.first[i] =
            each == 16 ? _mm512_set1_epi32(first) : _mm512_set1_epi64(first);
        lanes.more[i] =
            each == 16 ? _mm512_set1_epi32(more) : _mm512_set1_epi64(more);
    }
    for (; each == 16 && done + 16 <= span->n; done += 16, at += 64)
        length = keep_32(&lanes, at, kept, length);
    for (; each == 8 && done + 8 <= span->n; done += 8, at += 64)
        length = keep_64(&lanes, at, kept, length);
    kept->length = length;
    return done;
}
#endif

void tp_candidates_keep(const struct tp_candidates *candidates,
                        const struct tp_span *span, enum tp_isa isa,
                        struct tp_kept_codes *kept)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (tp_isa_known(isa) == TP_ISA_AVX512)
        done = keep_vectors(candidates, span, kept);
#endif
    (void)isa;
    const unsigned char *codes = span->codes;
    if (candidates->bits == 32)
        keep_each(candidates, 4, codes + 4 * done, span->n - done, kept);
    else
        keep_each(candidates, 8, codes + 8 * done, span->n - done, kept);
}
