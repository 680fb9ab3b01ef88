/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_UNIT_H
#define TP_COMPARE_CONTENT_UNIT_H

#include "compare/content_list.h"

/*
 * What is matched: a tensor, or a family, tensors of one side that may be parts
 * of one: of equal key in several files, or of names that differ in one number
 * (of a rank, a shard, an expert).
 */
struct tp_content_unit {
    const size_t *items; /* of the side, in the order of the numbers        */
    size_t count;
    int64_t numel;
};

struct tp_content_units {
    struct tp_content_unit *units; /* [side->count] tensors, then families  */
    size_t count, capacity;
    struct tp_arena arena;
};

/* Lists those of a side. Release with tp_content_units_clear, also after a
 * failure: TP_E_MEMORY. `units` is zeroed by the caller. */
enum tp_status tp_content_units_make(const struct tp_content_side *side,
                                     struct tp_content_units *units,
                                     struct tp_error *err);
void tp_content_units_clear(struct tp_content_units *units);

/* Sums up the digests of a unit in a dtype; false: not all members have it.
 * *own: it is that of all. */
bool tp_content_unit_digest(const struct tp_content_side *side,
                            const struct tp_content_unit *unit,
                            enum tp_dtype dtype,
                            struct tp_content_digest *digest, bool *own);

/* How alike two names are: the share of their words that both have, from 0 to
 * 1; 2: they are equal. */
double tp_content_alike(const char *a, const char *b);

/* Orders texts so that "2" comes before "10". */
int tp_content_natural(const char *a, const char *b);

#endif
