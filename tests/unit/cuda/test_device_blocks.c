/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/support/cuda_emulator.h"
#include "tests/unit/support/device_vectors.h"
#include "tests/unit/support/gaussian.h"
#include "tests/unit/support/vectors.h"
#include "tests/unit/support/words.h"

/*
 * Vectors of block formats on the emulated device: along rows, down columns,
 * and down columns that are shown as rows.
 */

static struct content content;
static struct fates fates;

/* Starts of all kernels without the target; with it there must be more. */
static uint64_t launches_without(struct bench *bench, struct laid *laid)
{
    const struct tp_scan_request request = {.target = NULL};
    compare(bench, &laid->tensor, &request, content.name);
    return bench->launches;
}

/* Scans blocks with the target and the cast. */
static void scan_blocks(struct bench *bench, const struct tp_quant_spec *spec,
                        size_t columns, enum layout layout)
{
    struct laid laid;
    const struct tp_scan_request request = {.target = spec->number,
                                            .scale_rule = spec->rule,
                                            .nonfinite = spec->nonfinite,
                                            .specs = spec,
                                            .spec_count = 1,
                                            .block_axis = layout == DOWN};
    lay_out(&content, columns, layout, &laid);
    const uint64_t without = launches_without(bench, &laid);
    compare(bench, &laid.tensor, &request, content.name);
    cr_assert(bench->launches > without || !tp_emulator_present(), "%s",
              content.name);
    free(laid.memory.bytes);
    check_values(&content, laid.count);
    check_target(&content, &fates, laid.count);
    check_cast(&content, &fates, 0, laid.count);
}

/* --- MX ------------------------------------------------------------------- */

/* Adds a block: its values, its scale, and its codes if they are known. */
static void add_block(const float *x, size_t n, unsigned scale,
                      const struct tp_number *number)
{
    const double unit = ldexp(1, (int)scale - 127);
    fates.scale[content.n / n] = scale;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        add_float(&content, bits);
        fates_add(&fates, content.n - 1, 0, number->min_normal * unit,
                  fabsf(x[i]) > number->max * unit);
    }
}

/* The finite blocks of a file that were made by one rule; of others OCP says
 * nothing. */
static void load_mx(const char *file, const struct tp_quant_spec *spec)
{
    const struct vector_codes codes = vectors_codes(
        strcmp(spec->number->element, "e4m3") == 0 ? "e4m3fn"
                                                   : spec->number->element);
    struct vectors v = vectors_open(file);
    content_begin(&content, TP_FLOAT32, file);
    fates.known = KNOWS_OVERFLOW | KNOWS_SMALL | KNOWS_RESULT;
    fates.block = 32;
    while (vectors_next(&v)) {
        float x[32];
        if (scale_rule_of(v.field[2]) != spec->rule ||
            strcmp(v.field[3], "any") != 0)
            continue;
        cr_assert_eq(vectors_words(v.field[5], x), 32);
        const unsigned scale = (unsigned)strtoul(v.field[4], NULL, 16);
        add_block(x, 32, scale, spec->number);
        for (int i = 0; i < 32; i++)
            fates.q[content.n - 32 + (size_t)i] =
                ldexp(codes.value[vectors_element(v.field[6], i, 2)],
                      (int)scale - 127);
    }
    cr_assert_geq(content.n, 190 * 32, "%s", file);
}

Test(device_blocks, mx_files)
{
    static const struct {
        const char *file, *id;
        enum tp_scale_rule rule;
    } files[] = {
        {"mxfp8_e4m3.csv", "mxfp8_e4m3", TP_SCALE_FLOOR},
        {"mxfp8_e4m3_rceil.csv", "mxfp8_e4m3", TP_SCALE_RCEIL},
        {"mxfp8_e5m2.csv", "mxfp8_e5m2", TP_SCALE_FLOOR},
        {"mxfp8_e5m2_rceil.csv", "mxfp8_e5m2", TP_SCALE_RCEIL},
        {"mxfp6_e3m2.csv", "mxfp6_e3m2", TP_SCALE_FLOOR},
        {"mxfp6_e2m3.csv", "mxfp6_e2m3", TP_SCALE_FLOOR},
        {"mxfp4_e2m1.csv", "mxfp4", TP_SCALE_FLOOR},
        {"mxfp4_e2m1.csv", "mxfp4", TP_SCALE_RCEIL},
    };
    struct bench bench;
    bench_begin(&bench);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct tp_quant_spec spec = {
            .number = tp_number_by_id(files[i].id), .rule = files[i].rule};
        load_mx(files[i].file, &spec);
        for (int layout = ROWS; layout <= DOWN_TURNED; layout++)
            scan_blocks(&bench, &spec, BLOCK_COLUMNS, (enum layout)layout);
    }
    bench_end(&bench);
}

/*
 * Adds a block of a largest value whose scale is known, and two values that
 * show the scale: the first is rounded up to the smallest value, were the scale
 * twice as large it would be zero; the second is zero, were the scale half as
 * large it would not be.
 */
static void add_scale(float amax, unsigned scale,
                      const struct tp_number *number)
{
    const double unit = ldexp(1, (int)scale - 127);
    const double least = number->min_subnormal * unit;
    const double shown[] = {0.75 * least, 0.375 * least};
    float x[32] = {amax};
    for (int i = 0; i < 2 && amax > 0; i++)
        x[1 + i] = (float)shown[i] == shown[i] ? (float)shown[i] : 0;
    add_block(x, 32, scale, number);
    fates.q[content.n - 32] = amax;
    fates.q[content.n - 31] = least;
}

/* All of one format and rule, but where the least scale makes the largest value
 * small itself, and the one value that rceil_f32 is different for: the plans do
 * not follow. */
static void load_scales(const char *format, enum tp_scale_rule rule,
                        const struct tp_number *number)
{
    struct vectors v = vectors_open("mx_scale_modes.csv");
    content_begin(&content, TP_FLOAT32, tp_scale_rule_name(rule));
    fates.known = KNOWS_OVERFLOW | KNOWS_SMALL;
    fates.block = 32;
    while (vectors_next(&v)) {
        const float amax = vectors_float(v.field[1]);
        const unsigned scale = (unsigned)strtoul(v.field[2 + rule], NULL, 16);
        const bool same = strcmp(v.field[2 + TP_SCALE_RCEIL],
                                 v.field[2 + TP_SCALE_RCEIL_F32]) == 0;
        const double normal = ldexp(number->min_normal, (int)scale - 127);
        if (strcmp(v.field[0], format) == 0 && isfinite(amax) &&
            (amax == 0 || amax >= 2 * normal) &&
            (rule != TP_SCALE_RCEIL_F32 || same))
            add_scale(amax, scale, number);
    }
    cr_assert_gt(content.n, 1000 * 32, "%s: %zu", format, content.n / 32);
}

Test(device_blocks, mx_scales)
{
    static const char *const formats[][2] = {{"mxfp8_e4m3", "mxfp8_e4m3"},
                                             {"mxfp8_e5m2", "mxfp8_e5m2"},
                                             {"mxfp6_e3m2", "mxfp6_e3m2"},
                                             {"mxfp6_e2m3", "mxfp6_e2m3"},
                                             {"mxfp4_e2m1", "mxfp4"}};
    struct bench bench;
    bench_begin(&bench);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        for (int rule = 0; rule < TP_SCALE_COUNT; rule++) {
            const struct tp_quant_spec spec = {
                .number = tp_number_by_id(formats[i][1]),
                .rule = (enum tp_scale_rule)rule};
            load_scales(formats[i][0], spec.rule, spec.number);
            scan_blocks(&bench, &spec, BLOCK_COLUMNS,
                        (enum layout)((i + (size_t)rule) % 3));
        }
    }
    bench_end(&bench);
}

/* --- NVFP4 ---------------------------------------------------------------- */

static void scan_nvfp4(struct bench *bench, const struct tp_quant_spec *spec,
                       double amax)
{
    /* an odd number of blocks */
    scan_blocks(bench, spec, 9 * 16, (enum layout)(bench->scans / 2 % 3));
    const struct tp_extrema *extrema = &there.result.summary.extrema;
    cr_assert_eq(fmax(-extrema->min, extrema->max), amax);
}

/* Forty tensors of six blocks; which values are zero or subnormal is seen from
 * their codes, whatever the scale. */
Test(device_blocks, nvfp4_file)
{
    const struct tp_quant_spec spec = {.number = tp_number_by_id("nvfp4")};
    const struct vector_codes codes = vectors_codes("e2m1");
    struct vectors v = vectors_open("nvfp4_te.csv");
    char tensor[16] = "";
    double amax = 0;
    struct bench bench;
    bench_begin(&bench);
    fates.known = KNOWS_SMALL;
    fates.block = 16;
    while (vectors_next(&v)) {
        float x[16];
        if (strcmp(tensor, v.field[0]) != 0) {
            if (*tensor)
                scan_nvfp4(&bench, &spec, amax);
            snprintf(tensor, sizeof tensor, "%s", v.field[0]);
            content_begin(&content, TP_FLOAT32, tensor);
        }
        amax = vectors_float(v.field[2]);
        cr_assert_eq(vectors_words(v.field[5], x), 16);
        const unsigned scale = (unsigned)strtoul(v.field[4], NULL, 16);
        fates.scale[content.n / 16] = scale;
        for (int i = 0; i < 16; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            add_float(&content, bits);
            fates_add(&fates, content.n - 1,
                      codes.value[vectors_element(v.field[6], i, 1)], 1, false);
        }
    }
    scan_nvfp4(&bench, &spec, amax);
    cr_assert_eq(bench.scans, 40 * 2);
    bench_end(&bench);
}

/* --- normal values -------------------------------------------------------- */

/* What normal values of a standard deviation of 1 become, by integration or
 * from 2^24 samples. */
struct known {
    char name[64];
    double sqnr;
    double clips; /* share of the blocks that saturate; NAN: not known      */
};
static struct known known[TP_SCAN_SPECS];
static struct tp_quant_spec specs[TP_SCAN_SPECS];
static size_t spec_count;

static void add_known(const char *element, const char *rule, double sqnr,
                      double clips)
{
    const char *name = strcmp(element, "e4m3fn") == 0 ? "e4m3" : element;
    const struct tp_number *found = tp_number_by_id(name);
    for (const struct tp_number *n = tp_number_formats; n->id && *rule; n++)
        if (n->kind == TP_NUMBER_MX && strcmp(n->element, name) == 0)
            found = n;
    cr_assert_not_null(found, "%s", element);
    specs[spec_count] = (struct tp_quant_spec){
        .number = found, .rule = scale_rule_of(rule)};
    struct known *k = &known[spec_count++];
    snprintf(k->name, sizeof k->name, "%.30s %.30s", element, rule);
    k->sqnr = sqnr;
    k->clips = clips;
}

/* Scales by the largest value are no power of two there, so not ours; nor are
 * MX blocks of 16. */
static void load_known(void)
{
    struct vectors v = vectors_open("gaussian_mx.csv");
    while (vectors_next(&v))
        if (strcmp(v.field[1], "32") == 0)
            add_known(v.field[0], v.field[2], strtod(v.field[4], NULL),
                      strtod(v.field[8], NULL));
    v = vectors_open("gaussian_mc.csv");
    while (vectors_next(&v)) {
        const char *element = v.field[0];
        const char *rule = strstr(v.field[1], "block 32 ");
        if (rule)
            add_known(element + strlen("mx_"), rule + strlen("block 32 "),
                      strtod(v.field[3], NULL), NAN);
        else if (strcmp(element, "nvfp4") == 0)
            add_known(element, "", strtod(v.field[4], NULL), NAN);
        else if (strstr(v.field[1], "none"))
            add_known(element, "", strtod(v.field[3], NULL), NAN);
    }
    cr_assert_geq(spec_count, 40);
}

/* N random normal values as the nearest codes. */
static void load_normal(enum tp_dtype dtype, size_t n)
{
    static double x[MOST];
    uint64_t state = 88172645463325252u;
    gaussian_random(&state, x, n);
    content_begin(&content, dtype, "normal");
    for (size_t i = 0; i < n; i++) {
        const float single = (float)x[i];
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        if (dtype == TP_BFLOAT16) {
            bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
            content_add(&content, bits, ieee_value(bits, 16, 8));
        } else {
            add_float(&content, bits);
        }
    }
}

/* Of a sample this large: a dB less than 0.1 off by chance, and the share of
 * blocks by less than five standard deviations. */
static void check_known(size_t spec)
{
    const struct known *k = &known[spec];
    struct tp_quant_metrics got;
    tp_quant_metrics_of(&there.errors[spec], &got);
    cr_assert_float_eq(got.sqnr_db, k->sqnr, 0.1, "%s: %g dB, not %g", k->name,
                       got.sqnr_db, k->sqnr);
    const double blocks = (double)there.errors[spec].blocks;
    if (isfinite(k->clips))
        cr_assert_float_eq(got.saturated_block_ratio, k->clips,
                           5 * sqrt((k->clips * (1 - k->clips)) / blocks) +
                               1e-6,
                           "%s: %g saturate, not %g", k->name,
                           got.saturated_block_ratio, k->clips);
}

Test(device_blocks, normal_values)
{
    static const enum tp_dtype dtypes[] = {TP_FLOAT32, TP_BFLOAT16};
    struct bench bench;
    struct laid laid;
    bench_begin(&bench);
    load_known();
    for (int i = 0; i < 2; i++) {
        const struct tp_scan_request request = {.specs = specs,
                                                .spec_count = spec_count};
        load_normal(dtypes[i], MOST);
        lay_out(&content, BLOCK_COLUMNS, ROWS, &laid);
        compare(&bench, &laid.tensor, &request, content.name);
        free(laid.memory.bytes);
        check_values(&content, laid.count);
        for (size_t j = 0; j < spec_count; j++)
            check_known(j);
    }
    bench_end(&bench);
}
