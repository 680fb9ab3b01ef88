/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_PYTHON_TREE_H
#define TP_CHECK_PYTHON_TREE_H

#include "check/python_node.h"

/* Statements and expressions of a Python source, as one tree. */

/*
 * Makes the tree of some tokens, which must outlive it. A statement that
 * cannot be read becomes TP_PY_UNREADABLE and is noted in `problem`. Trees are
 * at most TP_LIMIT_SCRIPT_DEPTH high in expressions, so that recursion over
 * one ends. Fails with TP_E_MEMORY. Release with tp_py_tree_clear, also after a
 * failure.
 */
enum tp_status tp_py_parse(const struct tp_py_tokens *tokens,
                           struct tp_py_tree *tree, struct tp_error *err);

#endif
