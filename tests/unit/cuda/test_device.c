/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "stats/float_bins.h"
#include "stats/quantize.h"
#include "tests/unit/support/cuda_emulator.h"
#include "tests/unit/support/device_scan.h"
#include "tests/unit/support/xorshift.h"

/*
 * Scans with the emulated device against scans without: all results equal, bit
 * for bit, whatever the device does.
 */

/* Random bits; the first half repeat few codes, as real data do. */
static struct memory random_memory(uint64_t size, uint64_t state)
{
    struct memory memory = memory_new(size);
    for (uint64_t i = 0; i < size; i++) {
        const uint64_t bits = xorshift(&state);
        memory.bytes[i] = i < size / 2 ? (unsigned char)(0x38 + bits % 5)
                                       : (unsigned char)(bits >> 32);
    }
    return memory;
}

/* What a tensor is and what is asked of it. */
struct question {
    enum tp_dtype dtype;
    int ndim;
    int64_t shape[3];
    const char *target; /* or NULL                                        */
    int block_axis;
    enum view view;
    bool cast; /* and an MX cast simulated                       */
    bool host; /* too many launches for a device                 */
};

/* For what a real device is not asked to do. */
static void need_emulator(void)
{
    if (!tp_emulator_present())
        cr_skip_test("a real device does not fail as it is told");
}

static struct answer here, there;

static enum tp_status try_scan(const struct question *q, struct memory *memory,
                               unsigned jobs, struct tp_device_session *device,
                               struct answer *answer, struct tp_error *err)
{
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    struct tp_tensor tensor =
        memory_tensor(memory, q->dtype, q->ndim, q->shape, q->view);
    const struct tp_quant_spec specs[] = {
        {.number = tp_number_by_id("mxfp8_e4m3")},
        {.number = tp_number_by_id("mxfp4"),
         .nonfinite = TP_NONFINITE_ELEMENT}, /* so that no block is lost  */
        {.number = tp_number_by_id("e4m3")},
        {.number = tp_number_by_id("fp16")},
    };
    struct tp_scan_request request = {
        .target = q->target ? tp_number_by_id(q->target) : NULL,
        .scale_rule = TP_SCALE_FLOOR,
        .block_axis = q->block_axis,
        .specs = specs,
        .spec_count = q->cast ? sizeof specs / sizeof *specs : 0,
        .dims_keep = 8};
    cr_assert(!q->target || request.target);
    cr_assert_eq(tp_pool_new(jobs, &pool, err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, err), TP_OK);
    tp_scanner_use(scanner, device);
    enum tp_status status = scan_into(scanner, &tensor, &request, answer, err);
    tp_scanner_free(scanner);
    tp_pool_free(pool);
    return status;
}

static void scan(const struct question *q, struct memory *memory, unsigned jobs,
                 struct tp_device_session *device, struct answer *answer)
{
    struct tp_error err = {.code = TP_OK};
    cr_assert_eq(try_scan(q, memory, jobs, device, answer, &err), TP_OK, "%s",
                 err.message);
}

static const struct question questions[] = {
    {TP_BFLOAT16, 1, {150001}, NULL, 0, WHOLE, false, false},
    {TP_BFLOAT16, 2, {301, 333}, "mxfp8_e4m3", 0, WHOLE, false, false},
    {TP_FLOAT16, 2, {400, 256}, "mxfp4", 0, WHOLE, true, false},
    {TP_BFLOAT16, 3, {3, 210, 130}, "mxfp8_e5m2", 1, WHOLE, true, false},
    {TP_BFLOAT16, 3, {9000, 3, 5}, "mxfp8_e4m3", 1, WHOLE, false, true},
    {TP_FLOAT8_E4M3FN, 2, {320, 320}, "mxfp6_e2m3", 0, WHOLE, false, false},
    {TP_UINT8, 1, {200000}, NULL, 0, WHOLE, false, false},
    {TP_BOOL, 1, {100000}, NULL, 0, WHOLE, false, false},
    {TP_FLOAT32, 2, {300, 301}, "hif8", 0, WHOLE, false, false},
    {TP_FLOAT32, 2, {500, 301}, "mxfp4", 0, WHOLE, true, false},
    {TP_FLOAT32, 3, {3, 310, 150}, NULL, 1, WHOLE, true, false},
    {TP_FLOAT32, 2, {400, 400}, "hif8", 0, SLICED, true, false},
    {TP_FLOAT32, 2, {256, 384}, "nvfp4", 0, WHOLE, false, false},
    {TP_FLOAT64, 2, {300, 320}, "mxfp8_e4m3", 1, WHOLE, false, false},
    {TP_INT32, 1, {123457}, NULL, 0, WHOLE, false, false},
    {TP_INT64, 1, {70001}, NULL, 0, WHOLE, false, false},
    {TP_COMPLEX64, 1, {50001}, "hif8", 0, WHOLE, false, false},
    {TP_BFLOAT16, 2, {310, 333}, "mxfp8_e4m3", 0, TURNED, true, false},
    {TP_FLOAT32, 2, {400, 250}, NULL, 0, TURNED, false, false},
    {TP_FLOAT8_E5M2, 2, {301, 127}, NULL, 0, WHOLE, true, false},
    {TP_INT8, 1, {99999}, NULL, 0, WHOLE, false, false},
    {TP_INT16, 2, {211, 333}, NULL, 0, TURNED, false, false},
    {TP_COMPLEX128, 1, {40001}, NULL, 0, WHOLE, false, false},
    {TP_BFLOAT16, 2, {3, 100003}, "hif8", 0, SPREAD, true, false},
    {TP_FLOAT32, 3, {2, 250, 320}, "mxfp8_e4m3", 0, SPREAD, true, false},
    {TP_FLOAT64, 2, {5, 70001}, NULL, 0, SPREAD, false, false},
    {TP_BFLOAT16, 2, {171, 1033}, "mxfp8_e4m3", 0, SLICED, true, false},
    {TP_BFLOAT16, 3, {5, 90, 130}, "mxfp8_e4m3", 1, SLICED, true, false},
    {TP_FLOAT32, 2, {401, 250}, "hif8", 0, SLICED, false, false},
    {TP_FLOAT64, 1, {70001}, NULL, 0, SPARSE, false, false},
    {TP_COMPLEX128, 2, {70, 601}, NULL, 0, SLICED, false, false},
    {TP_FLOAT8_E5M2, 2, {3, 60001}, "mxfp8_e5m2", 0, SPARSE, true, false},
    {TP_FLOAT32, 2, {40, 9001}, NULL, 0, WHOLE, false, false},
    {TP_BFLOAT16, 2, {130, 5001}, NULL, 0, WHOLE, false, false},
    {TP_FLOAT32, 2, {3001, 40}, NULL, 0, WHOLE, false, false},
    {TP_BFLOAT16, 3, {2, 67, 1500}, "mxfp8_e4m3", 1, WHOLE, true, false},
    {TP_FLOAT32, 2, {70, 2000}, "mxfp4", 1, WHOLE, false, false},
    {TP_FLOAT32, 2, {70, 2000}, "nvfp4", 1, SLICED, false, false},
    /* no code of these is zero */
    {TP_FLOAT8_E8M0FNU, 2, {301, 127}, "nvfp4", 0, WHOLE, true, false},
    {TP_FLOAT8_E8M0FNU, 2, {127, 301}, "mxfp4", 1, WHOLE, true, false},
};
enum {
    QUESTIONS = sizeof questions / sizeof questions[0],
    /* with an axis to analyse whose cells are less than half of the codes */
    DIMS = 27
};

static struct memory memory_of(const struct question *q, uint64_t seed)
{
    uint64_t size = tp_dtype_info(q->dtype)->size;
    for (int i = 0; i < q->ndim; i++)
        size *= (uint64_t)q->shape[i];
    size *= view_room(q->view);
    struct memory memory = random_memory(size, seed);
    for (uint64_t i = 0; i < size && q->dtype == TP_BOOL; i++)
        memory.bytes[i] &= 1;
    return memory;
}

/* Whether there are enough values for sums by leading bits. */
static bool is_float_sum(const struct question *q)
{
    uint64_t n = q->dtype == TP_FLOAT32;
    for (int i = q->view == SPREAD; i < q->ndim; i++)
        n *= (uint64_t)q->shape[i];
    return n >= TP_FLOAT_BINS;
}

/* Whether the device did what it can of a question. */
static void assert_used(const struct question *q, size_t number)
{
    const struct tp_dtype_info *info = tp_dtype_info(q->dtype);
    const bool narrow = info->size / info->parts <= 2;
    const bool float_sum = q->cast && is_float_sum(q);
    if (!tp_emulator_present())
        return;
    cr_assert_eq(tp_emulator_launches_of("kernel_codes.cu") +
                         tp_emulator_launches_of("kernel_codes16.cu") >
                     0,
                 !q->host && !float_sum, "question %zu", number);
    cr_assert_eq(tp_emulator_launches_of("kernel_blocks.cu") > 0,
                 q->target && strcmp(q->target, "hif8") && !q->host,
                 "question %zu", number);
    if (q->host)
        return;
    cr_assert_eq(tp_emulator_launches_of("kernel_values.cu") > 0, !narrow,
                 "question %zu", number);
    cr_assert_eq(tp_emulator_launches_of("kernel_select.cu") > 0, !narrow,
                 "question %zu", number);
    cr_assert_eq(tp_emulator_launches_of("kernel_tally.cu") > 0,
                 q->cast && narrow, "question %zu", number);
    cr_assert_eq(tp_emulator_launches_of("kernel_floats.cu") > 0,
                 float_sum, "question %zu", number);
    cr_assert_eq(tp_emulator_launches_of("kernel_gather.cu") > 0,
                 q->view == SLICED, "question %zu", number);
}

Test(device, results_are_those_of_the_host)
{
    char reason[TP_DEVICE_REASON_MAX];
    size_t dims = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct memory memory = memory_of(&questions[i], i + 1);
        tp_emulator_begin(&tp_emulator_default);
        struct tp_device_session *device = open_device(1, 0, reason);
        cr_assert_not_null(device, "%s", reason);
        scan(&questions[i], &memory, 1, NULL, &here);
        cr_assert_eq(tp_emulator_launches(), 0);
        scan(&questions[i], &memory, 1, device, &there);
        assert_used(&questions[i], i);
        dims += tp_emulator_launches_of("kernel_dims.cu") > 0;
        cr_assert_str_eq(tp_device_failure(device), "");
        assert_same_answer(&here, &there, "question", i);
        tp_device_close(device);
        cr_assert_eq(tp_emulator_leaks(), 0);
        free(memory.bytes);
    }
    cr_assert(dims == DIMS || !tp_emulator_present(), "%zu", dims);
}

/* Ranges, a block across two of them, lanes at once; one worker has none. */
Test(device, ranges_and_jobs_are_not_seen)
{
    static const struct question many[] = {
        {TP_BFLOAT16, 2, {8200, 1101}, "mxfp8_e4m3", 0, WHOLE, false, false},
        {TP_FLOAT32, 2, {4300, 1024}, "hif8", 0, WHOLE, false, false},
        {TP_FLOAT32, 2, {2100, 4100}, "hif8", 0, WHOLE, true, false},
        {TP_FLOAT16, 2, {1101, 8200}, "mxfp4", 0, TURNED, true, false},
        {TP_FLOAT64, 2, {2111, 1001}, "mxfp8_e4m3", 1, WHOLE, false, false},
        {TP_INT8, 1, {(32 << 20) + 1}, NULL, 0, WHOLE, false, false},
        {TP_BFLOAT16, 2, {8200, 1101}, "mxfp8_e4m3", 0, SLICED, true, false},
        {TP_FLOAT32, 2, {33, 150001}, NULL, 0, WHOLE, false, false},
        {TP_FLOAT16, 2, {401, 30001}, "mxfp6_e3m2", 1, WHOLE, true, false},
        {TP_FLOAT16, 2, {65, 90001}, "mxfp6_e3m2", 1, WHOLE, true, false},
    };
    char reason[TP_DEVICE_REASON_MAX];
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
        struct memory memory = memory_of(&many[i], i + 77);
        tp_emulator_begin(&tp_emulator_default);
        struct tp_device_session *device = open_device(2, 0, reason);
        cr_assert_not_null(device, "%s", reason);
        cr_assert_eq(tp_device_lanes(device), 2);
        scan(&many[i], &memory, 1, NULL, &here);
        scan(&many[i], &memory, 3, device, &there);
        cr_assert_str_eq(tp_device_failure(device), "");
        assert_same_answer(&here, &there, "many", i);
        tp_device_close(device);
        cr_assert_eq(tp_emulator_leaks(), 0);
        free(memory.bytes);
    }
}

/* The n-th call fails, with and without the device being lost, for every n
 * that a scan has: either it does not open, or the host does the rest. */
static void fail_each(const struct question *q, int lost)
{
    char reason[TP_DEVICE_REASON_MAX];
    struct memory memory = memory_of(q, 5);
    uint64_t refused = 0, failed = 0;
    tp_emulator_begin(&tp_emulator_default);
    struct tp_device_session *sound = open_device(1, 0, reason);
    cr_assert_not_null(sound, "%s", reason);
    scan(q, &memory, 1, sound, &here);
    tp_device_close(sound);
    uint64_t calls = tp_emulator_calls();
    scan(q, &memory, 1, NULL, &here);
    for (uint64_t n = 1; n <= calls; n++) {
        struct tp_emulator how = tp_emulator_default;
        how.fail_call = n;
        how.fail_with = lost ? 719 : 2; /* launch failure; no memory */
        how.lost = lost;
        tp_emulator_begin(&how);
        struct tp_device_session *device = open_device(1, 0, reason);
        if (!device) {
            cr_assert(*reason);
            refused++;
        } else {
            scan(q, &memory, 1, device, &there);
            failed += *tp_device_failure(device) != '\0';
            assert_same_answer(&here, &there, "failing call", (size_t)n);
            tp_device_close(device);
        }
        cr_assert_eq(tp_emulator_leaks(), 0, "call %zu", (size_t)n);
    }
    cr_assert_gt(refused, 0);
    cr_assert_gt(failed, 4);
    free(memory.bytes);
}

Test(device, failures_are_made_good)
{
    need_emulator();
    static const struct question small[] = {
        {TP_BFLOAT16, 2, {256, 160}, "mxfp8_e4m3", 0, WHOLE, true, false},
        {TP_FLOAT64, 2, {256, 160}, "mxfp8_e4m3", 0, WHOLE, false, false},
        {TP_FLOAT32, 2, {512, 256}, NULL, 0, WHOLE, true, false},
    };
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        fail_each(&small[i], 0);
        fail_each(&small[i], 1);
    }
}

/* Two lanes at once, one of which fails in the middle of several ranges. */
Test(device, one_lane_fails_for_all)
{
    need_emulator();
    static const struct question wide = {
        TP_BFLOAT16, 2, {8200, 2101}, "mxfp8_e4m3", 0, WHOLE, false, false};
    const uint64_t limit = 80 << 20;
    char reason[TP_DEVICE_REASON_MAX];
    struct memory memory = memory_of(&wide, 9);
    tp_emulator_begin(&tp_emulator_default);
    struct tp_device_session *sound = open_device(2, limit, reason);
    cr_assert_not_null(sound, "%s", reason);
    uint64_t opened = tp_emulator_calls(), failed = 0;
    scan(&wide, &memory, 2, sound, &here);
    cr_assert_str_eq(tp_device_failure(sound), "");
    uint64_t calls = tp_emulator_calls();
    tp_device_close(sound);
    cr_assert_leq(tp_emulator_peak(), limit);
    scan(&wide, &memory, 1, NULL, &here);
    for (uint64_t n = opened + 1; n <= calls; n += 29) {
        struct tp_emulator how = tp_emulator_default;
        how.fail_call = n;
        how.fail_with = 719;
        how.lost = n % 2;
        tp_emulator_begin(&how);
        struct tp_device_session *device = open_device(2, limit, reason);
        cr_assert_not_null(device, "%s", reason);
        scan(&wide, &memory, 2, device, &there);
        failed += *tp_device_failure(device) != '\0';
        assert_same_answer(&here, &there, "failing lane, call", (size_t)n);
        tp_device_close(device);
        cr_assert_eq(tp_emulator_leaks(), 0);
        cr_assert_leq(tp_emulator_peak(), limit);
    }
    cr_assert_gt(failed, 2);
    free(memory.bytes);
}

/* What cannot be read is reported as without a device, which is not blamed. */
Test(device, read_errors_are_those_of_the_host)
{
    static const struct question wide = {
        TP_BFLOAT16, 2, {8200, 1101}, "mxfp8_e4m3", 0, WHOLE, false, false};
    static const uint64_t damaged[] = {1000, 3000001, 17000001};
    char reason[TP_DEVICE_REASON_MAX];
    struct memory memory = memory_of(&wide, 3);
    tp_emulator_begin(&tp_emulator_default);
    struct tp_device_session *device = open_device(1, 0, reason);
    cr_assert_not_null(device, "%s", reason);
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        struct tp_error mine = {.code = TP_OK}, theirs = {.code = TP_OK};
        memory.damaged = damaged[i];
        cr_assert_eq(try_scan(&wide, &memory, 1, NULL, &here, &mine),
                     TP_E_DAMAGED);
        cr_assert_eq(try_scan(&wide, &memory, 1, device, &there, &theirs),
                     TP_E_DAMAGED);
        cr_assert_str_eq(theirs.message, mine.message);
        cr_assert_eq(theirs.offset, mine.offset);
    }
    cr_assert_str_eq(tp_device_failure(device), "");
    tp_device_close(device);
    cr_assert_eq(tp_emulator_leaks(), 0);
    free(memory.bytes);
}

Test(device, memory_is_bounded)
{
    char reason[TP_DEVICE_REASON_MAX];
    const uint64_t limit = 80 << 20;
    tp_emulator_begin(&tp_emulator_default);
    struct tp_device_session *device = open_device(16, limit, reason);
    cr_assert_not_null(device, "%s", reason);
    cr_assert_eq(tp_device_lanes(device), 2);
    cr_assert_leq(tp_emulator_peak(), limit);
    tp_device_close(device);
    cr_assert_null(open_device(16, 1 << 20, reason));
    cr_assert(strstr(reason, "needed"), "%s", reason);
    cr_assert_eq(tp_emulator_leaks(), 0);
}

/* Nor does more memory make lanes that cannot do all. */
Test(device, lanes_have_memory_for_tallies_and_small_tensors)
{
    need_emulator();
    enum { TALLIES = 5 };
    char reason[TP_DEVICE_REASON_MAX];
    struct tp_device_options how = tp_scan_device_options(4);
    unsigned lanes = 0;
    how.tallies = TALLIES;
    for (uint64_t mib = 48; mib <= 200; mib += 4) {
        how.memory = mib << 20;
        tp_emulator_begin(&tp_emulator_default);
        struct tp_device_session *device = tp_device_open(&how, reason);
        cr_assert_not_null(device, "%s", reason);
        cr_assert_geq(tp_device_lanes(device), lanes);
        lanes = tp_device_lanes(device);
        for (unsigned i = 0; i < lanes; i++) {
            const struct tp_device_lane lane = {device, i};
            cr_assert(tp_device_tallies(&lane, TALLIES),
                      "%u lanes in %u MiB", lanes, (unsigned)mib);
            cr_assert_not_null(tp_device_batch(&lane));
        }
        cr_assert_leq(tp_emulator_peak(), how.memory);
        tp_device_close(device);
    }
    cr_assert_eq(lanes, 4);
}

Test(device, absent_devices_are_explained)
{
    need_emulator();
    char reason[TP_DEVICE_REASON_MAX] = "";
    struct tp_emulator how = tp_emulator_default;
    how.devices = 0;
    tp_emulator_begin(&how);
    cr_assert_null(open_device(1, 0, reason));
    cr_assert(*reason);
    tp_emulator_begin(&tp_emulator_default);
    struct tp_device_options options = tp_scan_device_options(1);
    options.index = 7;
    cr_assert_null(tp_device_open(&options, reason));
    cr_assert(strstr(reason, "7"), "%s", reason);
}

/* --- small tensors -------------------------------------------------------- */

enum { SMALLS = 400 };

/* Some of each kind; every seventh is not small, every 50th cannot be read. */
static void make_small(size_t i, struct memory *memory,
                       struct tp_tensor *tensor)
{
    static const enum tp_dtype dtypes[] = {
        TP_BFLOAT16,  TP_FLOAT16,        TP_FLOAT8_E4M3FN, TP_BOOL,   TP_INT8,
        TP_COMPLEX32, TP_FLOAT8_E8M0FNU, TP_FLOAT32,       TP_UINT16, TP_INT64};
    static const enum view views[] = {WHOLE, TURNED, SLICED, SPREAD, SPARSE};
    const int64_t rows = i % 7 == 0 ? 200 : 1 + (int64_t)(i % 5);
    const struct question q = {.dtype = dtypes[i % 10],
                               .ndim = 2,
                               .shape = {rows, 1 + (int64_t)(i * 37 % 401)},
                               .view = views[i % 5]};
    *memory = memory_of(&q, i + 1);
    if (i % 50 == 49)
        memory->damaged = 1;
    *tensor = memory_tensor(memory, q.dtype, q.ndim, q.shape, q.view);
}

struct smalls {
    struct memory memory[SMALLS];
    struct tp_tensor tensor[SMALLS];
    struct answer answer[SMALLS];
    enum tp_status status[SMALLS];
};

static void scan_smalls(struct smalls *all, struct tp_device_session *device)
{
    struct tp_pool *pool;
    struct tp_scanner *scanner;
    struct tp_error err = {.code = TP_OK};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_scanner_new(pool, &scanner, &err), TP_OK);
    tp_scanner_use(scanner, device);
    for (size_t i = 0, ahead = 0; i < SMALLS; i++) {
        struct tp_quant_spec spec = {.number = tp_number_by_id("mxfp8_e4m3")};
        struct tp_scan_request request = {.target = tp_number_by_id("hif8"),
                                          .scale_rule = TP_SCALE_FLOOR,
                                          .specs = &spec,
                                          .spec_count = 1,
                                          .dims_keep = 4,
                                          .ahead = true};
        if (i == ahead)
            ahead += tp_scan_ahead(scanner, all->tensor + i, SMALLS - i, 0);
        cr_assert_gt(ahead, i);
        all->status[i] = scan_into(scanner, &all->tensor[i], &request,
                                   &all->answer[i], &err);
    }
    tp_scanner_free(scanner);
    tp_pool_free(pool);
}

static struct smalls small_here, small_there;

Test(device, small_tensors_are_counted_together)
{
    char reason[TP_DEVICE_REASON_MAX];
    for (size_t i = 0; i < SMALLS; i++) {
        make_small(i, &small_here.memory[i], &small_here.tensor[i]);
        make_small(i, &small_there.memory[i], &small_there.tensor[i]);
    }
    tp_emulator_begin(&tp_emulator_default);
    struct tp_device_session *device = open_device(1, 0, reason);
    cr_assert_not_null(device, "%s", reason);
    scan_smalls(&small_here, NULL);
    cr_assert_eq(tp_emulator_launches(), 0);
    scan_smalls(&small_there, device);
    cr_assert_str_eq(tp_device_failure(device), "");
    cr_assert(tp_emulator_launches_of("kernel_lists.cu") == 2 ||
              !tp_emulator_present());
    for (size_t i = 0; i < SMALLS; i++) {
        const bool damaged = small_here.memory[i].damaged != 0;
        cr_assert_eq(small_here.status[i], damaged ? TP_E_DAMAGED : TP_OK);
        cr_assert_eq(small_there.status[i], small_here.status[i]);
        if (!damaged)
            assert_same_answer(&small_here.answer[i], &small_there.answer[i],
                               "small", i);
        tp_dims_clear(&small_here.answer[i].dims);
        tp_dims_clear(&small_there.answer[i].dims);
        free(small_here.memory[i].bytes);
        free(small_there.memory[i].bytes);
    }
    tp_device_close(device);
    cr_assert_eq(tp_emulator_leaks(), 0);
}
