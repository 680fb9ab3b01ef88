/* SPDX-License-Identifier: MIT */
/* The program as a function, for fuzz_command.c. */
int tp_program(int argc, char **argv);
#define main tp_program
#include "cli/main.c"
