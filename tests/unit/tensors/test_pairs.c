/* SPDX-License-Identifier: MIT */
/*
 * Pairs of testdata/logs, a small training run in three quant types. What is
 * expected of single ones are numpy's corrcoef and cosine of the two tensors
 * in binary64.
 */
#include "tensors/pairs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensors/collect.h"
#include "tests/unit/support/testdata.h"

/* A run of one or two folders with its pairs. */
struct pairing {
    struct tp_pool *pool;
    struct tp_run run;
    struct tp_pairs pairs;
};

static void collect(struct pairing *made, const char *const *roots,
                    size_t count, unsigned jobs)
{
    const struct tp_collect_options how = {.roots = roots, .root_count = count};
    *made = (struct pairing){.pool = NULL};
    cr_assert_eq(tp_pool_new(jobs, &made->pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(made->pool, &how, &made->run, NULL), TP_OK);
}

static void pair(struct pairing *made, enum tp_pairs_which which)
{
    const struct tp_pairs_options how = {.which = which, .pool = made->pool};
    cr_assert_eq(tp_pairs_make(&made->run, &how, &made->pairs, NULL), TP_OK);
    cr_assert_eq(tp_pairs_scatter(&how, &made->pairs, NULL), TP_OK);
}

static void make(struct pairing *made, unsigned jobs, enum tp_pairs_which which)
{
    char path[4096];
    const char *const roots[] = {path};
    testdata_path("logs", path, sizeof path);
    collect(made, roots, 1, jobs);
    pair(made, which);
}

static void clear(struct pairing *made)
{
    tp_pairs_clear(&made->pairs);
    tp_run_clear(&made->run);
    tp_pool_free(made->pool);
}

Test(pairs, jobs_do_not_show)
{
    struct pairing one, many;
    make(&one, 1, TP_PAIRS_ALL);
    make(&many, 3, TP_PAIRS_ALL);
    cr_assert_eq(one.pairs.count, 432);
    cr_assert_eq(one.pairs.measured, 432);
    cr_assert_eq(many.pairs.count, one.pairs.count);
    for (size_t i = 0; i < one.pairs.count; i++) {
        const struct tp_pair *a = &one.pairs.rows[i];
        const struct tp_pair *b = &many.pairs.rows[i];
        cr_expect(a->x == b->x && a->y == b->y);
        cr_expect_eq(memcmp(&a->numbers, &b->numbers, sizeof a->numbers), 0);
        cr_expect_eq(one.pairs.worst[i], many.pairs.worst[i]);
    }
    cr_assert_eq(one.pairs.scatter_count, TP_PAIR_SCATTERS);
    cr_assert_eq(many.pairs.scatter_count, TP_PAIR_SCATTERS);
    for (size_t i = 0; i < TP_PAIR_SCATTERS; i++) {
        const struct tp_pair_scatter *a = &one.pairs.scatters[i];
        const struct tp_pair_scatter *b = &many.pairs.scatters[i];
        cr_expect_eq(a->pair, b->pair);
        cr_expect_eq(memcmp(a->cells, b->cells, sizeof a->cells), 0);
    }
    clear(&one);
    clear(&many);
}

/* The pair of the file that ends so, with a row of type `x`. */
static const struct tp_pair_numbers *find(const struct pairing *made,
                                          const char *file, const char *x)
{
    for (size_t i = 0; i < made->pairs.count; i++) {
        const struct tp_pair *pair = &made->pairs.rows[i];
        const char *its = made->run.rows[pair->y].file;
        const size_t length = strlen(its), end = strlen(file);
        if (length > end && strcmp(its + length - end, file) == 0 &&
            strcmp(tp_pair_type(&made->run.rows[pair->x]), x) == 0)
            return &pair->numbers;
    }
    cr_assert_fail("no pair of %s", file);
    return NULL;
}

Test(pairs, numbers_are_those_of_numpy)
{
    static const struct {
        const char *file, *x;
        double r, cosine;
        uint64_t nan;
    } known[] = {
        {"0215_iter005_linear_L1_backward_pre_linear_mxfp8_rank01_group000_"
         "input.pt",
         "hifp8", 0.3643647746786283, 0.36983993477506305, 256},
        {"0143_iter003_linear_L1_backward_pre_linear_mxfp8_rank01_group000_"
         "input.pt",
         "hifp8", 0.9870863639377531, 0.9870988962388059, 0},
        {"0037_iter001_attention_L1_forward_pre_FA_mxfp8_rank01_group000_"
         "query.pt",
         "hifp8", 0.9991573672547329, 0.9991571733724189, 0},
    };
    struct pairing made;
    make(&made, 2, TP_PAIRS_ALL);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct tp_pair_numbers *n =
            find(&made, known[i].file, known[i].x);
        cr_expect_float_eq(n->pearson_r, known[i].r, 1e-12);
        cr_expect_float_eq(n->one_minus_r, 1 - known[i].r, 1e-12);
        cr_expect_float_eq(n->cosine, known[i].cosine, 1e-12);
        cr_expect_eq(n->nan + n->inf, known[i].nan);
    }
    clear(&made);
}

Test(pairs, the_least_alike_come_first)
{
    struct pairing made;
    make(&made, 2, TP_PAIRS_BASE);
    const struct tp_pairs *pairs = &made.pairs;
    double last = INFINITY;
    cr_assert_gt(pairs->measured, 100);
    for (size_t i = 0; i < pairs->measured; i++) {
        const struct tp_pair *pair = &pairs->rows[pairs->worst[i]];
        double distance = tp_pair_distance(&pair->numbers);
        if (isnan(distance)) /* nothing finite, or the same constant: last */
            distance = pair->numbers.mse > 0 ? INFINITY : -1;
        cr_expect_leq(distance, last);
        cr_expect(pair->based);
        last = distance;
    }
    for (size_t i = 0; i < pairs->scatter_count; i++) {
        const struct tp_pair_scatter *scatter = &pairs->scatters[i];
        uint64_t counted = 0;
        for (int c = 0; c < TP_PAIR_CELLS * TP_PAIR_CELLS; c++)
            counted += scatter->cells[c];
        cr_expect_eq(counted, pairs->rows[scatter->pair].numbers.finite);
    }
    clear(&made);
}

Test(pairs, none_is_read_where_none_is_wanted)
{
    struct pairing made;
    make(&made, 1, TP_PAIRS_NONE);
    struct tp_table table;
    tp_pairs_table_make(&made.pairs, &table);
    cr_expect_eq(made.pairs.count, 432);
    cr_expect_eq(made.pairs.measured, 0);
    cr_expect_eq(made.pairs.scatter_count, 0);
    cr_expect_eq(table.row_count, 0);
    clear(&made);
}

/* --- files that change between the two readings --------------------------- */

static const char *const names[] = {
    "hifp8/20260115_100002_0001_iter001_attention_L1_forward_pre_FA_hifp8_"
    "rank01_sample000_group000_query.pt",
    "mxfp8/20260115_100002_0037_iter001_attention_L1_forward_pre_FA_mxfp8_"
    "rank01_group000_query.pt",
    "hifp8/20260115_100007_0071_iter003_linear_L1_backward_pre_linear_hifp8_"
    "rank01_sample000_group000_input.pt",
    "mxfp8/20260115_100007_0143_iter003_linear_L1_backward_pre_linear_mxfp8_"
    "rank01_group000_input.pt"};

static const char *base_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* A folder with copies of two pairs, which the caller removes. */
static void copy_pairs(char folder[32])
{
    char below[512], path[4096], command[9000];
    strcpy(folder, "/tmp/tp-pairs-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < 4; i++) {
        snprintf(below, sizeof below, "logs/%s", names[i]);
        testdata_path(below, path, sizeof path);
        snprintf(command, sizeof command, "cp '%s' '%s/'", path, folder);
        cr_assert_eq(system(command), 0);
    }
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

/* Collects the copies, does something to the second file, pairs up: the other
 * pair is measured, the damage is told. */
static void expect_damage(const char *command, const char *told)
{
    char folder[32], line[4096], path[1024];
    struct pairing made;
    copy_pairs(folder);
    const char *const roots[] = {folder};
    collect(&made, roots, 1, 2);
    cr_assert_eq(made.run.row_count, 4);
    snprintf(path, sizeof path, "%s/%s", folder, base_name(names[1]));
    snprintf(line, sizeof line, command, path);
    cr_assert_eq(system(line), 0);
    pair(&made, TP_PAIRS_ALL);
    struct tp_table table;
    tp_pairs_table_make(&made.pairs, &table);
    cr_assert_eq(made.pairs.count, 2);
    cr_expect_eq(made.pairs.measured, 1);
    cr_expect_eq(table.row_count, 2);
    cr_expect(strstr(made.pairs.rows[0].error, told), "%s",
              made.pairs.rows[0].error);
    cr_expect_str_eq(made.pairs.rows[1].error, "");
    cr_expect_gt(made.pairs.rows[1].numbers.pearson_r, 0.98);
    cr_assert_eq(made.run.skipped_count, 1);
    cr_expect(made.run.skipped[0].damage);
    cr_expect(strstr(made.run.skipped[0].file, base_name(names[1])), "%s",
              made.run.skipped[0].file);
    clear(&made);
    remove_folder(folder);
}

/* Nothing correlates with a tensor that is all zero: it is the least alike. */
Test(pairs, what_is_all_zero_comes_first)
{
    char folder[32], line[4096];
    struct pairing made;
    copy_pairs(folder);
    const char *const roots[] = {folder};
    for (size_t i = 0; i < 2; i++) {
        bool zero = i > 0; /* its 512 elements are the end of the file */
        snprintf(line, sizeof line,
                 "f='%s/%s'; truncate -s -1024 \"$f\" && "
                 "head -c 1024 /dev/zero >> \"$f\"",
                 folder, base_name(names[3]));
        cr_assert(!zero || system(line) == 0);
        collect(&made, roots, 1, 2);
        cr_assert_eq(made.run.row_count, 4);
        pair(&made, TP_PAIRS_ALL);
        cr_assert_eq(made.pairs.measured, 2);
        const struct tp_pair_numbers *worst =
            &made.pairs.rows[made.pairs.worst[0]].numbers;
        cr_expect_eq(isnan(worst->pearson_r), zero);
        clear(&made);
    }
    remove_folder(folder);
}

Test(pairs, a_file_that_was_cut_is_told)
{
    expect_damage("truncate -s 900 '%s'", "");
}

Test(pairs, a_file_that_is_gone_is_told)
{
    expect_damage("rm '%s'", "No such file");
}

Test(pairs, a_file_that_became_another_is_told)
{
    char command[2048], below[512], path[1024];
    snprintf(below, sizeof below, "logs/%s", names[3]);
    testdata_path(below, path, sizeof path);
    snprintf(command, sizeof command, "cp '%s' '%%s'", path);
    expect_damage(command, "is another than when it was first read");
}
