/* SPDX-License-Identifier: MIT */
/*
 * From directories to rows, on real runs: testdata/logs, and where it is
 * there the 11 600 files of the shared training run, whose tensor_info was
 * written by the run itself.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensors/collect.h"
#include "tests/unit/support/testdata.h"

static char *testdata(const char *name)
{
    static char path[1024];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/testdata/%s", source ? source : ".", name);
    return path;
}

static void collect(const char *root, unsigned jobs, struct tp_run *run)
{
    struct tp_pool *pool;
    const char *const roots[] = {root};
    const struct tp_collect_options options = {
        .roots = roots, .root_count = 1, .mx_scale = TP_SCALE_FLOOR};
    memset(run, 0, sizeof *run);
    cr_assert_eq(tp_pool_new(jobs, &pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(pool, &options, run, NULL), TP_OK);
    tp_pool_free(pool);
}

static void assert_equal_rows(const struct tp_row *a, const struct tp_row *b)
{
    cr_assert_str_eq(a->file, b->file);
    cr_assert_str_eq(a->path, b->path);
    cr_assert_eq(a->ordinal, b->ordinal);
    cr_assert_eq(memcmp(&a->counts, &b->counts, sizeof a->counts), 0);
    cr_assert_eq(memcmp(&a->numbers, &b->numbers, sizeof a->numbers), 0);
    cr_assert_eq(a->packed->bin_bytes, b->packed->bin_bytes);
    cr_assert_eq(memcmp(a->packed->bins, b->packed->bins, a->packed->bin_bytes),
                 0);
}

Test(collect, jobs_do_not_show)
{
    struct tp_run one, many;
    collect(testdata("logs"), 1, &one);
    collect(testdata("logs"), 5, &many);
    cr_assert_gt(one.row_count, 100);
    cr_assert_eq(one.row_count, many.row_count);
    cr_assert_eq(one.bytes_read, many.bytes_read);
    for (size_t i = 0; i < one.row_count; i++) {
        assert_equal_rows(&one.rows[i], &many.rows[i]);
    }
    tp_run_clear(&one);
    tp_run_clear(&many);
}

Test(collect, rows_are_in_the_order_of_their_paths)
{
    struct tp_run run;
    collect(testdata("logs"), 3, &run);
    for (size_t i = 1; i < run.row_count; i++) {
        cr_assert_leq(strcmp(run.rows[i - 1].file, run.rows[i].file), 0);
    }
    cr_assert_eq(run.skipped_count, 0);
    cr_assert_eq(run.files_read, run.row_count);
    tp_run_clear(&run);
}

Test(collect, a_stop_is_obeyed)
{
    struct tp_pool *pool;
    struct tp_run run = {.row_count = 0};
    struct tp_error err = {.code = TP_OK};
    const char *const roots[] = {testdata("logs")};
    const volatile sig_atomic_t stop = 1;
    const struct tp_collect_options options = {.roots = roots,
                                               .root_count = 1,
                                               .mx_scale = TP_SCALE_FLOOR,
                                               .stop = &stop};
    cr_assert_eq(tp_pool_new(2, &pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(pool, &options, &run, &err), TP_E_INTERRUPTED);
    tp_pool_free(pool);
    tp_run_clear(&run);
}

Test(collect, a_missing_root_is_an_error)
{
    struct tp_pool *pool;
    struct tp_run run = {.row_count = 0};
    struct tp_error err = {.code = TP_OK};
    const char *const roots[] = {"nowhere"};
    const struct tp_collect_options options = {
        .roots = roots, .root_count = 1, .mx_scale = TP_SCALE_FLOOR};
    cr_assert_eq(tp_pool_new(1, &pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(pool, &options, &run, &err), TP_E_NOT_FOUND);
    tp_pool_free(pool);
    tp_run_clear(&run);
}

/* Where the training run lies unpacked; the caller removes it. */
static bool unpack(char folder[32])
{
    char path[4096], command[5000];
    shared_path("dumps/tensor_saver/training_run.tar.gz", path, sizeof path);
    if (access(path, R_OK) != 0) {
        return false;
    }
    strcpy(folder, "/tmp/tp-run-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "tar -xzf '%s' -C '%s'", path, folder);
    cr_assert_eq(system(command), 0);
    return true;
}

/* Every label of a file of that run stands in its name, unabbreviated. */
static void check_label(const struct tp_row *row)
{
    const struct tp_label *label = &row->label;
    char layer[32] = "", sample[32] = "", expected[512];
    const char *name = strrchr(row->file, '/') + 1;
    if (label->layer_idx >= 0) {
        snprintf(layer, sizeof layer, "_L%lld", (long long)label->layer_idx);
    }
    if (label->sample_idx >= 0) {
        snprintf(sample, sizeof sample, "_sample%03lld",
                 (long long)label->sample_idx);
    }
    snprintf(expected, sizeof expected,
             "%s_%04lld_iter%03lld_%s%s_%s_%s_%s_%s_rank%02lld%s_group%03lld_"
             "%s.pt",
             label->timestamp, (long long)label->counter,
             (long long)label->iteration, label->layer_type, layer,
             label->operation, label->phase, label->component,
             label->quant_type, (long long)label->rank, sample,
             (long long)label->group_idx, label->tensor_name);
    cr_assert_str_eq(name, expected);
}

static void check_labels(const char *folder, size_t rows, int64_t ordinal)
{
    struct tp_run run;
    int64_t last = 0;
    collect(folder, 2, &run);
    cr_assert_eq(run.row_count, rows);
    cr_assert_eq(run.skipped_count, 0);
    cr_assert_eq(run.notes.count, 0);
    for (size_t i = 0; i < run.row_count; i++) {
        check_label(&run.rows[i]);
        last = run.rows[i].ordinal > last ? run.rows[i].ordinal : last;
    }
    cr_assert_eq(last, ordinal);
    tp_run_clear(&run);
}

/* Three layers that no name tells in the backward pass. */
Test(collect, every_label_of_our_training_run)
{
    char path[4096];
    testdata_path("logs", path, sizeof path);
    check_labels(path, 1080, 2);
}

/* Four linears of a block, and of both blocks where no layer is known. */
Test(collect, every_label_of_the_shared_training_run)
{
    char folder[32], command[64];
    if (!unpack(folder))
        cr_skip_test("no training_run.tar.gz in the shared data");
    check_labels(folder, 11600, 7);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}
