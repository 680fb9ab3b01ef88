/* SPDX-License-Identifier: MIT */
/*
 * Proves casts over all 2^32 binary32 patterns (and all 2^16 of the 16-bit
 * sources) by the CRC-32 of their codes in order: every row of
 * testdata/vectors/exhaustive_crc32.csv. Then the SQNR of 2^24 normal values
 * of every row of the gaussian vectors. Run by `make check-exhaustive`, which
 * takes minutes, or with names of rows as arguments ("gaussian" for the
 * latter).
 */
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/pool.h"
#include "data/encode.h"
#include "tests/unit/support/gaussian.h"
#include "tests/unit/support/testdata.h"

/* Patterns of one task: their codes stay in the second level cache. */
enum { PIECE = 1 << 16, PIECES = 1 << 16, BATCH = 4096 };

struct cast {
    const struct tp_number *number;
    enum tp_rounding rounding;
    enum tp_dtype source;
    size_t width; /* bytes of a code */
    uint32_t *crc; /* of each piece  */
};

static void encode(const struct cast *cast, uint32_t first, uint16_t *codes)
{
    uint32_t bits[BATCH];
    for (uint32_t i = 0; i < BATCH; i++)
        bits[i] = first + i;
    if (cast->rounding != TP_ROUND_HYBRID) {
        tp_number_encode_f32(cast->number, cast->rounding, bits, BATCH, codes);
        return;
    }
    for (uint32_t i = 0; i < BATCH; i++)
        codes[i] = (uint16_t)tp_hif8_encode_hybrid(cast->source, bits[i]);
}

static void piece_task(void *context, size_t index, unsigned worker)
{
    const struct cast *cast = context;
    uint16_t codes[BATCH];
    unsigned char bytes[2 * BATCH];
    (void)worker;
    for (uint32_t i = 0; i < PIECE; i += BATCH) {
        encode(cast, (uint32_t)index * PIECE + i, codes);
        for (size_t j = 0; j < BATCH; j++) {
            bytes[j * cast->width] = (unsigned char)codes[j];
            if (cast->width == 2)
                bytes[2 * j + 1] = (unsigned char)(codes[j] >> 8);
        }
        cast->crc[index] = libdeflate_crc32(cast->crc[index], bytes,
                                            BATCH * cast->width);
    }
}

/* "e4m3fn_nosat", "hif8_hybrid_bf16", "fp16", ... */
static int cast_by_name(const char *name, struct cast *cast)
{
    char format[32];
    snprintf(format, sizeof format, "%.*s", (int)strcspn(name, "_"), name);
    const char *mode = name + strlen(format);
    cast->number =
        tp_number_by_id(strcmp(format, "e4m3fn") == 0 ? "e4m3" : format);
    cast->source = strcmp(mode, "_hybrid_fp16") == 0   ? TP_FLOAT16
                   : strcmp(mode, "_hybrid_bf16") == 0 ? TP_BFLOAT16
                                                       : TP_FLOAT32;
    cast->rounding = strncmp(mode, "_hybrid", 7) == 0 ? TP_ROUND_HYBRID
                     : strcmp(mode, "_te") == 0       ? TP_ROUND_EVEN
                     : strcmp(mode, "_sat") == 0 ||
                             strcmp(mode, "_ta_sat") == 0
                         ? TP_ROUND_SATURATE
                         : TP_ROUND_DEFAULT;
    if (!cast->number)
        return 0;
    cast->width = cast->number->bits > 8 ? 2 : 1;
    return 1;
}

static uint32_t crc_of(struct tp_pool *pool, struct cast *cast)
{
    const size_t pieces = cast->source == TP_FLOAT32 ? PIECES : 1;
    cast->crc = calloc(pieces, sizeof *cast->crc);
    if (!cast->crc)
        abort();
    tp_pool_for(pool, pieces, piece_task, cast);
    uint32_t crc = 0;
    for (size_t i = 0; i < pieces; i++)
        crc = (uint32_t)crc32_combine(crc, cast->crc[i],
                                      (z_off_t)(PIECE * cast->width));
    free(cast->crc);
    return crc;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int asked_for(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 2;
}

static FILE *open_vectors(void)
{
    char path[4096];
    testdata_path("vectors/exhaustive_crc32.csv", path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file)
        printf("no vectors at %s\n", path);
    return file;
}

static int wrong_gaussians(void)
{
    /* what happens to less than one in 10^6 does not show in 2^24 */
    struct gaussian direct = {
        .tolerance = 0.02, .samples = 1 << 24, .rare = 1e-6};
    struct gaussian blocks = {.tolerance = 0.02, .samples = 1 << 24};
    const double begin = now();
    if (!gaussian_direct(&direct) || !gaussian_blocks(&blocks))
        return 1;
    printf("gaussian: %d and %d rows, furthest %.4f and %.4f dB, %d wrong; "
           "%.1f s\n",
           direct.rows, blocks.rows, direct.furthest, blocks.furthest,
           direct.wrong + blocks.wrong, now() - begin);
    return direct.wrong + blocks.wrong + (direct.rows < 470) +
           (blocks.rows < 48);
}

int main(int argc, char **argv)
{
    struct tp_pool *pool;
    char line[128];
    int wrong = 0, rows = 0;
    FILE *file = open_vectors();
    if (!file)
        return 99;
    if (tp_pool_new(tp_pool_processors(), &pool, NULL) != TP_OK)
        return 99;
    while (fgets(line, sizeof line, file)) {
        struct cast cast;
        char *comma = strchr(line, ',');
        if (!comma)
            continue;
        *comma = '\0';
        if (strcmp(line, "output") == 0 || !asked_for(line, argc, argv))
            continue;
        const uint32_t expected = (uint32_t)strtoul(comma + 1, NULL, 16);
        const double begin = now();
        const int known = cast_by_name(line, &cast);
        const uint32_t crc = known ? crc_of(pool, &cast) : 0;
        const int right = known && crc == expected;
        printf("%-18s %08x %s  %.1f s\n", line, (unsigned)crc,
               right ? "ok" : "WRONG", now() - begin);
        fflush(stdout);
        wrong += !right;
        rows++;
    }
    fclose(file);
    tp_pool_free(pool);
    printf("%d casts, %d wrong\n", rows, wrong);
    if (asked_for("gaussian", argc, argv)) {
        wrong += wrong_gaussians();
        rows++;
    }
    return wrong > 0 || rows == 0;
}
