/* SPDX-License-Identifier: MIT */
#include "data/tensor_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/notes.h"
#include "base/text.h"

/* "~" and a number of 64 bits. */
enum { TAIL_BYTES = 17 };

/* Fowler, Noll and Vo's hash (1a), of 64 bits. */
static uint64_t hash(const char *name, size_t length)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return h;
}

static bool is_plain(const char *name, size_t length)
{
    bool plain = true;
    for (size_t i = 0; i < length; i++)
        plain &= name[i] >= ' ' && name[i] <= '~';
    return plain;
}

/* The name printable; a NUL of it too. */
static void add_printable(struct tp_text *text, const char *name,
                          size_t length)
{
    for (size_t i = 0; i < length;) {
        const size_t n = tp_utf8_step(name + i, length - i);
        if (name[i] == 0) {
            tp_text_add(text, "\\x00");
        } else {
            char one[8] = {0};
            memcpy(one, name + i, n ? n : 1);
            tp_text_printable(text, one);
        }
        i += n ? n : 1;
    }
}

const char *tp_tensor_path(struct tp_arena *arena, const char *name,
                           size_t length)
{
    if (length < TP_TENSOR_PATH_MAX && is_plain(name, length))
        return tp_arena_text(arena, name, length);
    struct tp_text text = {0};
    add_printable(&text, name, length);
    if (text.length >= TP_TENSOR_PATH_MAX) {
        text.length =
            tp_utf8_cut(text.data, TP_TENSOR_PATH_MAX - 1 - TAIL_BYTES);
        tp_text_add(&text, "~%016" PRIx64, hash(name, length));
    }
    return tp_arena_take(arena, &text);
}
