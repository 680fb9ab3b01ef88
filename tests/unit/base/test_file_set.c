/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_set.h"

enum { FILES = 200 }; /* more than are open at a time */

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/tprof-set-XXXXXX");
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
    char path[128];
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%03d", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

static struct tp_file_set *open_set(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/index", folder);
    return tp_file_set_new(path);
}

static bool all(const void *context, const char *name)
{
    (void)context;
    return name[0] != '.';
}

Test(file_set, more_files_than_are_open, .init = make_folder,
     .fini = remove_folder)
{
    char path[128];
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%03d", folder, i);
        FILE *file = fopen(path, "w");
        cr_assert(file);
        fprintf(file, "file %03d", i);
        fclose(file);
    }
    struct tp_file_set *set = open_set();
    cr_assert_eq(tp_file_set_find(set, all, NULL, NULL, NULL), TP_OK);
    cr_assert_eq(tp_file_set_count(set), FILES);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < FILES; i++) {
            struct tp_bytes bytes;
            char text[9] = "", want[9];
            cr_assert_eq(tp_file_set_take(set, i, &bytes, NULL), TP_OK);
            cr_assert_eq(tp_bytes_read(&bytes, 0, text, 8, NULL), TP_OK);
            tp_file_set_give(set, i);
            snprintf(want, sizeof want, "file %03zu", i);
            cr_expect_str_eq(text, want);
            cr_expect_str_eq(tp_file_set_name(set, i), want + 5);
        }
    }
    tp_file_set_free(set);
}

Test(file_set, only_plain_names, .init = make_folder, .fini = remove_folder)
{
    static const char *const refused[] = {"", ".", "..", "../x", "/etc/passwd",
                                          "a/b"};
    struct tp_file_set *set = open_set();
    size_t number, again;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_expect_eq(tp_file_set_add(set, refused[i], &number, NULL),
                     TP_E_DAMAGED, "%s", refused[i]);
    cr_expect_eq(tp_file_set_add(set, "..a", &number, NULL), TP_OK);
    cr_expect_eq(tp_file_set_add(set, "b", &again, NULL), TP_OK);
    cr_expect_neq(number, again);
    cr_expect_eq(tp_file_set_add(set, "..a", &again, NULL), TP_OK);
    cr_expect_eq(number, again);
    struct tp_bytes bytes;
    struct tp_error err = {0};
    cr_expect_eq(tp_file_set_take(set, number, &bytes, &err), TP_E_NOT_FOUND);
    cr_expect(strstr(err.message, "..a"), "%s", err.message);
    tp_file_set_free(set);
}

/* A file that nobody holds open any more is looked at as it is closed. */
Test(file_set, a_file_that_changed_is_named, .init = make_folder,
     .fini = remove_folder)
{
    char path[128];
    struct tp_error err = {0};
    struct tp_file_set *set = open_set();
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%03d", folder, i);
        FILE *file = fopen(path, "w");
        cr_assert(file && fprintf(file, "file") == 4);
        fclose(file);
    }
    cr_assert_eq(tp_file_set_find(set, all, NULL, NULL, NULL), TP_OK);
    for (size_t i = 0; i < FILES; i++) {
        struct tp_bytes bytes;
        cr_assert_eq(tp_file_set_take(set, i, &bytes, NULL), TP_OK);
        tp_file_set_give(set, i);
        if (i == 0)
            cr_expect_eq(tp_file_set_unchanged(set, &err), TP_OK);
        snprintf(path, sizeof path, "%s/%03d", folder, 0);
        if (i == 0)
            cr_assert_eq(truncate(path, 2), 0);
    }
    cr_expect_eq(tp_file_set_unchanged(set, &err), TP_E_CHANGED);
    cr_expect(strstr(err.message, "shorter") && strstr(err.message, "000"),
              "%s", err.message);
    tp_file_set_free(set);
}
