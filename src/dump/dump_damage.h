/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_DAMAGE_H
#define TP_DUMP_DUMP_DAMAGE_H

#include "base/text.h"
#include "damage/damage_shape.h"
#include "dump/dump.h"
#include "scan/pass.h"

/* Which elements of a tensor of a dump are wrong (src/damage). */

struct tp_dump_damage {
    bool read; /* the tensors could be, and have elements                  */
    enum tp_dtype from, to; /* of a pair                                   */
    struct tp_damage_shape shape;
    struct tp_text words; /* "columns 4 and 5 of 64 along axis 1: ..."; of one
                             tensor a sentence: "Its NaN are in ..."; owned  */
    const char *cause;    /* "likely ..."; "": none                         */
    struct tp_text unread; /* "not known: " and why a tensor could not be read;
                              "": it could; owned                           */
};

/*
 * Which elements of `to` are not those of `from`, which came before it or is
 * what it should be, in the shape of `to`. Tensors that cannot be read, or that
 * differ in shape and in order of memory, leave `read` false. Called by the
 * thread that made the pool. `damage` is zeroed by the caller and cleared with
 * tp_dump_damage_clear. TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_dump_damage_pair(struct tp_readers *readers,
                                   const struct tp_dump_item *from,
                                   const struct tp_dump_item *to,
                                   struct tp_dump_damage *damage,
                                   struct tp_error *err);

/* The NaN of a tensor or, where it has none, its Inf. The same otherwise. */
enum tp_status tp_dump_damage_nonfinite(struct tp_readers *readers,
                                        const struct tp_dump_item *item,
                                        struct tp_dump_damage *damage,
                                        struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_dump_damage_clear(struct tp_dump_damage *damage);

#endif
