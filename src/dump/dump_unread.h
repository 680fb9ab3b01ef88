/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_UNREAD_H
#define TP_DUMP_DUMP_UNREAD_H

#include "base/memory.h"

/* Files that an audit could not read, or not again, so that it knows less than
 * it could: all-zero bytes are none. */
struct tp_dump_unread {
    size_t count;      /* readings that failed                             */
    const char *first; /* "FILE: reason"; NULL: none                       */
};

/* Adds one; texts are the arena's. */
void tp_dump_unread_add(struct tp_dump_unread *unread, struct tp_arena *arena,
                        const char *file, const struct tp_error *why);

#endif
