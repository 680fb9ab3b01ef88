/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_ROOTS_H
#define TP_TENSORS_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/file.h"

/* What the user named to be read: directories, and files. */

/* Whether a path is one of them. */
bool tp_roots_have(const char *const *roots, size_t count, const char *path);

/*
 * Adds their files to an empty list, sorted, and the patterns that stand for
 * files that belong together without an index (tp_format_pattern), but for a
 * file that was named: that stands for itself. TP_E_NOT_FOUND, TP_E_MEMORY.
 */
enum tp_status tp_roots_find(const char *const *roots, size_t count,
                             struct tp_found_list *files, struct tp_error *err);

#endif
