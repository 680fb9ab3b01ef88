/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_INTERN_H
#define TP_BASE_INTERN_H

#include <stddef.h>

#include "base/memory.h"

/*
 * One copy of each text: a hundred thousand tensors share a few dozen labels.
 * All-zero bytes are an empty set. Not for use by two threads at once.
 */
struct tp_intern {
    const char **slots; /* open addressing, a power of two */
    size_t count, capacity;
};

/*
 * The one copy of `text`, owned by `arena` (the same in every call); NULL
 * when out of memory.
 */
const char *tp_intern(struct tp_intern *set, struct tp_arena *arena,
                      const char *text);

/* Releases the index, not the texts. */
void tp_intern_clear(struct tp_intern *set);

#endif
