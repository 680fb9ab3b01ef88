/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/state_fold.h"

static char folder[] = "/tmp/tp-fold.XXXXXX";
static char state[64];

static void make_folder(void)
{
    cr_assert(mkdtemp(folder));
    snprintf(state, sizeof state, "%s/s", folder);
}

static void remove_folder(void)
{
    unlink(state);
    cr_assert_eq(rmdir(folder), 0, "nothing is left beside it");
}

/* A state of files without tensors: "name size" each, in order of names. */
static void write_state(const char *path, const char *options,
                        const char *const *names, const uint64_t *sizes,
                        size_t count)
{
    struct tp_record items[4];
    const struct tp_records records = {.items = items, .count = count};
    const struct tp_state_header header = {options, "in\n", false};
    for (size_t i = 0; i < count; i++)
        items[i] = (struct tp_record){
            .path = names[i], .size = sizes[i], .done = true};
    cr_assert_eq(tp_state_write(path, &header, &records, NULL, NULL), TP_OK);
}

static void write_side(unsigned rank, const char *options,
                       const char *const *names, const uint64_t *sizes,
                       size_t count)
{
    struct tp_text side = {0};
    tp_state_side(state, rank, &side);
    write_state(tp_text_get(&side), options, names, sizes, count);
    tp_text_clear(&side);
}

static void expect_state(const char *const *names, const uint64_t *sizes,
                         size_t count)
{
    struct tp_arena arena = {0};
    struct tp_state read = {.records = {.arena = &arena}};
    cr_assert_eq(tp_state_read(state, &read, NULL, NULL), TP_OK);
    cr_expect_not(read.whole);
    cr_expect_str_eq(read.options, "o\n");
    cr_expect_str_eq(read.roots, "in\n");
    cr_assert_eq(read.records.count, count);
    for (size_t i = 0; i < count; i++) {
        cr_expect_str_eq(read.records.items[i].path, names[i]);
        cr_expect_eq(read.records.items[i].size, sizes[i]);
    }
    tp_state_clear(&read);
    tp_arena_clear(&arena);
}

static const char *const names[] = {"a", "b", "c", "d"};

Test(state_fold, adds_what_stands_beside, .init = make_folder,
     .fini = remove_folder)
{
    static const char *const first[] = {"b", "d"}, *const second[] = {"a", "b"},
                             *const third[] = {"c"};
    static const uint64_t sizes[] = {1, 2}, later[] = {3, 4}, last[] = {5};
    static const uint64_t all[] = {3, 4, 5, 2}; /* b was read again */
    write_state(state, "o\n", first, sizes, 2);
    write_side(1, "o\n", second, later, 2);
    write_side(12, "o\n", third, last, 1);
    cr_assert_eq(tp_state_fold(state, NULL), TP_OK);
    expect_state(names, all, 4);
}

Test(state_fold, needs_no_state, .init = make_folder, .fini = remove_folder)
{
    static const uint64_t sizes[] = {1, 2};
    write_side(3, "o\n", names, sizes, 2);
    cr_assert_eq(tp_state_fold(state, NULL), TP_OK);
    expect_state(names, sizes, 2);
}

Test(state_fold, does_nothing_where_nothing_is, .init = make_folder,
     .fini = remove_folder)
{
    static const uint64_t sizes[] = {1, 2};
    cr_expect_eq(tp_state_fold(state, NULL), TP_OK);
    cr_expect_neq(access(state, F_OK), 0);
    write_state(state, "o\n", names, sizes, 2);
    cr_expect_eq(tp_state_fold(state, NULL), TP_OK);
    expect_state(names, sizes, 2);
}

Test(state_fold, refuses_other_options_and_damage, .init = make_folder,
     .fini = remove_folder)
{
    static const uint64_t sizes[] = {1, 2};
    struct tp_text side = {0};
    struct tp_error err = {0};
    write_state(state, "o\n", names, sizes, 2);
    write_side(1, "other\n", names, sizes, 1);
    cr_expect_eq(tp_state_fold(state, &err), TP_E_UNSUPPORTED);
    tp_state_side(state, 1, &side);
    cr_expect_str_eq(err.file, tp_text_get(&side));
    FILE *file = fopen(tp_text_get(&side), "r+b");
    cr_assert(file);
    cr_assert_eq(ftruncate(fileno(file), 1100), 0);
    fclose(file);
    err = (struct tp_error){0};
    cr_expect_eq(tp_state_fold(state, &err), TP_E_DAMAGED);
    cr_expect_str_eq(err.file, tp_text_get(&side));
    expect_state(names, sizes, 2);
    tp_state_drop_sides(state);
    tp_text_clear(&side);
}
