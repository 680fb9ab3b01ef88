/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_PYTHON_PRINT_H
#define TP_TESTS_PYTHON_PRINT_H

#include <stdio.h>

#include "check/python_tree.h"

/* What the reader of Python finds in a source, as lines of text that
 * tests/oracle/python_tree.py makes from CPython's ast, too; unsorted. */

struct python_kind {
    const char *name; /* "calls", "withs", "assignments"; then NULL       */
    void (*print)(const struct tp_py_tree *tree, FILE *out);
};

extern const struct python_kind python_kinds[];

#endif
