/* SPDX-License-Identifier: MIT */
/* What is left of a process in each role. Each test asks in a child, since what
 * is given away does not come back; tests/sandbox.sh asks from inside the
 * program's readers. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "sandbox/landlock.h"
#include "sandbox/sandbox.h"

static char inside[] = "/tmp/tp-inside-XXXXXX";
static char outside[] = "/tmp/tp-outside-XXXXXX";
static char victim[64]; /* a file outside                                   */

enum { ENTERED_NOT = 100, NOT_THERE = 101, PASSED = 0 };

static void begin(void)
{
    cr_assert(mkdtemp(inside) && mkdtemp(outside));
    snprintf(victim, sizeof victim, "%s/victim", outside);
    FILE *file = fopen(victim, "w");
    cr_assert(file);
    fputs("whole", file);
    fclose(file);
}

static void end(void)
{
    char path[64];
    unlink(victim);
    snprintf(path, sizeof path, "%s/made", inside);
    unlink(path);
    snprintf(path, sizeof path, "%s/other", inside);
    unlink(path);
    rmdir(inside);
    rmdir(outside);
}

TestSuite(sandbox, .init = begin, .fini = end);

/* The exit status of a child that does something in a role, 256 + a signal. */
static int in_role(enum tp_sandbox_role role, int (*act)(void))
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        static const char *const programs[] = {"true", NULL};
        const struct tp_sandbox_wish wish = {
            .role = role,
            .folders = {NULL, "/nowhere/at/all", inside},
            .programs = role == TP_SANDBOX_STARTER ? programs : NULL};
        struct tp_sandbox sandbox;
        struct tp_error err = {0};
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        if (freopen("/dev/null", "w", stderr) == NULL ||
            tp_sandbox_enter(&wish, &sandbox, &err) != TP_OK)
            _exit(ENTERED_NOT);
        if (!sandbox.seccomp.active ||
            (role != TP_SANDBOX_WORLD && !sandbox.landlock.active))
            _exit(NOT_THERE);
        _exit(act());
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* The same of a reader that has no seccomp. */
static int in_landlock(int (*act)(void))
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const struct tp_sandbox_wish wish = {.role = TP_SANDBOX_READER,
                                             .folders = {inside}};
        struct tp_sandbox sandbox = {.landlock_version = 0};
        struct tp_error err = {0};
        alarm(20);
        _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                      tp_landlock_enter(&wish, &sandbox, &err) != TP_OK ||
                      !sandbox.landlock.active
                  ? ENTERED_NOT
                  : act());
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static int nothing(void)
{
    return PASSED;
}

#define NEEDS_BOTH()                                                         \
    do {                                                                     \
        if (!tp_sandbox_is_built())                                          \
            cr_skip_test("built without a sandbox: %s", tp_sandbox_built()); \
        if (in_role(TP_SANDBOX_READER, nothing) == NOT_THERE)                \
            cr_skip_test("this kernel, or who started this, has not both "   \
                         "Landlock and seccomp");                            \
    } while (0)

static int write_inside(void)
{
    char path[64], other[64];
    snprintf(path, sizeof path, "%s/folder", inside);
    if (mkdir(path, 0777) != 0)
        return 1;
    snprintf(path, sizeof path, "%s/folder/first", inside);
    FILE *file = fopen(path, "w");
    if (!file || fputs("x", file) < 0 || fclose(file) != 0)
        return 2;
    snprintf(other, sizeof other, "%s/made", inside);
    if (rename(path, other) != 0)
        return 3;
    snprintf(path, sizeof path, "%s/folder", inside);
    return rmdir(path) != 0 ? 4 : PASSED;
}

static int write_outside(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/new", outside);
    if (open(path, O_WRONLY | O_CREAT, 0666) >= 0 || mkdir(path, 0777) == 0)
        return 1;
    if (open(victim, O_WRONLY) >= 0 || open(victim, O_RDWR | O_TRUNC) >= 0)
        return 2;
    if (open(victim, O_RDONLY | O_TRUNC) >= 0)
        return 3;
    if (unlink(victim) == 0 || rename(victim, path) == 0)
        return 4;
    snprintf(path, sizeof path, "%s/taken", inside);
    if (rename(victim, path) == 0 || link(victim, path) == 0)
        return 5;
    if (symlink(victim, path) == 0)
        return 6;
    return rmdir(outside) == 0 ? 7 : PASSED;
}

/* Below the output directory, too, there are to be files and folders only. */
static int make_others_inside(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s/other", inside);
    if (symlink(victim, name.sun_path) == 0)
        return 1;
    if (mkfifo(name.sun_path, 0666) == 0)
        return 2;
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name,
                sizeof name) == 0
               ? 3
               : PASSED;
}

/* A thread's name, as the driver of a GPU sets it. */
static int name_thread(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)getpid());
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return fd >= 0 && write(fd, "driver", 6) == 6 ? PASSED : 1;
}

static int read_outside(void)
{
    char words[8] = "";
    const int fd = open(victim, O_RDONLY);
    return fd >= 0 && read(fd, words, 5) == 5 && !strcmp(words, "whole")
               ? PASSED
               : 1;
}

static int fork_one(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(7);
    return child > 0 && waitpid(child, &status, 0) == child &&
                   WEXITSTATUS(status) == 7
               ? PASSED
               : 1;
}

static int far_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 1
           : errno == EPERM                     ? PASSED
                                                : 2;
}

static int near_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? PASSED : 1;
}

static int start_true(void)
{
    execlp("true", "true", (char *)NULL);
    return 1;
}

static int start_sh(void)
{
    execlp("sh", "sh", "-c", "exit 0", (char *)NULL);
    return errno == EACCES || errno == EPERM ? PASSED : 1;
}

static int signal_parent(void)
{
    return kill(getppid(), SIGCONT) != 0 ? PASSED : 1;
}

static int change_mode(void)
{
    return chmod(victim, 0777) != 0 && errno == EPERM ? PASSED : 1;
}

static int change_mode_of_open(void)
{
    return fchmod(open(victim, O_RDONLY), 0777) != 0 && errno == EPERM ? PASSED
                                                                      : 1;
}

static int change_owner(void)
{
    return chown(victim, getuid(), getgid()) != 0 && errno == EPERM ? PASSED
                                                                    : 1;
}

/* Of others, and of the kernel's own kinds. */
static int ask_the_kernel(void)
{
    const pid_t other = getppid();
    const struct {
        long number, words[4];
    } calls[] = {
        {SYS_tgkill, {other, other, SIGCONT, 0}},
        {SYS_prlimit64, {other, RLIMIT_CORE, 0, 0}},
        {SYS_sched_setaffinity, {other, 0, 0, 0}},
        {SYS_ioctl, {open(victim, O_RDONLY), FIOQSIZE, 0, 0}},
    };
    for (int i = 0; i < (int)(sizeof calls / sizeof *calls); i++) {
        const long *words = calls[i].words;
        errno = 0;
        if (syscall(calls[i].number, words[0], words[1], words[2], words[3]) >=
                0 ||
            errno != EPERM)
            return 1 + i;
    }
    return PASSED;
}

/* What ended a reader: its own handler, by 4. */
enum { STOPPED = 4 };

Test(sandbox, lets_a_reader_work)
{
    NEEDS_BOTH();
    cr_expect_eq(in_role(TP_SANDBOX_READER, write_inside), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, read_outside), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, fork_one), PASSED);
}

Test(sandbox, keeps_a_reader_inside)
{
    NEEDS_BOTH();
    cr_expect_eq(in_role(TP_SANDBOX_READER, write_outside), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, signal_parent), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, ask_the_kernel), PASSED);
}

/* Where there is no seccomp, which keeps readers from it, too. */
Test(sandbox, has_files_and_folders_only_by_landlock_alone)
{
    NEEDS_BOTH();
    cr_expect_eq(in_landlock(write_inside), PASSED);
    cr_expect_eq(in_landlock(make_others_inside), PASSED);
}

Test(sandbox, ends_a_reader_that_was_taken_over)
{
    NEEDS_BOTH();
    cr_expect_eq(in_role(TP_SANDBOX_READER, far_socket), STOPPED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, near_socket), STOPPED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, start_true), STOPPED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, change_mode), STOPPED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, change_mode_of_open), STOPPED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, change_owner), STOPPED);
}

Test(sandbox, lets_a_driver_talk_on_this_machine_only)
{
    NEEDS_BOTH();
    cr_expect_eq(in_role(TP_SANDBOX_DEVICE, near_socket), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_DEVICE, far_socket), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_DEVICE, start_sh), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_DEVICE, write_outside), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_DEVICE, name_thread), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_READER, name_thread), 1);
}

Test(sandbox, lets_processes_of_a_world_talk_but_start_nothing)
{
    NEEDS_BOTH();
    cr_expect_eq(in_role(TP_SANDBOX_WORLD, far_socket), 1, "it may");
    cr_expect_eq(in_role(TP_SANDBOX_WORLD, start_sh), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_WORLD, change_mode), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_WORLD, change_mode_of_open), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_WORLD, change_owner), PASSED);
}

/* On Debian `true` is a program of its own, not a script. */
Test(sandbox, lets_a_starter_start_what_was_named)
{
    NEEDS_BOTH();
    cr_expect_eq(in_role(TP_SANDBOX_STARTER, start_true), 0);
    cr_expect_eq(in_role(TP_SANDBOX_STARTER, start_sh), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_STARTER, far_socket), PASSED);
    cr_expect_eq(in_role(TP_SANDBOX_STARTER, write_outside), PASSED);
}

Test(sandbox, says_what_is_in_force)
{
    struct tp_sandbox sandbox = {.landlock = {.active = true},
                                 .seccomp = {.why_not = "built without"}};
    struct tp_text text = {0};
    tp_sandbox_words(&sandbox, &text);
    cr_expect_str_eq(tp_text_get(&text),
                     "Landlock, no seccomp (built without)");
    tp_text_clear(&text);
}
