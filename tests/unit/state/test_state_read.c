/* SPDX-License-Identifier: MIT */
/*
 * What is written is what is read, on testdata of all kinds; and a file that is
 * cut off or changed anywhere is refused.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/state.h"
#include "tensors/collect.h"
#include "tests/unit/support/testdata.h"

static char folder[] = "/tmp/tp-state.XXXXXX";
static char first[64], second[64];

static void make_folder(void)
{
    cr_assert(mkdtemp(folder));
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
}

static void remove_folder(void)
{
    unlink(first);
    unlink(second);
    cr_assert_eq(rmdir(folder), 0, "nothing is left aside");
}

static const struct tp_state_header header = {"mx_scale=floor\n", "logs\n",
                                              true};

static enum tp_status keep(void *context, const struct tp_records *records,
                           bool whole, struct tp_error *err)
{
    cr_expect(whole, "it takes no time");
    return tp_state_write(context, &header, records, NULL, err);
}

/* Reads testdata/NAME and keeps that in a file. */
static void make_state(const char *name, const char *path)
{
    char root[3000];
    struct tp_pool *pool;
    struct tp_quant_plan plan;
    const struct tp_quant_options casts = {.min_sqnr = 20};
    struct tp_run run = {.row_count = 0};
    struct tp_records none = {.arena = &run.arena};
    struct tp_reused reused = {.known = 0};
    const struct tp_collect_keeper keeper = {&none, &reused, 1000, keep,
                                             (void *)path};
    const char *const roots[] = {root};
    testdata_path(name, root, sizeof root);
    cr_assert_eq(tp_quant_plan_make(&casts, &plan, NULL), TP_OK);
    const struct tp_collect_options options = {.roots = roots,
                                               .root_count = 1,
                                               .quant = &plan,
                                               .dims = TP_DIMS_ALL,
                                               .keeper = &keeper};
    cr_assert_eq(tp_pool_new(2, &pool, NULL), TP_OK);
    cr_assert_eq(tp_collect(pool, &options, &run, NULL), TP_OK);
    tp_pool_free(pool);
    tp_records_clear(&none);
    tp_run_clear(&run);
}

static char *read_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    cr_assert_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static enum tp_status read_state(const char *path, struct tp_error *err)
{
    struct tp_arena arena = {0};
    struct tp_state state = {.records = {.arena = &arena}};
    enum tp_status status = tp_state_read(path, &state, NULL, err);
    tp_state_clear(&state);
    tp_arena_clear(&arena);
    return status;
}

/* Reads a state and writes it to another file. */
static void copy_state(const char *from, const char *to)
{
    struct tp_arena arena = {0};
    struct tp_state state = {.records = {.arena = &arena}};
    cr_assert_eq(tp_state_read(from, &state, NULL, NULL), TP_OK);
    cr_expect(state.whole);
    cr_expect_str_eq(state.options, header.options);
    cr_expect_str_eq(state.roots, header.roots);
    cr_expect_gt(state.records.count, 0);
    cr_assert_eq(tp_state_write(to, &header, &state.records, NULL, NULL),
                 TP_OK);
    tp_state_clear(&state);
    tp_arena_clear(&arena);
}

/* Writing what was read gives the same bytes, once equal texts are one. */
static void check_round(const char *name)
{
    char third[80];
    size_t sizes[2];
    make_state(name, first);
    snprintf(third, sizeof third, "%s.again", first);
    copy_state(first, second);
    copy_state(second, third);
    char *a = read_bytes(second, &sizes[0]);
    char *b = read_bytes(third, &sizes[1]);
    cr_expect(sizes[0] == sizes[1] && memcmp(a, b, sizes[0]) == 0, "%s", name);
    unlink(third);
    free(a);
    free(b);
}

Test(state_read, gives_what_was_written, .init = make_folder,
     .fini = remove_folder)
{
    check_round("logs");
    check_round("quantised");
    check_round("checkpoints");
    check_round("torch");
    check_round("msprobe");
}

Test(state_read, refuses_what_is_cut_off_or_changed, .init = make_folder,
     .fini = remove_folder)
{
    enum { BLOCK = 512 };
    struct tp_error err = {0};
    size_t size;
    make_state("case_ranks", first);
    cr_assert_eq(read_state(first, &err), TP_OK);
    char *bytes = read_bytes(first, &size);
    for (size_t at = 0; at < size; at += BLOCK) {
        write_bytes(second, bytes, at);
        enum tp_status status = read_state(second, &err);
        cr_expect_eq(status, at ? TP_E_DAMAGED : TP_E_NOT_FOUND, "%zu", at);
        bytes[at] ^= 1;
        write_bytes(second, bytes, size);
        status = read_state(second, &err);
        cr_expect_eq(status, at ? TP_E_DAMAGED : TP_E_UNSUPPORTED, "%zu", at);
        bytes[at] ^= 1;
    }
    free(bytes);
}

Test(state_read, refuses_another_version_and_what_is_none, .init = make_folder,
     .fini = remove_folder)
{
    struct tp_error err = {0};
    size_t size;
    make_state("case_ranks", first);
    char *bytes = read_bytes(first, &size);
    char *schema = strstr(bytes, "schema 3\n");
    cr_assert(schema);
    schema[7] = '7';
    write_bytes(second, bytes, size);
    cr_expect_eq(read_state(second, &err), TP_E_UNSUPPORTED);
    cr_expect(strstr(err.message, "schema 7"), "%s", err.message);
    cr_expect_str_eq(err.file, second);
    schema[7] = '2';
    strstr(bytes, "layout ")[7] = '9';
    write_bytes(second, bytes, size);
    cr_expect_eq(read_state(second, &err), TP_E_UNSUPPORTED);
    write_bytes(second, "no state", 8);
    cr_expect_eq(read_state(second, &err), TP_E_UNSUPPORTED);
    unlink(second);
    cr_expect_eq(read_state(second, &err), TP_E_NOT_FOUND);
    free(bytes);
}
