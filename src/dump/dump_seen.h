/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_SEEN_H
#define TP_DUMP_DUMP_SEEN_H

#include "dump/dump_call.h"

/*
 * The tensors with NaN or Inf that were met so far in a place, to be found by
 * what they hold: dtype, elements, statistics and, where there are some, sums
 * of their bytes. So an input finds the output it is.
 */

/* What is thought of one. */
enum tp_seen_kind {
    TP_SEEN_BAD,
    TP_SEEN_MASK, /* infinities that are meant                            */
    TP_SEEN_RAW   /* memory that nobody has written                       */
};

struct tp_seen_item {
    const struct tp_dump_item *item;
    enum tp_seen_kind kind;
    size_t origin; /* of what is bad                                       */
    size_t before; /* the one before it with an equal key; -1: none        */
    uint64_t key;
};

/* All-zero bytes are none. */
struct tp_seen {
    struct tp_seen_item *list;
    size_t count, capacity;
    size_t *slots; /* [slot_count]: the newest of a key, plus 1            */
    size_t slot_count;
};

/* Makes room for so many; TP_E_MEMORY. Release with tp_seen_clear. */
enum tp_status tp_seen_init(struct tp_seen *seen, size_t most,
                            struct tp_error *err);
void tp_seen_clear(struct tp_seen *seen);

/* Adds one; as many as there is room for. */
void tp_seen_add(struct tp_seen *seen, const struct tp_dump_item *item,
                 enum tp_seen_kind kind, size_t origin);

/* The newest with the contents of an item, first by the sums of their bytes,
 * then by statistics alone, since sums of arguments that are written in place
 * may be late; NULL: none. */
const struct tp_seen_item *tp_seen_find(const struct tp_seen *seen,
                                        const struct tp_dump_item *item);

#endif
