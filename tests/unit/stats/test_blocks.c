/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "stats/blocks.h"
#include "tests/unit/support/testdata.h"
#include "tests/unit/support/vectors.h"
#include "tests/unit/support/words.h"
#include "tests/unit/support/xorshift.h"

static const char *const isas[] = {"portable", "avx2", "avx512"};

enum { ISAS = sizeof isas / sizeof *isas };

static void use_isa(const char *name)
{
    setenv("TPROF_ISA", name, 1);
}

static const struct tp_block_rules floors = {.scale = TP_SCALE_FLOOR};

Test(blocks, scale_exponents_are_those_of_the_vectors)
{
    struct vectors v = vectors_open("mx_scale_modes.csv");
    int rows = 0;
    while (vectors_next(&v)) {
        const char *format = v.field[0];
        const struct tp_number *number = tp_number_by_id(
            strcmp(format, "mxfp4_e2m1") == 0 ? "mxfp4" : format);
        const float amax = vectors_float(v.field[1]);
        cr_assert_not_null(number, "%s", format);
        if (!isfinite(amax)) {
            continue;
        }
        for (int rule = 0; rule < TP_SCALE_COUNT; rule++) {
            const long byte = strtol(v.field[2 + rule], NULL, 16);
            const int e =
                tp_scale_exponent(number, (enum tp_scale_rule)rule, amax);
            cr_assert_eq(e + 127, byte, "%s %s of %a: %d, not %ld", format,
                         tp_scale_rule_name((enum tp_scale_rule)rule), amax,
                         e + 127, byte);
        }
        rows++;
    }
    cr_assert_gt(rows, 6000);
}

Test(blocks, rules_have_names)
{
    for (int i = 0; i < TP_SCALE_COUNT; i++) {
        const enum tp_scale_rule rule = (enum tp_scale_rule)i;
        cr_assert_eq(scale_rule_of(tp_scale_rule_name(rule)), rule);
    }
    cr_assert_null(tp_scale_rule_words[TP_SCALE_COUNT]);
}

/* With encode = 6 the factor 6 * (1 / 6) is 1 in binary32. */
Test(blocks, nvfp4_scales_round_as_e4m3_and_saturate)
{
    const struct tp_number *e4m3 = tp_number_by_id("mxfp8_e4m3");
    for (float v = 0x1p-11f; v < 500; v += v * 0x1p-9f) {
        cr_assert_eq(tp_nvfp4_scale(6, v), tp_number_round(e4m3, v));
    }
    for (int code = 0; code < 0x7e; code++) {
        const unsigned char bytes[2] = {(unsigned char)code,
                                        (unsigned char)(code + 1)};
        double values[2];
        tp_dtype_decode(TP_FLOAT8_E4M3FN, bytes, 2, values);
        const float tie = (float)((values[0] + values[1]) / 2);
        cr_assert_eq(tp_nvfp4_scale(6, tie), values[code % 2]);
    }
    cr_assert_eq(tp_nvfp4_scale(6, 1e30f), 448);
    cr_assert_eq(tp_nvfp4_encode(0), 1);
    cr_assert_eq(tp_nvfp4_encode(1e-40), 0x1.fffffep127f);
}

static void assert_equal(const struct tp_block_counts *got,
                         const struct tp_block_counts *expected,
                         const char *what)
{
    cr_assert_eq(got->blocks, expected->blocks, "blocks of %s", what);
    cr_assert_eq(got->saturated, expected->saturated, "saturated of %s: "
                 "%lu, not %lu", what, (unsigned long)got->saturated,
                 (unsigned long)expected->saturated);
    cr_assert_eq(got->upper_overflow, expected->upper_overflow,
                 "upper overflow of %s", what);
    cr_assert_eq(got->lower_overflow, expected->lower_overflow,
                 "lower overflow of %s", what);
    cr_assert_eq(got->underflow, expected->underflow,
                 "underflow of %s: %lu, not %lu", what,
                 (unsigned long)got->underflow,
                 (unsigned long)expected->underflow);
    cr_assert_eq(got->subnormal, expected->subnormal,
                 "subnormal of %s: %lu, not %lu", what,
                 (unsigned long)got->subnormal,
                 (unsigned long)expected->subnormal);
}

/*
 * Counts what a block of the vectors shows: x and the element codes that two
 * independent encoders made of it. `normal` is the first normal code.
 */
static struct tp_block_counts shown(const float *x, int n, const char *codes,
                                    double scaled_max, unsigned no_sign,
                                    unsigned normal)
{
    struct tp_block_counts c = {.blocks = 1};
    for (int i = 0; i < n; i++) {
        const unsigned code = vectors_element(codes, i, 2) & no_sign;
        c.upper_overflow += x[i] > scaled_max;
        c.lower_overflow += x[i] < -scaled_max;
        c.underflow += x[i] != 0 && code == 0;
        c.subnormal += x[i] != 0 && code < normal;
    }
    c.saturated = c.upper_overflow + c.lower_overflow > 0;
    return c;
}

static void check_mx_vectors(const char *file, const char *id,
                             unsigned no_sign, unsigned normal)
{
    const struct tp_number *number = tp_number_by_id(id);
    struct vectors v = vectors_open(file);
    int rows = 0;
    while (vectors_next(&v)) {
        if (v.field[6][0] == '\0' || strcmp(v.field[3], "any") != 0) {
            continue; /* NaN or Inf in the block: OCP defines nothing */
        }
        float x[32];
        cr_assert_eq(vectors_words(v.field[5], x), 32);
        const int e = (int)strtol(v.field[4], NULL, 16) - 127;
        const struct tp_block_counts expected = shown(
            x, 32, v.field[6], ldexp(number->max, e), no_sign, normal);
        struct tp_block_plan plan;
        tp_block_plan_init(&plan, number,
                           (struct tp_block_rules){
                               .scale = scale_rule_of(v.field[2])},
                           TP_FLOAT32, 0);
        for (int isa = 0; isa < ISAS; isa++) {
            use_isa(isas[isa]);
            plan.isa = tp_isa_best();
            struct tp_block_counts got = {0};
            tp_blocks_count(&plan, x, 1, 32, &got);
            assert_equal(&got, &expected, v.field[1]);
        }
        rows++;
    }
    cr_assert_gt(rows, 150, "%d rows of %s", rows, file);
}

Test(blocks, mx_blocks_of_the_vectors)
{
    check_mx_vectors("mxfp8_e4m3.csv", "mxfp8_e4m3", 0x7f, 0x08);
    check_mx_vectors("mxfp8_e4m3_rceil.csv", "mxfp8_e4m3", 0x7f, 0x08);
    check_mx_vectors("mxfp8_e5m2.csv", "mxfp8_e5m2", 0x7f, 0x04);
    check_mx_vectors("mxfp8_e5m2_rceil.csv", "mxfp8_e5m2", 0x7f, 0x04);
    check_mx_vectors("mxfp6_e3m2.csv", "mxfp6_e3m2", 0x1f, 0x04);
    check_mx_vectors("mxfp6_e2m3.csv", "mxfp6_e2m3", 0x1f, 0x08);
    check_mx_vectors("mxfp4_e2m1.csv", "mxfp4", 0x07, 0x02);
}

Test(blocks, nvfp4_blocks_of_the_vectors)
{
    const struct tp_number *number = tp_number_by_id("nvfp4");
    struct vectors v = vectors_open("nvfp4_te.csv");
    int rows = 0;
    while (vectors_next(&v)) {
        float x[16], amax = 0;
        cr_assert_eq(vectors_words(v.field[5], x), 16);
        const float tensor_amax = vectors_float(v.field[2]);
        const float encode = tp_nvfp4_encode(tensor_amax);
        cr_assert_eq(encode, vectors_float(v.field[3]));
        struct tp_block_counts expected = {0};
        for (int i = 0; i < 16; i++) {
            const unsigned code = vectors_element(v.field[6], i, 1) & 7;
            amax = fmaxf(amax, fabsf(x[i]));
            expected.underflow += x[i] != 0 && code == 0;
            expected.subnormal += x[i] != 0 && code < 2;
        }
        const unsigned char byte =
            (unsigned char)strtoul(v.field[4], NULL, 16);
        double scale;
        tp_dtype_decode(TP_FLOAT8_E4M3FN, &byte, 1, &scale);
        cr_assert_eq(tp_nvfp4_scale(encode, amax), scale);
        struct tp_block_plan plan;
        struct tp_block_counts got = {0};
        tp_block_plan_init(&plan, number, floors, TP_FLOAT32,
                           tensor_amax);
        tp_blocks_count(&plan, x, 1, 16, &got);
        cr_assert_eq(got.underflow, expected.underflow);
        cr_assert_eq(got.subnormal, expected.subnormal);
        rows++;
    }
    cr_assert_eq(rows, 240);
}

/* --- goldens: counts published with tensor_saver's own fake quantiser ----- */

/* Reads the bfloat16 storage of a torch file of one tensor: the stored zip
 * record that is named ".../data/0". */
static uint16_t *stored_codes(const char *path, size_t n)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "no dump at %s", path);
    static unsigned char bytes[1 << 20];
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    static const char suffix[] = "/data/0";
    for (size_t i = 0; i + 30 < size; i++) {
        const size_t name_size = bytes[i + 26] + 256u * bytes[i + 27];
        const size_t extra = bytes[i + 28] + 256u * bytes[i + 29];
        const size_t data = i + 30 + name_size + extra;
        if (memcmp(bytes + i, "PK\3\4", 4) == 0 &&
            name_size > strlen(suffix) && data + 2 * n <= size &&
            memcmp(bytes + i + 30 + name_size - strlen(suffix), suffix,
                   strlen(suffix)) == 0) {
            uint16_t *codes = malloc(2 * n);
            memcpy(codes, bytes + data, 2 * n);
            return codes;
        }
    }
    cr_assert_fail("%s has no record %s of %zu bytes", path, suffix, 2 * n);
    return NULL;
}

static void check_golden(const char *file, size_t rows, size_t length,
                         const uint64_t golden[4])
{
    static const char *const formats[] = {"mxfp8_e4m3", "mxfp8_e5m2",
                                          "mxfp4"};
    uint16_t *codes = stored_codes(file, rows * length);
    for (int i = 0; i < 3; i++) {
        struct tp_block_plan plan;
        struct tp_block_counts got = {0};
        tp_block_plan_init(&plan, tp_number_by_id(formats[i]), floors,
                           TP_BFLOAT16, 0);
        tp_blocks_count(&plan, codes, rows, length, &got);
        cr_assert_eq(got.upper_overflow + got.lower_overflow, golden[i],
                     "%s of %s", formats[i], file);
        cr_assert_eq(got.underflow, i == 2 ? golden[3] : 0, "%s of %s",
                     formats[i], file);
    }
    free(codes);
}

static void check_shared(const char *name, size_t rows, size_t length,
                         const uint64_t golden[4])
{
    char below[512], path[4096];
    snprintf(below, sizeof below, "dumps/tensor_saver/%s", name);
    shared_path(below, path, sizeof path);
    if (access(path, R_OK) != 0)
        cr_skip_test("no dump at %s", path);
    check_golden(path, rows, length, golden);
}

/* As published. Saturated as e4m3, e5m2, e2m1; underflow as e2m1 with ties to
 * even. */
Test(blocks, saturation_and_underflow_of_real_dumps)
{
    check_shared("improved_tensor_logs/20250908_095220_0005_linear_L1_"
                 "forward_pre_linear_hifp8_input.pt",
                 32, 512, (uint64_t[]){127, 127, 373, 1347});
    check_shared("tensor_logs/20250908_091054_0020_attention_L0_forward_"
                 "fp16_query.pt",
                 8, 8, (uint64_t[]){3, 3, 5, 8});
    check_shared("improved_tensor_logs/20250908_095220_0001_attention_L0_"
                 "forward_pre_FA_hifp8_query.pt",
                 2048, 64, (uint64_t[]){1108, 1108, 3034, 11116});
}

/* As above, of our own run: ml_dtypes of the values over the power of two. */
Test(blocks, saturation_and_underflow_of_own_dumps)
{
    static const char one[] =
        "logs/bf16/20260115_100002_0007_iter001_linear_L1_forward_pre_linear_"
        "bf16_rank00_sample000_group000_weight.pt";
    static const char two[] =
        "logs/bf16/20260115_100002_0080_iter001_linear_L1_forward_post_linear_"
        "bf16_rank00_sample002_group000_output.pt";
    char path[4096];
    testdata_path(one, path, sizeof path);
    check_golden(path, 64, 32, (uint64_t[]){14, 14, 46, 155});
    testdata_path(two, path, sizeof path);
    check_golden(path, 16, 64, (uint64_t[]){12, 12, 36, 93});
}

/* --- brute force: the definitions, in doubles, one element at a time ------ */

static double nvfp4_factor(float encode, double amax)
{
    const float block_amax = amax > 0x1.fffffep127 ? 0x1.fffffep127f
                                                   : (float)amax;
    const float scale =
        tp_nvfp4_scale(encode, block_amax) * (1.0f / encode);
    return scale == 0 ? 0 : fminf(1.0f / scale, 0x1.fffffep127f);
}

/* What the block's scale makes of x, infinities apart. */
static double scaled(const struct tp_block_plan *plan, double x, double amax)
{
    if (plan->number->kind == TP_NUMBER_NVFP4) {
        const double factor = nvfp4_factor(plan->encode, amax);
        return copysign((float)(fabs(x) > 0x1.fffffep127 ? 0x1.fffffep127f
                                                         : (float)fabs(x)) *
                            (float)factor,
                        x);
    }
    return ldexp(x, -tp_scale_exponent(plan->number, plan->rules.scale,
                                         amax));
}

static void brute_block(const struct tp_block_plan *plan, const double *x,
                        size_t step, int n, struct tp_block_counts *c)
{
    const bool covers = plan->rules.nonfinite == TP_NONFINITE_TORCHAO &&
                        plan->number->kind == TP_NUMBER_MX;
    double amax = 0;
    uint64_t over = 0;
    for (int i = 0; i < n; i++) {
        const double value = x[(size_t)i * step];
        const bool counts = isfinite(value) || (isinf(value) && covers);
        amax = counts ? fmax(amax, fabs(value)) : amax;
    }
    for (int i = 0; i < n; i++) {
        const double value = x[(size_t)i * step];
        if (isnan(value) || value == 0) {
            continue;
        }
        const double y = isinf(value) ? value : scaled(plan, value, amax);
        const double q = tp_number_round(plan->number, y);
        over += fabs(y) > plan->number->max;
        c->upper_overflow += y > plan->number->max;
        c->lower_overflow += y < -plan->number->max;
        c->underflow += q == 0;
        c->subnormal += fabs(q) < plan->number->min_normal;
    }
    c->blocks++;
    c->saturated += over > 0;
}

/* Random codes: a magnitude per block, a spread, and the odd special. */
static void random_codes(uint64_t *state, enum tp_dtype dtype, size_t n,
                         unsigned char *codes)
{
    const int width = tp_dtype_info(dtype)->size;
    const int fraction = tp_dtype_info(dtype)->significand - 1;
    uint64_t base = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 16 == 0) {
            base = xorshift(state);
        }
        /* keep the sign and the fraction free, shift the exponent a bit */
        const uint64_t spread =
            xorshift(state) %
            ((uint64_t)(xorshift(state) % 12 + 1) << fraction);
        uint64_t code = base - spread;
        switch (xorshift(state) % 64) {
        case 0:
            code = xorshift(state);
            break;
        case 1: code = 0; break;
        case 2: code = (uint64_t)-1 << fraction; break; /* often Inf */
        case 3:
            code = xorshift(state) & ((UINT64_C(2) << fraction) - 1);
            break;
        default: break;
        }
        code ^= xorshift(state) << (8 * width - 1);
        memcpy(codes + i * (size_t)width, &code, (size_t)width);
    }
}

struct matrix {
    enum tp_dtype dtype;
    size_t rows, columns;
    unsigned char *codes;
    double *values;
    double amax;
};

static struct matrix random_matrix(uint64_t *state, enum tp_dtype dtype)
{
    struct matrix m = {.dtype = dtype};
    m.rows = 1 + xorshift(state) % 100;
    m.columns = 1 + xorshift(state) % 200;
    const size_t n = m.rows * m.columns;
    m.codes = malloc(n * 8);
    m.values = malloc(n * sizeof *m.values);
    random_codes(state, dtype, n, m.codes);
    tp_dtype_decode(dtype, m.codes, n, m.values);
    for (size_t i = 0; i < n; i++) {
        if (isfinite(m.values[i])) {
            m.amax = fmax(m.amax, fabs(m.values[i]));
        }
    }
    return m;
}

static void check_matrix(const struct matrix *m,
                         const struct tp_number *number,
                         struct tp_block_rules rules)
{
    struct tp_block_plan plan;
    tp_block_plan_init(&plan, number, rules, m->dtype, m->amax);
    const size_t block = (size_t)plan.block;
    struct tp_block_counts along = {0}, down = {0};
    for (size_t row = 0; row < m->rows; row++) {
        for (size_t i = 0; i < m->columns; i += block) {
            const size_t left = m->columns - i;
            brute_block(&plan, m->values + row * m->columns + i, 1,
                        (int)(left < block ? left : block), &along);
        }
    }
    for (size_t row = 0; row < m->rows; row += block) {
        const size_t left = m->rows - row;
        for (size_t i = 0; i < m->columns; i++) {
            brute_block(&plan, m->values + row * m->columns + i, m->columns,
                        (int)(left < block ? left : block), &down);
        }
    }
    for (int isa = 0; isa < ISAS; isa++) {
        char what[96];
        snprintf(what, sizeof what, "%s as %s %s %s by %s",
                 tp_dtype_info(m->dtype)->name, number->id,
                 tp_scale_rule_name(rules.scale),
                 tp_nonfinite_name(rules.nonfinite), isas[isa]);
        use_isa(isas[isa]);
        plan.isa = tp_isa_best();
        struct tp_block_counts got = {0}, got_down = {0};
        tp_blocks_count(&plan, m->codes, m->rows, m->columns, &got);
        assert_equal(&got, &along, what);
        tp_blocks_count_across(&plan, m->codes, m->rows, m->columns,
                               &got_down);
        assert_equal(&got_down, &down, what);
    }
}

Test(blocks, counts_follow_the_definitions)
{
    static const enum tp_dtype dtypes[] = {
        TP_BFLOAT16,      TP_FLOAT16,         TP_FLOAT32,
        TP_FLOAT64,       TP_FLOAT8_E4M3FN,   TP_FLOAT8_E5M2,
        TP_FLOAT8_E5M2FNUZ, TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E8M0FNU,
    };
    uint64_t state = 42;
    int checked = 0;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        for (const struct tp_number *n = tp_number_formats; n->id; n++) {
            if (n->kind == TP_NUMBER_ELEMENT) {
                continue;
            }
            /* plans take rceil_f32 as rceil */
            for (int rule = 0; rule < 2 * TP_SCALE_RCEIL_F32; rule++) {
                struct matrix m = random_matrix(&state, dtypes[d]);
                const struct tp_block_rules rules = {
                    (enum tp_scale_rule)(rule / 2),
                    rule % 2 ? TP_NONFINITE_TORCHAO : TP_NONFINITE_BLOCK};
                check_matrix(&m, n, rules);
                free(m.codes);
                free(m.values);
                checked++;
            }
        }
    }
    cr_assert_eq(checked, 9 * 6 * 4 * 2);
}

/* A block of the sixteen-bit dtypes for every amax there is. */
Test(blocks, every_amax_of_the_sixteen_bit_dtypes)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT16};
    uint64_t state = 3;
    for (int d = 0; d < 2; d++) {
        const int fraction = tp_dtype_info(dtypes[d])->significand - 1;
        const unsigned infinity = 0x8000u - (1u << fraction);
        for (int rule = 0; rule < TP_SCALE_COUNT; rule++) {
            struct tp_block_plan plan;
            tp_block_plan_init(&plan, tp_number_by_id("mxfp4"),
                               (struct tp_block_rules){
                                   .scale = (enum tp_scale_rule)rule},
                               dtypes[d], 0);
            for (unsigned amax = 0; amax < infinity; amax++) {
                uint16_t codes[32] = {(uint16_t)amax};
                double values[32];
                for (int i = 1; i < 32; i++) {
                    const unsigned below =
                        (unsigned)xorshift(&state) % (4u << fraction);
                    codes[i] = (uint16_t)(below > amax ? 0 : amax - below);
                }
                tp_dtype_decode(dtypes[d], codes, 32, values);
                struct tp_block_counts expected = {0}, got = {0};
                brute_block(&plan, values, 1, 32, &expected);
                tp_blocks_count(&plan, codes, 1, 32, &got);
                cr_assert_eq(memcmp(&got, &expected, sizeof got), 0,
                             "rule %d, amax %04x", rule, amax);
            }
        }
    }
}

Test(blocks, a_row_may_come_in_pieces_and_merge)
{
    uint64_t state = 9;
    static uint16_t codes[5 * 1000];
    random_codes(&state, TP_BFLOAT16, 5000, (unsigned char *)codes);
    struct tp_block_plan plan;
    tp_block_plan_init(&plan, tp_number_by_id("mxfp8_e4m3"), floors,
                       TP_BFLOAT16, 0);
    struct tp_block_counts whole = {0}, sum = {0};
    tp_blocks_count(&plan, codes, 1, 5000, &whole);
    for (size_t i = 0; i < 5000; i += 32 * 7) {
        struct tp_block_counts piece = {0};
        tp_blocks_count(&plan, codes + i, 1,
                        5000 - i < 32 * 7 ? 5000 - i : 32 * 7, &piece);
        tp_block_counts_merge(&sum, &piece, 3);
    }
    struct tp_block_counts thrice = {0};
    tp_block_counts_merge(&thrice, &whole, 3);
    assert_equal(&sum, &thrice, "pieces");
    cr_assert_eq(whole.blocks, 157);
}

Test(blocks, nothing_is_counted_in_nothing)
{
    struct tp_block_plan plan;
    tp_block_plan_init(&plan, tp_number_by_id("mxfp4"), floors, TP_FLOAT32,
                       0);
    struct tp_block_counts none = {0}, got = {0};
    tp_blocks_count(&plan, NULL, 0, 32, &got);
    tp_blocks_count(&plan, NULL, 5, 0, &got);
    tp_blocks_count_across(&plan, NULL, 0, 7, &got);
    tp_blocks_count_across(&plan, NULL, 7, 0, &got);
    assert_equal(&got, &none, "nothing");
}
