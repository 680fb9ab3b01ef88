/* SPDX-License-Identifier: MIT */
#ifndef TP_SANDBOX_PROGRAM_H
#define TP_SANDBOX_PROGRAM_H

#include <stdbool.h>

/* What starting a program takes. */

enum { TP_PROGRAM_PATH_MAX = 4096 };

/* The file that execvp() would start for a name, in path; false: none. */
bool tp_program_find(const char *name, char path[TP_PROGRAM_PATH_MAX]);

/*
 * The program that the kernel starts a program with: of an ELF file the one it
 * names, "" where it names none. "/" where any may be needed: of a script. ""
 * for what cannot be read.
 */
void tp_program_interpreter(const char *path, char other[TP_PROGRAM_PATH_MAX]);

#endif
