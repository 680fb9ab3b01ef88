/* SPDX-License-Identifier: MIT */
#include "dump/dump_unread.h"

#include "base/notes.h"

void tp_dump_unread_add(struct tp_dump_unread *unread, struct tp_arena *arena,
                        const char *file, const struct tp_error *why)
{
    if (unread->count++ == 0)
        unread->first = tp_arena_format(arena, "%s: %s", file, why->message);
}
