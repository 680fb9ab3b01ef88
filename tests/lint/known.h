/* SPDX-License-Identifier: MIT */
/*
 * What clang's analyzer cannot know, since it sees one file at a time: that
 * these return no success. Included before each file by `make lint`.
 */
#ifndef TP_TESTS_LINT_KNOWN_H
#define TP_TESTS_LINT_KNOWN_H

#include "base/error.h"

#define tp_fail_memory(err) ((void)(tp_fail_memory)(err), TP_E_MEMORY)
#define tp_fail_errno(...) ((void)(tp_fail_errno)(__VA_ARGS__), TP_E_IO)

#endif
