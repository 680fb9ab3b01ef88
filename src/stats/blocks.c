/* SPDX-License-Identifier: MIT */
/*
 * Plans to judge blocks by their codes. A block's scale has at most 255 values
 * (an exponent for MX, an E4M3 code for NVFP4), so for each of them the limits
 * of the element format are worked out once, as magnitudes of codes. MX scales
 * are powers of two: its limits follow from the bits of the threshold. NVFP4
 * multiplies in binary32, which rounds: there the largest code whose product
 * stays below is found by binary search.
 *
 * Alternative: decoding and scaling every value, and comparing in floating
 * point.
 *
 * Cost: four limits of 255 scales for MX, once per format and dtype; for NVFP4
 * 127 scales of three searches each, once per tensor, on whose largest
 * magnitude they depend.
 */
#include "stats/blocks.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/search.h"
#include "stats/blocks_plan.h"

const char *const tp_scale_rule_words[TP_SCALE_COUNT + 1] = {
    [TP_SCALE_FLOOR] = "floor",
    [TP_SCALE_CEIL] = "ceil",
    [TP_SCALE_EVEN] = "even",
    [TP_SCALE_RCEIL] = "rceil",
    [TP_SCALE_RCEIL_F32] = "rceil_f32",
};

const char *tp_scale_rule_name(enum tp_scale_rule rule)
{
    assert((unsigned)rule < TP_SCALE_COUNT);
    return tp_scale_rule_words[rule];
}

const char *const tp_nonfinite_words[TP_NONFINITE_COUNT + 1] = {
    [TP_NONFINITE_BLOCK] = "block",
    [TP_NONFINITE_ELEMENT] = "elem",
    [TP_NONFINITE_TORCHAO] = "torchao",
};

const char *tp_nonfinite_name(enum tp_nonfinite policy)
{
    assert((unsigned)policy < TP_NONFINITE_COUNT);
    return tp_nonfinite_words[policy];
}

/* Splits x > 0 into m * 2^e, 1 <= m < 2; returns m. */
static double split(double x, int *e)
{
    const double half = frexp(x, e);
    *e -= 1;
    return 2 * half;
}

/* The exponent of amax * (1 / max) in binary32, raised by one unless the
 * product is a power of two; a subnormal one counts by its upper half. */
static int scale_by_product(const struct tp_number *number, double amax)
{
    const float product =
        tp_to_binary32(amax) * (1.0f / (float)number->max);
    uint32_t bits;
    memcpy(&bits, &product, sizeof bits);
    const uint32_t field = bits >> 23, fraction = bits & 0x7fffff;
    const bool up = field > 0 ? fraction != 0 : fraction > 0x400000;
    return (int)field + up - 127;
}

int tp_scale_exponent(const struct tp_number *number, enum tp_scale_rule rule,
                      double amax)
{
    int e, top;
    const double largest = split(number->max, &top);
    if (amax == 0) {
        return -127;
    }
    if (isinf(amax)) { /* 2^128, or the largest scale there is */
        return rule == TP_SCALE_RCEIL || rule == TP_SCALE_RCEIL_F32 ? 127
                                                                    : 128 - top;
    }
    if (rule == TP_SCALE_RCEIL_F32) {
        e = scale_by_product(number, amax);
        return e > 127 ? 127 : e;
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

float tp_nvfp4_encode(double tensor_amax)
{
    const float amax = tp_to_binary32(tensor_amax);
    if (amax == 0) {
        return 1;
    }
    const float encode = (448.0f * 6.0f) / amax;
    return encode > FLT_MAX ? FLT_MAX : encode;
}

static float e4m3_value(unsigned code)
{
    const unsigned char byte = (unsigned char)code;
    double value;
    tp_dtype_decode(TP_FLOAT8_E4M3FN, &byte, 1, &value);
    return (float)value;
}

float tp_nvfp4_scale(float encode, float block_amax)
{
    return e4m3_value(tp_nvfp4_scale_code(encode, block_amax));
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
            .fewer = code_at_most(
                plan, nextafter(plan->number->min_normal * scale, 0)),
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
    switch (plan->rules.scale) {
    case TP_SCALE_CEIL: plan->carry = one - 1; break;
    case TP_SCALE_EVEN: plan->carry = one >> plan->number->precision; break;
    case TP_SCALE_RCEIL:
    case TP_SCALE_RCEIL_F32:
        plan->carry = one - 1 - (uint64_t)((largest - 1) * (double)one);
        break;
    default: plan->carry = 0; break;
    }
    plan->slot_bias = 127 - top - exponent_bias(plan);
    plan->infinite_slot =
        127 + tp_scale_exponent(plan->number, plan->rules.scale, INFINITY);
    if (plan->rules.nonfinite == TP_NONFINITE_TORCHAO) {
        plan->ceiling++;
    }
}

/* The largest finite magnitude that, times `factor` in binary32, is at most
 * `limit`. The product grows with the code, so that bisection finds it. */
static uint64_t product_at_most(const struct tp_block_plan *plan,
                                float factor, float limit)
{
    size_t code;
    TP_PARTITION_POINT(
        code, plan->infinity,
        tp_to_binary32(tp_block_code_value(plan, code)) * factor <= limit);
    return code > 0 ? code - 1 : 0;
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
                        struct tp_block_rules rules, enum tp_dtype dtype,
                        double tensor_amax)
{
    const enum tp_dtype real = tp_dtype_info(dtype)->real;
    const struct tp_dtype_info *info = tp_dtype_info(real);
    assert(info->kind == TP_CLASS_FLOAT);
    assert(number->kind != TP_NUMBER_ELEMENT);
    *plan = (struct tp_block_plan){
        .number = number,
        .rules = rules,
        .dtype = real,
        .code_size = info->size,
        .block = number->block,
        .isa = tp_isa_best(),
        .width = info->size == 1 ? 2 : info->size,
    };
    plan->fraction_bits =
        tp_dtype_info(counted_dtype(plan))->significand - 1;
    plan->infinity = (UINT64_C(1) << (8 * plan->width - 1)) -
                     (UINT64_C(1) << plan->fraction_bits);
    plan->ceiling = plan->infinity;
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
