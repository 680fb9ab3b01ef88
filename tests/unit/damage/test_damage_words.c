/* SPDX-License-Identifier: MIT */
/* What is told of damage beside its place: which bits of the elements differ,
 * or what they hold instead; and the table of patterns. */
#include "damage/damage_shape.h"

#include "tests/unit/support/damaged.h"

enum bits { ONE_BIT, ANY_BIT, ULP, ZERO, ANY };

/* What is told of elements that are changed so: `count`, from 5 on. */
static enum tp_damage_name find_bits(enum tp_dtype dtype, enum bits what,
                                     int bit, int64_t count,
                                     struct tp_text *text)
{
    struct damaged d = damaged_new(dtype, (int64_t[4]){64, 32});
    const enum tp_code_order order = tp_code_order_of(dtype);
    const int bits = 8 * (int)d.size;
    struct damaged_found found;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = 5 + k * 811 % (d.numel - 5); /* each once */
        const uint64_t code = damaged_get(&d, i);
        if (what == ONE_BIT || what == ANY_BIT) {
            const int its = what == ONE_BIT ? bit : bit + (int)(k % 3);
            damaged_set(&d, i, code ^ (UINT64_C(1) << its));
        } else if (what == ULP) {
            const uint64_t key = tp_code_key(order, bits, code);
            const uint64_t by = 1 + (uint64_t)k % (uint64_t)bit;
            damaged_set(&d, i, tp_code_of_key(order, bits, key - by));
        } else if (what == ZERO) {
            damaged_set(&d, i, 0);
        } else {
            damaged_spoil(&d, i);
        }
    }
    damaged_find(&d, 0, NULL, &found);
    tp_damage_tell(&found.plan, &found.damage, &found.shape, text);
    damaged_free(&d);
    return found.shape.name;
}

Test(damage_words, bits)
{
    static const struct {
        enum tp_dtype dtype;
        enum bits what;
        int bit; /* or ULP at most */
        int64_t count;
        enum tp_damage_name name;
        const char *words; /* how it ends */
    } known[] = {
        {TP_FLOAT32, ONE_BIT, 31, 1, TP_DAMAGE_BIT,
         "element [0,5]: 1 element, bit 31, the sign, flipped"},
        {TP_FLOAT32, ONE_BIT, 29, 1, TP_DAMAGE_BIT,
         "1 element, bit 29, of the exponent, flipped"},
        {TP_FLOAT32, ONE_BIT, 22, 3, TP_DAMAGE_BIT,
         "3 of 2048 elements, bit 22, of the mantissa, flipped"},
        {TP_FLOAT32, ONE_BIT, 23, 500, TP_DAMAGE_BIT,
         "500 of 2048 elements, bit 23, of the exponent, flipped"},
        {TP_BFLOAT16, ONE_BIT, 15, 1, TP_DAMAGE_BIT, "the sign, flipped"},
        {TP_BFLOAT16, ONE_BIT, 7, 20, TP_DAMAGE_BIT,
         "bit 7, of the exponent, flipped"},
        {TP_BFLOAT16, ONE_BIT, 6, 20, TP_DAMAGE_BIT,
         "bit 6, of the mantissa, flipped"},
        {TP_FLOAT16, ONE_BIT, 10, 2, TP_DAMAGE_BIT,
         "bit 10, of the exponent, flipped"},
        {TP_FLOAT16, ONE_BIT, 9, 2, TP_DAMAGE_BIT,
         "bit 9, of the mantissa, flipped"},
        {TP_FLOAT8_E4M3FN, ONE_BIT, 7, 9, TP_DAMAGE_BIT, "the sign, flipped"},
        {TP_INT8, ONE_BIT, 7, 1, TP_DAMAGE_BIT, "bit 7, the sign, flipped"},
        {TP_INT8, ONE_BIT, 5, 50, TP_DAMAGE_BIT, "bit 5 flipped"},
        /* the lowest bit of one element is rounding, of all it is not */
        {TP_FLOAT32, ONE_BIT, 0, 1, TP_DAMAGE_ROUNDING, "1 ULP apart"},
        {TP_FLOAT32, ONE_BIT, 0, 100, TP_DAMAGE_BIT,
         "bit 0, of the mantissa, flipped"},
        {TP_INT8, ULP, 1, 1000, TP_DAMAGE_ROUNDING, "off by one"},
        {TP_FLOAT32, ULP, 60, 1000, TP_DAMAGE_ROUNDING, "63 ULP apart"},
        {TP_FLOAT32, ULP, 1, 300, TP_DAMAGE_ROUNDING,
         "300 of 2048 elements, at most 1 ULP apart"},
        {TP_BFLOAT16, ULP, 3, 1000, TP_DAMAGE_ROUNDING, "3 ULP apart"},
        {TP_FLOAT16, ULP, 2, 2000, TP_DAMAGE_ROUNDING, "3 ULP apart"},
        {TP_FLOAT8_E4M3FN, ULP, 1, 100, TP_DAMAGE_ROUNDING, "1 ULP apart"},
        /* beyond what another order of sums gives */
        {TP_BFLOAT16, ULP, 60, 1000, TP_DAMAGE_SCATTERED, "other values"},
        {TP_FLOAT32, ULP, 9000, 1000, TP_DAMAGE_SCATTERED, "other values"},
        {TP_FLOAT32, ANY_BIT, 26, 30, TP_DAMAGE_BITS,
         "one bit flipped in each"},
        {TP_BFLOAT16, ANY_BIT, 10, 30, TP_DAMAGE_BITS,
         "one bit flipped in each"},
        {TP_FLOAT32, ZERO, 0, 40, TP_DAMAGE_SCATTERED, "all of them zero"},
        {TP_FLOAT32, ANY, 0, 40, TP_DAMAGE_SCATTERED, "other values"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tp_text text = {0};
        const enum tp_damage_name name = find_bits(
            known[i].dtype, known[i].what, known[i].bit, known[i].count, &text);
        const char *words = tp_text_get(&text);
        const size_t length = strlen(known[i].words);
        cr_expect_eq(name, known[i].name, "%zu: \"%s\"", i, words);
        cr_expect(strlen(words) >= length &&
                      !strcmp(words + strlen(words) - length, known[i].words),
                  "%zu: \"%s\"", i, words);
        tp_text_clear(&text);
    }
}

/* Flips of one bit keep their place. */
Test(damage_words, bit_in_a_column)
{
    struct damaged d = damaged_new(TP_BFLOAT16, (int64_t[4]){64, 32});
    struct damaged_found found;
    struct tp_text text = {0};
    for (int64_t i = 0; i < 64; i++)
        damaged_set(&d, 32 * i + 9, damaged_get(&d, 32 * i + 9) ^ 0x8000);
    damaged_find(&d, 0, NULL, &found);
    tp_damage_tell(&found.plan, &found.damage, &found.shape, &text);
    cr_expect_eq(found.shape.name, TP_DAMAGE_BIT);
    cr_expect_eq(found.shape.where, TP_DAMAGE_COLUMNS);
    cr_expect_str_eq(tp_text_get(&text),
                     "column 9 of 32 along axis 1: 64 elements, bit 15, the "
                     "sign, flipped");
    tp_text_clear(&text);
    damaged_free(&d);
}

Test(damage_words, table)
{
    for (int i = 0; i < TP_DAMAGE_NAMES; i++) {
        cr_expect_not_null(tp_damage_shapes[i].id);
        cr_expect(*tp_damage_shapes[i].help);
        cr_expect(!*tp_damage_shapes[i].cause ||
                      strstr(tp_damage_shapes[i].cause, "likely"),
                  "%s: a cause is likely, never certain",
                  tp_damage_shapes[i].id);
    }
    cr_expect_null(tp_damage_shapes[TP_DAMAGE_NAMES].id);
}

Test(damage_words, kinds)
{
    struct damaged d = damaged_new(TP_FLOAT32, (int64_t[4]){128, 64});
    struct damaged_found found;
    struct tp_text text = {0};
    for (int64_t i = 0; i < 64; i++)
        damaged_set(&d, 640 + i, i % 4 ? 0x7fc00000 : 0xff800000);
    damaged_find(&d, TP_DAMAGE_NAN | TP_DAMAGE_INF, NULL, &found);
    tp_damage_tell(&found.plan, &found.damage, &found.shape, &text);
    cr_expect_str_eq(tp_text_get(&text),
                     "row 10 of 128 along axis 0: 64 elements, 48 of them NaN, "
                     "16 of them Inf");
    tp_text_clear(&text);
    damaged_free(&d);
}
