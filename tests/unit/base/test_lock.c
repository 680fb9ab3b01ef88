/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"

static char folder[] = "/tmp/tp-lock.XXXXXX";
static char path[64], beside[80];

static void make_folder(void)
{
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/state", folder);
    snprintf(beside, sizeof beside, "%s.lock", path);
}

static void remove_folder(void)
{
    cr_assert_eq(rmdir(folder), 0, "nothing is left");
}

/* What another process gets. */
static enum tp_status try_elsewhere(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        struct tp_lock lock = {.path = NULL};
        _exit((int)tp_lock_take(path, &lock, NULL));
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return (enum tp_status)WEXITSTATUS(status);
}

Test(lock, is_of_one_process, .init = make_folder, .fini = remove_folder)
{
    struct tp_lock lock = {.path = NULL};
    cr_assert_eq(tp_lock_take(path, &lock, NULL), TP_OK);
    cr_expect_eq(try_elsewhere(), TP_E_IO);
    tp_lock_give(&lock);
    cr_expect_neq(access(beside, F_OK), 0);
    tp_lock_give(&lock); /* none is held */
}

Test(lock, ends_with_its_process, .init = make_folder, .fini = remove_folder)
{
    struct tp_lock lock = {.path = NULL};
    cr_expect_eq(try_elsewhere(), TP_OK);
    cr_expect_eq(access(beside, F_OK), 0, "it went without a word");
    cr_assert_eq(tp_lock_take(path, &lock, NULL), TP_OK);
    tp_lock_give(&lock);
}

Test(lock, says_where_it_cannot_be)
{
    struct tp_lock lock = {.path = NULL};
    struct tp_error err = {0};
    cr_expect_eq(tp_lock_take("/nowhere/state", &lock, &err), TP_E_IO);
    cr_expect(strstr(err.message, "its lock"));
}
