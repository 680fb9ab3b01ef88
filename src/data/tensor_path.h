/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_TENSOR_PATH_H
#define TP_DATA_TENSOR_PATH_H

#include "base/memory.h"

/* Bytes of the path of a tensor, its NUL included. */
enum { TP_TENSOR_PATH_MAX = 1024 };

/*
 * A name from a file as a path of tables: what is not printable UTF-8 becomes
 * \xNN; of one that is too long its beginning stays, and "~" and 16 digits of a
 * hash of the whole, the same on every machine. Owned by `arena`; NULL: out of
 * memory.
 */
const char *tp_tensor_path(struct tp_arena *arena, const char *name,
                           size_t length);

#endif
