/* SPDX-License-Identifier: MIT */
/* Reading files into a run: what a user sees meanwhile. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/support/trace_maker.h"
#include "trace/trace_run.h"

/* What was told of a run's progress. */
struct told {
    size_t times;
    uint64_t files, bytes, all;
    uint64_t largest; /* bytes between two times */
};

static void tell(void *context, uint64_t files_done, uint64_t files_all,
                 uint64_t bytes_done, uint64_t bytes_all)
{
    struct told *told = context;
    cr_expect_eq(files_all, 1);
    cr_expect_geq(files_done, told->files);
    cr_expect_geq(bytes_done, told->bytes);
    if (bytes_done - told->bytes > told->largest)
        told->largest = bytes_done - told->bytes;
    told->times++;
    told->files = files_done;
    told->bytes = bytes_done;
    told->all = bytes_all;
}

/* One file of 4 MB: its progress is told while it is read, piece by piece,
 * and ends at its size. */
Test(trace_run, progress_within_a_file)
{
    struct trace_maker maker;
    struct tp_error err = {0};
    struct tp_pool *pool;
    struct tp_trace_run run = {0};
    struct told told = {0};
    char path[] = "trace_run_XXXXXX";
    size_t size;
    trace_maker_begin(&maker, -1, 0);
    while (maker.json.length < 4 << 20)
        trace_maker_op(&maker, "aten::mm", 20, 10);
    const char *json = trace_maker_end(&maker, &size);
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, json, size), (ssize_t)size);
    close(file);
    trace_maker_clear(&maker);
    const char *const roots[] = {path};
    const struct tp_trace_options how = {.roots = roots,
                                         .root_count = 1,
                                         .progress = tell,
                                         .progress_context = &told};
    cr_assert_eq(tp_pool_new(2, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_collect(pool, &how, &run, &err), TP_OK, "%s",
                 err.message);
    cr_expect_eq(told.files, 1);
    cr_expect_eq(told.bytes, size);
    cr_expect_eq(told.all, size);
    cr_expect_gt(told.times, 8, "%zu", told.times);
    cr_expect_leq(told.largest, size / 8, "%zu", (size_t)told.largest);
    tp_trace_run_clear(&run);
    tp_pool_free(pool);
    unlink(path);
}
