/* SPDX-License-Identifier: MIT */
#include "tensors/cast_plan.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/base128.h"
#include "base/text.h"
#include "stats/tally.h"

/* --- the plan ---------------------------------------------------------- */

static enum tp_status fail_unknown(const char *name, size_t length,
                                   struct tp_error *err)
{
    struct tp_text known = {0};
    for (const struct tp_number *n = tp_number_formats; n->id; n++)
        tp_text_add(&known, " %s", n->id);
    enum tp_status status =
        tp_fail(err, TP_E_USAGE, -1,
                "--formats does not know \"%.*s\"; it knows none named%s",
                (int)length, name, tp_text_get(&known));
    tp_text_clear(&known);
    return status;
}

static const struct tp_number *number_of(const char *id, size_t length)
{
    for (const struct tp_number *n = tp_number_formats; n->id; n++) {
        if (strlen(n->id) == length && !memcmp(n->id, id, length))
            return n;
    }
    return NULL;
}

/*
 * The binade to which a tensor's largest magnitude is scaled: the highest
 * one that lies below the largest value with full precision, so that nothing
 * overflows and as little as possible is small.
 */
static int full_binade(const struct tp_number *number)
{
    int e = ilogb(number->max);
    while (tp_number_precision(number, e) < number->precision)
        e--;
    return e == ilogb(number->max) ? e - 1 : e;
}

static void add_cast(struct tp_quant_plan *plan,
                     const struct tp_quant_spec *spec, bool listed)
{
    const struct tp_number *number = spec->number;
    bool mx = number->kind == TP_NUMBER_MX;
    assert(plan->count < TP_QUANT_CASTS_MAX);
    plan->casts[plan->count++] = (struct tp_quant_cast){
        .spec = *spec,
        .format = number->id,
        .rule = mx ? tp_scale_rule_name(spec->rule) : "",
        .rounding = tp_rounding_name(number, spec->rounding),
        .listed = listed,
    };
}

/* A word of the list that is not a format. */
static enum tp_status fail_word(const char *list, const char *word,
                                size_t length, struct tp_error *err)
{
    if (length == 0)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--formats has an empty name in \"%s\"", list);
    if (length == 4 && !memcmp(word, "none", 4))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--formats takes \"none\" alone, not with others");
    return fail_unknown(word, length, err);
}

/* The words of --formats; `named` is set when it is among them. */
static enum tp_status add_listed(const char *list,
                                 const struct tp_quant_spec *common,
                                 struct tp_quant_plan *plan, bool *named,
                                 struct tp_error *err)
{
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        const struct tp_number *number = number_of(word, length);
        if (length == 5 && !memcmp(word, "named", 5)) {
            *named = true;
        } else if (!number) {
            return fail_word(list, word, length, err);
        } else if (tp_quant_plan_find(plan, number) == plan->count) {
            struct tp_quant_spec spec = *common;
            spec.number = number;
            if (!number->ties_away) /* HiF8 has a choice */
                spec.rounding = TP_ROUND_DEFAULT;
            add_cast(plan, &spec, true);
        }
        word += length;
        if (!*word)
            return TP_OK;
    }
}

/* Formats that no tensor has unless its file names them. */
static void add_named(const struct tp_quant_spec *common,
                      struct tp_quant_plan *plan)
{
    for (const struct tp_number *n = tp_number_formats; n->id; n++) {
        struct tp_quant_spec spec = *common;
        spec.number = n;
        if (!n->ties_away)
            spec.rounding = TP_ROUND_DEFAULT;
        if (tp_quant_plan_find(plan, n) == plan->count)
            add_cast(plan, &spec, false);
    }
}

/* bf16 has the range of what is stored: a power of two changes nothing. */
static void add_scaled(struct tp_quant_plan *plan)
{
    plan->scaled = plan->count;
    for (size_t i = 0; i < plan->scaled; i++) {
        struct tp_quant_spec spec = plan->casts[i].spec;
        if (!plan->casts[i].listed || spec.number->kind != TP_NUMBER_ELEMENT ||
            spec.number == tp_number_by_dtype(TP_BFLOAT16))
            continue;
        spec.scaled = TP_SCALED_AMAX;
        spec.exponent = full_binade(spec.number);
        add_cast(plan, &spec, true);
    }
}

enum tp_status tp_quant_plan_make(const struct tp_quant_options *options,
                                  struct tp_quant_plan *plan,
                                  struct tp_error *err)
{
    const char *list = options->formats ? options->formats : TP_QUANT_FORMATS;
    const struct tp_quant_spec common = {.rounding = options->rounding,
                                         .rule = options->mx_scale,
                                         .nonfinite = options->nonfinite};
    bool named = false;
    *plan = (struct tp_quant_plan){.min_sqnr = options->min_sqnr,
                                   .max_underflow = options->max_underflow};
    enum tp_status status = TP_OK;
    if (strcmp(list, "none")) {
        status = add_listed(list, &common, plan, &named, err);
        if (status == TP_OK && named)
            add_named(&common, plan);
        add_scaled(plan);
    }
    return status;
}

size_t tp_quant_plan_find(const struct tp_quant_plan *plan,
                          const struct tp_number *number)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->casts[i].spec.scaled == TP_SCALED_NOT &&
            plan->casts[i].spec.number == number)
            return i;
    }
    return plan->count;
}

size_t tp_quant_plan_tallies(const struct tp_quant_plan *plan)
{
    size_t listed = 0, named = 0; /* of these a tensor has one at most */
    for (size_t i = 0; i < plan->count; i++) {
        const struct tp_quant_cast *cast = &plan->casts[i];
        if (!tp_tally_applies(&cast->spec, TP_BFLOAT16))
            continue;
        listed += cast->listed;
        named |= !cast->listed;
    }
    return listed + named;
}

void tp_quant_choose(const struct tp_quant_plan *plan, enum tp_dtype dtype,
                     const struct tp_number *target,
                     struct tp_quant_choice *choice)
{
    choice->count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct tp_quant_cast *cast = &plan->casts[i];
        if (!cast->listed && cast->spec.number != target)
            continue;
        if (!tp_quant_applies(&cast->spec, dtype))
            continue;
        choice->cast[choice->count] = (uint8_t)i;
        choice->specs[choice->count++] = cast->spec;
    }
    memset(choice->errors, 0, choice->count * sizeof choice->errors[0]);
}

/* --- packing ----------------------------------------------------------- */

/*
 * A packed error: the cast, the length of the rest, 32 bits that say what
 * stands here, then those counts (and scales) as little-endian groups of 7
 * bits, and those sums as they are. What does not stand here is that of the
 * cast before, of the first 0: the casts of a tensor have the same values, sum
 * of squares and blocks, and 16 of 69 bytes say nothing new, 13 of sums. 255
 * ends a row.
 */
enum {
    END = 255,
    COUNTS = 13,
    NUMBERS = COUNTS + 3, /* bits from 0 on: it stands here                */
    SUMS = 6,
    SUMS_FROM = 16,  /* bits: it stands here                               */
    ZEROS_FROM = 24, /* bits: it is 0                                      */
    FIRST = 31,      /* bit: there is no cast before                       */
    HEAD = 2 + sizeof(uint32_t),
    PACKED_MAX = HEAD + NUMBERS * 10 + SUMS * 8
};

static uint32_t bit(int which)
{
    return UINT32_C(1) << which;
}

#define COUNT_AT(member) offsetof(struct tp_quant_error, member)

static const size_t count_offsets[COUNTS] = {
    COUNT_AT(values),           COUNT_AT(nonfinite_in),
    COUNT_AT(nonfinite_out),    COUNT_AT(upper_overflow),
    COUNT_AT(lower_overflow),   COUNT_AT(underflow),
    COUNT_AT(subnormal),        COUNT_AT(summed),
    COUNT_AT(nonzero),          COUNT_AT(blocks),
    COUNT_AT(saturated_blocks), COUNT_AT(nonfinite_blocks),
    COUNT_AT(zero_blocks),
};

static const size_t sum_offsets[SUMS] = {
    COUNT_AT(sum_xx), COUNT_AT(sum_dd),       COUNT_AT(sum_xq),
    COUNT_AT(sum_qq), COUNT_AT(sum_relative), COUNT_AT(max_abs_error),
};

static uint8_t *put(uint8_t *to, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *to++ = (uint8_t)(value | 128);
    *to++ = (uint8_t)value;
    return to;
}

static uint64_t take(const uint8_t **from)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*from)++;
        value |= (uint64_t)(byte & 127) << (shift & 63);
        if (byte < 128)
            return value;
    }
}

/* Small numbers of either sign become small ones without. */
static uint64_t fold_sign(int32_t value)
{
    return value < 0 ? 2 * (uint64_t)(-(int64_t)value) - 1
                     : 2 * (uint64_t)value;
}

static int32_t unfold_sign(uint64_t value)
{
    return value & 1 ? (int32_t) - (int64_t)((value + 1) / 2)
                     : (int32_t)(value / 2);
}

static uint64_t number_of_error(const struct tp_quant_error *error, int which)
{
    uint64_t count;
    switch (which) {
    case COUNTS:
        return error->scale_least;
    case COUNTS + 1:
        return error->scale_largest;
    case COUNTS + 2:
        return fold_sign(error->tensor_scale);
    default:
        memcpy(&count, (const char *)error + count_offsets[which],
               sizeof count);
        return count;
    }
}

static void set_number(struct tp_quant_error *error, int which, uint64_t number)
{
    switch (which) {
    case COUNTS:
        error->scale_least = (uint16_t)number;
        break;
    case COUNTS + 1:
        error->scale_largest = (uint16_t)number;
        break;
    case COUNTS + 2:
        error->tensor_scale = unfold_sign(number);
        break;
    default:
        memcpy((char *)error + count_offsets[which], &number, sizeof number);
    }
}

/* `before`: the error of the cast before; NULL: there is none. */
static uint8_t *pack_error(uint8_t cast, const struct tp_quant_error *error,
                           const struct tp_quant_error *before, uint8_t *to)
{
    static const struct tp_quant_error none = {.values = 0};
    static const uint8_t zero[sizeof(double)] = {0};
    uint32_t here = before ? 0 : bit(FIRST);
    uint8_t *begin = to;
    before = before ? before : &none;
    to += HEAD;
    for (int i = 0; i < NUMBERS; i++) {
        const uint64_t number = number_of_error(error, i);
        if (number == number_of_error(before, i))
            continue;
        here |= bit(i);
        to = put(to, number);
    }
    for (int i = 0; i < SUMS; i++) {
        const char *sum = (const char *)error + sum_offsets[i];
        if (!memcmp(sum, (const char *)before + sum_offsets[i], sizeof zero))
            continue;
        const bool is_zero = !memcmp(sum, zero, sizeof zero);
        here |= bit((is_zero ? ZEROS_FROM : SUMS_FROM) + i);
        if (is_zero)
            continue;
        memcpy(to, sum, sizeof zero);
        to += sizeof zero;
    }
    begin[0] = cast;
    begin[1] = (uint8_t)(to - begin - 2);
    memcpy(begin + 2, &here, sizeof here);
    return to;
}

const uint8_t *tp_quant_pack(const struct tp_quant_choice *choice,
                             struct tp_arena *arena)
{
    uint8_t bytes[TP_QUANT_CASTS_MAX * PACKED_MAX + 1], *end = bytes;
    for (size_t i = 0; i < choice->count; i++)
        end = pack_error(choice->cast[i], &choice->errors[i],
                         i ? &choice->errors[i - 1] : NULL, end);
    *end++ = END;
    uint8_t *kept = tp_arena_alloc(arena, (size_t)(end - bytes));
    if (kept)
        memcpy(kept, bytes, (size_t)(end - bytes));
    return kept;
}

static uint32_t what_is_here(const uint8_t *at)
{
    uint32_t here;
    memcpy(&here, at + 2, sizeof here);
    return here;
}

const uint8_t *tp_quant_next(const uint8_t *at, size_t *cast,
                             struct tp_quant_error *error)
{
    if (!at || *at == END)
        return NULL;
    const uint8_t *from = at + HEAD, *end = at + 2 + at[1];
    const uint32_t here = what_is_here(at);
    *cast = *at;
    if (here & bit(FIRST))
        memset(error, 0, sizeof *error);
    for (int i = 0; i < NUMBERS; i++) {
        if (here & bit(i))
            set_number(error, i, take(&from));
    }
    for (int i = 0; i < SUMS; i++) {
        char *sum = (char *)error + sum_offsets[i];
        if (here & bit(ZEROS_FROM + i))
            memset(sum, 0, sizeof(double));
        if (!(here & bit(SUMS_FROM + i)))
            continue;
        memcpy(sum, from, sizeof(double));
        from += sizeof(double);
    }
    assert(from == end);
    return end;
}

/* How many bits of each byte are set. */
static uint32_t bits_of_bytes(uint32_t word)
{
    word -= word >> 1 & 0x55555555;
    word = (word & 0x33333333) + (word >> 2 & 0x33333333);
    return (word + (word >> 4)) & 0x0f0f0f0f;
}

/* Whether the bytes of a cast are what its bits say. */
static bool fills(const uint8_t *at, bool first)
{
    const uint32_t here = what_is_here(at), known = UINT32_C(0xbf3fffff);
    const uint32_t bits = bits_of_bytes(here);
    const size_t numbers = (bits & 255) + (bits >> 8 & 255);
    const size_t sums = (bits >> SUMS_FROM & 255) * sizeof(double);
    const size_t length = at[1] + 2 - HEAD;
    if (here & ~known || first != (here >> FIRST) || length < sums)
        return false;
    const size_t rest = length - sums;
    return tp_numbers_ended(at + HEAD, rest) == numbers &&
           (rest == 0 || at[HEAD + rest - 1] < 128);
}

size_t tp_quant_bytes(const uint8_t *at, size_t room, size_t *casts)
{
    size_t used = 0, next = 0;
    while (used < room && at[used] != END) {
        const size_t cast = at[used];
        if (room - used < HEAD || at[used + 1] > room - used - 2 ||
            at[used + 1] + 2 < HEAD || cast < next ||
            cast >= TP_QUANT_CASTS_MAX || !fills(at + used, used == 0))
            return 0;
        next = cast + 1;
        used += (size_t)2 + at[used + 1];
    }
    *casts = *casts < next ? next : *casts;
    return used < room ? used + 1 : 0;
}

bool tp_quant_unpack(const uint8_t *at, size_t cast,
                     struct tp_quant_error *error)
{
    size_t its = cast + 1;
    for (at = tp_quant_next(at, &its, error); at && its < cast;)
        at = tp_quant_next(at, &its, error);
    return at && its == cast;
}

bool tp_quant_unpack_metrics(const uint8_t *at, size_t cast,
                             struct tp_quant_metrics *metrics)
{
    struct tp_quant_error error;
    if (!tp_quant_unpack(at, cast, &error))
        return false;
    tp_quant_metrics_of(&error, metrics);
    return true;
}
