/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_PATH_H
#define TP_TORCH_TORCH_PATH_H

#include "base/memory.h"
#include "formats/torch/pickle_value.h"

/*
 * Places in a payload as texts: keys joined by '.', items as [i]. A key that is
 * no text is written as Python would: None, True, 3, b'a', (1, 'a'). What is
 * not printable UTF-8 becomes \xNN. With `brackets` keys that could be read as
 * something else stand in brackets, so that no two places have one text:
 *
 *     {"a": {"b": T}}  a.b     {"a.b": T}  ['a.b']     {1: T}  [1]
 */
enum {
    TP_TORCH_PATH_MAX = 1024,        /* bytes of the text of a place       */
    TP_TORCH_PATH_ROOM = 16 * 1024   /* bytes of a place in the making     */
};

/* A place in the making; `text` and `length` are the caller's. */
struct tp_torch_path {
    char *text; /* [TP_TORCH_PATH_ROOM] */
    uint32_t *length;
    bool brackets;
};

/* Append an item or a key; false, with part of it appended, when there is no
 * room. A key of over TP_TORCH_PATH_MAX bytes is cut, with a hash behind it. */
bool tp_torch_path_item(struct tp_torch_path *path, size_t index);
bool tp_torch_path_key(struct tp_torch_path *path,
                       const struct tp_pickle *pickle, tp_ref key);

/* The first `length` bytes, in `arena`; over TP_TORCH_PATH_MAX they are cut,
 * with a hash of all behind them. NULL: no memory. */
char *tp_torch_path_text(const struct tp_torch_path *path, size_t length,
                         struct tp_arena *arena);

#endif
