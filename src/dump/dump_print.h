/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_PRINT_H
#define TP_DUMP_DUMP_PRINT_H

#include <signal.h>

#include "base/pool.h"
#include "dump/dump.h"
#include "dump/dump_unread.h"

/*
 * Fingerprints of what tensors hold: equal contents have equal ones, and
 * contents that are equal for the most part have most samples equal.
 */

/* Elements that are looked at, in pseudo-random places of equal parts. */
enum { TP_PRINT_SAMPLES = 32 };

struct tp_dump_print {
    bool known; /* a file has it, which could be read                      */
    enum tp_dtype dtype; /* as in the file                                 */
    int64_t numel;
    uint32_t crc;     /* CRC-32 of its elements, row-major, as they are    */
    uint32_t samples; /* bits: those that are not zero                     */
    uint32_t sample[TP_PRINT_SAMPLES]; /* an element's bits, hashed        */
};

/* Where prints are taken of. */
struct tp_dump_print_from {
    struct tp_dump_place *place;
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop; /* NULL: nobody stops it            */
    struct tp_dump_unread *unread;
    struct tp_arena *arena;
};

/*
 * Takes the prints of a place: prints[item_count], and sets the CRC of its
 * items. Tensors that are stored as a whole have a CRC-32 in their archive,
 * which is believed; others are read. What cannot be read is not known, and
 * added to `unread`, with texts of the arena. TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_dump_prints_take(const struct tp_dump_print_from *from,
                                   struct tp_dump_print *prints,
                                   struct tp_error *err);

/* Whether two tensors hold the same, as far as fingerprints tell. */
bool tp_dump_print_equal(const struct tp_dump_print *a,
                         const struct tp_dump_print *b);

/* How many samples are equal and not zero. */
int tp_dump_print_shared(const struct tp_dump_print *a,
                         const struct tp_dump_print *b);

/* How many samples are not zero. */
int tp_dump_print_count(const struct tp_dump_print *print);

/* How many different values the samples have, zero apart: contents that many
 * tensors have, such as masks and counters, have few. */
int tp_dump_print_values(const struct tp_dump_print *print);

#endif
