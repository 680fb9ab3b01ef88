/* SPDX-License-Identifier: MIT */
/*
 * Seconds of processor time, and bytes of bfloat16 a second, of a scan with
 * and without casts: normal values in memory, one job. Prints one line each:
 *
 *     casts [MiB]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/isa.h"
#include "scan/scan.h"

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer,
                                  size_t length, struct tp_error *err)
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

/* Normal values; the first 2^20 are repeated in another order. */
static void fill(uint16_t *codes, size_t n)
{
    enum { SOME = 1 << 20 };
    static uint16_t some[SOME];
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < SOME; i++) {
        const float x = (float)(sqrt(-2 * log(uniform(&state))) *
                                cos(6.283185307179586 * uniform(&state)));
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        some[i] = (uint16_t)(bits >> 16);
    }
    for (size_t i = 0; i < n; i++)
        codes[i] = some[(i + i / SOME * 31) % SOME];
}

static struct tp_scan_result result;

static double seconds(struct tp_scanner *scanner, struct tp_tensor *tensor,
                      const struct tp_quant_spec *specs, size_t n)
{
    struct tp_quant_error errors[TP_SCAN_SPECS];
    struct tp_error err = {.code = TP_OK};
    const struct tp_scan_request request = {
        .specs = specs, .spec_count = n, .errors = errors};
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double begin = now();
        if (tp_scan(scanner, tensor, &request, &result, &err) != TP_OK)
            exit(1);
        best = fmin(best, now() - begin);
    }
    return best;
}

int main(int argc, char **argv)
{
    static const char *const sets[][8] = {
        {NULL},
        {"hif8"},
        {"mxfp8_e4m3"},
        {"mxfp8_e5m2"},
        {"mxfp4"},
        {"nvfp4"},
        {"hif8", "e4m3", "e5m2", "mxfp8_e4m3", "mxfp8_e5m2", "bf16", "fp16"},
    };
    const size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
    struct memory memory = {.storage = {.read = read_memory, .size = bytes}};
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    memory.bytes = malloc(bytes);
    if (!memory.bytes || tp_pool_new(1, &pool, NULL) != TP_OK ||
        tp_scanner_new(pool, &scanner, NULL) != TP_OK)
        return 1;
    fill((uint16_t *)(void *)memory.bytes, bytes / 2);
    const int64_t shape[] = {(int64_t)bytes / 8192, 4096};
    const int64_t stride[] = {4096, 1};
    struct tp_tensor tensor = {.path = "", .dtype = TP_BFLOAT16, .ndim = 2,
                               .shape = shape, .stride = stride,
                               .numel = (int64_t)bytes / 2,
                               .storage = &memory.storage};
    printf("%s, %zu MiB of bfloat16, one job\n", tp_isa_name(tp_isa_best()),
           bytes >> 20);
    double alone = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct tp_quant_spec specs[8] = {{.number = NULL}};
        size_t n = 0;
        for (; sets[i][n]; n++)
            specs[n].number = tp_number_by_id(sets[i][n]);
        const double s = seconds(scanner, &tensor, specs, n);
        alone = i == 0 ? s : alone;
        printf("%-12s %6.3f s, %6.2f GB/s",
               n == 1  ? sets[i][0]
               : n > 1 ? "default"
                       : "-",
               s, (double)bytes / s * 1e-9);
        if (i > 0)
            printf("; the casts alone %6.3f s, %6.2f GB/s", s - alone,
                   (double)bytes / (s - alone) * 1e-9);
        printf("\n");
    }
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    free(memory.bytes);
    return 0;
}
