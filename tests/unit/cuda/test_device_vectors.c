/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "data/encode.h"
#include "tests/unit/support/device_vectors.h"
#include "tests/unit/support/gaussian.h"
#include "tests/unit/support/vectors.h"

/*
 * Vectors of elementwise formats on the emulated device, and vectors of all
 * kinds against all targets. Blocks are in test_device_blocks.c.
 */

static struct content content;
static struct fates fates;

/* --- elementwise casts ---------------------------------------------------- */

/* Values of codes of the formats of files. */
static double value_in(const char *format, const struct vector_codes *codes,
                       const char *hex)
{
    const unsigned code = (unsigned)strtoul(hex, NULL, 16);
    if (strcmp(format, "bf16") == 0)
        return ieee_value(code, 16, 8);
    return strcmp(format, "fp16") == 0 ? ieee_value(code, 16, 5)
                                       : codes->value[code];
}

static struct vector_codes codes_in(const char *format)
{
    struct vector_codes none = {.count = 0};
    return strcmp(format, "bf16") == 0 || strcmp(format, "fp16") == 0
               ? none
               : vectors_codes(format);
}

static const struct tp_number *number_in(const char *format)
{
    const struct tp_number *number =
        tp_number_by_id(strcmp(format, "e4m3fn") == 0 ? "e4m3" : format);
    cr_assert_not_null(number, "%s", format);
    return number;
}

/* The inputs of a file of casts, and what they become by one of its columns;
 * what saturates does not show overflows. */
static void load_casts(const char *file, const char *format, int column,
                       struct content *c, struct fates *f)
{
    const struct tp_number *number = number_in(format);
    const struct vector_codes codes = codes_in(format);
    const bool shows = number->has_inf || number->bits == 8;
    struct vectors v = vectors_open(file);
    content_begin(c, TP_FLOAT32, file);
    f->known = KNOWS_SMALL | KNOWS_RESULT |
               (column == 0 && shows ? KNOWS_OVERFLOW : 0);
    f->block = 1;
    while (vectors_next(&v)) {
        add_float(c, (uint32_t)strtoul(v.field[0], NULL, 16));
        const double x = c->value[c->n - 1];
        const double q = value_in(format, &codes, v.field[1 + column]);
        fates_add(f, c->n - 1, q, number->min_normal,
                  isfinite(x) && !isfinite(q));
    }
    cr_assert_geq(c->n, 400, "%s", file);
}

/* Adds the codes of one of its columns. */
static void add_codes(const char *file, const char *format, int column,
                      struct content *c)
{
    const struct vector_codes codes = codes_in(format);
    struct vectors v = vectors_open(file);
    while (vectors_next(&v))
        content_add(c, (uint32_t)strtoul(v.field[1 + column], NULL, 16),
                    value_in(format, &codes, v.field[1 + column]));
}

static const struct cast_file {
    const char *file, *format;
    int columns;
    enum tp_dtype dtype; /* of the codes; none: TP_DTYPE_COUNT             */
} cast_files[] = {
    {"hif8_round.csv", "hif8", 4, TP_DTYPE_COUNT},
    {"fp8_e4m3fn.csv", "e4m3fn", 2, TP_FLOAT8_E4M3FN},
    {"fp8_e5m2.csv", "e5m2", 2, TP_FLOAT8_E5M2},
    {"fp8_e4m3fnuz.csv", "e4m3fnuz", 2, TP_FLOAT8_E4M3FNUZ},
    {"fp8_e5m2fnuz.csv", "e5m2fnuz", 2, TP_FLOAT8_E5M2FNUZ},
    {"cast_e2m3.csv", "e2m3", 1, TP_DTYPE_COUNT},
    {"cast_e3m2.csv", "e3m2", 1, TP_DTYPE_COUNT},
    {"cast_e2m1.csv", "e2m1", 1, TP_DTYPE_COUNT},
    {"bf16.csv", "bf16", 1, TP_BFLOAT16},
    {"fp16.csv", "fp16", 1, TP_FLOAT16},
};
enum { CAST_FILES = sizeof cast_files / sizeof *cast_files };

/* Scans a content with one elementwise cast, whose target is the same. */
static void compare_cast(struct bench *bench, const struct content *c,
                         const struct tp_quant_spec *spec, struct laid *laid)
{
    const struct tp_scan_request request = {
        .target = spec->number, .specs = spec, .spec_count = 1, .dims_keep = 8};
    lay_out(c, ODD_COLUMNS, ROWS, laid);
    compare(bench, &laid->tensor, &request, c->name);
    free(laid->memory.bytes);
    check_values(c, laid->count);
}

Test(device_vectors, casts)
{
    struct bench bench;
    struct laid laid;
    bench_begin(&bench);
    for (size_t i = 0; i < CAST_FILES; i++) {
        const struct cast_file *f = &cast_files[i];
        for (int column = 0; column < f->columns; column++) {
            struct tp_quant_spec spec = {.number = number_in(f->format),
                                         .rounding = (enum tp_rounding)column};
            load_casts(f->file, f->format, column, &content, &fates);
            compare_cast(&bench, &content, &spec, &laid);
            if (column == 0)
                check_target(&content, &fates, laid.count);
            check_cast(&content, &fates, 0, laid.count);
            if (f->dtype == TP_DTYPE_COUNT)
                continue;
            content_begin(&content, f->dtype, f->file);
            add_codes(f->file, f->format, column, &content);
            compare_cast(&bench, &content, &spec, &laid);
        }
    }
    bench_end(&bench);
}

/* --- values of codes, steps, hybrids, all patterns ------------------------ */

/* One format of the tables of codes, as its own dtype or as values of another;
 * NULL is E8M0. */
static void load_table(const char *format, enum tp_dtype dtype,
                       struct content *c)
{
    content_begin(c, dtype, format ? format : "e8m0");
    if (!format) {
        struct vectors v = vectors_open("e8m0_codes.csv");
        while (vectors_next(&v))
            content_add(c, (uint32_t)strtoul(v.field[0], NULL, 16),
                        strtod(v.field[1], NULL));
        return;
    }
    const struct vector_codes codes = vectors_codes(format);
    for (int i = 0; i < codes.count; i++) {
        const float value = (float)codes.value[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        content_add(c,
                    dtype == TP_FLOAT32    ? bits
                    : dtype == TP_BFLOAT16 ? bits >> 16 /* exact: p <= 4 */
                                           : (uint32_t)i,
                    codes.value[i]);
    }
}

static const struct table {
    const char *format;
    enum tp_dtype dtype; /* or TP_DTYPE_COUNT                              */
} tables[] = {
    {"e4m3fn", TP_FLOAT8_E4M3FN},     {"e5m2", TP_FLOAT8_E5M2},
    {"e4m3fnuz", TP_FLOAT8_E4M3FNUZ}, {"e5m2fnuz", TP_FLOAT8_E5M2FNUZ},
    {"hif8", TP_DTYPE_COUNT},         {"e2m3", TP_DTYPE_COUNT},
    {"e3m2", TP_DTYPE_COUNT},         {"e2m1", TP_DTYPE_COUNT},
    {NULL, TP_FLOAT8_E8M0FNU},
};
enum { TABLES = sizeof tables / sizeof *tables };

/* What a format holds, it keeps; but infinity counts as an overflow. */
static void check_kept(const struct tp_quant_error *error, const char *name)
{
    cr_assert_gt(error->summed, 0);
    cr_assert_eq(error->sum_dd, 0, "%s", name);
    cr_assert_eq(error->nonfinite_out, 0, "%s", name);
    cr_assert_eq(error->underflow, 0, "%s", name);
}

Test(device_vectors, values_of_codes)
{
    static const enum tp_dtype wide[] = {TP_FLOAT32, TP_FLOAT64, TP_BFLOAT16};
    struct bench bench;
    struct laid laid;
    bench_begin(&bench);
    for (size_t i = 0; i < TABLES; i++) {
        const char *format = tables[i].format;
        const struct tp_quant_spec spec = {
            .number = number_in(format ? format : "bf16")};
        if (tables[i].dtype != TP_DTYPE_COUNT) {
            load_table(format, tables[i].dtype, &content);
            compare_cast(&bench, &content, &spec, &laid);
            if (format)
                check_kept(&there.errors[0], content.name);
        }
        for (size_t j = 0; format && j < sizeof wide / sizeof *wide; j++) {
            load_table(format, wide[j], &content);
            compare_cast(&bench, &content, &spec, &laid);
            check_kept(&there.errors[0], content.name);
        }
    }
    bench_end(&bench);
}

/* Adds the last pattern before a step, and the first after it. */
static void add_step(uint32_t first, double below, double above,
                     const struct tp_number *number)
{
    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t i = first > 0 ? 0 : 1; i < 2; i++) {
            const double q = i == 0 ? below : above;
            add_float(&content, sign << 31 | (first - 1 + i));
            fates_add(&fates, content.n - 1, sign ? -q : q, number->min_normal,
                      isfinite(content.value[content.n - 1]) && !isfinite(q));
        }
    }
}

static void scan_steps(struct bench *bench, const struct tp_quant_spec *spec)
{
    struct laid laid;
    compare_cast(bench, &content, spec, &laid);
    check_cast(&content, &fates, 0, laid.count);
    if (spec->rounding == TP_ROUND_DEFAULT)
        check_target(&content, &fates, laid.count);
}

Test(device_vectors, thresholds)
{
    struct bench bench;
    struct vector_codes codes = {.count = 0};
    struct tp_quant_spec spec = {.number = NULL};
    struct vectors v = vectors_open("thresholds.csv");
    char cast[32] = "";
    double below = 0;
    bench_begin(&bench);
    while (vectors_next(&v)) {
        if (strcmp(cast, v.field[0]) != 0) {
            if (*cast)
                scan_steps(&bench, &spec);
            snprintf(cast, sizeof cast, "%s", v.field[0]);
            content_begin(&content, TP_FLOAT32, cast);
            char *mode = strchr(v.field[0], '_');
            *mode++ = '\0';
            codes = vectors_codes(v.field[0]);
            spec.number = number_in(v.field[0]);
            const bool sat = strcmp(mode, "sat") == 0 || strstr(mode, "_sat");
            const bool can = spec.number->has_inf || spec.number->bits == 8;
            spec.rounding = strcmp(mode, "te") == 0 ? TP_ROUND_EVEN
                            : sat && can            ? TP_ROUND_SATURATE
                                                    : TP_ROUND_DEFAULT;
            fates.block = 1;
            fates.known =
                KNOWS_SMALL | KNOWS_RESULT | (can ? KNOWS_OVERFLOW : 0);
        }
        const double value = codes.value[strtoul(v.field[1], NULL, 16)];
        add_step((uint32_t)strtoul(v.field[2], NULL, 16), below, value,
                 spec.number);
        below = value;
    }
    scan_steps(&bench, &spec);
    cr_assert_eq(bench.scans, 14);
    bench_end(&bench);
}

/* Adds the bits of one source of 16 bits, and what HiF8 makes of them. */
static void add_hybrids(enum tp_dtype source, struct content *c)
{
    const struct vector_codes codes = vectors_codes("hif8");
    const bool half = source == TP_FLOAT16;
    struct vectors v = vectors_open("hif8_hybrid16.csv");
    while (vectors_next(&v)) {
        if (strcmp(v.field[0], half ? "f16" : "bf16") != 0)
            continue;
        const uint32_t bits = (uint32_t)strtoul(v.field[1], NULL, 16);
        content_add(c, bits, ieee_value(bits, 16, half ? 5 : 8));
        fates_add(&fates, c->n - 1, codes.value[strtoul(v.field[2], NULL, 16)],
                  0x1p-15, false);
    }
}

Test(device_vectors, hybrids)
{
    static const enum tp_dtype sources[] = {TP_FLOAT16, TP_BFLOAT16};
    const struct tp_quant_spec spec = {.number = tp_number_by_id("hif8"),
                                       .rounding = TP_ROUND_HYBRID};
    struct bench bench;
    struct laid laid;
    bench_begin(&bench);
    fates.known = KNOWS_SMALL | KNOWS_RESULT;
    fates.block = 1;
    for (int i = 0; i < 2; i++) {
        content_begin(&content, sources[i], "hif8_hybrid16.csv");
        add_hybrids(sources[i], &content);
        compare_cast(&bench, &content, &spec, &laid);
        check_cast(&content, &fates, 0, laid.count);
    }
    bench_end(&bench);
}

/* exhaustive_crc32.csv is of all patterns. */
Test(device_vectors, all_patterns)
{
    static const enum tp_dtype dtypes[] = {TP_FLOAT16, TP_BFLOAT16};
    const struct tp_quant_spec spec = {.number = tp_number_by_id("hif8"),
                                       .rounding = TP_ROUND_HYBRID};
    struct bench bench;
    struct laid laid;
    bench_begin(&bench);
    for (int i = 0; i < 2; i++) {
        content_begin(&content, dtypes[i], "patterns");
        for (uint32_t bits = 0; bits < MOST; bits++)
            content_add(&content, bits, ieee_value(bits, 16, i == 0 ? 5 : 8));
        compare_cast(&bench, &content, &spec, &laid);
    }
    bench_end(&bench);
}

/* --- normal values -------------------------------------------------------- */

/* One value of each of equal shares of a normal distribution, as binary64. */
static void load_shares(size_t n, struct content *c)
{
    content_begin(c, TP_FLOAT64, "normal");
    for (size_t i = 0; i < n / 2; i++) {
        const double x = gaussian_tail(((double)i + 0.5) / (double)n);
        content_add(c, 0, x);
        content_add(c, 0, -x);
    }
    content_add(c, 0, 0);
}

/* Every eleventh row, which meets all formats and sizes. */
Test(device_vectors, normal_values)
{
    enum { EVERY = 11, N = 157 * ODD_COLUMNS };
    static struct content scaled;
    struct bench bench;
    struct laid laid;
    struct vectors v = vectors_open("gaussian_direct.csv");
    bench_begin(&bench);
    load_shares(N, &content);
    for (int row = 0; vectors_next(&v); row++) {
        const double sigma = exp2(strtod(v.field[1], NULL));
        const struct tp_scan_request request = {.target =
                                                    number_in(v.field[0])};
        if (row % EVERY != 0)
            continue;
        content_begin(&scaled, TP_FLOAT64, v.field[0]);
        for (size_t i = 0; i < content.n; i++)
            content_add(&scaled, 0, content.value[i] * sigma);
        lay_out(&scaled, ODD_COLUMNS, ROWS, &laid);
        cr_assert_eq(laid.count, N);
        compare(&bench, &laid.tensor, &request, scaled.name);
        free(laid.memory.bytes);
        const struct tp_counts *got = &there.result.summary.counts;
        const double over =
            (double)(got->upper_overflow + got->lower_overflow) / N;
        const double zero = (double)(got->zero + got->underflow) / N;
        /* the ends of two shares, and one zero */
        cr_assert_float_eq(zero, strtod(v.field[4], NULL), 3.0 / N, "%s: %g",
                           scaled.name, zero);
        cr_assert_float_eq(over, strtod(v.field[5], NULL), 3.0 / N, "%s: %g",
                           scaled.name, over);
    }
    cr_assert_gt(bench.scans, 40);
    bench_end(&bench);
}

/* --- everything against all targets --------------------------------------- */

/* Adds the binary32 words of one column: a value, or a block of them. */
static void add_words(const char *file, int field, struct content *c)
{
    struct vectors v = vectors_open(file);
    while (vectors_next(&v)) {
        for (char *word = strtok(v.field[field], " "); word;
             word = strtok(NULL, " "))
            add_float(c, (uint32_t)strtoul(word, NULL, 16));
    }
}

static void load_inputs(struct content *c)
{
    content_begin(c, TP_FLOAT32, "inputs");
    for (size_t i = 0; i < CAST_FILES; i++)
        add_words(cast_files[i].file, 0, c);
    add_words("thresholds.csv", 2, c);
    add_words("mx_scale_modes.csv", 1, c);
}

static void load_blocks(struct content *c)
{
    static const char *const files[] = {
        "mxfp8_e4m3.csv",       "mxfp8_e5m2.csv", "mxfp8_e4m3_rceil.csv",
        "mxfp8_e5m2_rceil.csv", "mxfp6_e2m3.csv", "mxfp6_e3m2.csv",
        "mxfp4_e2m1.csv",       "nvfp4_te.csv"};
    content_begin(c, TP_FLOAT32, "blocks");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        add_words(files[i], 5, c);
}

/* All codes of a dtype that the vectors have, in their order. */
static void load_dtype(enum tp_dtype dtype, struct content *c)
{
    content_begin(c, dtype, "codes");
    for (size_t i = 0; i < CAST_FILES; i++)
        for (int j = 0; j < cast_files[i].columns; j++)
            if (cast_files[i].dtype == dtype)
                add_codes(cast_files[i].file, cast_files[i].format, j, c);
    if (dtype == TP_FLOAT16 || dtype == TP_BFLOAT16)
        add_hybrids(dtype, c);
}

/* Every cast, with some rule of blocks: `turn` says which. */
static size_t all_specs(int turn, struct tp_quant_spec *specs)
{
    size_t count = 0;
    for (const struct tp_number *n = tp_number_formats; n->id; n++) {
        const bool element = n->kind == TP_NUMBER_ELEMENT;
        for (int i = 0; i < TP_ROUND_COUNT && element; i++)
            if (i < TP_ROUND_EVEN || n->ties_away)
                specs[count++] = (struct tp_quant_spec){
                    .number = n, .rounding = (enum tp_rounding)i};
        for (int i = 0; i < TP_NONFINITE_COUNT && !element; i++)
            specs[count++] = (struct tp_quant_spec){
                .number = n,
                .nonfinite = (enum tp_nonfinite)i,
                .rule = (enum tp_scale_rule)((turn + (n - tp_number_formats)) %
                                             TP_SCALE_COUNT)};
    }
    cr_assert_leq(count, TP_SCAN_SPECS);
    return count;
}

/* Every target, blocks by every rule: across rows, or down columns. */
static void scan_targets(struct bench *bench, const struct content *c,
                         size_t columns, enum layout layout)
{
    struct laid laid;
    lay_out(c, columns, layout, &laid);
    for (const struct tp_number *n = tp_number_formats; n->id; n++) {
        for (int rule = 0; rule < TP_SCALE_COUNT; rule++) {
            const struct tp_scan_request request = {
                .target = n,
                .scale_rule = (enum tp_scale_rule)rule,
                .nonfinite = (enum tp_nonfinite)(rule % TP_NONFINITE_COUNT),
                .block_axis = layout == DOWN};
            if (n->kind == TP_NUMBER_MX || rule == 0)
                compare(bench, &laid.tensor, &request, c->name);
        }
    }
    free(laid.memory.bytes);
}

/* Every cast and statistics by index, of whole and of strided tensors. */
static void scan_casts(struct bench *bench, const struct content *c, int turn)
{
    struct tp_quant_spec specs[TP_SCAN_SPECS];
    for (int layout = ROWS; layout <= DOWN_TURNED; layout++) {
        struct laid laid;
        const struct tp_scan_request request = {
            .specs = specs,
            .spec_count = all_specs(turn + layout, specs),
            .block_axis = layout == DOWN,
            .dims_keep = TP_DIM_KEPT};
        lay_out(c, layout == DOWN ? BLOCK_COLUMNS : ODD_COLUMNS,
                (enum layout)layout, &laid);
        compare(bench, &laid.tensor, &request, c->name);
        free(laid.memory.bytes);
        check_values(c, laid.count);
    }
}

static void scan_everything(struct bench *bench, const struct content *c,
                            int turn)
{
    if (turn % 2)
        scan_targets(bench, c, BLOCK_COLUMNS, DOWN);
    else /* the last block of a row is short */
        scan_targets(bench, c, ODD_COLUMNS, ROWS);
    scan_casts(bench, c, turn);
}

Test(device_vectors, values_against_all_targets)
{
    struct bench bench;
    bench_begin(&bench);
    load_inputs(&content);
    scan_everything(&bench, &content, 0);
    load_blocks(&content);
    scan_everything(&bench, &content, 1);
    scan_targets(&bench, &content, BLOCK_COLUMNS, ROWS);
    load_table("hif8", TP_FLOAT64, &content);
    scan_everything(&bench, &content, 2);
    bench_end(&bench);
}

Test(device_vectors, codes_against_all_targets)
{
    static const enum tp_dtype dtypes[] = {
        TP_FLOAT16,         TP_BFLOAT16,        TP_FLOAT8_E4M3FN,
        TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E5M2FNUZ, TP_FLOAT8_E5M2};
    const int count = sizeof dtypes / sizeof *dtypes;
    struct bench bench;
    bench_begin(&bench);
    for (int i = 0; i < count; i++) {
        load_dtype(dtypes[i], &content);
        scan_everything(&bench, &content, i);
    }
    load_table(NULL, TP_FLOAT8_E8M0FNU, &content);
    scan_everything(&bench, &content, count);
    bench_end(&bench);
}
