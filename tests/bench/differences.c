/* SPDX-License-Identifier: MIT */
/*
 * Bytes a second of comparing two tensors with all that is measured of a pair,
 * against those of plain statistics in the same run: normal values in memory,
 * each with a relative error of about 2^-9, one job. Prints one line for each
 * pair of dtypes; with `equal`, of two equal tensors:
 *
 *     differences [MiB [equal]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/isa.h"
#include "data/encode.h"
#include "scan/difference_scan.h"
#include "scan/scan.h"

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    int64_t shape, stride; /* of the one axis */
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct memory *memory = (const struct memory *)(const void *)storage;
    (void)err;
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

/* The code nearest to a value, or near it: small formats are cut. */
static uint64_t code_of(enum tp_dtype dtype, double value)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    uint64_t code = 0;
    float single = (float)value;
    if (dtype == TP_FLOAT64) {
        memcpy(&code, &value, sizeof value);
    } else if (dtype == TP_FLOAT32) {
        memcpy(&code, &single, sizeof single);
    } else if (dtype == TP_BFLOAT16) {
        memcpy(&code, &single, sizeof single);
        code >>= 16;
    } else if (dtype == TP_BOOL) {
        code = value > 0;
    } else if (info->kind == TP_CLASS_FLOAT) {
        code = tp_number_encode(tp_number_by_id(info->format), TP_ROUND_EVEN,
                                value);
    } else {
        const int64_t whole = (int64_t)(value * 20);
        memcpy(&code, &whole, info->size);
    }
    return code;
}

enum { SOME = 1 << 18 };

/* A tensor of the values, again and again in other orders. */
static struct tp_tensor tensor_of(enum tp_dtype dtype, const double *values,
                                  size_t n, struct memory *memory)
{
    const size_t size = tp_dtype_info(dtype)->size;
    unsigned char *some = malloc(SOME * size);
    memory->storage =
        (struct tp_storage){.read = read_memory, .size = n * size};
    memory->bytes = malloc(n * size);
    memory->shape = (int64_t)n;
    memory->stride = 1;
    if (!some || !memory->bytes)
        exit(1);
    for (size_t i = 0; i < SOME; i++) {
        const uint64_t code = code_of(dtype, values[i]);
        memcpy(some + i * size, &code, size);
    }
    for (size_t i = 0; i < n; i++)
        memcpy(memory->bytes + i * size,
               some + (i + i / SOME * 31) % SOME * size, size);
    free(some);
    return (struct tp_tensor){.path = "",
                              .dtype = dtype,
                              .ndim = 1,
                              .shape = &memory->shape,
                              .stride = &memory->stride,
                              .numel = (int64_t)n,
                              .storage = &memory->storage};
}

static double seconds_of_scan(struct tp_pool *pool, struct tp_tensor *tensor)
{
    static struct tp_scan_result result;
    const struct tp_scan_request request = {.worker = 0};
    struct tp_scanner *scanner;
    double best = INFINITY;
    if (tp_scanner_new(pool, &scanner, NULL) != TP_OK)
        exit(1);
    for (int i = 0; i < 3; i++) {
        const double begin = now();
        if (tp_scan(scanner, tensor, &request, &result, NULL) != TP_OK)
            exit(1);
        best = fmin(best, now() - begin);
    }
    tp_scanner_free(scanner);
    return best;
}

static double seconds_of_pair(struct tp_pool *pool, const struct tp_tensor *x,
                              const struct tp_tensor *y)
{
    static struct tp_difference_scan scan;
    struct tp_difference_numbers numbers;
    struct tp_readers readers;
    struct tp_pair_view view;
    double best = INFINITY;
    if (tp_readers_init(&readers, pool, NULL) != TP_OK ||
        tp_pair_view_make(x, y, &view, NULL) != TP_OK)
        exit(1);
    for (int i = 0; i < 3; i++) {
        const double begin = now();
        if (tp_difference_scan(&readers, 0, &view, &scan, NULL) != TP_OK)
            exit(1);
        tp_difference_numbers(&scan.plan, &scan.difference, scan.totals,
                              &numbers);
        best = fmin(best, now() - begin);
    }
    tp_readers_clear(&readers);
    return best;
}

/* Measures a pair of so many bytes. */
static void measure(struct tp_pool *pool, const enum tp_dtype *dtypes,
                    size_t bytes, double *const *values)
{
    const struct tp_dtype_info *x = tp_dtype_info(dtypes[0]);
    const struct tp_dtype_info *y = tp_dtype_info(dtypes[1]);
    const size_t n = bytes / (size_t)(x->size + y->size);
    struct memory a, b;
    struct tp_tensor left = tensor_of(dtypes[0], values[0], n, &a);
    struct tp_tensor right = tensor_of(dtypes[1], values[1], n, &b);
    const double plain =
        seconds_of_scan(pool, &left) + seconds_of_scan(pool, &right);
    const double s = seconds_of_pair(pool, &left, &right);
    const double all = (double)n * (x->size + y->size);
    printf("%-13s %-13s %6.2f GB/s, %6.2f of plain statistics (%.2f GB/s)\n",
           x->name, y->name, all / s * 1e-9, plain / s, all / plain * 1e-9);
    free(a.bytes);
    free(b.bytes);
}

int main(int argc, char **argv)
{
    static const enum tp_dtype pairs[][2] = {
        {TP_BFLOAT16, TP_BFLOAT16},
        {TP_FLOAT32, TP_FLOAT32},
        {TP_BFLOAT16, TP_FLOAT32},
        {TP_FLOAT16, TP_FLOAT16},
        {TP_FLOAT16, TP_FLOAT32},
        {TP_BFLOAT16, TP_FLOAT16},
        {TP_FLOAT8_E4M3FN, TP_FLOAT8_E4M3FN},
        {TP_FLOAT8_E5M2, TP_FLOAT8_E5M2},
        {TP_FLOAT8_E5M2, TP_BFLOAT16},
        {TP_FLOAT64, TP_FLOAT64},
        {TP_FLOAT32, TP_FLOAT64},
        {TP_INT8, TP_INT8},
        {TP_INT8, TP_FLOAT32},
        {TP_BOOL, TP_BOOL},
        {TP_INT16, TP_INT16},
        {TP_INT32, TP_INT32},
        {TP_INT64, TP_INT64},
    };
    static double values[2][SOME];
    double *const both[] = {values[0], values[1]};
    const size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
    const double error = argc > 2 ? 0 : 0x1p-9;
    uint64_t state = 88172645463325252u;
    struct tp_pool *pool;
    if (tp_pool_new(1, &pool, NULL) != TP_OK)
        return 1;
    for (size_t i = 0; i < SOME; i++) {
        const double normal = sqrt(-2 * log(uniform(&state))) *
                              cos(6.283185307179586 * uniform(&state));
        values[0][i] = normal;
        values[1][i] = normal * (1 + error * (2 * uniform(&state) - 1) * 2);
    }
    printf("%s, %zu MiB of two tensors, one job\n", tp_isa_name(tp_isa_best()),
           bytes >> 20);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        measure(pool, pairs[i], bytes, both);
    tp_pool_free(pool);
    return 0;
}
