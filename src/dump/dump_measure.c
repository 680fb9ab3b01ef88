/* SPDX-License-Identifier: MIT */
/*
 * A pass over the tensor with sinks for values, CRC-32 and xor. Values are
 * decoded to doubles in blocks; extrema are exact, sums are taken in lanes,
 * then by piece and range in a fixed order, so that their error is far below
 * what float32 arithmetic did to the numbers they are compared with. A scan
 * (scan/scan.h) would give more than is wanted here, exact quantiles, for two
 * or three readings, and no checksum of the bytes.
 *
 * Files of msprobe hold one contiguous tensor, so the checksum of the bytes is
 * the one that the container has of its record: one reading checks both. Older
 * dumps may hold views; those are read once more in logical order.
 *
 * Cost: one reading, about ten operations a value.
 */
#include "dump/dump_measure.h"

#include <float.h>
#include <libdeflate.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "scan/scan_crc.h"

enum {
    BLOCK = 512, /* values at a time: they stay in the first level cache   */
    LANES = 8,
    /* A tensor whose axes repeat its storage is written out for a checksum up
     * to so many times the storage: nobody saves such but by accident. */
    REPEAT_MAX = 64
};

/* --- values --------------------------------------------------------------- */

/* All-zero bytes: no values. */
struct sums {
    uint64_t nan, pos_inf, neg_inf, finite;
    double max, min; /* of the finite                                      */
    double sum, sum_abs, sum_squares;
};

static double add_lanes(const double *lane)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

/* Adds finite values, one at least. */
static void add_finite(const double *v, size_t n, struct sums *sums)
{
    double sum[LANES] = {0}, abs[LANES] = {0}, squares[LANES] = {0};
    double max = v[0], min = v[0];
    size_t whole = n - n % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            sum[k] += v[i + k];
            abs[k] += fabs(v[i + k]);
            squares[k] += v[i + k] * v[i + k];
        }
    }
    for (size_t i = whole; i < n; i++) {
        sum[i - whole] += v[i];
        abs[i - whole] += fabs(v[i]);
        squares[i - whole] += v[i] * v[i];
    }
    for (size_t i = 0; i < n; i++) {
        max = v[i] > max ? v[i] : max;
        min = v[i] < min ? v[i] : min;
    }
    sums->max = sums->finite && sums->max > max ? sums->max : max;
    sums->min = sums->finite && sums->min < min ? sums->min : min;
    sums->finite += n;
    sums->sum += add_lanes(sum);
    sums->sum_abs += add_lanes(abs);
    sums->sum_squares += add_lanes(squares);
}

/* Counts what is not finite, and closes up the rest: how many are left. */
static size_t take_out(double *v, size_t n, struct sums *sums)
{
    size_t finite = 0;
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all &= fabs(v[i]) <= DBL_MAX;
    if (all)
        return n;
    for (size_t i = 0; i < n; i++) {
        sums->nan += isnan(v[i]);
        sums->pos_inf += v[i] > DBL_MAX;
        sums->neg_inf += v[i] < -DBL_MAX;
        if (isfinite(v[i]))
            v[finite++] = v[i];
    }
    return finite;
}

/* Magnitudes of complex numbers in place of their parts. */
static size_t take_magnitudes(double *v, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        v[i] = hypot(v[2 * i], v[2 * i + 1]);
    return n / 2;
}

static void take_values(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        void *part, void *scratch)
{
    const struct tp_span span = tp_piece_span(pass, piece);
    const size_t size = pass->size / pass->parts;
    double v[BLOCK];
    (void)state, (void)scratch;
    for (size_t at = 0; at < span.n; at += BLOCK) {
        size_t n = span.n - at < BLOCK ? span.n - at : BLOCK;
        tp_dtype_decode(span.dtype,
                        (const unsigned char *)span.codes + at * size, n, v);
        if (pass->parts == 2)
            n = take_magnitudes(v, n);
        n = take_out(v, n, part);
        if (n > 0)
            add_finite(v, n, part);
    }
}

static void merge_values(void *state, const void *part)
{
    struct sums *into = state;
    const struct sums *from = part;
    into->nan += from->nan;
    into->pos_inf += from->pos_inf;
    into->neg_inf += from->neg_inf;
    if (from->finite == 0)
        return;
    if (into->finite == 0 || from->max > into->max)
        into->max = from->max;
    if (into->finite == 0 || from->min < into->min)
        into->min = from->min;
    into->finite += from->finite;
    into->sum += from->sum;
    into->sum_abs += from->sum_abs;
    into->sum_squares += from->sum_squares;
}

static const struct tp_sink sink_values = {.part_size = sizeof(struct sums),
                                           .piece = take_values,
                                           .merge = merge_values};

/* A walk may visit one element for `repeat` of them. */
static void set_statistics(const struct sums *sums, uint64_t repeat,
                           struct tp_dump_measure *measure)
{
    const double n = (double)sums->finite;
    measure->nan = sums->nan * repeat;
    measure->pos_inf = sums->pos_inf * repeat;
    measure->neg_inf = sums->neg_inf * repeat;
    measure->max = sums->finite ? sums->max : NAN;
    measure->min = sums->finite ? sums->min : NAN;
    if (sums->pos_inf)
        measure->max = INFINITY;
    if (sums->neg_inf)
        measure->min = -INFINITY;
    if (!sums->finite && sums->pos_inf + sums->neg_inf) {
        measure->max = sums->pos_inf ? INFINITY : -INFINITY;
        measure->min = sums->neg_inf ? -INFINITY : INFINITY;
    }
    if (!sums->finite)
        return;
    measure->mean = sums->sum / n;
    measure->mean_abs = sums->sum_abs / n;
    measure->norm = sqrt(sums->sum_squares * (double)repeat);
}

/* --- bytes ---------------------------------------------------------------- */

/* Bytes of a piece that are new, and how many. */
static const unsigned char *fresh_bytes(const struct tp_pass *pass,
                                        const struct tp_piece *piece,
                                        size_t *count)
{
    *count = (size_t)(piece->end - piece->fresh) * pass->size;
    return piece->codes + (size_t)(piece->fresh - piece->begin) * pass->size;
}

static void take_words(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    size_t n;
    const unsigned char *bytes = fresh_bytes(pass, piece, &n);
    uint64_t word, all = 0, *into = part;
    (void)state, (void)scratch;
    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        all ^= word;
    }
    word = 0;
    memcpy(&word, bytes, n);
    all ^= word;
    /* words begin where the tensor does, not the piece */
    const unsigned turn = (unsigned)((uint64_t)piece->fresh * pass->size % 8);
    *into ^= turn ? all << (8 * turn) | all >> (64 - 8 * turn) : all;
}

static void merge_words(void *state, const void *part)
{
    *(uint64_t *)state ^= *(const uint64_t *)part;
}

static const struct tp_sink sink_words = {
    .part_size = sizeof(uint64_t), .piece = take_words, .merge = merge_words};

/* The CRC-32 of some bytes, that can be joined to what comes before. */
struct crc_part {
    uint64_t bytes;
    uint32_t crc;
};

/* bf16 is the upper half of float32. */
static void take_wide(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, void *part, void *scratch)
{
    struct crc_part *its = part;
    size_t bytes;
    const unsigned char *codes = fresh_bytes(pass, piece, &bytes);
    uint32_t wide[BLOCK];
    (void)state, (void)scratch;
    for (size_t at = 0, count = bytes / 2; at < count; at += BLOCK) {
        const size_t n = count - at < BLOCK ? count - at : BLOCK;
        for (size_t i = 0; i < n; i++) {
            uint16_t code;
            memcpy(&code, codes + 2 * (at + i), sizeof code);
            wide[i] = (uint32_t)code << 16;
        }
        its->crc = libdeflate_crc32(its->crc, wide, n * sizeof *wide);
        its->bytes += n * sizeof *wide;
    }
}

static void merge_wide(void *state, const void *part)
{
    uint32_t *crc = state;
    const struct crc_part *its = part;
    *crc = (uint32_t)crc32_combine(*crc, its->crc, (z_off_t)its->bytes);
}

static const struct tp_sink sink_wide = {.part_size = sizeof(struct crc_part),
                                         .piece = take_wide,
                                         .merge = merge_wide};

/* --- passes --------------------------------------------------------------- */

/* Measures one tensor. */
struct measurer {
    struct tp_pass pass;
    struct sums sums;
    struct tp_crc crc;
    uint64_t xor_words;
    uint32_t wide_crc;
    struct tp_sink_use uses[4];
    size_t count;
};

static void add_use(struct measurer *m, const struct tp_sink *sink, void *state)
{
    m->uses[m->count++] = (struct tp_sink_use){sink, state, 1};
}

static void add_checksums(struct measurer *m,
                          const struct tp_dump_wanted *wanted)
{
    add_use(m, &tp_sink_crc, &m->crc);
    if (wanted->words)
        add_use(m, &sink_words, &m->xor_words);
    if (wanted->wide && m->pass.real == TP_BFLOAT16)
        add_use(m, &sink_wide, &m->wide_crc);
}

/* Whether elements lie as a reader would write them out. */
static bool is_contiguous(const struct tp_tensor *tensor)
{
    int64_t next = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->stride[i] != next)
            return false;
        next *= tensor->shape[i];
    }
    return true;
}

/* Whether the bytes of a contiguous tensor are those of the storage. */
static bool is_whole(const struct tp_tensor *tensor, size_t size)
{
    const struct tp_storage *storage = tensor->storage;
    return tensor->offset == 0 && !tensor->conjugated && !tensor->negated &&
           !storage->big_endian &&
           (uint64_t)tensor->numel * size == storage->size;
}

static enum tp_status check_storage(const struct measurer *m, bool whole)
{
    const struct tp_storage *storage = m->pass.walk.tensor->storage;
    if (!storage->has_crc32 || storage->crc_checked)
        return TP_OK;
    return whole ? tp_crc_judge(&m->crc, &m->pass)
                 : tp_crc_check_apart(&m->pass);
}

/* A tensor in one piece: one reading for all. */
static enum tp_status measure_contiguous(struct measurer *m,
                                         const struct tp_tensor *tensor,
                                         const struct tp_dump_wanted *wanted)
{
    if (wanted->statistics)
        add_use(m, &sink_values, &m->sums);
    add_checksums(m, wanted);
    tp_walk_ordered(tensor, &m->pass.walk);
    enum tp_status status = tp_pass_run(&m->pass, m->uses, m->count);
    return status == TP_OK ? check_storage(m, is_whole(tensor, m->pass.size))
                           : status;
}

static bool repeats_too_often(const struct tp_tensor *tensor, size_t size)
{
    return (double)tensor->numel * (double)size >
           REPEAT_MAX * (double)tensor->storage->size;
}

/* A view: values in any order, bytes in the order of the indices. */
static enum tp_status measure_view(struct measurer *m,
                                   const struct tp_tensor *tensor,
                                   const struct tp_dump_wanted *wanted)
{
    enum tp_status status = check_storage(m, false);
    if (status == TP_OK && wanted->statistics) {
        add_use(m, &sink_values, &m->sums);
        status = tp_pass_run(&m->pass, m->uses, m->count);
    }
    if (status != TP_OK || repeats_too_often(tensor, m->pass.size))
        return status;
    m->count = 0;
    add_checksums(m, wanted);
    struct tp_pass pass = m->pass;
    tp_walk_ordered(tensor, &pass.walk);
    return tp_pass_run(&pass, m->uses, m->count);
}

enum tp_status tp_dump_measure(struct tp_readers *readers, unsigned worker,
                               const struct tp_tensor *tensor,
                               const struct tp_dump_wanted *wanted,
                               struct tp_dump_measure *measure,
                               struct tp_error *err)
{
    *measure = (struct tp_dump_measure){.values = (uint64_t)tensor->numel,
                                        .max = NAN,
                                        .min = NAN,
                                        .mean = NAN,
                                        .mean_abs = NAN,
                                        .norm = NAN,
                                        .has_crc = true};
    if (tensor->numel == 0) /* the CRC-32 of nothing is 0 */
        return TP_OK;
    struct measurer m = {.count = 0};
    tp_pass_init(&m.pass, readers, worker, tensor, err);
    const uint64_t repeat = m.pass.walk.repeat;
    const bool contiguous = is_contiguous(tensor);
    enum tp_status status = contiguous ? measure_contiguous(&m, tensor, wanted)
                                       : measure_view(&m, tensor, wanted);
    if (status != TP_OK)
        return status;
    if (wanted->statistics)
        set_statistics(&m.sums, contiguous ? 1 : repeat, measure);
    measure->has_crc = contiguous || !repeats_too_often(tensor, m.pass.size);
    measure->crc = m.crc.crc;
    measure->wide_crc = m.wide_crc;
    measure->xor_words = m.xor_words;
    return TP_OK;
}
