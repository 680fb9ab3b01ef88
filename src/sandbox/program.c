/* SPDX-License-Identifier: MIT */
/*
 * What has to be allowed so that a program can be started. An ELF file names
 * the program that loads its libraries in a PT_INTERP segment; libraries are
 * mapped, which needs no right. A script names an interpreter, which starts
 * what it likes, so that for a script all is needed. Asking the kernel by
 * trying to start it under a stricter rule would be exact, and slow.
 */
#include "sandbox/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <elf.h>
#include <link.h> /* ElfW */
#endif

static const char usual_path[] = "/usr/local/bin:/usr/bin:/bin";

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           access(path, X_OK) == 0;
}

bool tp_program_find(const char *name, char path[TP_PROGRAM_PATH_MAX])
{
    const char *at = getenv("PATH");
    at = at ? at : usual_path;
    for (;; at++) {
        const int length = (int)strcspn(at, ":");
        const int n = snprintf(path, TP_PROGRAM_PATH_MAX, "%.*s/%s",
                               length ? length : 1, length ? at : ".", name);
        if (n > 0 && n < TP_PROGRAM_PATH_MAX && is_program(path))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

#if defined(__linux__)
/* Reads the name at the segment; false: it is none. */
static bool read_name(FILE *file, const ElfW(Phdr) * segment,
                      char other[TP_PROGRAM_PATH_MAX])
{
    return segment->p_filesz > 0 && segment->p_filesz < TP_PROGRAM_PATH_MAX &&
           fseek(file, (long)segment->p_offset, SEEK_SET) == 0 &&
           fread(other, 1, segment->p_filesz, file) == segment->p_filesz;
}

/* False: it is no program of this machine's kind. */
static bool read_elf(FILE *file, char other[TP_PROGRAM_PATH_MAX])
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    memset(other, 0, TP_PROGRAM_PATH_MAX);
    if (fread(&head, sizeof head, 1, file) != 1 ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phentsize != sizeof segment)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        const long at = (long)(head.e_phoff + i * sizeof segment);
        if (fseek(file, at, SEEK_SET) != 0 ||
            fread(&segment, sizeof segment, 1, file) != 1)
            return false;
        if (segment.p_type == PT_INTERP)
            return read_name(file, &segment, other);
    }
    return true;
}
#else
static bool read_elf(FILE *file, char other[TP_PROGRAM_PATH_MAX])
{
    (void)file;
    (void)other;
    return false;
}
#endif

void tp_program_interpreter(const char *path, char other[TP_PROGRAM_PATH_MAX])
{
    FILE *file = fopen(path, "rb");
    other[0] = '\0';
    if (file && !read_elf(file, other))
        strcpy(other, "/");
    if (file)
        fclose(file);
}
