/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_PAIR_H
#define TP_DUMP_DUMP_PAIR_H

#include "dump/dump.h"
#include "dump/dump_unread.h"

/* Two tensors of a dump, bit by bit. */
struct tp_dump_pair {
    bool
        read; /* both could be, and have equal dtypes and numbers of elements */
    int64_t numel, differing; /* elements                                   */
    int64_t first, last;      /* that differ; -1: none                      */
    size_t size;              /* bytes of an element                        */
    int64_t changes; /* equal elements unlike the one before them: 0 where all
                        is one value                                        */
    bool clamped; /* `to` may be `from` with what is beyond a limit set to it */
};

/* Compares them, `from` made before `to`, a piece of each in memory at a time.
 * What cannot be read leaves `read` false and is added to `unread`, with texts
 * of the arena. TP_E_MEMORY only. */
enum tp_status tp_dump_pair_compare(const struct tp_dump_item *from,
                                    const struct tp_dump_item *to,
                                    struct tp_dump_pair *pair,
                                    struct tp_dump_unread *unread,
                                    struct tp_arena *arena,
                                    struct tp_error *err);

#endif
