/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "data/dtype.h"
#include "data/number.h"
#include "tests/unit/support/vectors.h"

/* Equal as numbers; NaN codes stand for "too large" where there is no Inf. */
static bool same(double rounded, double expected)
{
    return isnan(expected) ? isinf(rounded) : rounded == expected;
}

/*
 * Checks both sides of every step of the vectors' format against the row; as
 * rounding is monotone between them, this is every binary32 number.
 */
static void check_steps(const char *id, const char *format, const char *mode)
{
    const struct vector_codes codes = vectors_codes(format);
    const struct tp_number *row = tp_number_by_id(id);
    char name[32];
    snprintf(name, sizeof name, "%s_%s", format, mode);
    double below = 0; /* value of the code before */
    int steps = 0;
    struct vectors v = vectors_open("thresholds.csv");
    while (vectors_next(&v)) {
        if (strcmp(v.field[0], name) != 0) {
            continue;
        }
        const double value = codes.value[strtol(v.field[1], NULL, 16)];
        const float first = vectors_float(v.field[2]);
        const double rounded = tp_number_round(row, first);
        cr_assert(same(rounded, value), "%s: %a gives %a, not %a", name,
                  first, rounded, value);
        cr_assert(same(tp_number_round(row, -first), -value));
        if (first > 0) {
            const float last = nextafterf(first, 0);
            cr_assert_eq(tp_number_round(row, last), below, "%s: %a", name,
                         last);
        }
        below = value;
        steps++;
    }
    cr_assert_geq(steps, codes.count / 2 - 4);
    if (strcmp(mode, "sat") == 0 && row->kind != TP_NUMBER_ELEMENT) {
        cr_assert_eq(tp_number_round(row, INFINITY), below);
        cr_assert_eq(tp_number_round(row, -1e300), -below);
    }
}

Test(number, every_step_of_the_elements_is_where_it_belongs)
{
    check_steps("hif8", "hif8", "ta");
    check_steps("e4m3", "e4m3fn", "nosat");
    check_steps("e5m2", "e5m2", "nosat");
    check_steps("e4m3fnuz", "e4m3fnuz", "nosat");
    check_steps("e5m2fnuz", "e5m2fnuz", "nosat");
    check_steps("e3m2", "e3m2", "sat");
    check_steps("e2m3", "e2m3", "sat");
    check_steps("e2m1", "e2m1", "sat");
}

Test(number, elements_of_blocks_saturate)
{
    check_steps("mxfp8_e4m3", "e4m3fn", "sat");
    check_steps("mxfp8_e5m2", "e5m2", "sat");
    check_steps("mxfp6_e3m2", "e3m2", "sat");
    check_steps("mxfp6_e2m3", "e2m3", "sat");
    check_steps("mxfp4", "e2m1", "sat");
    check_steps("nvfp4", "e2m1", "sat");
}

/* Checks a file of single casts; codes of one byte are looked up in the code
 * tables, those of two bytes decoded. */
static void check_casts(const char *id, const char *file, enum tp_dtype wide)
{
    const struct tp_number *row = tp_number_by_id(id);
    const char *format = strcmp(id, "e4m3") == 0 ? "e4m3fn" : id;
    const struct vector_codes codes = wide == TP_DTYPE_COUNT
                                   ? vectors_codes(format)
                                   : (struct vector_codes){.count = 0};
    struct vectors v = vectors_open(file);
    int rows = 0;
    while (vectors_next(&v)) {
        const float x = vectors_float(v.field[0]);
        const uint16_t code = (uint16_t)strtoul(v.field[1], NULL, 16);
        double value;
        if (wide == TP_DTYPE_COUNT) {
            value = codes.value[code];
        } else {
            tp_dtype_decode(wide, &code, 1, &value);
        }
        const double rounded = tp_number_round(row, x);
        if (isnan(x)) {
            cr_assert(isnan(rounded));
        } else if (strncmp(file, "cast_", 5) == 0 && isinf(rounded)) {
            cr_assert_eq(fabs(value), row->max); /* the vectors saturate */
        } else {
            cr_assert(same(rounded, value), "%s: %a gives %a, not %a", id, x,
                      rounded, value);
        }
        rows++;
    }
    cr_assert_geq(rows, 400);
}

Test(number, casts_equal_the_vectors)
{
    const enum tp_dtype none = TP_DTYPE_COUNT;
    check_casts("hif8", "hif8_round.csv", none);
    check_casts("e4m3", "fp8_e4m3fn.csv", none);
    check_casts("e5m2", "fp8_e5m2.csv", none);
    check_casts("e4m3fnuz", "fp8_e4m3fnuz.csv", none);
    check_casts("e5m2fnuz", "fp8_e5m2fnuz.csv", none);
    check_casts("e3m2", "cast_e3m2.csv", none);
    check_casts("e2m3", "cast_e2m3.csv", none);
    check_casts("e2m1", "cast_e2m1.csv", none);
    check_casts("bf16", "bf16.csv", TP_BFLOAT16);
    check_casts("fp16", "fp16.csv", TP_FLOAT16);
}

Test(number, values_of_a_format_are_fixed_points)
{
    const char *const formats[] = {"hif8", "e4m3fn",   "e5m2", "e4m3fnuz",
                                   "e2m3", "e5m2fnuz", "e3m2", "e2m1"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct vector_codes codes = vectors_codes(formats[i]);
        const char *id = i == 1 ? "e4m3" : formats[i];
        const struct tp_number *row = tp_number_by_id(id);
        double max = 0, min = INFINITY;
        for (int c = 0; c < codes.count; c++) {
            const double value = codes.value[c];
            if (isfinite(value)) {
                cr_assert_eq(tp_number_round(row, value), value);
                max = fmax(max, value);
                min = value > 0 ? fmin(min, value) : min;
            }
        }
        cr_assert_eq(row->max, max, "%s", id);
        cr_assert_eq(row->min_subnormal, min, "%s", id);
    }
}

Test(number, thresholds_are_those_of_the_formats)
{
    static const struct {
        const char *id;
        double overflow;
        bool at;
        double zero, subnormal;
    } known[] = {
        {"fp16", 65520, true, 0x1p-25, 0x1p-14 - 0x1p-25},
        {"bf16", 0x1.ffp127, true, 0x1p-134, 0x1p-126 - 0x1p-134},
        {"e4m3", 464, false, 0x1p-10, 0x1p-6 - 0x1p-10},
        {"e5m2", 61440, true, 0x1p-17, 0x1p-14 - 0x1p-17},
        {"e4m3fnuz", 248, true, 0x1p-11, 0x1p-7 - 0x1p-11},
        {"e5m2fnuz", 61440, true, 0x1p-18, 0x1p-15 - 0x1p-18},
        {"hif8", 40960, true, 0x1p-23, 0x1.8p-16},
        {"e2m1", 7, true, 0.25, 0.75},
        {"mxfp8_e4m3", 448, false, 0x1p-10, 0x1p-6 - 0x1p-10},
        {"mxfp8_e5m2", 57344, false, 0x1p-17, 0x1p-14 - 0x1p-17},
        {"mxfp6_e3m2", 28, false, 0x1p-5, 0.25 - 0x1p-5},
        {"mxfp6_e2m3", 7.5, false, 0x1p-4, 1 - 0x1p-4},
        {"mxfp4", 6, false, 0.25, 0.75},
        {"nvfp4", 6, false, 0.25, 0.75},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tp_thresholds t;
        tp_number_thresholds(tp_number_by_id(known[i].id), &t);
        cr_assert_eq(t.overflow, known[i].overflow, "%s", known[i].id);
        cr_assert_eq(t.overflow_at, known[i].at, "%s", known[i].id);
        cr_assert_eq(t.zero, known[i].zero, "%s", known[i].id);
        cr_assert_eq(t.zero_at, strcmp(known[i].id, "hif8") != 0);
        cr_assert_eq(t.subnormal, known[i].subnormal, "%s", known[i].id);
    }
}

/* Thresholds say beforehand what rounding does; at each one and beside it. */
static void check_fate(const struct tp_number *row, double x)
{
    struct tp_thresholds t;
    tp_number_thresholds(row, &t);
    const double rounded = tp_number_round(row, x);
    const bool zero = x < t.zero || (x == t.zero && t.zero_at);
    const bool overflows =
        x > t.overflow || (x == t.overflow && t.overflow_at);
    cr_assert_eq(zero, rounded == 0, "%s %a", row->id, x);
    cr_assert_eq(x < t.subnormal, rounded < row->min_normal, "%s %a",
                 row->id, x);
    if (row->kind == TP_NUMBER_ELEMENT) {
        cr_assert_eq(overflows, (bool)isinf(rounded), "%s %a", row->id, x);
    } else {
        cr_assert_eq(overflows, x > row->max, "%s %a", row->id, x);
    }
}

Test(number, thresholds_agree_with_rounding_to_the_last_bit)
{
    int rows = 0;
    for (const struct tp_number *row = tp_number_formats; row->id; row++) {
        struct tp_thresholds t;
        tp_number_thresholds(row, &t);
        const double at[] = {t.overflow, t.zero, t.subnormal, row->max,
                             row->min_normal, row->min_subnormal};
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            check_fate(row, at[i]);
            check_fate(row, nextafter(at[i], 0));
            check_fate(row, nextafter(at[i], INFINITY));
        }
        check_fate(row, 1e300);
        check_fate(row, 5e-324);
        rows++;
    }
    cr_assert_eq(rows, 16); /* DESIGN section 3 names 16 formats */
}

Test(number, words_of_the_dumps_name_formats)
{
    static const char *const known[][2] = {
        {"hifp8", "hif8"},           {"hif8", "hif8"},
        {"mxfp8", "mxfp8_e4m3"},     {"mxfp8e4m3", "mxfp8_e4m3"},
        {"mxfp8e5m2", "mxfp8_e5m2"}, {"fp8_e4m3", "e4m3"},
        {"fp8_e5m2", "e5m2"},        {"mxfp4", "mxfp4"},
        {"fp4_e2m1", "e2m1"},        {"bf16", "bf16"},
        {"fp16", "fp16"},            {"HIFP8", "hif8"},
        {"MXFP8", "mxfp8_e4m3"},     {"float8_e4m3fn", "e4m3"},
        {"fp8", "e4m3"},             {"mxfp6", "mxfp6_e3m2"},
        {"NVFP4", "nvfp4"},          {"nvfp4", "nvfp4"},
        {"bfloat16", "bf16"},        {"float8-e5m2", "e5m2"},
        {"MXFP8_E5M2", "mxfp8_e5m2"}, {"float16", "fp16"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct tp_number *row = tp_number_by_quant_type(known[i][0]);
        cr_assert_not_null(row);
        cr_assert_str_eq(row->id, known[i][1]);
    }
    cr_assert_null(tp_number_by_quant_type("int8"));
    cr_assert_null(tp_number_by_quant_type(""));
    cr_assert_null(tp_number_by_quant_type("fp8 fp8 fp8 fp8 fp8 fp8 fp8"));
    cr_assert_null(tp_number_by_id("hifp8"));
}

/* The limits of E8M0 are those of what torch stores as float8_e8m0fnu. */
Test(number, e8m0_is_what_is_stored)
{
    const unsigned char codes[] = {0, 1, 254, 255};
    double values[4];
    tp_dtype_decode(TP_FLOAT8_E8M0FNU, codes, 4, values);
    cr_assert_eq(tp_number_e8m0.min_subnormal, values[0]);
    cr_assert_eq(tp_number_e8m0.min_normal, values[0]);
    cr_assert_eq(values[1] / values[0], 2);
    cr_assert_eq(tp_number_e8m0.max, values[2]);
    cr_assert(isnan(values[3]));
}
