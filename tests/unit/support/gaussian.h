/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_GAUSSIAN_H
#define TP_TESTS_GAUSSIAN_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantize.h"
#include "tests/unit/support/testdata.h"
#include "tests/unit/support/words.h"
#include "tests/unit/support/xorshift.h"

/*
 * SQNR of normal values against vectors/gaussian_direct.csv and
 * gaussian_mx.csv, which are integrals. Rows that are more than `tolerance`
 * dB away are counted, and named on stdout.
 */
struct gaussian {
    double tolerance;
    size_t samples;  /* of each row                                  */
    double rare;     /* rows are left out whose overflow is rarer, yet
                        counts in the integral: the samples are too few
                        to show it                                   */
    int rows, wrong; /* out                                          */
    double furthest; /* out, dB                                      */
};

enum { GAUSSIAN_PIECE = 4096, GAUSSIAN_ROWS = 512 };

static inline FILE *gaussian_open(const char *name)
{
    char below[256], path[4096];
    snprintf(below, sizeof below, "vectors/%s", name);
    testdata_path(below, path, sizeof path);
    FILE *file = fopen(path, "r");
    char header[256];
    if (file && !fgets(header, sizeof header, file)) {
        fclose(file);
        file = NULL;
    }
    return file;
}

static inline double gaussian_uniform(uint64_t *state)
{
    return ((double)(xorshift(state) >> 12) + 0.5) * 0x1p-52;
}

/* Random normal values. */
static inline void gaussian_random(uint64_t *state, double *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        const double r = sqrt(-2 * log(gaussian_uniform(state)));
        const double turn = 6.283185307179586 * gaussian_uniform(state);
        x[i] = r * cos(turn);
        x[i + 1] = r * sin(turn);
    }
}

/* The point above which `p` of a normal distribution lies, p <= 1/2: Newton's
 * method, from the right of a convex function's zero. */
static inline double gaussian_tail(double p)
{
    double x = 0;
    for (int i = 0; i < 100; i++) {
        const double density = exp(-x * x / 2) / 2.5066282746310002;
        const double step = (erfc(x / 1.4142135623730951) / 2 - p) / density;
        x += step;
        if (fabs(step) < 1e-13 * fabs(x))
            break;
    }
    return x;
}

static inline void gaussian_judge(struct gaussian *g, const char *what,
                                  double got, double known)
{
    const double far = fabs(got - known);
    g->rows++;
    if (far > g->furthest)
        g->furthest = far;
    if (!(far <= g->tolerance)) {
        printf("%s: %.4f dB, not %.4f\n", what, got, known);
        g->wrong++;
    }
}

struct gaussian_row {
    char format[16];
    double log2_sigma, known;
    struct tp_quant_spec spec;
    struct tp_quant_error error;
};

static inline int gaussian_read(FILE *file, double rare,
                                struct gaussian_row *rows)
{
    int n = 0;
    double mse, zero, over;
    struct gaussian_row r;
    memset(&r, 0, sizeof r);
    while (n < GAUSSIAN_ROWS &&
           fscanf(file, " %15[^,],%lf,%lf,%lf,%lf,%lf", r.format,
                  &r.log2_sigma, &mse, &r.known, &zero, &over) == 6) {
        r.spec.number = tp_number_by_id(
            strcmp(r.format, "e4m3fn") == 0 ? "e4m3" : r.format);
        r.spec.rounding =
            over > 1e-6 ? TP_ROUND_SATURATE : TP_ROUND_DEFAULT;
        if (over < 1e-9 || over >= rare) /* hardly ever, or often enough */
            rows[n++] = r;
    }
    return n;
}

/* The next piece: one value of each of `samples` equal shares. */
static inline void gaussian_piece(size_t done, size_t samples,
                                  uint64_t *state, double *x)
{
    for (size_t i = 0; i < GAUSSIAN_PIECE; i += 2) {
        x[i] = gaussian_tail(
            ((double)((done + i) / 2) + gaussian_uniform(state)) /
            (double)samples);
        x[i + 1] = -x[i];
    }
}

/* Elementwise casts; false without the file. */
static inline int gaussian_direct(struct gaussian *g)
{
    static struct gaussian_row rows[GAUSSIAN_ROWS];
    FILE *file = gaussian_open("gaussian_direct.csv");
    if (!file)
        return 0;
    const int n = gaussian_read(file, g->rare, rows);
    fclose(file);
    uint64_t state = 88172645463325252u;
    double x[GAUSSIAN_PIECE], y[GAUSSIAN_PIECE];
    for (size_t done = 0; done < g->samples; done += GAUSSIAN_PIECE) {
        gaussian_piece(done, g->samples, &state, x);
        for (int i = 0; i < n; i++) {
            const double sigma = exp2(rows[i].log2_sigma);
            for (int j = 0; j < GAUSSIAN_PIECE; j++)
                y[j] = x[j] * sigma;
            tp_quant_values(
                &rows[i].spec,
                &(struct tp_quant_rows){.dtype = TP_FLOAT64,
                                        .codes = y,
                                        .rows = 1,
                                        .row_length = GAUSSIAN_PIECE},
                &rows[i].error);
        }
    }
    for (int i = 0; i < n; i++) {
        struct tp_quant_metrics metrics;
        char what[64];
        snprintf(what, sizeof what, "%.15s at sigma 2^%.1f", rows[i].format,
                 rows[i].log2_sigma);
        tp_quant_metrics_of(&rows[i].error, &metrics);
        gaussian_judge(g, what, metrics.sqnr_db, rows[i].known);
    }
    return 1;
}

static inline struct tp_quant_metrics
gaussian_block_metrics(const struct tp_quant_spec *spec, size_t samples,
                       double sigma)
{
    uint64_t state = 88172645463325252u;
    double x[GAUSSIAN_PIECE];
    struct tp_quant_error error = {0};
    struct tp_quant_metrics metrics;
    for (size_t done = 0; done < samples; done += GAUSSIAN_PIECE) {
        gaussian_random(&state, x, GAUSSIAN_PIECE);
        for (int i = 0; i < GAUSSIAN_PIECE; i++)
            x[i] *= sigma;
        tp_quant_blocks(spec,
                        &(struct tp_quant_rows){.dtype = TP_FLOAT64,
                                                .codes = x,
                                                .rows = 1,
                                                .row_length = GAUSSIAN_PIECE},
                        &error);
    }
    tp_quant_metrics_of(&error, &metrics);
    return metrics;
}

/* Block formats at sigma 1, and in the mean over an octave of sigmas. */
static inline int gaussian_blocks(struct gaussian *g)
{
    FILE *file = gaussian_open("gaussian_mx.csv");
    char element[16], rule[16], what[64];
    int block;
    double mse, db, mean, low, high, clips;
    if (!file)
        return 0;
    while (fscanf(file, " %15[^,],%d,%15[^,],%lf,%lf,%lf,%lf,%lf,%lf",
                  element, &block, rule, &mse, &db, &mean, &low, &high,
                  &clips) == 9) {
        if (strcmp(element, "e4m3fn") == 0)
            element[4] = '\0';
        struct tp_number number = {.id = NULL};
        for (const struct tp_number *row = tp_number_formats; row->id; row++)
            if (row->kind == TP_NUMBER_MX &&
                strcmp(row->element, element) == 0)
                number = *row;
        if (!number.id)
            return 0;
        number.block = block; /* also 16, which no format of ours has */
        const struct tp_quant_spec spec = {
            .number = &number, .rule = scale_rule_of(rule)};
        const struct tp_quant_metrics one =
            gaussian_block_metrics(&spec, g->samples, 1);
        snprintf(what, sizeof what, "%s by %d, %s", element, block, rule);
        gaussian_judge(g, what, one.sqnr_db, db);
        if (fabs(one.saturated_block_ratio - clips) > 0.005) {
            printf("%s: %g of the blocks saturate, not %g\n", what,
                   one.saturated_block_ratio, clips);
            g->wrong++;
        }
        double sum = 0;
        for (int i = 0; i < 8; i++)
            sum += gaussian_block_metrics(&spec, g->samples / 8,
                                          exp2((i + 0.5) / 8)).sqnr_db;
        strcat(what, ", octave");
        gaussian_judge(g, what, sum / 8, mean);
    }
    fclose(file);
    return 1;
}

#endif
