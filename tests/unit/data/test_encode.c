/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "data/encode.h"
#include "stats/quantize.h"
#include "tests/unit/support/vectors.h"
#include "tests/unit/support/words.h"

/* Published codes: every row of every file, bit for bit. */

static const struct tp_number *number_of(const char *vectors_name)
{
    return tp_number_by_id(strcmp(vectors_name, "e4m3fn") == 0
                               ? "e4m3"
                               : vectors_name);
}

static unsigned encode(const struct tp_number *number,
                       enum tp_rounding rounding, const char *hex)
{
    const uint32_t bits = (uint32_t)strtoul(hex, NULL, 16);
    if (rounding == TP_ROUND_HYBRID)
        return tp_hif8_encode_hybrid(TP_FLOAT32, bits);
    uint16_t code;
    tp_number_encode_f32(number, rounding, &bits, 1, &code);
    cr_assert_eq(code, tp_number_encode(number, rounding,
                                        vectors_float(hex)));
    return code;
}

static void check_file(const char *file, const char *format,
                       const enum tp_rounding *rounding, int columns)
{
    const struct tp_number *number = number_of(format);
    struct vectors v = vectors_open(file);
    int rows = 0;
    while (vectors_next(&v)) {
        for (int i = 0; i < columns; i++) {
            const unsigned code = encode(number, rounding[i], v.field[0]);
            const unsigned known =
                (unsigned)strtoul(v.field[1 + i], NULL, 16);
            cr_assert_eq(code, known, "%s of %s: %02x, not %02x",
                         tp_rounding_name(number, rounding[i]), v.field[0],
                         code, known);
        }
        rows++;
    }
    cr_assert_geq(rows, 400, "%s", file);
}

Test(encode, casts_of_the_vectors)
{
    const enum tp_rounding rne[] = {TP_ROUND_DEFAULT, TP_ROUND_SATURATE};
    const enum tp_rounding hif8[] = {TP_ROUND_DEFAULT, TP_ROUND_SATURATE,
                                     TP_ROUND_EVEN, TP_ROUND_HYBRID};
    check_file("hif8_round.csv", "hif8", hif8, 4);
    check_file("fp8_e4m3fn.csv", "e4m3fn", rne, 2);
    check_file("fp8_e5m2.csv", "e5m2", rne, 2);
    check_file("fp8_e4m3fnuz.csv", "e4m3fnuz", rne, 2);
    check_file("fp8_e5m2fnuz.csv", "e5m2fnuz", rne, 2);
    check_file("cast_e2m3.csv", "e2m3", rne, 1);
    check_file("cast_e3m2.csv", "e3m2", rne, 1);
    check_file("cast_e2m1.csv", "e2m1", rne, 1);
    check_file("bf16.csv", "bf16", rne, 1);
    check_file("fp16.csv", "fp16", rne, 1);
}

Test(encode, hybrids_of_16_bit_sources)
{
    struct vectors v = vectors_open("hif8_hybrid16.csv");
    int rows = 0;
    for (; vectors_next(&v); rows++) {
        const enum tp_dtype source =
            strcmp(v.field[0], "f16") == 0 ? TP_FLOAT16 : TP_BFLOAT16;
        const uint32_t bits = (uint32_t)strtoul(v.field[1], NULL, 16);
        cr_assert_eq(tp_hif8_encode_hybrid(source, bits),
                     strtoul(v.field[2], NULL, 16), "%s %s", v.field[0],
                     v.field[1]);
    }
    cr_assert_eq(rows, 1697);
}

/* A step: the first pattern with a code, and the one before it. */
Test(encode, thresholds_are_complete)
{
    struct vectors v = vectors_open("thresholds.csv");
    char before[32] = "";
    unsigned code_before = 0;
    int rows = 0;
    for (; vectors_next(&v); rows++) {
        char *mode = strchr(v.field[0], '_');
        cr_assert_not_null(mode);
        const bool same_cast = strcmp(before, v.field[0]) == 0;
        snprintf(before, sizeof before, "%s", v.field[0]);
        *mode = '\0';
        const enum tp_rounding rounding =
            strcmp(mode + 1, "te") == 0    ? TP_ROUND_EVEN
            : strstr(mode + 1, "nosat")    ? TP_ROUND_DEFAULT
            : strstr(mode + 1, "sat")      ? TP_ROUND_SATURATE
                                           : TP_ROUND_DEFAULT;
        const struct tp_number *number = number_of(v.field[0]);
        const unsigned code = (unsigned)strtoul(v.field[1], NULL, 16);
        const uint32_t first = (uint32_t)strtoul(v.field[2], NULL, 16);
        const uint32_t bits[2] = {first > 0 ? first - 1 : 0, first};
        uint16_t got[2];
        tp_number_encode_f32(number, rounding, bits, 2, got);
        cr_assert_eq(got[1], code, "%s %s", before, v.field[2]);
        if (same_cast)
            cr_assert_eq(got[0], code_before, "%s below %s", before,
                         v.field[2]);
        code_before = code;
    }
    cr_assert_eq(rows, 1473);
}

static void check_codes(const char *file, const char *format, int value_field)
{
    struct vectors v = vectors_open(file);
    int rows = 0;
    for (; vectors_next(&v); rows++) {
        const char *id = format ? format : v.field[0];
        const struct tp_number *number = number_of(id);
        const unsigned code =
            (unsigned)strtoul(v.field[format ? 0 : 1], NULL, 16);
        const double known = strtod(v.field[value_field], NULL);
        const double value = tp_number_decode(number, code);
        if (isnan(known)) {
            cr_assert(isnan(value), "%s %02x", id, code);
            continue;
        }
        cr_assert(value == known && !signbit(value) == !signbit(known),
                  "%s %02x: %a, not %a", id, code, value, known);
        cr_assert_eq(tp_number_encode(number, TP_ROUND_DEFAULT, value), code,
                     "%s %02x comes back", id, code);
    }
    cr_assert_geq(rows, 256);
}

Test(encode, codes_have_the_values_of_the_vectors)
{
    check_codes("hif8_codes.csv", "hif8", 10);
    check_codes("small_codes.csv", NULL, 2);
    struct vectors v = vectors_open("e8m0_codes.csv");
    int rows = 0;
    for (; vectors_next(&v); rows++) {
        const unsigned byte = (unsigned)strtoul(v.field[0], NULL, 16);
        const double known = strtod(v.field[1], NULL);
        const double value = tp_e8m0_value(byte);
        cr_assert(value == known || (isnan(value) && isnan(known)));
        if (byte < 255)
            cr_assert_eq(tp_e8m0_byte(ilogb(known)), byte);
    }
    cr_assert_eq(rows, 256);
    cr_assert_eq(tp_e8m0_byte(-1000), 0);
    cr_assert_eq(tp_e8m0_byte(1000), 254);
}

Test(encode, words_for_roundings)
{
    for (const struct tp_number *n = tp_number_formats; n->id; n++) {
        const char *const *hif8 = tp_rounding_words;
        cr_assert_str_eq(tp_rounding_name(n, TP_ROUND_DEFAULT),
                         n->ties_away ? hif8[TP_ROUND_DEFAULT] : "rne");
        cr_assert_str_eq(tp_rounding_name(n, TP_ROUND_SATURATE),
                         n->ties_away ? hif8[TP_ROUND_SATURATE] : "rne_sat");
    }
    cr_assert_null(tp_rounding_words[TP_ROUND_COUNT]);
}

/* --- blocks ------------------------------------------------------------ */

static int words(char *text, double *x)
{
    int n = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        x[n++] = vectors_float(word);
    return n;
}

static void check_blocks(const char *file, const char *id, int least)
{
    struct vectors v = vectors_open(file);
    int rows = 0;
    for (; vectors_next(&v); rows++) {
        const struct tp_quant_spec spec = {
            .number = tp_number_by_id(id),
            .rule = scale_rule_of(v.field[2]),
            .nonfinite = strcmp(v.field[3], "elem") == 0
                             ? TP_NONFINITE_ELEMENT
                             : TP_NONFINITE_BLOCK};
        cr_assert_neq(spec.rule, TP_SCALE_COUNT, "%s", v.field[2]);
        double x[32];
        uint8_t codes[32];
        cr_assert_eq(words(v.field[5], x), 32);
        const unsigned scale = tp_quant_block_codes(&spec, 0, x, 32, codes);
        cr_assert_eq(scale, strtoul(v.field[4], NULL, 16), "scale of %s %s",
                     file, v.field[0]);
        for (int i = 0; i < 32 && v.field[6][0]; i++) {
            const char digits[3] = {v.field[6][2 * i], v.field[6][2 * i + 1],
                                    '\0'};
            const unsigned known = (unsigned)strtoul(digits, NULL, 16);
            const double value = tp_number_decode(
                tp_number_by_id(spec.number->element), known);
            if (isnan(value)) /* any NaN is */
                cr_assert(isnan(tp_number_decode(
                    tp_number_by_id(spec.number->element), codes[i])));
            else
                cr_assert_eq(codes[i], known, "%s %s [%d]: %02x, not %02x",
                             file, v.field[0], i, codes[i], known);
        }
    }
    cr_assert_eq(rows, least, "%d rows of %s", rows, file);
}

Test(encode, mx_blocks_of_the_vectors)
{
    check_blocks("mxfp8_e4m3.csv", "mxfp8_e4m3", 224);
    check_blocks("mxfp8_e4m3_rceil.csv", "mxfp8_e4m3", 224);
    check_blocks("mxfp8_e5m2.csv", "mxfp8_e5m2", 224);
    check_blocks("mxfp8_e5m2_rceil.csv", "mxfp8_e5m2", 224);
    check_blocks("mxfp6_e3m2.csv", "mxfp6_e3m2", 210);
    check_blocks("mxfp6_e2m3.csv", "mxfp6_e2m3", 210);
    check_blocks("mxfp4_e2m1.csv", "mxfp4", 420);
}

/* What torchao 0.18 makes of blocks with an infinity or a NaN. */
Test(encode, mx_blocks_of_torchao)
{
    struct vectors v = vectors_open("mx_torchao.csv");
    int rows = 0, kept = 0;
    for (; vectors_next(&v); rows++) {
        const struct tp_quant_spec spec = {
            .number = tp_number_by_id(v.field[0]),
            .rule = scale_rule_of(v.field[2]),
            .nonfinite = TP_NONFINITE_TORCHAO};
        const struct tp_number *element = tp_number_by_id(spec.number->element);
        double x[32], back[32];
        uint8_t codes[32];
        cr_assert_eq(words(v.field[5], x), 32);
        const unsigned scale = tp_quant_block_codes(&spec, 0, x, 32, codes);
        cr_assert_eq(scale, strtoul(v.field[4], NULL, 16), "%s %s %s: %02x",
                     v.field[0], v.field[1], v.field[2], scale);
        if (scale == 0xff)
            continue;
        cr_assert_eq(words(v.field[7], back), 32);
        for (int i = 0; i < 32; i++) {
            const char digits[3] = {v.field[6][2 * i], v.field[6][2 * i + 1],
                                    '\0'};
            cr_assert_eq(codes[i], strtoul(digits, NULL, 16), "%s %s [%d]",
                         v.field[0], v.field[1], i);
            const double value = tp_number_decode(element, codes[i]);
            const float single = (float)ldexp(value, (int)scale - 127);
            cr_assert_eq(single, back[i], "%s %s [%d]", v.field[0], v.field[1],
                         i);
            kept += isinf(x[i]) && single == x[i];
        }
    }
    cr_assert_eq(rows, 400);
    cr_assert_eq(kept, 5 * 4 * (3 * 4 + 1 + 32), "infinities come back");
}

Test(encode, nvfp4_blocks_of_the_vectors)
{
    const struct tp_quant_spec spec = {.number = tp_number_by_id("nvfp4")};
    struct vectors v = vectors_open("nvfp4_te.csv");
    int rows = 0;
    for (; vectors_next(&v); rows++) {
        double x[16];
        uint8_t codes[16];
        cr_assert_eq(words(v.field[5], x), 16);
        const unsigned scale = tp_quant_block_codes(
            &spec, vectors_float(v.field[2]), x, 16, codes);
        cr_assert_eq(scale, strtoul(v.field[4], NULL, 16));
        for (int i = 0; i < 16; i++) {
            const char digit[2] = {v.field[6][i], '\0'};
            cr_assert_eq(codes[i], strtoul(digit, NULL, 16), "%s %s [%d]",
                         v.field[0], v.field[1], i);
        }
    }
    cr_assert_eq(rows, 240);
}
