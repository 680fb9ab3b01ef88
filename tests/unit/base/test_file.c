/* SPDX-License-Identifier: MIT */
/* Finding files and writing them whole or not at all. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

Test(file, numbered_files_are_those_with_digits_behind)
{
    struct tp_found_list list = {0};
    touch("s.rank-2");
    touch("s.rank-10");
    touch("s.rank-");
    touch("s.rank-1x");
    touch("t.rank-1");
    cr_assert_eq(tp_found_numbered("s.rank-", &list, NULL), TP_OK);
    cr_assert_eq(list.count, 2);
    cr_expect_str_eq(list.files[0].path, "s.rank-10");
    cr_expect_str_eq(list.files[1].path, "s.rank-2");
    cr_assert_eq(tp_found_numbered("nowhere/s", &list, NULL), TP_OK);
    cr_assert_eq(list.count, 2);
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

/* Makes what a process that is killed leaves, and returns its name. */
static char *leave_aside(const char *path)
{
    int ends[2];
    char name[200] = "";
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char *aside = tp_file_aside(path);
        const ssize_t put = write(ends[1], aside, strlen(aside));
        _exit(put < 0);
    }
    waitpid(child, NULL, 0);
    cr_assert_gt(read(ends[0], name, sizeof name - 1), 0);
    touch(name);
    return strdup(name);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

Test(file, what_a_killed_process_left_is_removed)
{
    cr_assert_eq(tp_file_make_directories("d/deeper", NULL), TP_OK);
    char *gone = leave_aside("d/x.png"), *other = leave_aside("d/deeper/x");
    char *mine = tp_file_aside("d/y.png");
    /* the same from another machine; what only looks alike */
    char *foreign = strdup(gone);
    char *digit = foreign + strlen("d/.x.png.");
    *digit = *digit == '0' ? '1' : '0';
    touch(foreign);
    char visible[200], nameless[200], longer[220];
    snprintf(visible, sizeof visible, "d/%s", gone + strlen("d/."));
    snprintf(nameless, sizeof nameless, "d/%s", gone + strlen("d/.x.png"));
    snprintf(longer, sizeof longer, "%sx", gone);
    const char *const kept[] = {mine,         foreign,       visible,
                                nameless,     longer,        other,
                                "d/x.png",    "d/.tmp",      "d/.1.tmp",
                                "d/.x.1.tmp", "d/.x.0.tmp"};
    const size_t count = sizeof kept / sizeof *kept;
    for (size_t i = 0; i < count; i++)
        touch(kept[i]);
    tp_file_remove_abandoned("d");
    cr_expect(!exists(gone), "%s", gone);
    for (size_t i = 0; i < count; i++)
        cr_expect(exists(kept[i]), "%s", kept[i]);
    tp_file_remove_abandoned("nowhere");
    tp_file_remove_abandoned("d/x.png");
    free(gone);
    free(other);
    free(mine);
    free(foreign);
}

/* Two hosts of one name, as of images, share a folder: outside of containers
 * the container's name is the same on both, so neither tells them apart. */
Test(file, a_name_tells_no_machine)
{
    char words[512] = "", other[64];
    cr_assert_eq(gethostname(words, 255), 0);
    const ssize_t more =
        readlink("/proc/self/ns/pid", words + strlen(words), 255);
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < strlen(words); i++)
        hash = (hash ^ (unsigned char)words[i]) * 16777619u;
    char *gone = leave_aside("x.png");
    snprintf(other, sizeof other, ".x.png.%08" PRIx32 "%s", hash,
             gone + strlen(".x.png.01234567"));
    touch(other);
    tp_file_remove_abandoned(".");
    cr_expect(exists(other), "%s", other);
    cr_expect(more < 0 || !exists(gone), "%s", gone);
    free(gone);
}

Test(file, why_a_file_takes_no_more)
{
    touch("x");
    cr_expect_eq(tp_file_refusal("x"), 0);
    cr_expect_eq(tp_file_refusal("new"), 0);
    cr_expect_eq(tp_file_refusal("no/such/folder"), ENOENT);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {4096, 4096};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    cr_expect_eq(tp_file_refusal("y"), EFBIG);
    if (exists("/dev/full"))
        cr_expect_eq(tp_file_refusal("/dev/full"), ENOSPC);
}

Test(file, a_look_tells_what_is_there_or_fails)
{
    bool there = true;
    struct tp_error err = {.code = TP_OK};
    char name[2 * FILENAME_MAX];
    cr_expect_eq(tp_file_look("nothing", &there, &err), TP_OK);
    cr_expect_not(there);
    cr_expect_eq(tp_file_look("/dev/null/below", &there, &err), TP_OK);
    cr_expect_not(there);
    cr_expect_eq(tp_file_look("/", &there, &err), TP_OK);
    cr_expect(there);
    memset(name, 'a', sizeof name - 1); /* no system has names as long */
    name[sizeof name - 1] = '\0';
    cr_expect_eq(tp_file_look(name, &there, &err), TP_OK);
    cr_expect_not(there);
    cr_assert_eq(symlink("itself", "itself"), 0);
    cr_expect_eq(tp_file_look("itself", &there, &err), TP_E_IO);
    cr_expect_not(there);
    cr_expect_not_null(strstr(err.message, "cannot look for itself"));
}

Test(file, a_file_in_the_way_of_a_directory_is_named)
{
    struct tp_error err = {0};
    touch("f");
    cr_assert_eq(tp_file_make_directories("f/d", &err), TP_E_IO);
    cr_assert_not_null(strstr(err.message, "f"));
    cr_assert_eq(tp_file_make_directories(".", NULL), TP_OK);
}

Test(file, a_base_name_is_what_basename_prints)
{
    /* coreutils' basename, which sees none in a path that ends in a slash */
    static const char *const cases[][2] = {
        {"x.pt", "x.pt"}, {"d/x.pt", "x.pt"}, {"/x", "x"},
        {"a/b//c", "c"},  {"./..", ".."},     {"a b/c d", "c d"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(tp_file_base_name(cases[i][0]), cases[i][1]);
    cr_expect_str_eq(tp_file_base_name("d/"), "", "a folder names no file");
    cr_expect_str_eq(tp_file_base_name(""), "");
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
