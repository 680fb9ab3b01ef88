/* SPDX-License-Identifier: MIT */
/* What there is of memory, in systems that are made of files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_limit.h"
#include "config.h"

static char root[] = "/tmp/tp-memory-XXXXXX";

static void make_root(void)
{
    cr_assert(mkdtemp(root) != NULL);
}

/* Writes a file below the root, whose folders are made. */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0);
    fclose(file);
}

static void remove_root(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(memory_limit, .init = make_root, .fini = remove_root);

Test(memory_limit, nothing_is_said)
{
    cr_expect_eq(tp_memory_available_in(root), 0);
}

Test(memory_limit, the_system)
{
    put("proc/meminfo", "MemTotal:  100 kB\nMemFree: 7 kB\n"
                        "MemAvailable:   64 kB\n");
    cr_expect_eq(tp_memory_available_in(root), 65536);
    put("proc/self/cgroup", "0::/a/b\n");
    cr_expect_eq(tp_memory_available_in(root), 65536);
}

Test(memory_limit, groups_and_what_they_are_in)
{
    put("proc/meminfo", "MemAvailable: 64 kB\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    cr_expect_eq(tp_memory_available_in(root), 65536);
    put("sys/fs/cgroup/a/memory.max", "5000\n");
    cr_expect_eq(tp_memory_available_in(root), 5000);
    put("sys/fs/cgroup/a/b/memory.max", "4000\n");
    cr_expect_eq(tp_memory_available_in(root), 4000);
    put("sys/fs/cgroup/memory.max", "3000\n"); /* of a container */
    cr_expect_eq(tp_memory_available_in(root), 3000);
}

Test(memory_limit, groups_of_version_1)
{
    put("proc/self/cgroup", "9:cpu:/x\n4:memory:/y/z\n0::/\n");
    put("sys/fs/cgroup/x/memory.limit_in_bytes", "1\n");
    put("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "7000\n");
    cr_expect_eq(tp_memory_available_in(root), 7000);
}

Test(memory_limit, this_system_says_something)
{
    if (access("/proc/meminfo", R_OK) == 0)
        cr_expect(tp_memory_available() > (uint64_t)1 << 20);
}

#ifndef TP_SANITIZED
/* In a child, which is bounded from then on. */
Test(memory_limit, holds)
{
    const pid_t child = fork();
    if (child == 0) {
        struct tp_error err = {0};
        struct rlimit limit;
        void *small, *large;
        bool holds = tp_memory_limit((uint64_t)64 << 20, NULL) == TP_OK &&
                     tp_memory_limit((uint64_t)1 << 40, NULL) == TP_OK &&
                     getrlimit(RLIMIT_DATA, &limit) == 0 &&
                     limit.rlim_cur == 64 << 20;
        small = malloc(1 << 20);
        large = malloc(256 << 20);
        holds = holds && small && !large &&
                tp_fail_memory(&err) == TP_E_MEMORY &&
                strstr(err.message, "67108864") &&
                strstr(err.message, "--memory_limit");
        free(small);
        free(large);
        _exit(holds ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif
