/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/program.h"

static char folder[] = "/tmp/tp-program-XXXXXX";

/* Writes a program of that text into the folder; its path. */
static const char *make(const char *name, const char *text, mode_t mode)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
    return path;
}

static void begin(void)
{
    cr_assert(mkdtemp(folder));
}

static void end(void)
{
    static const char *const names[] = {"known", "plain", "folder", "odd"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

TestSuite(program, .init = begin, .fini = end);

Test(program, is_found_as_execvp_finds_it)
{
    char list[256], path[TP_PROGRAM_PATH_MAX], inner[256];
    snprintf(inner, sizeof inner, "%s/folder", folder);
    cr_assert_eq(mkdir(inner, 0777), 0);
    make("plain", "#!/bin/sh\n", 0644);
    const char *known = make("known", "#!/bin/sh\n", 0755);
    snprintf(list, sizeof list, "/nowhere:%s:/bin", folder);
    setenv("PATH", list, 1);
    cr_expect(tp_program_find("known", path));
    cr_expect_str_eq(path, known);
    cr_expect(tp_program_find("sh", path));
    cr_expect_str_eq(path, "/bin/sh");
    cr_expect_not(tp_program_find("folder", path), "a folder is no program");
    cr_expect_not(tp_program_find("plain", path), "nor is what is just a file");
    cr_expect_not(tp_program_find("nothing-of-the-kind", path));
}

/* The list of `readelf -l`: on x86-64 /lib64/ld-linux-x86-64.so.2. */
Test(program, of_elf_is_loaded_by_what_it_names)
{
    char other[TP_PROGRAM_PATH_MAX];
    tp_program_interpreter("/proc/self/exe", other);
    cr_expect_neq(strstr(other, "/ld"), NULL, "%s", other);
    cr_expect_eq(access(other, X_OK), 0, "%s", other);
    tp_program_interpreter(other, other);
    cr_expect_str_eq(other, "", "what loads others is loaded by none");
}

Test(program, that_is_a_script_may_need_all_and_one_unread_nothing)
{
    char other[TP_PROGRAM_PATH_MAX];
    tp_program_interpreter(make("known", "#!/bin/sh\n", 0755), other);
    cr_expect_str_eq(other, "/");
    tp_program_interpreter(make("odd",
                                "\x7f"
                                "ELF cut off",
                                0755),
                           other);
    cr_expect_str_eq(other, "/");
    tp_program_interpreter("/nowhere/at/all", other);
    cr_expect_str_eq(other, "");
}
