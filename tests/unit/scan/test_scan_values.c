/* SPDX-License-Identifier: MIT */
#include "scan/scan_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "scan/scan.h"
#include "tests/unit/support/made_axes.h"

/*
 * Order statistics of a large tensor, whose values are 0 to N - 1, less half
 * of them, in steps of 2^-20: so the k-th in order is known.
 */
enum { N = 1 << 22, PLACES = 256 };

struct memory {
    struct tp_storage storage; /* first */
    unsigned char *bytes;
    uint64_t read; /* bytes handed out */
};

static enum tp_status read_memory(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    struct memory *memory = (struct memory *)(void *)(uintptr_t)storage;
    (void)err;
    memcpy(buffer, memory->bytes + offset, length);
    __atomic_fetch_add(&memory->read, length, __ATOMIC_RELAXED);
    return TP_OK;
}

/* Which value is at i: as if at random, or the least ones first in each of so
 * many parts, of which a sample sees nothing else. */
static uint32_t number_at(uint32_t i, bool mixed)
{
    return mixed ? i * 2654435761u % N
                 : i % (N / PLACES) * PLACES + i / (N / PLACES);
}

static struct memory new_memory(enum tp_dtype dtype, bool mixed)
{
    const size_t size = tp_dtype_info(dtype)->size;
    struct memory memory = {.storage = {.read = read_memory,
                                        .size = N * size,
                                        .file_offset = 64}};
    memory.bytes = malloc(N * size);
    for (uint32_t i = 0; i < N; i++) {
        const double x = ((double)number_at(i, mixed) - N / 2) * 0x1p-20;
        const float narrow = (float)x;
        memcpy(memory.bytes + i * size,
               size == 4 ? (const void *)&narrow : (const void *)&x, size);
    }
    return memory;
}

static void scan(struct memory *memory, enum tp_dtype dtype, unsigned jobs,
                 struct tp_scan_result *result)
{
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    struct tp_error err = {.code = TP_OK};
    const struct tp_scan_request request = {.scale_rule = TP_SCALE_FLOOR};
    struct tp_tensor tensor = {
        .path = "", .dtype = dtype, .ndim = 1, .storage = &memory->storage};
    struct tp_tensor_axes *axes = axes_of(&tensor);
    axes->shape[0] = N;
    axes->stride[0] = 1;
    cr_assert_eq(tp_tensor_check(&tensor, &err), TP_OK, "%s", err.message);
    cr_assert_eq(tp_pool_new(jobs, &pool, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, &err), TP_OK);
    cr_assert_eq(tp_scan(scanner, &tensor, &request, result, &err), TP_OK);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
}

static void check(enum tp_dtype dtype, unsigned jobs, bool mixed)
{
    static struct tp_scan_result result;
    struct memory memory = new_memory(dtype, mixed);
    scan(&memory, dtype, jobs, &result);
    for (int i = 0; i < TP_QUANTILES; i++) {
        const double at = tp_quantile_levels[i] * (N - 1);
        cr_assert_float_eq(result.quantile[i], (at - N / 2) * 0x1p-20, 1e-14,
                           "q%d of %s, %u jobs: %.17g", i,
                           tp_dtype_info(dtype)->name, jobs,
                           result.quantile[i]);
    }
    const double times = (double)memory.read / (double)memory.storage.size;
    if (mixed)
        cr_assert_leq(times, 1.1, "read %g times", times);
    else
        cr_assert_geq(times, 2, "read %g times", times);
    free(memory.bytes);
}

Test(scan_values, one_reading_is_enough_if_a_sample_is_fair)
{
    check(TP_FLOAT32, 1, true);
    check(TP_FLOAT32, 3, true);
    check(TP_FLOAT64, 2, true);
}

Test(scan_values, a_sample_that_misleads_costs_a_reading_and_nothing_else)
{
    check(TP_FLOAT32, 1, false);
    check(TP_FLOAT64, 3, false);
}
