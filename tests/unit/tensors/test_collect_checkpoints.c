/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints against what torch, or plain arithmetic, said of them:
 * testdata/checkpoints, made by tests/make_checkpoint_files.py, and where they
 * are there 250 files of the shared folder. All of a good one has to be as
 * expected; a bad one is damage, says what is expected of it, and what is
 * listed for it is there nevertheless.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/reader.h"
#include "tensors/collect.h"
#include "tensors/row_file.h"
#include "tests/unit/support/json.h"
#include "tests/unit/support/testdata.h"

static void collect(const char *root, bool parts, struct tp_run *run)
{
    struct tp_pool *pool;
    struct tp_error err = {0};
    const char *const roots[] = {root};
    const struct tp_collect_options options = {.roots = roots,
                                               .root_count = 1,
                                               .mx_scale = TP_SCALE_FLOOR,
                                               .parts = parts};
    memset(run, 0, sizeof *run);
    cr_assert_eq(tp_pool_new(2, &pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(pool, &options, run, &err), TP_OK, "%s: %s", root,
                 err.message);
    tp_pool_free(pool);
}

/* The path that a key of expected.json has in a row. */
static void shown(const char *key, struct tp_text *text)
{
    const char *colon = strstr(key, ".pt:");
    tp_text_printable(text, colon ? colon + 4 : key);
}

/* The row of a key: names over 1 023 bytes are cut, with a hash; a key
 * "FILE.pt:PATH" is that of one file. */
static const struct tp_row *find(const struct tp_run *run, const char *key)
{
    struct tp_text path = {0};
    const struct tp_row *found = NULL;
    const char *colon = strstr(key, ".pt:");
    const size_t file = colon ? (size_t)(colon + 3 - key) : 0;
    shown(key, &path);
    const bool cut = path.length >= 1024;
    for (size_t i = 0; i < run->row_count + run->aside_count; i++) {
        const struct tp_row *row = &run->rows[i];
        const size_t length = strlen(row->file);
        const bool in_file =
            !file ||
            (length >= file && !memcmp(row->file + length - file, key, file));
        const bool named =
            cut ? strlen(row->path) == 1023 &&
                      !strncmp(row->path, tp_text_get(&path), 1000)
                : !strcmp(row->path, tp_text_get(&path));
        if (in_file && named)
            found = row;
    }
    tp_text_clear(&path);
    return found;
}

/* The row of a whole tensor of Megatron's legacy layout: that of the unit or,
 * of what ranks have copies of, one of these; the label has the layer's number
 * in the model. */
static const struct tp_row *find_whole(const struct tp_run *run,
                                       const char *name)
{
    const struct tp_row *copy = NULL;
    const char *layers = strstr(name, ".layers.");
    char *rest = NULL;
    const int64_t layer =
        layers ? strtoll(layers + strlen(".layers."), &rest, 10) : -1;
    const char *tail = rest ? rest : name;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        const size_t length = strlen(row->path), end = strlen(tail);
        if (!strncmp(row->path, "model.", 6) && !strcmp(row->path + 6, name) &&
            strstr(row->file, "mp_rank_*"))
            return row;
        if (row->label.layer_idx == layer && length > end &&
            !strcmp(row->path + length - end, tail) && row->label.rank >= 0 &&
            strncmp(row->path, "optim", 5))
            copy = row;
    }
    return copy;
}

static void check_near(const struct json *want, double got, const char *where,
                       const char *what)
{
    if (!want)
        return;
    const double value = want->text ? strtod(want->text, NULL) : want->number;
    cr_expect(value == got || fabs(value - got) <= 1e-12 * fabs(value) ||
                  (isnan(value) && isnan(got)),
              "%s: %s is %.17g instead of %.17g", where, what, got, value);
}

static void check_first(const struct tp_run *run, const struct tp_row *row,
                        const struct json *want, const char *where)
{
    struct tp_tensor_file file;
    const struct tp_tensor *tensor;
    struct tp_error err = {0};
    struct tp_walk walk;
    unsigned char codes[4 * 16], *scratch = malloc(TP_CHUNK_BYTES);
    double values[8];
    memset(&file, 0, sizeof file);
    cr_assert_eq(tp_row_file_open(run, row, &file, &err), TP_OK, "%s: %s",
                 where, err.message);
    cr_assert_eq(tp_row_file_tensor(row, &file, &tensor, &err), TP_OK, "%s: %s",
                 where, err.message);
    const size_t n = tensor->numel < 4 ? (size_t)tensor->numel : 4;
    tp_walk_ordered(tensor, &walk);
    cr_assert_eq(tp_walk_read(&walk, 0, n, codes, scratch, &err), TP_OK,
                 "%s: %s", where, err.message);
    tp_dtype_decode(tensor->dtype, codes,
                    n * tp_dtype_info(tensor->dtype)->parts, values);
    for (size_t i = 0; i < n; i++)
        check_near(json_at(want, i), values[i], where, "one of the first");
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    free(scratch);
}

static void check_shape(const struct json *want, const char *got,
                        const char *where)
{
    struct tp_text text = {0};
    tp_text_add(&text, "[");
    for (size_t i = 0; i < json_count(want); i++)
        tp_text_add(&text, "%s%s", i ? "," : "", json_at(want, i)->text);
    tp_text_add(&text, "]");
    cr_expect_str_eq(tp_text_get(&text), got, "%s: %s instead of %s", where,
                     got, tp_text_get(&text));
    tp_text_clear(&text);
}

static void check_dtype(const struct json *want, enum tp_dtype got,
                        const char *where)
{
    /* formats of 6 bits have no name in torch */
    static const char *const six[][2] = {{"F6_E2M3", "float6_e2m3fn"},
                                         {"F6_E3M2", "float6_e3m2fn"}};
    const char *name = want->text;
    if (!strncmp(name, "torch.", 6))
        name += 6;
    for (size_t i = 0; i < 2; i++)
        name = strcmp(name, six[i][0]) ? name : six[i][1];
    cr_expect_str_eq(name, tp_dtype_info(got)->name, "%s: %s instead of %s",
                     where, tp_dtype_info(got)->name, name);
}

static void check_row(const struct tp_run *run, const struct tp_row *row,
                      const struct json *want, const char *where)
{
    check_dtype(json_get(want, "dtype"), row->dtype, where);
    check_shape(json_get(want, "shape"), row->shape, where);
    if (json_get(want, "numel")->number == 0)
        return;
    const struct tp_counts *counts = &row->counts;
    check_near(json_get(want, "nan"), (double)counts->nan, where, "nan");
    check_near(json_get(want, "inf"),
               (double)(counts->pos_inf + counts->neg_inf), where, "inf");
    check_near(json_get(want, "zero"), (double)counts->zero, where, "zero");
    check_near(json_get(want, "min"), row->numbers.min, where, "min");
    check_near(json_get(want, "max"), row->numbers.max, where, "max");
    check_near(json_get(want, "l2"), row->numbers.l2_norm, where, "l2");
    check_first(run, row, json_get(want, "first"), where);
}

/* That a unit is damage exactly if it is not good, and says so. */
static void check_verdict(const struct tp_run *run, const char *unit,
                          const char *sentence)
{
    size_t damage = 0;
    bool said = !sentence;
    for (size_t i = 0; i < run->skipped_count; i++) {
        damage += run->skipped[i].damage;
        said = said || strstr(run->skipped[i].reason, sentence);
    }
    if (!strncmp(unit, "good-", 5))
        cr_expect_eq(damage, 0, "%s: %s", unit, run->skipped[0].reason);
    else
        cr_expect_gt(damage, 0, "%s: nothing is said of it", unit);
    cr_expect(said, "%s: it is not said that: %s", unit, sentence);
}

/* Checks a unit; how many tensors were compared. */
static size_t check_unit(const char *folder, const struct json *unit, bool own)
{
    char path[4096], where[4096];
    struct tp_run run;
    size_t compared = 0;
    snprintf(path, sizeof path, "%s/%s", folder, unit->key);
    collect(path, strstr(unit->key, "megatron") || strstr(unit->key, "legacy"),
            &run);
    const struct json *said = json_get(json_get(unit, ""), "error");
    check_verdict(&run, unit->key, own && said ? said->text : NULL);
    for (const struct json *want = unit->first; want; want = want->next) {
        const bool whole = !strncmp(want->key, "assembled:", 10);
        if (!json_get(want, "dtype"))
            continue;
        const struct tp_row *row =
            whole ? find_whole(&run, want->key + 10) : find(&run, want->key);
        snprintf(where, sizeof where, "%s: %.80s", unit->key, want->key);
        cr_expect(row, "%s: no row", where);
        if (row)
            check_row(&run, row, want, where);
        compared++;
    }
    tp_run_clear(&run);
    return compared;
}

static size_t check_folder(const char *folder, bool own)
{
    char path[4096];
    size_t compared = 0;
    snprintf(path, sizeof path, "%s/expected.json", folder);
    struct json *expected = json_read(path);
    cr_assert(expected, "%s is not there", path);
    for (const struct json *unit = expected->first; unit; unit = unit->next)
        compared += check_unit(folder, unit, own);
    json_free(expected);
    return compared;
}

Test(collect_checkpoints, ours_are_as_expected)
{
    char folder[4096];
    testdata_path("checkpoints", folder, sizeof folder);
    cr_expect_gt(check_folder(folder, true), 80);
}

static void check_shared(const char *name, size_t least)
{
    char folder[4096], below[64];
    snprintf(below, sizeof below, "dumps/files_2026/%s", name);
    shared_path(below, folder, sizeof folder);
    FILE *there = fopen(folder, "r");
    if (!there)
        cr_skip_test("no shared/%s beside the source", below);
    fclose(there);
    cr_expect_gt(check_folder(folder, false), least);
}

Test(collect_checkpoints, shared_safetensors_are_as_expected)
{
    check_shared("safetensors", 650);
}

Test(collect_checkpoints, shared_dcp_are_as_expected)
{
    check_shared("dcp", 50);
}

Test(collect_checkpoints, shared_megatron_are_as_expected)
{
    check_shared("megatron", 60);
}

/* Parts are rows beside the whole, and make it. */
Test(collect_checkpoints, parts_on_request)
{
    char path[4096];
    struct tp_run run;
    testdata_path("checkpoints/good-dcp", path, sizeof path);
    collect(path, true, &run);
    const struct tp_row *whole = find(&run, "model.v");
    const struct tp_row *left = find(&run, "model.v[0:5,0:5]");
    const struct tp_row *right = find(&run, "model.v[0:5,5:9]");
    cr_assert(whole && left && right);
    cr_expect_str_eq(left->shape, "[5,5]");
    cr_expect_str_eq(right->shape, "[5,4]");
    cr_expect_eq(whole->numbers.min,
                 fmin(left->numbers.min, right->numbers.min));
    cr_expect_eq(whole->numbers.max,
                 fmax(left->numbers.max, right->numbers.max));
    cr_expect_not(find(&run, "model.r[0:4]"), "a replica is no part");
    const struct tp_row *rows[] = {whole, left, right};
    for (size_t i = 0; i < 3; i++) { /* and are found again */
        const struct tp_tensor *tensor;
        struct tp_tensor_file file;
        memset(&file, 0, sizeof file);
        cr_assert_eq(tp_row_file_open(&run, rows[i], &file, NULL), TP_OK);
        cr_expect_eq(tp_row_file_tensor(rows[i], &file, &tensor, NULL), TP_OK);
        tp_tensor_file_close(&file);
        tp_arena_clear(&file.arena);
    }
    tp_run_clear(&run);
}

/* Parts that ranks split are rows of one whole, with the layer's number in the
 * model; copies are rows of each rank; parts of ranks that are not all there
 * stay as they are. */
Test(collect_checkpoints, ranks_of_megatron)
{
    char path[4096];
    struct tp_run run;
    testdata_path("checkpoints/good-megatron", path, sizeof path);
    collect(path, false, &run);
    const struct tp_row *row =
        find(&run, "model.decoder.layers.2.mlp.linear_fc2.weight");
    cr_assert(row);
    cr_expect_str_eq(row->shape, "[4,8]");
    cr_expect_eq(row->label.layer_idx, 2);
    cr_expect_not(find(&run, "mp_rank_01_001/model_optim_rng.pt:"
                             "model.decoder.layers.0.mlp.linear_fc2.weight"));
    row = find(&run, "mp_rank_01_001/model_optim_rng.pt:"
                     "model.decoder.layers.0.input_layernorm.weight");
    cr_assert(row);
    cr_expect_eq(row->label.layer_idx, 2);
    cr_expect_eq(row->label.rank, 3);
    cr_expect_eq(run.row_count, 2 + 3 * 5 + 2 * (3 * 3 + 1));
    tp_run_clear(&run);
    testdata_path("checkpoints/bad-megatron", path, sizeof path);
    collect(path, false, &run);
    cr_expect(find(&run, "model.decoder.layers.0.mlp.linear_fc2.weight"));
    row = find(&run, "mp_rank_00_001/model_optim_rng.pt:"
                     "model.decoder.layers.0.mlp.linear_fc2.weight");
    cr_assert(row);
    cr_expect_str_eq(row->shape, "[4,4]");
    cr_expect_eq(row->label.layer_idx, 1);
    tp_run_clear(&run);
}

/* What a unit took is not read again; a shard that is named is. */
Test(collect_checkpoints, members_are_read_once)
{
    char folder[4000], path[4096];
    struct tp_run run;
    testdata_path("checkpoints/good-sharded", folder, sizeof folder);
    collect(folder, false, &run);
    cr_expect_eq(run.row_count, 9);
    cr_expect_eq(run.files_ignored, 0);
    tp_run_clear(&run);
    snprintf(path, sizeof path, "%s/model-00001-of-00002.safetensors", folder);
    collect(path, false, &run);
    cr_expect_eq(run.row_count, 5);
    tp_run_clear(&run);
}
