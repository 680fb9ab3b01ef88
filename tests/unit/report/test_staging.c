/* SPDX-License-Identifier: MIT */
/* Results that change all at once: the process is killed before each of its
 * renames in turn (this file has the program's rename), and a later run has
 * either the older result or the new one, whole. */
#include "report/staging.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static long renames, killed_at;

int rename(const char *from, const char *to)
{
    if (++renames == killed_at)
        raise(SIGKILL);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static const char names[] = "report.txt\0"
                            "table.h5\0"
                            "a/one.png\0"
                            "a/two.png\0"
                            "a/WHY.txt\0";

static void put(const char *folder, const char *name, const char *words)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *strrchr(path, '/') = '\0';
    cr_assert_eq(tp_file_make_directories(path, NULL), TP_OK);
    path[strlen(path)] = '/';
    cr_assert_eq(tp_file_write(path, words, strlen(words), NULL), TP_OK);
}

/* "" where there is none. */
static const char *get(const char *name)
{
    static char words[64];
    char path[512];
    snprintf(path, sizeof path, "out/%s", name);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(words, 1, sizeof words - 1, file) : 0;
    words[n] = '\0';
    if (file)
        fclose(file);
    return words;
}

/* The older result has no a/two.png, and the new one no a/one.png. */
static void make_older(void)
{
    put("out", "report.txt", "old");
    put("out", "table.h5", "old");
    put("out", "a/one.png", "old");
    put("out", "a/WHY.txt", "old");
    put("out", "mine.txt", "mine");
}

static enum tp_status commit(struct tp_error *err)
{
    const struct tp_text replaced = {.data = (char *)names,
                                     .length = sizeof names - 1};
    char *staging;
    enum tp_status status = tp_staging_open("out", &staging, err);
    put(staging, "report.txt", "new");
    put(staging, "table.h5", "new");
    put(staging, "a/two.png", "new");
    put(staging, "more/three.png", "new");
    renames = 0;
    if (status == TP_OK)
        status =
            tp_staging_commit("out", staging, &replaced, "report.txt", err);
    free(staging);
    return status;
}

static void expect_older(void)
{
    cr_expect_str_eq(get("report.txt"), "old");
    cr_expect_str_eq(get("table.h5"), "old");
    cr_expect_str_eq(get("a/one.png"), "old");
    cr_expect_str_eq(get("a/two.png"), "");
    cr_expect_str_eq(get("a/WHY.txt"), "old");
    cr_expect_str_eq(get("more/three.png"), "");
}

static void expect_new(void)
{
    cr_expect_str_eq(get("report.txt"), "new");
    cr_expect_str_eq(get("table.h5"), "new");
    cr_expect_str_eq(get("a/one.png"), "");
    cr_expect_str_eq(get("a/two.png"), "new");
    cr_expect_str_eq(get("a/WHY.txt"), "");
    cr_expect_str_eq(get("more/three.png"), "new");
}

static void enter(void)
{
    static char root[] = "/tmp/tp-staging.XXXXXX";
    cr_assert(mkdtemp(root));
    cr_assert_eq(chdir(root), 0);
}

static void leave(void)
{
    char root[512];
    cr_assert(getcwd(root, sizeof root));
    cr_assert_eq(chdir("/"), 0);
    tp_file_remove_tree(root);
}

/* How the process of a commit that is killed at a rename ends. */
static int commit_killed(long at)
{
    const pid_t child = fork();
    int status;
    if (child == 0) {
        killed_at = at;
        _exit(commit(NULL) == TP_OK ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

TestSuite(staging, .init = enter, .fini = leave);

Test(staging, a_new_result_takes_the_place_of_an_older_one)
{
    make_older();
    cr_assert_eq(commit(NULL), TP_OK);
    expect_new();
    cr_expect_str_eq(get("mine.txt"), "mine");
}

Test(staging, a_kill_at_any_rename_loses_nothing)
{
    int status, kept = 0, finished = 0;
    for (long at = 1; at < 100; at++) {
        make_older();
        status = commit_killed(at);
        if (WIFEXITED(status))
            break;
        const bool reported = *get("report.txt");
        const bool is_old = !strcmp(get("report.txt"), "old");
        if (reported) /* then all is of one run, without any help */
            expect_older();
        cr_assert_eq(tp_staging_recover("out", NULL), TP_OK);
        tp_file_remove_abandoned("out");
        if (is_old && !strcmp(get("report.txt"), "old")) {
            expect_older();
            kept++;
        } else {
            expect_new();
            finished++;
        }
        cr_expect_str_eq(get("mine.txt"), "mine");
        tp_file_remove_tree("out");
    }
    cr_expect_eq(WEXITSTATUS(status), 0, "no rename is left at the end");
    cr_expect_gt(kept, 0);
    cr_expect_gt(finished, 4);
}

/* A run that began before the other was killed does not end up between. */
Test(staging, the_next_commit_finishes_it_too)
{
    make_older();
    cr_assert(WIFSIGNALED(commit_killed(3)));
    cr_expect_str_eq(get("report.txt"), "", "it went first");
    char *staging;
    const struct tp_text none = {.length = 0};
    cr_assert_eq(tp_staging_open("out", &staging, NULL), TP_OK);
    put(staging, "other.txt", "other");
    cr_assert_eq(tp_staging_commit("out", staging, &none, "other.txt", NULL),
                 TP_OK);
    free(staging);
    expect_new();
    cr_expect_str_eq(get("other.txt"), "other");
}

/* What is no journal of ours moves nothing. */
Test(staging, names_that_lead_away_are_refused)
{
    static const char journal[] = "report.txt\0../mine.txt";
    char folder[512];
    put(".", "mine.txt", "mine");
    make_older();
    int pid = fork();
    if (pid == 0)
        _exit(0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    char *own = tp_file_aside("out/result"), *digits = strstr(own, ".tmp");
    while (digits[-1] != '.')
        digits--;
    snprintf(folder, sizeof folder, "%.*s%d.tmp", (int)(digits - own), own,
             pid);
    free(own);
    put(folder, "report.txt", "new");
    put(folder, "x/.old/y", "");
    char path[600];
    snprintf(path, sizeof path, "%s/.names", folder);
    cr_assert_eq(tp_file_write(path, journal, sizeof journal, NULL), TP_OK);
    cr_assert_eq(tp_staging_recover("out", NULL), TP_OK);
    expect_older();
    cr_expect_eq(access("mine.txt", F_OK), 0);
}
