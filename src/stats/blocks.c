/* SPDX-License-Identifier: MIT */
#include "stats/blocks.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const rule_names[TP_SCALE_COUNT] = {
    [TP_SCALE_FLOOR] = "floor",
    [TP_SCALE_CEIL] = "ceil",
    [TP_SCALE_EVEN] = "even",
    [TP_SCALE_RCEIL] = "rceil",
};

const char *tp_scale_rule_name(enum tp_scale_rule rule)
{
    assert((unsigned)rule < TP_SCALE_COUNT);
    return rule_names[rule];
}

enum tp_scale_rule tp_scale_rule_by_name(const char *name)
{
    if (!name || !*name) {
        return TP_SCALE_FLOOR;
    }
    int i = 0;
    while (i < TP_SCALE_COUNT && strcmp(rule_names[i], name) != 0) {
        i++;
    }
    return (enum tp_scale_rule)i;
}

/* Splits x > 0 into m * 2^e, 1 <= m < 2; returns m. */
static double split(double x, int *e)
{
    const double half = frexp(x, e);
    *e -= 1;
    return 2 * half;
}

int tp_scale_exponent(const struct tp_number *number, enum tp_scale_rule rule,
                      double amax)
{
    int e, top;
    const double largest = split(number->max, &top);
    if (amax == 0) {
        return -127;
    }
    const double m = split(amax, &e);
    bool up = false;
    switch (rule) {
    case TP_SCALE_CEIL: up = m > 1; break;
    case TP_SCALE_EVEN: up = m >= 2 - ldexp(1, -number->precision); break;
    case TP_SCALE_RCEIL: up = m > largest; break;
    default: break;
    }
    e += up - top;
    return e < -127 ? -127 : e > 127 ? 127 : e;
}

/* NVFP4 is defined in binary32; what does not fit is its largest value. */
static float to_float(double x)
{
    return x > FLT_MAX ? FLT_MAX : (float)x;
}

float tp_nvfp4_encode(double tensor_amax)
{
    const float amax = to_float(tensor_amax);
    if (amax == 0) {
        return 1;
    }
    const float encode = (448.0f * 6.0f) / amax;
    return encode > FLT_MAX ? FLT_MAX : encode;
}

/* E4M3 code of v >= 0: nearest, ties to even, saturating at 448 (7e). */
static unsigned e4m3_code(float v)
{
    if (v >= 448) {
        return 0x7e;
    }
    if (v < 0x1p-6f) { /* multiples of 2^-9 */
        return (unsigned)nearbyintf(v * 0x1p9f);
    }
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits += 0x7ffffu + (bits >> 20 & 1);
    return (bits >> 20) - ((127 - 7) << 3);
}

static float e4m3_value(unsigned code)
{
    const unsigned char byte = (unsigned char)code;
    double value;
    tp_dtype_decode(TP_FLOAT8_E4M3FN, &byte, 1, &value);
    return (float)value;
}

/* The product of the encoding scale and 1/6 comes first, and is rounded. */
static unsigned nvfp4_scale_code(float encode, float block_amax)
{
    const float factor = encode * (1.0f / 6.0f);
    return e4m3_code(block_amax * factor);
}

float tp_nvfp4_scale(float encode, float block_amax)
{
    return e4m3_value(nvfp4_scale_code(encode, block_amax));
}

void tp_block_counts_merge(struct tp_block_counts *into,
                           const struct tp_block_counts *from,
                           uint64_t times)
{
    into->blocks += times * from->blocks;
    into->saturated += times * from->saturated;
    into->upper_overflow += times * from->upper_overflow;
    into->lower_overflow += times * from->lower_overflow;
    into->underflow += times * from->underflow;
    into->subnormal += times * from->subnormal;
}

/* The dtype whose codes are counted: codes of one byte are widened first. */
static enum tp_dtype counted_dtype(const struct tp_block_plan *plan)
{
    return plan->code_size == 1 ? TP_BFLOAT16 : plan->dtype;
}

/* Largest exponent of the counted code's finite values. */
static int exponent_bias(const struct tp_block_plan *plan)
{
    const int exponent_bits = 8 * plan->width - 1 - plan->fraction_bits;
    return (1 << (exponent_bits - 1)) - 1;
}

/* The largest finite magnitude whose value is at most y; y > 0 is normal. */
static uint64_t code_at_most(const struct tp_block_plan *plan, double y)
{
    const int bias = exponent_bias(plan);
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    const int e = (int)(bits >> 52) - 1023;
    uint64_t code;
    if (e > bias) {
        code = UINT64_MAX;
    } else if (e > -bias) {
        const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
        code = (uint64_t)(e + bias) << plan->fraction_bits |
               fraction >> (52 - plan->fraction_bits);
    } else {
        code = (uint64_t)ldexp(y, bias - 1 + plan->fraction_bits);
    }
    return code < plan->infinity ? code : plan->infinity - 1;
}

static void plan_mx_limits(struct tp_block_plan *plan)
{
    struct tp_thresholds t;
    tp_number_thresholds(plan->number, &t);
    for (int slot = 0; slot < TP_BLOCK_SLOTS; slot++) {
        const double scale = ldexp(1, slot - 127);
        plan->limits[slot] = (struct tp_block_limits){
            .finite = code_at_most(plan, t.overflow * scale),
            .zero = code_at_most(plan, t.zero * scale),
            /* the tie itself rounds up, so strictly below */
            .small = code_at_most(plan, nextafter(t.subnormal * scale, 0)),
        };
    }
}

/*
 * The shared exponent is the exponent of amax, raised by one when its
 * fraction passes what the rule allows: adding `carry` to the code makes the
 * fraction overflow into the exponent field exactly then.
 */
static void plan_mx_rule(struct tp_block_plan *plan)
{
    const uint64_t one = UINT64_C(1) << plan->fraction_bits;
    int top;
    const double largest = split(plan->number->max, &top);
    switch (plan->rule) {
    case TP_SCALE_CEIL: plan->carry = one - 1; break;
    case TP_SCALE_EVEN: plan->carry = one >> plan->number->precision; break;
    case TP_SCALE_RCEIL:
        plan->carry = one - 1 - (uint64_t)((largest - 1) * (double)one);
        break;
    default: plan->carry = 0; break;
    }
    plan->slot_bias = 127 - top - exponent_bias(plan);
}

static double value_of(const struct tp_block_plan *plan, uint64_t code)
{
    const uint16_t half = (uint16_t)code;
    const uint32_t single = (uint32_t)code;
    const void *bytes = plan->width == 2   ? (const void *)&half
                        : plan->width == 4 ? (const void *)&single
                                           : (const void *)&code;
    double value;
    tp_dtype_decode(counted_dtype(plan), bytes, 1, &value);
    return value;
}

/* The largest finite magnitude that, times `factor` in binary32, is at most
 * `limit`. The product grows with the code, so that bisection finds it. */
static uint64_t product_at_most(const struct tp_block_plan *plan,
                                float factor, float limit)
{
    uint64_t low = 0, high = plan->infinity - 1;
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (to_float(value_of(plan, middle)) * factor <= limit) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static void plan_nvfp4(struct tp_block_plan *plan, double tensor_amax)
{
    struct tp_thresholds t;
    tp_number_thresholds(plan->number, &t);
    plan->encode = tp_nvfp4_encode(tensor_amax);
    for (unsigned code = 0; code <= 0x7e; code++) {
        const float scale = e4m3_value(code) * (1.0f / plan->encode);
        float factor = scale == 0 ? 0 : 1.0f / scale;
        factor = factor > FLT_MAX ? FLT_MAX : factor;
        plan->limits[code] = (struct tp_block_limits){
            .finite = product_at_most(plan, factor, (float)t.overflow),
            .zero = product_at_most(plan, factor, (float)t.zero),
            .small = product_at_most(plan, factor,
                                     nextafterf((float)t.subnormal, 0)),
        };
    }
}

static void plan_widening(struct tp_block_plan *plan)
{
    for (int i = 0; i < 256; i++) {
        const unsigned char code = (unsigned char)i;
        double value;
        tp_dtype_decode(plan->dtype, &code, 1, &value);
        const float exact = (float)value; /* 8-bit values all fit bfloat16 */
        uint32_t bits;
        memcpy(&bits, &exact, sizeof bits);
        plan->widened[i] = (uint16_t)(bits >> 16);
    }
}

void tp_block_plan_init(struct tp_block_plan *plan,
                        const struct tp_number *number,
                        enum tp_scale_rule rule, enum tp_dtype dtype,
                        double tensor_amax)
{
    const enum tp_dtype real = tp_dtype_info(dtype)->real;
    const struct tp_dtype_info *info = tp_dtype_info(real);
    assert(info->kind == TP_CLASS_FLOAT);
    assert(number->kind != TP_NUMBER_ELEMENT);
    *plan = (struct tp_block_plan){
        .number = number,
        .rule = rule,
        .dtype = real,
        .code_size = info->size,
        .block = number->block,
        .width = info->size == 1 ? 2 : info->size,
    };
    plan->fraction_bits =
        tp_dtype_info(counted_dtype(plan))->significand - 1;
    plan->infinity = (UINT64_C(1) << (8 * plan->width - 1)) -
                     (UINT64_C(1) << plan->fraction_bits);
    if (info->size == 1) {
        plan_widening(plan);
    }
    if (number->kind == TP_NUMBER_MX) {
        plan_mx_rule(plan);
        plan_mx_limits(plan);
    } else {
        plan_nvfp4(plan, tensor_amax);
    }
}

#define INLINE static inline __attribute__((always_inline))

/*
 * Exponent field of a binary16 magnitude plus carry, as if its exponent range
 * had no end: the only source dtype whose subnormals are not all beneath the
 * smallest scale.
 */
static int binary16_exponent(uint64_t magnitude, uint64_t carry)
{
    int shift = 0;
    while (magnitude << shift < 0x400) {
        shift++;
    }
    return (int)((magnitude << shift) + carry) / 0x400 - shift;
}

static const struct tp_block_limits *
nvfp4_limits(const struct tp_block_plan *plan, uint64_t largest)
{
    const float amax = to_float(value_of(plan, largest));
    return &plan->limits[nvfp4_scale_code(plan->encode, amax)];
}

/* The limits of a block whose largest finite magnitude is `largest`. */
INLINE const struct tp_block_limits *
limits_of(const struct tp_block_plan *plan, uint64_t largest)
{
    if (plan->number->kind == TP_NUMBER_NVFP4) {
        return nvfp4_limits(plan, largest);
    }
    int field;
    if (plan->fraction_bits == 10 && largest < 0x400 && largest > 0) {
        field = binary16_exponent(largest, plan->carry);
    } else {
        field = (int)((largest + plan->carry) >> plan->fraction_bits);
    }
    const int slot = field + plan->slot_bias;
    return &plan->limits[slot < 0                 ? 0
                         : slot >= TP_BLOCK_SLOTS ? TP_BLOCK_SLOTS - 1
                                                  : slot];
}

/* Columns counted side by side: two vectors of AVX-512 at 16 bits. */
enum { STRIP = 64 };

#define CODE uint16_t
#define NAME(x) x##_16
#include "stats/blocks_kernel.inc"
#define CODE uint32_t
#define NAME(x) x##_32
#include "stats/blocks_kernel.inc"
#define CODE uint64_t
#define NAME(x) x##_64
#include "stats/blocks_kernel.inc"

/* What is asked of the loops of one instruction set. */
struct job {
    const struct tp_block_plan *plan;
    const void *codes;
    size_t rows, length; /* rows of length; or length rows of `columns` */
    size_t columns;      /* 0: blocks along rows                        */
};

/* Picks the loop by width and block; inlined once per instruction set. */
INLINE void count_any(const struct job *job, struct tp_block_counts *counts)
{
    const struct tp_block_plan *plan = job->plan;
    const void *codes = job->codes;
    if (job->columns != 0) {
        switch (plan->width) {
        case 2:
            count_columns_16(plan, codes, job->length, job->columns, counts);
            break;
        case 4:
            count_columns_32(plan, codes, job->length, job->columns, counts);
            break;
        default:
            count_columns_64(plan, codes, job->length, job->columns, counts);
        }
    } else if (plan->block == 32) {
        switch (plan->width) {
        case 2:
            count_rows_16(plan, codes, job->rows, job->length, 32, counts);
            break;
        case 4:
            count_rows_32(plan, codes, job->rows, job->length, 32, counts);
            break;
        default:
            count_rows_64(plan, codes, job->rows, job->length, 32, counts);
        }
    } else {
        switch (plan->width) {
        case 2:
            count_rows_16(plan, codes, job->rows, job->length, 16, counts);
            break;
        case 4:
            count_rows_32(plan, codes, job->rows, job->length, 16, counts);
            break;
        default:
            count_rows_64(plan, codes, job->rows, job->length, 16, counts);
        }
    }
}

typedef void count_fn(const struct job *job, struct tp_block_counts *counts);

static void count_portable(const struct job *job,
                           struct tp_block_counts *counts)
{
    count_any(job, counts);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
count_avx2(const struct job *job, struct tp_block_counts *counts)
{
    count_any(job, counts);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) static void
count_avx512(const struct job *job, struct tp_block_counts *counts)
{
    count_any(job, counts);
}
#endif

/* One instruction set; rows from best to plainest. */
struct isa {
    const char *name;
    count_fn *count;
};

static const struct isa isas[] = {
#if defined(__x86_64__)
    {"avx512", count_avx512},
    {"avx2", count_avx2},
#endif
    {"portable", count_portable},
};

static bool has_isa(const char *name)
{
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0) {
        return __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq");
    }
    if (strcmp(name, "avx2") == 0) {
        return __builtin_cpu_supports("avx2");
    }
#endif
    return strcmp(name, "portable") == 0;
}

/* Cheap enough to ask anew for every piece of a tensor, so that there is no
 * state to share between threads. */
static const struct isa *chosen_isa(void)
{
    const char *wanted = getenv("TPROF_ISA");
    const struct isa *best = NULL;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (!has_isa(isas[i].name)) {
            continue;
        }
        if (wanted && strcmp(wanted, isas[i].name) == 0) {
            return &isas[i];
        }
        best = best ? best : &isas[i];
    }
    return best;
}

const char *tp_blocks_isa(void)
{
    return chosen_isa()->name;
}

/* Codes of one byte are widened in pieces of this many, 8 KiB on the stack;
 * a multiple of every block, and of a strip times every block. */
enum { PIECE = 4096 };

static void widen(const struct tp_block_plan *plan,
                  const unsigned char *codes, size_t n, uint16_t *wide)
{
    for (size_t i = 0; i < n; i++) {
        wide[i] = plan->widened[codes[i]];
    }
}

static void count_bytes(const struct tp_block_plan *plan,
                        const unsigned char *codes, size_t rows,
                        size_t row_length, struct tp_block_counts *counts)
{
    const struct isa *isa = chosen_isa();
    uint16_t wide[PIECE];
    for (size_t row = 0; row < rows; row++, codes += row_length) {
        for (size_t i = 0; i < row_length; i += PIECE) {
            const size_t n = row_length - i < PIECE ? row_length - i : PIECE;
            widen(plan, codes + i, n, wide);
            isa->count(&(struct job){.plan = plan, .codes = wide,
                                     .rows = 1, .length = n},
                       counts);
        }
    }
}

void tp_blocks_count(const struct tp_block_plan *plan, const void *codes,
                     size_t rows, size_t row_length,
                     struct tp_block_counts *counts)
{
    if (plan->code_size == 1) {
        count_bytes(plan, codes, rows, row_length, counts);
        return;
    }
    chosen_isa()->count(&(struct job){.plan = plan, .codes = codes,
                                      .rows = rows, .length = row_length},
                        counts);
}

/* One block of rows, one strip of columns at a time. */
static void count_bytes_across(const struct tp_block_plan *plan,
                               const unsigned char *codes, size_t length,
                               size_t columns,
                               struct tp_block_counts *counts)
{
    const struct isa *isa = chosen_isa();
    const size_t block = (size_t)plan->block;
    uint16_t wide[PIECE];
    for (size_t row = 0; row < length; row += block) {
        const size_t height = length - row < block ? length - row : block;
        for (size_t i = 0; i < columns; i += STRIP) {
            const size_t n = columns - i < STRIP ? columns - i : STRIP;
            for (size_t j = 0; j < height; j++) {
                widen(plan, codes + (row + j) * columns + i, n, wide + j * n);
            }
            isa->count(&(struct job){.plan = plan, .codes = wide,
                                     .length = height, .columns = n},
                       counts);
        }
    }
}

void tp_blocks_count_across(const struct tp_block_plan *plan,
                            const void *codes, size_t length, size_t columns,
                            struct tp_block_counts *counts)
{
    if (columns == 0) {
        return;
    }
    if (plan->code_size == 1) {
        count_bytes_across(plan, codes, length, columns, counts);
        return;
    }
    chosen_isa()->count(&(struct job){.plan = plan, .codes = codes,
                                      .length = length, .columns = columns},
                        counts);
}
