/* SPDX-License-Identifier: MIT */
#include "scan/dim_rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "scan/scan.h"
#include "tests/unit/support/made_axes.h"
#include "tests/unit/support/xorshift.h"

/*
 * Statistics by index of tensors in memory, against a slow reference that
 * looks each element up by its indices and takes moments in long double, in
 * two passes, as the textbook has them.
 */

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    uint64_t reads;  /* so far, by one thread                              */
    uint64_t refuse; /* the read of this number fails; 0: none does        */
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer,
                                  size_t length, struct tp_error *err)
{
    struct memory *memory = (struct memory *)(void *)(uintptr_t)storage;
    cr_assert(offset <= storage->size && length <= storage->size - offset);
    uint64_t number = __atomic_add_fetch(&memory->reads, 1, __ATOMIC_RELAXED);
    if (number == memory->refuse)
        return tp_fail(err, TP_E_IO, (int64_t)offset, "refused");
    memcpy(buffer, memory->bytes + offset, length);
    return TP_OK;
}

static struct memory new_memory(uint64_t size)
{
    struct memory memory = {.storage = {.read = read_memory, .size = size,
                                        .file_offset = -1}};
    memory.bytes = calloc(1, size);
    cr_assert_not_null(memory.bytes);
    return memory;
}

/* A tensor whose axes lie in the storage in the order `places` (the slowest
 * first), with a gap after each line of the fastest one. */
static struct tp_tensor laid_out(enum tp_dtype dtype, int ndim,
                                 const int64_t *shape, const int *places,
                                 int64_t gap)
{
    struct tp_tensor tensor = {.path = "", .dtype = dtype, .ndim = ndim};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        int axis = places ? places[i] : i;
        axes->shape[axis] = shape[axis];
        axes->stride[axis] = stride;
        stride = stride * shape[axis] + (i == ndim - 1 ? gap : 0);
    }
    tensor.numel = stride; /* of the storage, for put_in */
    return tensor;
}

/* A random code of a value that is finite and neither tiny nor huge, or that
 * is not finite. */
static void draw(const struct tp_dtype_info *info, bool finite, uint64_t *seed,
                 unsigned char *code)
{
    double value;
    bool fits;
    do {
        uint64_t bits = xorshift(seed);
        memcpy(code, &bits, info->code_size);
        tp_dtype_decode(info->real, code, 1, &value);
        double a = fabs(value);
        fits = a < 1e6 && (a > 1e-4 || a == 0);
    } while (info->kind != TP_CLASS_INTEGER &&
             (finite ? !fits : (bool)isfinite(value)));
}

/* Gives the tensor a storage of noise, of which one value in `rare` is not
 * finite; 0: all are. */
static struct memory put_in(struct tp_tensor *tensor, uint64_t seed,
                            unsigned rare)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    struct memory memory = new_memory((uint64_t)tensor->numel * info->size);
    size_t codes = memory.storage.size / info->code_size;
    for (size_t i = 0; i < codes; i++)
        draw(info, !rare || xorshift(&seed) % rare, &seed,
             memory.bytes + i * info->code_size);
    return memory;
}

/* Scans; the result is in the room of the request. */
static enum tp_status scan_as(const struct tp_scan_request *request,
                              struct tp_tensor *tensor, struct memory *memory,
                              unsigned jobs, struct tp_error *err)
{
    static struct tp_scan_result result;
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    tensor->storage = &memory->storage;
    cr_assert_eq(tp_tensor_check(tensor, err), TP_OK, "%s", err->message);
    cr_assert_eq(tp_pool_new(jobs, &pool, err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, err), TP_OK);
    enum tp_status status = tp_scan(scanner, tensor, request, &result, err);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    return status;
}

/* Scans for the indices of every axis. */
static enum tp_status try_scan(struct tp_tensor *tensor, struct memory *memory,
                               unsigned jobs, struct tp_dims_room *room,
                               struct tp_error *err)
{
    const struct tp_scan_request request = {
        .scale_rule = TP_SCALE_FLOOR, .dims = room, .dims_keep = TP_DIM_KEPT};
    return scan_as(&request, tensor, memory, jobs, err);
}

/* Scans for those of axes of which something is to be said. */
static void scan_notable(struct tp_tensor *tensor, struct memory *memory,
                         unsigned jobs, struct tp_dims_room *room)
{
    struct tp_error err = {.code = TP_OK};
    const struct tp_scan_request request = {.scale_rule = TP_SCALE_FLOOR,
                                            .dims = room,
                                            .dims_keep = TP_DIM_KEPT,
                                            .dims_notable = true};
    cr_assert_eq(scan_as(&request, tensor, memory, jobs, &err), TP_OK, "%s",
                 err.message);
}

static void scan(struct tp_tensor *tensor, struct memory *memory, unsigned jobs,
                 struct tp_dims_room *room)
{
    struct tp_error err = {.code = TP_OK};
    cr_assert_eq(try_scan(tensor, memory, jobs, room, &err), TP_OK, "%s",
                 err.message);
}

/* --- the slow reference --------------------------------------------------- */

struct slow {
    uint64_t n, zeros, all;
    long double sum, squares, mean, deviations;
    double min, max;
};

/* Calls for each value of the tensor with its index along `axis`. */
static void visit(const struct tp_tensor *tensor, int axis, int pass,
                  struct slow *slow)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    const struct memory *memory = (const struct memory *)tensor->storage;
    int64_t index[TP_LIMIT_DIMS] = {0};
    for (int64_t left = tensor->numel; left > 0; left--) {
        int64_t at = tensor->offset;
        for (int i = 0; i < tensor->ndim; i++)
            at += index[i] * tensor->stride[i];
        struct slow *its = &slow[index[axis]];
        double values[2];
        tp_dtype_decode(info->real, memory->bytes + (size_t)at * info->size,
                        info->parts, values);
        for (int i = 0; i < info->parts; i++) {
            double v = values[i];
            its->all += pass == 0;
            if (!isfinite(v))
                continue;
            if (pass == 1) {
                its->deviations += (v - its->mean) * (v - its->mean);
                continue;
            }
            its->min = its->n == 0 || v < its->min ? v : its->min;
            its->max = its->n == 0 || v > its->max ? v : its->max;
            its->n++;
            its->zeros += v == 0;
            its->sum += v;
            its->squares += (long double)v * v;
        }
        for (int i = tensor->ndim - 1; i >= 0; i--) {
            if (++index[i] < tensor->shape[i])
                break;
            index[i] = 0;
        }
    }
}

static struct slow *slow_axis(const struct tp_tensor *tensor, int axis)
{
    size_t length = (size_t)tensor->shape[axis];
    struct slow *slow = calloc(length, sizeof *slow);
    cr_assert_not_null(slow);
    visit(tensor, axis, 0, slow);
    for (size_t i = 0; i < length; i++)
        slow[i].mean = slow[i].n ? slow[i].sum / (long double)slow[i].n : 0;
    visit(tensor, axis, 1, slow);
    return slow;
}

static void assert_near(double got, long double want, long double tolerance,
                        const char *what)
{
    cr_assert(fabsl(got - want) <= tolerance, "%s: %.17g, not %.17Lg", what,
              got, want);
}

static void assert_index(const struct tp_dim_index *index,
                         const struct slow *slow, const char *where)
{
    cr_assert_eq(index->count, slow->n, "%s: index %ld", where,
                 (long)index->index);
    if (slow->n == 0) {
        cr_assert(isnan(index->min) && isnan(index->mean));
        return;
    }
    double abs_max = fmax(fabs(slow->min), fabs(slow->max));
    cr_assert_eq(index->min, slow->min, "%s", where);
    cr_assert_eq(index->max, slow->max, "%s", where);
    cr_assert_eq(tp_dim_abs_max(index), abs_max, "%s", where);
    assert_near(index->mean, slow->mean, 1e-13L * abs_max, where);
    long double l2 = sqrtl(slow->squares);
    assert_near(tp_dim_l2_norm(index), l2, 1e-9L * l2, where);
    if (slow->n > 1) {
        long double std = sqrtl(slow->deviations / (long double)(slow->n - 1));
        assert_near(index->std, std, 1e-9L * std, where);
    } else {
        cr_assert(isnan(index->std), "%s", where);
    }
}

static double height(const struct slow *slow)
{
    return slow->n ? fmax(fabs(slow->min), fabs(slow->max)) : -1;
}

/* Every number of an axis and of the indices kept of it. */
static void assert_axis(const struct tp_tensor *tensor,
                        const struct tp_dim_axis *axis, const char *where)
{
    struct slow *slow = slow_axis(tensor, axis->axis);
    size_t length = (size_t)tensor->shape[axis->axis];
    double largest = 0, smallest = INFINITY;
    double largest_max = 0, smallest_max = INFINITY;
    uint64_t dead = 0, above = 0;
    cr_assert_eq(axis->length, tensor->shape[axis->axis]);
    cr_assert_eq(axis->values, slow[0].all, "%s", where);
    for (size_t i = 0; i < length; i++) {
        double its = height(&slow[i]);
        largest = fmax(largest, its);
        smallest = its > 0 ? fmin(smallest, its) : smallest;
        if (slow[i].n && slow[i].max > 0) {
            largest_max = fmax(largest_max, slow[i].max);
            smallest_max = fmin(smallest_max, slow[i].max);
        }
        dead += slow[i].zeros == slow[i].all;
        above += its >= axis->limit;
    }
    cr_assert_eq(axis->dead, dead, "%s", where);
    cr_assert_eq(axis->outliers, above, "%s", where);
    if (largest > 0)
        cr_assert_eq(axis->ratio, largest / smallest, "%s", where);
    else
        cr_assert(isnan(axis->ratio), "%s", where);
    if (largest_max > 0)
        cr_assert_eq(axis->max_ratio, largest_max / smallest_max, "%s", where);
    else
        cr_assert(isnan(axis->max_ratio), "%s", where);
    cr_assert_eq(axis->kept, length < TP_DIM_KEPT ? length : TP_DIM_KEPT);
    for (size_t i = 0; i < axis->kept; i++)
        assert_index(&axis->worst[i], &slow[axis->worst[i].index], where);
    for (size_t i = 1; i < axis->kept; i++)
        cr_assert_geq(height(&slow[axis->worst[i - 1].index]),
                      height(&slow[axis->worst[i].index]));
    cr_assert_eq(height(&slow[axis->worst[0].index]), largest ? largest : 0);
    free(slow);
}

/* Whether axes are the same, indices and all. */
static void assert_same(const struct tp_dim_axis *a, struct tp_dim_axis *b,
                        const char *where)
{
    cr_assert_eq(a->kept, b->kept, "%s: %zu and %zu kept", where, a->kept,
                 b->kept);
    cr_assert_eq(a->kept && memcmp(a->worst, b->worst,
                                   a->kept * sizeof *a->worst),
                 0, "%s: indices differ", where);
    b->worst = a->worst;
    cr_assert_eq(memcmp(a, b, sizeof *a), 0, "%s: axes differ", where);
}

/* That of axes of which nothing is to be said all is the same without their
 * indices, which no dump of a run keeps. Returns how many these are. */
static size_t check_notable(struct tp_tensor *tensor, struct memory *memory,
                            const struct tp_dims_room *all, const char *where)
{
    size_t spared = 0;
    for (unsigned jobs = 1; jobs <= 7; jobs += 3) {
        struct tp_dims_room some = {.indices = NULL};
        scan_notable(tensor, memory, jobs, &some);
        cr_assert_eq(some.dims.count, all->dims.count, "%s", where);
        for (size_t i = 0; i < some.dims.count; i++) {
            struct tp_dim_axis want = all->dims.axes[i];
            if (!tp_dim_is_notable(&want) && some.dims.axes[i].kept == 0) {
                want.kept = 0;
                spared++;
            }
            assert_same(&want, &some.dims.axes[i], where);
        }
        tp_dims_clear(&some);
    }
    return spared;
}

/* All axes, by one job and by four, against the reference. */
static void check(struct tp_tensor *tensor, struct memory *memory,
                  const char *where)
{
    struct tp_dims_room one = {.indices = NULL}, four = {.indices = NULL};
    scan(tensor, memory, 1, &one);
    scan(tensor, memory, 4, &four);
    size_t analysed = 0;
    for (int i = 0; i < tensor->ndim; i++)
        analysed += tensor->shape[i] > 1 &&
                    tensor->numel / tensor->shape[i] > 1;
    cr_assert_eq(one.dims.count, analysed, "%s", where);
    cr_assert_eq(four.dims.count, analysed, "%s", where);
    for (size_t i = 0; i < analysed; i++) {
        assert_axis(tensor, &one.dims.axes[i], where);
        assert_same(&one.dims.axes[i], &four.dims.axes[i], where);
    }
    check_notable(tensor, memory, &one, where);
    tp_dims_clear(&one);
    tp_dims_clear(&four);
}

/* --- all ways a tensor can lie -------------------------------------------- */

Test(dims, every_dtype)
{
    const int64_t shape[] = {5, 7, 11};
    for (int d = 0; d < TP_DTYPE_COUNT; d++) {
        enum tp_dtype dtype = (enum tp_dtype)d;
        for (unsigned rare = 0; rare <= 40; rare += 20) {
            struct tp_tensor tensor = laid_out(dtype, 3, shape, NULL, 0);
            struct memory memory = put_in(&tensor, (uint64_t)d + 1, rare);
            check(&tensor, &memory, tp_dtype_info(dtype)->name);
            free(memory.bytes);
        }
    }
}

Test(dims, random_shapes_and_strides)
{
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT16, TP_FLOAT32,
                                           TP_COMPLEX64, TP_INT32,
                                           TP_FLOAT8_E5M2};
    uint64_t seed = 2026;
    for (int trial = 0; trial < 150; trial++) {
        int ndim = 2 + (int)(xorshift(&seed) % 4);
        int64_t shape[5], budget = trial % 10 == 0 ? 90000 : 6000;
        int places[5];
        for (int i = 0; i < ndim; i++) {
            int64_t most = i == ndim - 1 ? budget : 1 + budget / 8;
            shape[i] = 1 + (int64_t)(xorshift(&seed) % (uint64_t)most);
            shape[i] = xorshift(&seed) % 3 ? 1 + shape[i] % 40 : shape[i];
            shape[i] = shape[i] < budget ? shape[i] : budget;
            budget = budget / shape[i] + 1;
            int at = (int)(xorshift(&seed) % (uint64_t)(i + 1));
            places[i] = places[at];
            places[at] = i;
        }
        struct tp_tensor tensor =
            laid_out(dtypes[trial % 6], ndim, shape, places,
                     (int64_t)(xorshift(&seed) % 3));
        struct memory memory =
            put_in(&tensor, xorshift(&seed), trial % 4 ? 0 : 100);
        char where[80];
        snprintf(where, sizeof where, "trial %d", trial);
        check(&tensor, &memory, where);
        free(memory.bytes);
    }
}

/* Long enough to be cut into slabs, for each reason to cut, and read in each
 * of the ways there are. */
Test(dims, large_tensors)
{
    static const struct {
        enum tp_dtype dtype;
        int64_t shape[3];
        int64_t gap;
    } cases[] = {
        {TP_BFLOAT16, {3, 70000, 2}, 0},   /* short rows, a long axis        */
        {TP_FLOAT32, {70001, 4, 1}, 0},    /* the first axis is long         */
        {TP_BFLOAT16, {2, 2, 140000}, 0},  /* the last one is                */
        {TP_COMPLEX64, {30, 1, 5000}, 0},  /* wide rows of parts             */
        {TP_FLOAT32, {5, 33, 9000}, 7},    /* wide rows, not dense           */
        {TP_COMPLEX128, {400, 61, 50}, 0}, /* 18.6 MiB: slabs                 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_tensor tensor = laid_out(cases[i].dtype, 3, cases[i].shape,
                                           NULL, cases[i].gap);
        struct memory memory = put_in(&tensor, i + 1, i % 2 ? 0 : 5000);
        char where[80];
        snprintf(where, sizeof where, "large %zu", i);
        check(&tensor, &memory, where);
        free(memory.bytes);
    }
}

/* Sets all codes to random ones of magnitudes in [1, 2). */
static void make_even(const struct tp_tensor *tensor, struct memory *memory)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    const int fraction = info->significand - 1;
    uint64_t seed = 77, one = 0;
    for (double value = 0; value != 1; one += value != 1) {
        const uint64_t code = one << fraction;
        tp_dtype_decode(info->real, &code, 1, &value);
    }
    for (uint64_t i = 0; i < memory->storage.size; i += info->size) {
        const uint64_t bits = xorshift(&seed);
        const uint64_t code = one << fraction |
                              bits >> (64 - fraction) |
                              (bits & 1) << (8 * info->size - 1);
        memcpy(memory->bytes + i, &code, info->size);
    }
}

/* Tensors whose axes are alike are not read again; one that has something to
 * say of an axis is, and one that has an infinity. */
Test(dims, peaks_spare_a_reading)
{
    static const struct {
        enum tp_dtype dtype;
        int64_t shape[3];
        int places[3];
        int64_t gap;
    } cases[] = {
        {TP_BFLOAT16, {3, 600, 700}, {0, 1, 2}, 0},
        {TP_FLOAT16, {600, 3, 700}, {2, 0, 1}, 0},
        {TP_FLOAT32, {40, 90, 100}, {1, 0, 2}, 3},
        {TP_FLOAT32, {5000, 9, 33}, {0, 1, 2}, 0}, /* short rows            */
        {TP_FLOAT64, {2, 3, 90000}, {0, 1, 2}, 0}, /* rows beyond a piece   */
        {TP_FLOAT8_E5M2, {30, 20, 1000}, {0, 2, 1}, 1},
        {TP_FLOAT8_E4M3FN, {9000, 2000, 1}, {0, 1, 2}, 0}, /* two ranges    */
        {TP_BFLOAT16, {7, 5, 3}, {0, 1, 2}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_tensor tensor =
            laid_out(cases[i].dtype, 3, cases[i].shape, cases[i].places,
                     cases[i].gap);
        const struct tp_dtype_info *info = tp_dtype_info(tensor.dtype);
        struct memory memory =
            new_memory((uint64_t)tensor.numel * info->size);
        struct tp_dims_room all = {.indices = NULL};
        char where[80];
        snprintf(where, sizeof where, "case %zu", i);
        make_even(&tensor, &memory);
        scan(&tensor, &memory, 1, &all);
        cr_assert_eq(check_notable(&tensor, &memory, &all, where),
                     3 * all.dims.count, "%s: read again", where);
        memory.reads = 0;
        scan(&tensor, &memory, 1, &all);
        const uint64_t twice = memory.reads;
        memory.reads = 0;
        scan_notable(&tensor, &memory, 1, &all);
        if (i < 7) /* the last is read once into memory */
            cr_assert_lt(memory.reads, twice, "%s", where);
        /* and with an index of zeros, and an infinity */
        for (int64_t j = 0; j < tensor.shape[1] * tensor.shape[2]; j++)
            memset(memory.bytes + (size_t)(j / tensor.shape[2] *
                                               tensor.stride[1] +
                                           j % tensor.shape[2] *
                                               tensor.stride[2]) *
                                      info->size,
                   0, info->size);
        check(&tensor, &memory, where);
        const uint64_t infinity = info->size == 8 ? 0x7ff0000000000000
                                  : info->size == 4 ? 0x7f800000
                                                    : 0x7c7f;
        memcpy(memory.bytes, &infinity, info->size);
        check(&tensor, &memory, where);
        tp_dims_clear(&all);
        free(memory.bytes);
    }
}

/* What a worker keeps between tensors has nothing of the one before: scratch
 * that was of a tally is of peaks, and again of that. */
Test(dims, peaks_leave_nothing_behind)
{
    const int64_t shape[] = {9000, 2000}; /* the second range: row 8388     */
    const int64_t small[] = {300, 700};
    const struct tp_quant_spec specs[] = {
        {.number = tp_number_by_id("e4m3")},
        {.number = tp_number_by_id("mxfp4")}};
    static struct tp_scan_result result[3];
    static struct tp_quant_error errors[3][2];
    struct tp_dims_room room = {.indices = NULL};
    struct tp_error err = {.code = TP_OK};
    struct tp_tensor codes = laid_out(TP_FLOAT8_E5M2, 2, shape, NULL, 0);
    struct tp_tensor halves = laid_out(TP_BFLOAT16, 2, small, NULL, 0);
    struct memory memory[2] = {new_memory((uint64_t)codes.numel),
                               put_in(&halves, 4, 0)};
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    make_even(&codes, &memory[0]);
    codes.storage = &memory[0].storage;
    halves.storage = &memory[1].storage;
    cr_assert_eq(tp_tensor_check(&codes, &err), TP_OK);
    cr_assert_eq(tp_tensor_check(&halves, &err), TP_OK);
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, &err), TP_OK);
    for (int i = 0; i < 3; i++) {
        const struct tp_scan_request request = {.dims = &room,
                                                .dims_keep = TP_DIM_KEPT,
                                                .dims_notable = true,
                                                .specs = specs,
                                                .spec_count = i == 1 ? 0 : 2,
                                                .errors = errors[i]};
        cr_assert_eq(tp_scan(scanner, i == 1 ? &codes : &halves, &request,
                             &result[i], &err),
                     TP_OK);
    }
    cr_expect_eq(memcmp(&result[0], &result[2], sizeof result[0]), 0);
    cr_expect_eq(memcmp(errors[0], errors[2], sizeof errors[0]), 0);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    tp_dims_clear(&room);
    free(memory[0].bytes);
    free(memory[1].bytes);
}

Test(dims, stride_zero_is_counted)
{
    /* Two stored numbers claim 10^15 elements. */
    const float stored[] = {-3, 4};
    struct memory memory = new_memory(sizeof stored);
    memcpy(memory.bytes, stored, sizeof stored);
    struct tp_tensor tensor = {.path = "",
                               .dtype = TP_FLOAT32,
                               .ndim = 3};
    *axes_of(&tensor) =
        (struct tp_tensor_axes){{1000000, 2, 500000000}, {0, 1, 0}};
    struct tp_dims_room room = {.indices = NULL};
    scan(&tensor, &memory, 2, &room);
    cr_assert_eq(room.dims.count, 3);
    const struct tp_dim_axis *axes = room.dims.axes;
    cr_assert_eq(axes[0].length, 1000000);
    cr_assert_eq(axes[0].worst[63].index, 63);
    cr_assert_eq(axes[0].worst[63].count, 1000000000);
    cr_assert_eq(axes[0].worst[5].min, -3);
    cr_assert_eq(axes[0].worst[5].mean, 0.5);
    cr_assert_float_eq(axes[0].worst[5].std, 3.5, 1e-8);
    cr_assert_eq(axes[0].ratio, 1);
    cr_assert_eq(axes[2].length, 500000000);
    cr_assert_eq(axes[2].values, 2000000);
    cr_assert_eq(axes[2].outliers + axes[2].dead, 0);
    cr_assert_eq(axes[1].worst[0].index, 1);
    cr_assert_eq(axes[1].worst[0].count, 500000000000000);
    cr_assert_eq(axes[1].worst[0].std, 0);
    cr_assert_eq(tp_dim_l2_norm(&axes[1].worst[0]), 4 * sqrt(5e14));
    cr_assert_eq(axes[1].ratio, 4.0 / 3);
    cr_assert_eq(check_notable(&tensor, &memory, &room, "stride 0"), 9);
    /* and a single one */
    axes_of(&tensor)->stride[1] = 0;
    scan(&tensor, &memory, 1, &room);
    cr_assert_eq(room.dims.count, 3);
    cr_assert_eq(room.dims.axes[1].worst[1].mean, -3);
    cr_assert_eq(room.dims.axes[1].worst[1].count, 500000000000000);
    tp_dims_clear(&room);
    free(memory.bytes);
}

Test(dims, nothing_to_analyse)
{
    static const struct {
        int ndim;
        int64_t shape[3];
    } cases[] = {{0, {0}}, {1, {9}}, {2, {0, 3}}, {3, {1, 9, 1}}, {2, {1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_tensor tensor =
            laid_out(TP_FLOAT32, cases[i].ndim, cases[i].shape, NULL, 0);
        struct memory memory = new_memory(64);
        struct tp_dims_room room = {.dims = {.count = 7}};
        scan(&tensor, &memory, 1, &room);
        cr_assert_eq(room.dims.count, 0, "case %zu", i);
        tp_dims_clear(&room);
        free(memory.bytes);
    }
}

Test(dims, small_spread_far_from_zero)
{
    /* Each column about an offset of its own, up to 10^5 spreads away. */
    enum { ROWS = 4000, COLUMNS = 40 };
    const int64_t shape[] = {ROWS, COLUMNS};
    struct tp_tensor tensor = laid_out(TP_FLOAT32, 2, shape, NULL, 0);
    struct memory memory = put_in(&tensor, 1, 0);
    float *values = (float *)(void *)memory.bytes;
    uint64_t seed = 9;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double offset = (i % COLUMNS - 20) * 5000.0;
        values[i] = (float)(offset + (double)(xorshift(&seed) >> 40) * 0x1p-23);
    }
    check(&tensor, &memory, "offset");
    free(memory.bytes);
}

Test(dims, huge_doubles)
{
    double stored[6 * 50];
    for (int i = 0; i < 300; i++)
        stored[i] = (i % 2 ? -1e300 : 1.5e308) * ((i % 7) + 1) / 7;
    const int64_t shape[] = {6, 50};
    struct tp_tensor tensor = laid_out(TP_FLOAT64, 2, shape, NULL, 0);
    struct memory memory = new_memory(sizeof stored);
    memcpy(memory.bytes, stored, sizeof stored);
    check(&tensor, &memory, "huge");
    for (int i = 0; i < 300; i++)
        stored[i] = i * 1e-310; /* squares are far below any double */
    memcpy(memory.bytes, stored, sizeof stored);
    struct tp_dims_room room = {.indices = NULL};
    scan(&tensor, &memory, 1, &room);
    const struct tp_dim_index *last = &room.dims.axes[0].worst[0];
    cr_assert_eq(last->index, 5);
    cr_assert_float_eq(last->mean / 274.5e-310, 1, 1e-12);
    cr_assert_float_eq(last->std / 1.45773797371132e-309, 1, 1e-12);
    tp_dims_clear(&room);
    free(memory.bytes);
}

Test(dims, failures_are_reported)
{
    const int64_t shape[] = {400, 500};
    struct tp_tensor tensor = laid_out(TP_FLOAT64, 2, shape, NULL, 0);
    struct memory memory = put_in(&tensor, 3, 0);
    struct tp_dims_room room = {.indices = NULL};
    struct tp_error err = {.code = TP_OK};
    scan(&tensor, &memory, 1, &room);
    memory.refuse = memory.reads; /* the last one, which is ours */
    memory.reads = 0;
    cr_assert_eq(try_scan(&tensor, &memory, 1, &room, &err), TP_E_IO);
    tp_dims_clear(&room);
    free(memory.bytes);
}

Test(dims, instruction_sets_agree)
{
    static const char *const isas[] = {"portable", "avx2", "avx512"};
    static const enum tp_dtype dtypes[] = {TP_BFLOAT16, TP_FLOAT16, TP_FLOAT32};
    const int64_t shape[] = {70, 23, 37};
    for (size_t d = 0; d < 3; d++) {
        struct tp_dims_room rooms[3] = {{.indices = NULL}};
        struct tp_tensor tensor = laid_out(dtypes[d], 3, shape, NULL, 0);
        struct memory memory = put_in(&tensor, d + 5, d == 1 ? 300 : 0);
        for (int i = 0; i < 3; i++) {
            setenv("TPROF_ISA", isas[i], 1); /* where it is not: the best */
            scan(&tensor, &memory, 1, &rooms[i]);
        }
        unsetenv("TPROF_ISA");
        for (size_t a = 0; a < 3; a++) {
            const struct tp_dim_axis *axis = &rooms[0].dims.axes[a];
            for (int i = 1; i < 3; i++)
                cr_assert_eq(memcmp(axis->worst, rooms[i].dims.axes[a].worst,
                                    axis->kept * sizeof *axis->worst),
                             0, "%s axis %zu", isas[i], a);
        }
        for (int i = 0; i < 3; i++)
            tp_dims_clear(&rooms[i]);
        free(memory.bytes);
    }
}

/* --- against numpy -------------------------------------------------------- */

Test(dims, numbers_of_numpy)
{
    /*
     * x = numpy.sin(numpy.arange(60.) * 7).reshape(3, 4, 5)
     *     * numpy.array([1, 100, 0, 1e-3, 1]); numbers by
     * numpy 2: x.min, max, mean, std(ddof=1) over the other axes and
     * numpy.linalg.norm.
     */
    double x[60];
    static const double scales[] = {1, 100, 0, 1e-3, 1};
    for (int i = 0; i < 60; i++)
        x[i] = sin(i * 7.0) * scales[i % 5];
    const int64_t shape[] = {3, 4, 5};
    struct tp_tensor tensor = laid_out(TP_FLOAT64, 3, shape, NULL, 0);
    struct memory memory = new_memory(sizeof x);
    memcpy(memory.bytes, x, sizeof x);
    struct tp_dims_room room = {.indices = NULL};
    scan(&tensor, &memory, 1, &room);
    static const struct {
        int axis, place;
        int64_t index;
        double min, max, mean, std, l2;
    } golden[] = {
#include "tests/unit/support/golden_dims.h"
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const struct tp_dim_index *its =
            &room.dims.axes[golden[i].axis].worst[golden[i].place];
        cr_assert_eq(its->index, golden[i].index, "row %zu", i);
        cr_assert_float_eq(its->min, golden[i].min, 1e-13);
        cr_assert_float_eq(its->max, golden[i].max, 1e-13);
        cr_assert_float_eq(its->mean, golden[i].mean, 1e-13);
        cr_assert_float_eq(its->std, golden[i].std, 1e-12);
        cr_assert_float_eq(tp_dim_l2_norm(its), golden[i].l2, 1e-11);
    }
    cr_assert_eq(room.dims.axes[2].dead, 1);
    cr_assert_float_eq(room.dims.axes[2].ratio, 100424.63967564353, 1e-9);
    tp_dims_clear(&room);
    free(memory.bytes);
}
