/* SPDX-License-Identifier: MIT */
#include "scan/scan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <criterion/criterion.h>

#include "tests/unit/support/xorshift.h"
#include "tests/unit/support/made_axes.h"

/*
 * Scans of tensors in memory: every way a tensor can lie in its storage must
 * give what its values, laid out plainly, give; and the number of jobs must
 * not be seen.
 */

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    uint64_t read;    /* bytes handed out, when one thread reads       */
    uint64_t refuse;  /* reads that touch this byte fail; 0: none does */
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer,
                                  size_t length, struct tp_error *err)
{
    struct memory *memory = (struct memory *)(void *)(uintptr_t)storage;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    if (memory->refuse >= offset && memory->refuse < offset + length &&
        memory->refuse > 0)
        return tp_fail(err, TP_E_IO, (int64_t)memory->refuse, "refused");
    memcpy(buffer, memory->bytes + offset, length);
    __atomic_fetch_add(&memory->read, length, __ATOMIC_RELAXED);
    return TP_OK;
}

/* A storage of `size` bytes, to be filled in; ends with free_memory. */
static struct memory new_memory(uint64_t size)
{
    struct memory memory = {.storage = {.read = read_memory, .size = size,
                                        .file_offset = 64}};
    memory.bytes = calloc(1, size ? size : 1);
    return memory;
}

/* Random bits: every kind of value of every dtype. */
static void fill_bits(struct memory *memory, uint64_t seed)
{
    for (uint64_t i = 0; i < memory->storage.size; i++)
        memory->bytes[i] = (unsigned char)(xorshift(&seed) >> 32);
}

/* bfloat16 of magnitude 2^-20 to 2^4, an eighth of them zero. */
static void fill_bfloat16(struct memory *memory, uint64_t seed)
{
    uint16_t *codes = (uint16_t *)(void *)memory->bytes;
    for (uint64_t i = 0; i < memory->storage.size / 2; i++) {
        uint64_t r = xorshift(&seed);
        uint64_t exponent = 107 + (r >> 8) % 25;
        codes[i] = (uint16_t)((r & 0x807f) | exponent << 7);
        if (r >> 61 == 0)
            codes[i] = 0;
    }
}

static struct tp_tensor contiguous(struct memory *memory,
                                   enum tp_dtype dtype, int ndim,
                                   const int64_t *shape)
{
    struct tp_tensor tensor = {.path = "", .dtype = dtype, .ndim = ndim,
                               .storage = &memory->storage};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    memcpy(axes->shape, shape, (size_t)ndim * sizeof *shape);
    tp_dense_strides(ndim, shape, axes->stride);
    return tensor;
}

/* All of the storage as one axis. */
static struct tp_tensor whole(struct memory *memory, enum tp_dtype dtype)
{
    int64_t n = (int64_t)(memory->storage.size / tp_dtype_info(dtype)->size);
    return contiguous(memory, dtype, 1, &n);
}

/* Everything one scan by one new scanner gives. */
static enum tp_status scan_jobs(struct tp_tensor *tensor, const char *target,
                                unsigned jobs, struct tp_scan_result *result,
                                struct tp_error *err)
{
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    struct tp_scan_request request = {
        .target = target ? tp_number_by_id(target) : NULL,
        .scale_rule = TP_SCALE_FLOOR};
    cr_assert(!target || request.target);
    cr_assert_eq(tp_tensor_check(tensor, err), TP_OK, "%s", err->message);
    cr_assert_eq(tp_pool_new(jobs, &pool, err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, err), TP_OK);
    enum tp_status status = tp_scan(scanner, tensor, &request, result, err);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    return status;
}

static void scan(struct tp_tensor *tensor, const char *target,
                 struct tp_scan_result *result)
{
    struct tp_error err = {.code = TP_OK};
    cr_assert_eq(scan_jobs(tensor, target, 1, result, &err), TP_OK, "%s",
                 err.message);
}

static struct tp_scan_result first, second;

static void assert_same(const char *what)
{
    cr_assert_eq(memcmp(&first.summary, &second.summary, sizeof first.summary),
                 0, "%s: summaries differ", what);
    cr_assert_eq(memcmp(first.quantile, second.quantile,
                        sizeof first.quantile),
                 0, "%s: quantiles differ", what);
}

Test(scan, jobs_are_not_seen)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT32,
                                           TP_FLOAT64, TP_INT64, TP_UINT8,
                                           TP_COMPLEX64};
    static const char *const targets[] = {NULL, "hif8", "mxfp8_e4m3",
                                          "nvfp4"};
    struct tp_error err = {.code = TP_OK};
    /* a few ranges of 16 MiB and a bit */
    struct memory memory = new_memory((35 << 20) + 48);
    fill_bits(&memory, 1);
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        struct tp_tensor tensor = whole(&memory, dtypes[d]);
        const char *target = targets[d % 4];
        scan(&tensor, target, &first);
        cr_assert_gt(first.summary.moments.n, 0);
        for (unsigned jobs = 2; jobs <= 4; jobs += 2) {
            scan_jobs(&tensor, target, jobs, &second, &err);
            assert_same(tp_dtype_info(dtypes[d])->name);
        }
    }
    free(memory.bytes);
}

Test(scan, small_and_large_agree)
{
    /* The same values once and nine times over: sorted and counted. */
    enum { ONCE = 30000, TIMES = 9 };
    static const enum tp_dtype dtypes[] = {TP_FLOAT16, TP_FLOAT32, TP_FLOAT64,
                                           TP_INT32, TP_UINT64, TP_COMPLEX32};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        size_t size = ONCE * (size_t)tp_dtype_info(dtypes[d])->code_size;
        struct memory one = new_memory(size), all = new_memory(size * TIMES);
        fill_bits(&one, d + 1);
        for (size_t i = 0; i < TIMES; i++)
            memcpy(all.bytes + i * size, one.bytes, size);
        struct tp_tensor few = whole(&one, dtypes[d]);
        struct tp_tensor many = whole(&all, dtypes[d]);
        scan(&few, "hif8", &first);
        scan(&many, "hif8", &second);
        const char *name = tp_dtype_info(dtypes[d])->name;
        const uint64_t *a = (const uint64_t *)&first.summary.counts;
        const uint64_t *b = (const uint64_t *)&second.summary.counts;
        for (size_t i = 0; i < sizeof first.summary.counts / sizeof *a; i++)
            cr_assert_eq(TIMES * a[i], b[i], "%s: count %zu", name, i);
        for (size_t i = 0; i < TP_SUMMARY_BINS; i++)
            cr_assert_eq(TIMES * first.summary.bins[i],
                         second.summary.bins[i], "%s: bin %zu", name, i);
        cr_assert_eq(memcmp(&first.summary.extrema, &second.summary.extrema,
                            sizeof first.summary.extrema), 0);
        free(one.bytes);
        free(all.bytes);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Test(scan, large_quantiles_are_order_statistics)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT32,
                                           TP_FLOAT64, TP_INT32, TP_INT64,
                                           TP_UINT64};
    enum { N = 600011 };
    double *values = malloc(N * sizeof *values);
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        size_t size = tp_dtype_info(dtypes[d])->size;
        struct memory memory = new_memory(N * size);
        fill_bits(&memory, d + 40);
        /* half of them close together, so that digits alone must tell */
        for (size_t i = 0; i < N / 2 * size; i += size)
            for (size_t k = 2; k < size; k++)
                memory.bytes[i + k] = 0x41;
        struct tp_tensor tensor = whole(&memory, dtypes[d]);
        scan(&tensor, NULL, &first);
        tp_dtype_decode(dtypes[d], memory.bytes, N, values);
        size_t n = 0;
        for (size_t i = 0; i < N; i++)
            if (isfinite(values[i]))
                values[n++] = values[i];
        qsort(values, n, sizeof *values, ascending);
        cr_assert_eq(first.summary.moments.n, n);
        for (int i = 0; i < TP_QUANTILES; i++) {
            double position = tp_quantile_levels[i] * (double)(n - 1);
            size_t low = (size_t)position;
            double t = position - floor(position);
            double want = values[low] * (1 - t) + values[low + 1] * t;
            cr_assert_leq(fabs(first.quantile[i] - want),
                          4 * DBL_EPSILON * fabs(values[low]) +
                              4 * DBL_EPSILON * fabs(values[low + 1]),
                          "%s q%d: %.17g, not %.17g",
                          tp_dtype_info(dtypes[d])->name, i,
                          first.quantile[i], want);
        }
        free(memory.bytes);
    }
    free(values);
}

Test(scan, large_moments_are_exact_enough)
{
    enum { N = 3000000 };
    struct memory memory = new_memory(N * sizeof(float));
    float *v = (float *)(void *)memory.bytes;
    uint64_t seed = 8;
    long double sum = 0, m2 = 0;
    for (size_t i = 0; i < N; i++) {
        v[i] = 1000 + (float)(int32_t)xorshift(&seed) * 0x1p-31F;
        sum += v[i];
    }
    for (size_t i = 0; i < N; i++)
        m2 += (v[i] - sum / N) * (v[i] - sum / N);
    struct tp_tensor tensor = whole(&memory, TP_FLOAT32);
    scan(&tensor, NULL, &first);
    cr_assert_leq(fabsl(first.summary.moments.mean - sum / N), 1e-12L);
    cr_assert_leq(fabsl(first.summary.moments.m2 - m2), 1e-12L * m2);
    free(memory.bytes);
}

/* Makes a plain copy of a tensor in logical order, element by element. */
static struct memory copy_plain(const struct tp_tensor *tensor)
{
    const struct memory *from = (const void *)tensor->storage;
    size_t size = tp_dtype_info(tensor->dtype)->size;
    struct memory plain = new_memory((uint64_t)tensor->numel * size);
    for (int64_t i = 0; i < tensor->numel; i++) {
        int64_t rest = i, at = tensor->offset;
        for (int k = tensor->ndim - 1; k >= 0; k--) {
            at += rest % tensor->shape[k] * tensor->stride[k];
            rest /= tensor->shape[k];
        }
        memcpy(plain.bytes + (size_t)i * size, from->bytes + (size_t)at * size,
               size);
    }
    return plain;
}

static void assert_counts_equal(const char *what)
{
    cr_assert_eq(memcmp(&first.summary.counts, &second.summary.counts,
                        sizeof first.summary.counts),
                 0, "%s: counts differ", what);
    cr_assert_eq(memcmp(first.quantile, second.quantile,
                        sizeof first.quantile),
                 0, "%s: quantiles differ", what);
    cr_assert_eq(memcmp(first.summary.bins, second.summary.bins,
                        sizeof first.summary.bins),
                 0, "%s: bins differ", what);
}

/* Scans a view and its plain copy with every kind of target. */
static void assert_like_plain(struct tp_tensor *view, const char *what)
{
    static const char *const targets[] = {"e5m2", "mxfp8_e4m3", "mxfp4",
                                          "nvfp4"};
    struct tp_error err = {.code = TP_OK};
    cr_assert_eq(tp_tensor_check(view, &err), TP_OK, "%s", err.message);
    struct memory plain = copy_plain(view);
    struct tp_tensor copy =
        contiguous(&plain, view->dtype, view->ndim, view->shape);
    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
        scan(view, targets[t], &first);
        scan(&copy, targets[t], &second);
        cr_assert_eq(first.summary.counts.judged, (uint64_t)view->numel);
        assert_counts_equal(what);
    }
    free(plain.bytes);
}

Test(scan, views_are_like_their_copies)
{
    struct memory memory = new_memory(4 << 20);
    fill_bfloat16(&memory, 3);
    struct tp_tensor view = {.path = "", .dtype = TP_BFLOAT16,
                             .storage = &memory.storage};
    struct {
        const char *what;
        int ndim;
        int64_t shape[4], stride[4], offset;
    } views[] = {
        {"slice", 2, {700, 300}, {1000, 1}, 17},
        {"short rows", 2, {30001, 50}, {50, 1}, 0},
        {"transposed, small", 2, {50, 60}, {1, 50}, 3},
        {"transposed, blocks in pieces", 2, {500, 3000}, {1, 500}, 1},
        {"transposed, wide blocks", 2, {9001, 130}, {1, 9001}, 0},
        {"middle axis", 3, {20, 300, 77}, {23100, 1, 300}, 0},
        {"batch first of three", 3, {31, 40, 601}, {1, 31, 1240}, 5},
        {"every third", 1, {600000}, {3}, 2},
        {"expanded rows", 3, {3, 1000, 100}, {100000, 0, 1}, 0},
        {"expanded columns", 2, {1000, 45}, {7, 0}, 9},
        {"sliding window", 2, {1000, 64}, {16, 1}, 0},
    };
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        view.ndim = views[i].ndim;
        view.shape = views[i].shape;
        view.stride = views[i].stride;
        view.offset = views[i].offset;
        assert_like_plain(&view, views[i].what);
    }
    free(memory.bytes);
}

/*
 * MXFP8 E4M3 with the floor rule, from its definition: scale 2^(e - 8), e the
 * exponent of the block's largest; too large above 448, zero up to half the
 * smallest 2^-9, subnormal up to the middle of 7 * 2^-9 and 2^-6.
 */
static void slow_mxfp8(const double *x, size_t rows, size_t length,
                       struct tp_counts *want)
{
    memset(want, 0, sizeof *want);
    for (size_t i = 0; i < rows * length;) {
        size_t left = length - i % length, n = left < 32 ? left : 32;
        double amax = 0;
        for (size_t k = i; k < i + n; k++)
            amax = fmax(amax, fabs(x[k]));
        double scale = amax > 0 ? ldexp(1, ilogb(amax) - 8) : 1;
        for (size_t k = i; k < i + n; k++) {
            double a = fabs(x[k]) / scale;
            want->upper_overflow += a > 448 && x[k] > 0;
            want->lower_overflow += a > 448 && x[k] < 0;
            want->underflow += a > 0 && a <= 0x1p-10;
            want->subnormal += a > 0 && a < 0x1.ep-7;
        }
        i += n;
    }
}

Test(scan, block_counts_are_those_of_the_definition)
{
    static const size_t lengths[] = {1, 31, 32, 33, 100, 4096, 300007};
    struct memory memory = new_memory(2 * 300007);
    double *x = malloc(300007 * sizeof *x);
    fill_bfloat16(&memory, 77);
    tp_dtype_decode(TP_BFLOAT16, memory.bytes, 300007, x);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int64_t length = (int64_t)lengths[i];
        int64_t shape[2] = {300007 / length, length};
        struct tp_tensor tensor = contiguous(&memory, TP_BFLOAT16, 2, shape);
        struct tp_counts want;
        scan(&tensor, "mxfp8_e4m3", &first);
        slow_mxfp8(x, (size_t)shape[0], lengths[i], &want);
        const struct tp_counts *got = &first.summary.counts;
        cr_assert_eq(got->upper_overflow, want.upper_overflow);
        cr_assert_eq(got->lower_overflow, want.lower_overflow);
        cr_assert_eq(got->underflow, want.underflow);
        cr_assert_eq(got->subnormal, want.subnormal);
        cr_assert(lengths[i] == 1 || want.underflow > 0);
    }
    free(x);
    free(memory.bytes);
}

Test(scan, one_value_can_stand_for_many)
{
    /* 2 bytes of storage that claim 10^15 elements */
    struct memory memory = new_memory(2);
    static const uint16_t code = 0xc000; /* -2 */
    memcpy(memory.bytes, &code, 2);
    struct tp_tensor tensor = {.path = "", .dtype = TP_BFLOAT16, .ndim = 2,
                               .storage = &memory.storage};
    *axes_of(&tensor) = (struct tp_tensor_axes){{1000000000, 1000000}, {0, 0}};
    scan(&tensor, "e4m3", &first);
    cr_assert_eq(first.summary.counts.numel, 1000000000000000);
    cr_assert_eq(first.summary.counts.negative, 1000000000000000);
    cr_assert_eq(first.summary.moments.mean, -2);
    cr_assert_eq(first.summary.moments.sum_squares, 4e15);
    cr_assert_eq(first.quantile[0], -2);
    scan(&tensor, "mxfp8_e4m3", &first);
    cr_assert_eq(first.summary.counts.judged, 1000000000000000);
    cr_assert_eq(first.summary.counts.underflow, 0);
    free(memory.bytes);

    /* and of float32, three values of 10^12 each: 1, 2, 4 */
    memory = new_memory(12);
    memcpy(memory.bytes, (const float[]){1, 2, 4}, 12);
    tensor = (struct tp_tensor){.path = "", .dtype = TP_FLOAT32, .ndim = 2,
                                .storage = &memory.storage};
    *axes_of(&tensor) = (struct tp_tensor_axes){{1000000000000, 3}, {0, 1}};
    scan(&tensor, NULL, &first);
    cr_assert_eq(first.summary.counts.values, 3000000000000);
    cr_assert_float_eq(first.summary.moments.mean, 7.0 / 3, 1e-15);
    cr_assert_eq(first.summary.moments.sum_squares, 21e12);
    cr_assert_eq(first.quantile[2], 1);
    cr_assert_eq(first.quantile[3], 2);
    cr_assert_eq(first.quantile[4], 4);
    cr_assert_eq(first.summary.bins[tp_summary_bin(2)], 1000000000000);
    free(memory.bytes);
}

Test(scan, nothing_and_one)
{
    struct memory memory = new_memory(8);
    int64_t shape[2] = {0, 5};
    struct tp_tensor tensor = contiguous(&memory, TP_FLOAT32, 2, shape);
    scan(&tensor, "mxfp4", &first);
    cr_assert_eq(first.summary.counts.numel, 0);
    cr_assert_eq(first.summary.moments.n, 0);
    cr_assert(isnan(first.quantile[3]));
    tensor.storage = NULL;
    scan(&tensor, NULL, &first);
    cr_assert_eq(first.summary.counts.numel, 0);
    memcpy(memory.bytes, (const float[]){0, -3}, 8);
    tensor = contiguous(&memory, TP_FLOAT32, 0, shape);
    tensor.offset = 1;
    scan(&tensor, "hif8", &first);
    cr_assert_eq(first.summary.counts.numel, 1);
    cr_assert_eq(first.summary.extrema.min, -3);
    cr_assert_eq(first.quantile[6], -3);
    free(memory.bytes);
}

Test(scan, only_what_is_not_finite)
{
    static const enum tp_dtype dtypes[] = {TP_FLOAT32, TP_FLOAT64};
    for (int large = 0; large < 2; large++) {
        for (int d = 0; d < 2; d++) {
            size_t size = tp_dtype_info(dtypes[d])->size;
            struct memory memory = new_memory(size * (large ? 90000 : 300));
            for (size_t i = 0; i < memory.storage.size; i += size) {
                const double v[3] = {NAN, INFINITY, -INFINITY};
                const float f[3] = {NAN, INFINITY, -INFINITY};
                memcpy(memory.bytes + i,
                       d ? (const void *)&v[i / size % 3] : &f[i / size % 3],
                       size);
            }
            struct tp_tensor tensor = whole(&memory, dtypes[d]);
            scan(&tensor, "e5m2", &first);
            uint64_t third = (uint64_t)tensor.numel / 3;
            cr_assert_eq(first.summary.counts.nan, third);
            cr_assert_eq(first.summary.counts.pos_inf, third);
            cr_assert_eq(first.summary.counts.upper_overflow, third);
            cr_assert_eq(first.summary.counts.lower_overflow, third);
            cr_assert_eq(first.summary.moments.n, 0);
            cr_assert(isnan(first.quantile[0]));
            free(memory.bytes);
        }
    }
}

Test(scan, integers_and_complex_are_not_judged_by_blocks)
{
    struct memory memory = new_memory(80000);
    fill_bits(&memory, 21);
    struct tp_tensor tensor = whole(&memory, TP_INT16);
    scan(&tensor, "hif8", &first);
    cr_assert_eq(first.summary.counts.judged, 0);
    cr_assert_eq(first.summary.counts.upper_overflow, 0);
    tensor = whole(&memory, TP_COMPLEX64);
    scan(&tensor, "mxfp8_e4m3", &first);
    cr_assert_eq(first.summary.counts.judged, 0);
    cr_assert_eq(first.summary.counts.numel, 10000);
    cr_assert_eq(first.summary.counts.values, 20000);
    scan(&tensor, "hif8", &first);
    cr_assert_eq(first.summary.counts.judged, 20000);
    free(memory.bytes);
}

static void give_crc(struct memory *memory)
{
    memory->storage.has_crc32 = true;
    memory->storage.crc_checked = false;
    memory->storage.crc32 = (uint32_t)crc32_z(
        0, memory->bytes, (z_size_t)memory->storage.size);
}

Test(scan, checksums_are_verified_once)
{
    static const uint64_t sizes[] = {40, 50000, 600002, 40000000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct memory memory = new_memory(sizes[s]);
        struct tp_error err = {.code = TP_OK};
        fill_bits(&memory, s);
        give_crc(&memory);
        struct tp_tensor tensor = whole(&memory, TP_BFLOAT16);
        scan(&tensor, NULL, &first);
        cr_assert(memory.storage.crc_checked);
        cr_assert_eq(memory.read, sizes[s], "read once, check included");
        axes_of(&tensor)->shape[0] /= 2; /* a part: the check needs a reading */
        memory.storage.crc_checked = false;
        memory.read = 0;
        scan(&tensor, NULL, &first);
        cr_assert(memory.storage.crc_checked);
        cr_assert_eq(memory.read, sizes[s] + sizes[s] / 4 * 2);
        memory.read = 0;
        scan(&tensor, NULL, &first);
        cr_assert_eq(memory.read, sizes[s] / 4 * 2, "not checked again");
        for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
            give_crc(&memory);
            memory.bytes[sizes[s] - 3] ^= 4;
            struct tp_tensor all = whole(&memory, TP_BFLOAT16);
            cr_assert_eq(scan_jobs(&all, NULL, jobs, &first, &err),
                         TP_E_DAMAGED);
            cr_assert_not_null(strstr(err.message, "wrong CRC-32: stored "));
            cr_assert_eq(err.offset, 64);
            cr_assert_not(memory.storage.crc_checked);
            cr_assert_eq(scan_jobs(&tensor, NULL, jobs, &first, &err),
                         TP_E_DAMAGED, "the damage is outside the view");
        }
        free(memory.bytes);
    }
}

Test(scan, a_scanner_survives_a_failed_read)
{
    struct memory memory = new_memory(40 << 20);
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    struct tp_error err = {.code = TP_OK};
    struct tp_scan_request request = {.target = NULL};
    fill_bfloat16(&memory, 4);
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT32};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, &err), TP_OK);
    for (int d = 0; d < 2; d++) {
        struct tp_tensor tensor = whole(&memory, dtypes[d]);
        cr_assert_eq(tp_tensor_check(&tensor, &err), TP_OK);
        scan(&tensor, NULL, &first);
        memory.refuse = 20000001;
        cr_assert_eq(tp_scan(scanner, &tensor, &request, &second, &err),
                     TP_E_IO);
        cr_assert_eq(err.offset, 20000001);
        memory.refuse = 0;
        cr_assert_eq(tp_scan(scanner, &tensor, &request, &second, &err),
                     TP_OK);
        assert_same("after a failure");
    }
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    free(memory.bytes);
}

Test(scan, byte_order_conjugation_and_negation)
{
    struct memory memory = new_memory(400000), swapped = new_memory(400000);
    fill_bits(&memory, 6);
    memcpy(swapped.bytes, memory.bytes, 400000);
    tp_dtype_swap(swapped.bytes, 100000, 4);
    swapped.storage.big_endian = true;
    give_crc(&swapped);
    struct tp_tensor native = whole(&memory, TP_COMPLEX64);
    struct tp_tensor other = whole(&swapped, TP_COMPLEX64);
    scan(&native, "hif8", &first);
    scan(&other, "hif8", &second);
    assert_same("big endian");
    native.negated = true;
    scan(&native, "hif8", &second);
    cr_assert_eq(first.summary.extrema.max, -second.summary.extrema.min);
    cr_assert_eq(first.summary.counts.pos_inf,
                 second.summary.counts.neg_inf);
    cr_assert_eq(first.summary.counts.upper_overflow,
                 second.summary.counts.lower_overflow);
    native.negated = false;
    native.conjugated = true;
    scan(&native, "hif8", &second);
    cr_assert_eq(first.summary.counts.values, second.summary.counts.values);
    cr_assert_neq(first.summary.counts.negative,
                  second.summary.counts.negative);
    free(memory.bytes);
    free(swapped.bytes);
}

/* Many tensors of many sizes by one scanner, from tasks. */
struct crowd {
    struct tp_scanner *scanner;
    struct tp_tensor tensor;
    struct tp_scan_result *results;
};

static void crowd_task(void *context, size_t index, unsigned worker)
{
    struct crowd *crowd = context;
    struct tp_error err = {.code = TP_OK};
    struct tp_tensor tensor = crowd->tensor;
    struct tp_scan_request request = {
        .target = tp_number_by_id(index % 3 ? "mxfp4" : "hif8"),
        .scale_rule = TP_SCALE_FLOOR, .worker = worker};
    struct tp_tensor_axes axes;
    tp_tensor_open_axes(&tensor, &axes);
    axes.shape[0] = index % 5 == 0 ? 9000000 : (int64_t)(index * 1777);
    cr_assert_eq(tp_tensor_check(&tensor, &err), TP_OK);
    cr_assert_eq(tp_scan(crowd->scanner, &tensor, &request,
                         &crowd->results[index], &err),
                 TP_OK, "%s", err.message);
}

Test(scan, tasks_may_scan_at_the_same_time)
{
    enum { CROWD = 24 };
    struct memory memory = new_memory(18000000);
    struct crowd crowd = {.tensor = whole(&memory, TP_BFLOAT16)};
    struct tp_error err = {.code = TP_OK};
    struct tp_scan_result *alone = malloc(CROWD * sizeof *alone);
    fill_bfloat16(&memory, 12);
    for (unsigned jobs = 1; jobs <= 4; jobs += 3) {
        struct tp_pool *pool;
        struct tp_scan_result *results = malloc(CROWD * sizeof *results);
        crowd.results = results;
        cr_assert_eq(tp_pool_new(jobs, &pool, &err), TP_OK);
        cr_assert_eq(tp_scanner_new(pool, &crowd.scanner, &err), TP_OK);
        tp_pool_for(pool, CROWD, crowd_task, &crowd);
        if (jobs == 1)
            memcpy(alone, results, CROWD * sizeof *results);
        cr_assert_eq(memcmp(alone, results, CROWD * sizeof *results), 0);
        tp_scanner_free(crowd.scanner);
        tp_pool_free(pool);
        free(results);
    }
    free(alone);
    free(memory.bytes);
}
