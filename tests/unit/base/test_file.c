/* SPDX-License-Identifier: MIT */
/* Finding files and writing them whole or not at all. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char root[64];

static void make_root(void)
{
    snprintf(root, sizeof root, "%s", "/tmp/tp-file-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    cr_assert_eq(chdir(root), 0);
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    cr_assert_eq(system(command), 0);
}

static void touch(const char *path)
{
    cr_assert_eq(tp_file_write(path, "x", 1, NULL), TP_OK);
}

TestSuite(file, .init = make_root, .fini = remove_root);

Test(file, found_files_are_sorted_and_links_do_not_loop)
{
    cr_assert_eq(tp_file_make_directories("d/b/c", NULL), TP_OK);
    touch("d/b/2");
    touch("d/b/c/3");
    touch("d/1");
    cr_assert_eq(symlink("..", "d/b/up"), 0);
    cr_assert_eq(symlink("../../../d", "d/b/c/again"), 0);
    cr_assert_eq(symlink("self", "d/self"), 0);
    struct tp_found_list list = {0};
    cr_assert_eq(tp_file_find("d", &list, NULL), TP_OK);
    cr_assert_eq(tp_found_sort(&list, NULL), TP_OK);
    cr_assert_eq(list.count, 3);
    cr_assert_str_eq(list.files[0].path, "d/1");
    cr_assert_str_eq(list.files[1].path, "d/b/2");
    cr_assert_str_eq(list.files[2].path, "d/b/c/3");
    cr_assert_eq(list.files[2].size, 1);
    cr_assert_eq(list.problem_count, 1, "the link to itself");
    tp_found_clear(&list);
}

Test(file, a_root_given_twice_is_listed_once)
{
    cr_assert_eq(tp_file_make_directories("d", NULL), TP_OK);
    touch("d/1");
    struct tp_found_list list = {0};
    cr_assert_eq(tp_file_find("d", &list, NULL), TP_OK);
    cr_assert_eq(tp_file_find("d", &list, NULL), TP_OK);
    cr_assert_eq(tp_file_find("./d", &list, NULL), TP_OK);
    cr_assert_eq(tp_file_find("d/1", &list, NULL), TP_OK);
    cr_assert_eq(tp_file_find("./d/../d/1", &list, NULL), TP_OK);
    cr_assert_eq(tp_found_sort(&list, NULL), TP_OK);
    cr_assert_eq(list.count, 1);
    tp_found_clear(&list);
}

Test(file, a_link_counts_only_if_nothing_else_leads_there)
{
    cr_assert_eq(tp_file_make_directories("d", NULL), TP_OK);
    cr_assert_eq(tp_file_make_directories("elsewhere", NULL), TP_OK);
    touch("d/m");
    touch("elsewhere/x");
    cr_assert_eq(symlink("m", "d/a"), 0); /* before and after its target */
    cr_assert_eq(symlink("m", "d/z"), 0);
    cr_assert_eq(symlink("../elsewhere/x", "d/x1"), 0);
    cr_assert_eq(symlink("../elsewhere/x", "d/x2"), 0);
    cr_assert_eq(link("d/m", "d/hard"), 0); /* two names, two files */
    struct tp_found_list list = {0};
    cr_assert_eq(tp_file_find("d", &list, NULL), TP_OK);
    cr_assert_eq(tp_found_sort(&list, NULL), TP_OK);
    cr_assert_eq(list.count, 3);
    cr_assert_str_eq(list.files[0].path, "d/hard");
    cr_assert_str_eq(list.files[1].path, "d/m");
    cr_assert_str_eq(list.files[2].path, "d/x1");
    tp_found_clear(&list);
}

Test(file, a_missing_root_is_not_found)
{
    struct tp_found_list list = {0};
    struct tp_error err = {0};
    cr_assert_eq(tp_file_find("nowhere", &list, &err), TP_E_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "nowhere"));
    tp_found_clear(&list);
}

Test(file, deep_directories_need_no_stack)
{
    char path[4000] = "d";
    for (int i = 0; i < 1500; i++) {
        strcat(path, "/d");
    }
    cr_assert_eq(tp_file_make_directories(path, NULL), TP_OK);
    strcat(path, "/f");
    touch(path);
    struct tp_found_list list = {0};
    cr_assert_eq(tp_file_find("d", &list, NULL), TP_OK);
    cr_assert_eq(list.count, 1);
    tp_found_clear(&list);
}

Test(file, a_failed_write_leaves_nothing)
{
    struct tp_error err = {0};
    cr_assert_eq(tp_file_write("no/such/folder/x", "x", 1, &err), TP_E_IO);
    cr_assert_eq(tp_file_make_directories("d", NULL), TP_OK);
    cr_assert_eq(mkdir("d/x", 0777), 0);
    cr_assert_eq(tp_file_write("d/x", "x", 1, &err), TP_E_IO);
    struct tp_found_list list = {0};
    cr_assert_eq(tp_file_find("d", &list, NULL), TP_OK);
    cr_assert_eq(list.count, 0);
    tp_found_clear(&list);
}

Test(file, a_file_in_the_way_of_a_directory_is_named)
{
    struct tp_error err = {0};
    touch("f");
    cr_assert_eq(tp_file_make_directories("f/d", &err), TP_E_IO);
    cr_assert_not_null(strstr(err.message, "f"));
    cr_assert_eq(tp_file_make_directories(".", NULL), TP_OK);
}

Test(file, join_adds_one_slash)
{
    char *path = tp_file_join("a", "b");
    cr_assert_str_eq(path, "a/b");
    free(path);
    path = tp_file_join("a/", "b");
    cr_assert_str_eq(path, "a/b");
    free(path);
}
