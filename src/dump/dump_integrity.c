/* SPDX-License-Identifier: MIT */
#include "dump/dump_integrity.h"

#include <stdlib.h>
#include <string.h>

const char *const tp_dump_verify_words[] = {"all", "stats", "crc", "none",
                                            NULL};

void tp_dump_integrity_clear(struct tp_dump_integrity *integrity)
{
    for (size_t i = 0; integrity->items && i < integrity->place_count; i++)
        free(integrity->items[i]);
    free(integrity->items);
    tp_arena_clear(&integrity->arena);
    memset(integrity, 0, sizeof *integrity);
}
