/* SPDX-License-Identifier: MIT */
/*
 * The number formats as rows, and what follows from a row. The step between
 * neighbours is a power of two that depends on the binade alone; so a value is
 * rounded by dividing by the step, exactly, and rounding to an integer, and
 * the thresholds of overflow and underflow lie half a step beyond the largest
 * and below the smallest values.
 *
 * Alternative: a table of all values of a format, which is what the tests
 * compare with. Cost: a few calls of the math library a value or format: plans
 * and tests use this; loops over tensors use data/round.h.
 */
#include "data/number.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* What an element format and the block formats made of it have in common. */
#define ROW(name, text, element_bits, p, least, largest, normal, tiny)       \
    .id = name, .help = text, .bits = element_bits, .precision = p,          \
    .emin = least, .max = largest, .min_normal = normal,                     \
    .min_subnormal = tiny
#define ALONE(name) .kind = TP_NUMBER_ELEMENT, .element = name, .block = 1
#define MX(name) .kind = TP_NUMBER_MX, .element = name, .block = 32
#define NVFP4(name) .kind = TP_NUMBER_NVFP4, .element = name, .block = 16

/* Largest values: (2 - 2^(1-p)) * 2^emax, less one step where the last code
 * of the top binade is spent on NaN (e4m3) or infinity (HiF8). */
const struct tp_number tp_number_formats[] = {
    {ROW("fp16", "IEEE binary16", 16, 11, -14, 0x1.ffcp15, 0x1p-14,
         0x1p-24),
     ALONE("fp16"), .has_inf = true},
    {ROW("bf16", "bfloat16, the upper half of binary32", 16, 8, -126,
         0x1.fep127, 0x1p-126, 0x1p-133),
     ALONE("bf16"), .has_inf = true},
    {ROW("e4m3", "FP8 E4M3 (OCP, torch float8_e4m3fn)", 8, 4, -6, 0x1.cp8,
         0x1p-6, 0x1p-9),
     ALONE("e4m3")},
    {ROW("e5m2", "FP8 E5M2 (OCP, torch float8_e5m2)", 8, 3, -14, 0x1.cp15,
         0x1p-14, 0x1p-16),
     ALONE("e5m2"), .has_inf = true},
    {ROW("e4m3fnuz", "FP8 E4M3 with bias 8, one zero, one NaN", 8, 4, -7,
         0x1.ep7, 0x1p-7, 0x1p-10),
     ALONE("e4m3fnuz")},
    {ROW("e5m2fnuz", "FP8 E5M2 with bias 16, one zero, one NaN", 8, 3, -15,
         0x1.cp15, 0x1p-15, 0x1p-17),
     ALONE("e5m2fnuz")},
    {ROW("hif8", "HiFloat8: 3 fraction bits near 1, 0 far from it", 8, 4,
         -15, 0x1p15, 0x1p-15, 0x1p-22),
     ALONE("hif8"), .has_inf = true, .ties_away = true},
    {ROW("e3m2", "FP6 E3M2", 6, 3, -2, 0x1.cp4, 0x1p-2, 0x1p-4),
     ALONE("e3m2")},
    {ROW("e2m3", "FP6 E2M3", 6, 4, 0, 0x1.ep2, 0x1p0, 0x1p-3),
     ALONE("e2m3")},
    {ROW("e2m1", "FP4 E2M1", 4, 2, 0, 0x1.8p2, 0x1p0, 0x1p-1),
     ALONE("e2m1")},
    {ROW("mxfp8_e4m3", "OCP MX: blocks of 32 E4M3, power of two scale", 8, 4,
         -6, 0x1.cp8, 0x1p-6, 0x1p-9),
     MX("e4m3")},
    {ROW("mxfp8_e5m2", "OCP MX: blocks of 32 E5M2, power of two scale", 8, 3,
         -14, 0x1.cp15, 0x1p-14, 0x1p-16),
     MX("e5m2")},
    {ROW("mxfp6_e3m2", "OCP MX: blocks of 32 E3M2, power of two scale", 6, 3,
         -2, 0x1.cp4, 0x1p-2, 0x1p-4),
     MX("e3m2")},
    {ROW("mxfp6_e2m3", "OCP MX: blocks of 32 E2M3, power of two scale", 6, 4,
         0, 0x1.ep2, 0x1p0, 0x1p-3),
     MX("e2m3")},
    {ROW("mxfp4", "OCP MX: blocks of 32 E2M1, power of two scale", 4, 2, 0,
         0x1.8p2, 0x1p0, 0x1p-1),
     MX("e2m1")},
    {ROW("nvfp4", "blocks of 16 E2M1, E4M3 scale, binary32 tensor scale", 4,
         2, 0, 0x1.8p2, 0x1p0, 0x1p-1),
     NVFP4("e2m1")},
    {.id = NULL},
};

/* Codes 0 to 254 are 2^-127 to 2^127; 255 is NaN. */
const struct tp_number tp_number_e8m0 = {
    ROW("e8m0", "scale of MX blocks: powers of two, no sign, no zero", 8, 1,
        -127, 0x1p127, 0x1p-127, 0x1p-127),
    ALONE("e8m0")};

const struct tp_number *tp_number_by_id(const char *id)
{
    for (const struct tp_number *row = tp_number_formats; row->id; row++) {
        if (*row->id == *id && strcmp(row->id, id) == 0) {
            return row;
        }
    }
    return NULL;
}

bool tp_number_is_listed(const struct tp_number *number)
{
    for (const struct tp_number *row = tp_number_formats; row->id; row++) {
        if (row == number)
            return true;
    }
    return false;
}

/* A word in lower case, with '_' for '-'; "" when it is longer than any. */
static void plain_word(const char *word, char plain[24])
{
    size_t length = strlen(word);
    if (length >= 24)
        length = 0;
    for (size_t i = 0; i < length; i++)
        plain[i] = word[i] == '-' ? '_' : (char)tolower((unsigned char)word[i]);
    plain[length] = '\0';
}

/* Where a word leaves the exponent open, the format that training takes for
 * weights and activations is meant: fp8 e4m3, mxfp6 e3m2 (as in the paper on
 * Microscaling formats). */
const struct tp_number *tp_number_by_quant_type(const char *quant_type)
{
    static const char *const words[][2] = {
        {"hifp8", "hif8"},           {"hifloat8", "hif8"},
        {"mxfp8", "mxfp8_e4m3"},     {"mxfp8e4m3", "mxfp8_e4m3"},
        {"mxfp8e5m2", "mxfp8_e5m2"}, {"mxfp6", "mxfp6_e3m2"},
        {"mxfp6e3m2", "mxfp6_e3m2"}, {"mxfp6e2m3", "mxfp6_e2m3"},
        {"mxfp4_e2m1", "mxfp4"},     {"mxfp4e2m1", "mxfp4"},
        {"fp8", "e4m3"},             {"float8", "e4m3"},
        {"fp8_e4m3", "e4m3"},        {"fp8e4m3", "e4m3"},
        {"fp8_e4m3fn", "e4m3"},      {"float8_e4m3", "e4m3"},
        {"float8_e4m3fn", "e4m3"},   {"e4m3fn", "e4m3"},
        {"fp8_e5m2", "e5m2"},        {"fp8e5m2", "e5m2"},
        {"float8_e5m2", "e5m2"},     {"float8_e4m3fnuz", "e4m3fnuz"},
        {"fp4", "e2m1"},             {"float8_e5m2fnuz", "e5m2fnuz"},
        {"fp4_e2m1", "e2m1"},        {"float4_e2m1fn", "e2m1"},
        {"bfloat16", "bf16"},        {"float4_e2m1fn_x2", "e2m1"},
        {"float16", "fp16"},         {"half", "fp16"},
    };
    char plain[24];
    plain_word(quant_type, plain);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (*words[i][0] == *plain && strcmp(words[i][0], plain) == 0)
            return tp_number_by_id(words[i][1]);
    }
    return tp_number_by_id(plain);
}

/* What wide dtypes are judged against: themselves. Not in the table, since
 * nobody quantises to them. */
static const struct tp_number float32 = {
    ROW("float32", "IEEE binary32", 32, 24, -126, 0x1.fffffep127, 0x1p-126,
        0x1p-149),
    ALONE("float32"), .has_inf = true};
static const struct tp_number float64 = {
    ROW("float64", "IEEE binary64", 64, 53, -1022, 0x1.fffffffffffffp1023,
        0x1p-1022, 0x1p-1074),
    ALONE("float64"), .has_inf = true};

const struct tp_number *tp_number_by_dtype(enum tp_dtype dtype)
{
    const char *format = tp_dtype_info(dtype)->format;
    if (dtype == TP_FLOAT32) {
        return &float32;
    }
    if (dtype == TP_FLOAT64) {
        return &float64;
    }
    return *format ? tp_number_by_id(format) : NULL;
}

/* HiF8 spends 3, 2, 1 fraction bits by the size of the exponent, and none
 * in the binades of its denormals, -22 to -16. */
static int hif8_precision(int e)
{
    const int size = e < 0 ? -e : e;
    if (e < -22) {
        return e + 23;
    }
    if (e < -15) {
        return 1;
    }
    return size <= 3 ? 4 : size <= 7 ? 3 : 2;
}

int tp_number_precision(const struct tp_number *number, int e)
{
    if (number->ties_away) { /* which only HiF8 does */
        return hif8_precision(e);
    }
    return e < number->emin ? number->precision - (number->emin - e)
                            : number->precision;
}

/* Exponent of the step between neighbours in the binade of 2^e. */
static int step_exponent(const struct tp_number *number, int e)
{
    return e - tp_number_precision(number, e) + 1;
}

void tp_number_thresholds(const struct tp_number *number,
                          struct tp_thresholds *thresholds)
{
    const bool alone = number->kind == TP_NUMBER_ELEMENT;
    int top;
    frexp(number->max, &top); /* max lies in the binade top - 1 */
    const double step = ldexp(1, step_exponent(number, top - 1));
    const bool odd = fmod(number->max / step, 2) != 0;
    const double step_below =
        ldexp(1, step_exponent(number, number->emin - 1));
    *thresholds = (struct tp_thresholds){
        .overflow = alone ? number->max + step / 2 : number->max,
        .overflow_at = alone && (odd || number->ties_away),
        .zero = number->min_subnormal / 2,
        .zero_at = !number->ties_away,
        .subnormal = number->min_normal - step_below / 2,
    };
}

double tp_number_round(const struct tp_number *number, double x)
{
    const bool alone = number->kind == TP_NUMBER_ELEMENT;
    const double magnitude = fabs(x);
    double rounded = magnitude;
    if (isfinite(x) && x != 0) {
        int e;
        frexp(magnitude, &e);
        /* Scaling is exact: no step is so small or large that a quotient
         * near a tie leaves the normal doubles. */
        const int step = step_exponent(number, e - 1);
        const double steps = ldexp(magnitude, -step);
        rounded = ldexp(
            number->ties_away ? round(steps) : nearbyint(steps), step);
    }
    if (rounded > number->max) {
        rounded = alone ? INFINITY : number->max;
    }
    return isnan(x) ? x : copysign(rounded, x);
}
