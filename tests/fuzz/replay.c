/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

/*
 * Runs a fuzz target on the files and folders of the command line, or on its
 * own corpus, tests/fuzz/TARGET.corpus and TARGET.repro (inputs that once
 * failed). A crash is named before it ends the program.
 */

static char current[4096];

static void on_crash(int number)
{
    static const char text[] = "crashed on ";
    ssize_t done = write(STDERR_FILENO, text, sizeof text - 1);
    done += write(STDERR_FILENO, current, strlen(current));
    done += write(STDERR_FILENO, "\n", 1);
    (void)done;
    signal(number, SIG_DFL);
    raise(number);
}

static size_t run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    unsigned char *data = malloc((size_t)size + 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    snprintf(current, sizeof current, "%s", path);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

/* A file, or every file of a folder; returns how many were run. */
static size_t run_path(const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;
    if (!folder)
        return run_file(path);
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        char file[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        count += run_file(file);
    }
    closedir(folder);
    return count;
}

static size_t run_own(const char *program)
{
    static const char *const kinds[] = {"corpus", "repro"};
    const char *name = strrchr(program, '/');
    const char *source = getenv("srcdir");
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/fuzz/%s.%s",
                 source ? source : ".", name ? name + 1 : program, kinds[i]);
        if (access(path, R_OK) == 0)
            count += run_path(path);
    }
    return count;
}

int main(int argc, char **argv)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], on_crash);
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        count += run_path(argv[i]);
    if (argc == 1)
        count = run_own(argv[0]);
    printf("%s: %zu inputs replayed\n", argv[0], count);
    if (count == 0)
        fprintf(stderr, "%s: there is no input\n", argv[0]);
    return count == 0;
}
