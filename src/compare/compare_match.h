/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_MATCH_H
#define TP_COMPARE_COMPARE_MATCH_H

#include "compare/compare_entry.h"
#include "compare/compare_map.h"

/* Which row of B each row of A is compared with. */

/* By what tensors of two sides are matched. */
enum tp_compare_by {
    TP_COMPARE_BY_NAME,
    TP_COMPARE_BY_CONTENT /* content_match.h                               */
};

/* "name", "content", then NULL. */
extern const char *const tp_compare_by_words[];

/* No row. */
#define TP_COMPARE_NONE ((size_t)-1)

struct tp_compare_match_options {
    const struct tp_compare_map *map; /* names of A in B; NULL: the same    */
    bool fuzzy; /* names without the number of the call, in their order     */
};

/* What each row of A is matched with. */
struct tp_compare_partner {
    size_t b;    /* row of B; TP_COMPARE_NONE                              */
    bool dtypes; /* the name is in B, too, but with a dtype that cannot be
                    compared with this one                                 */
};

/*
 * Fills in partners[a->count]. Rows of one name are matched in their order.
 * Dtypes are those of msprobe: equal ones, and any two of float16, bfloat16,
 * float32, float64; of names that the map gives whole, any. TP_E_MEMORY.
 */
enum tp_status tp_compare_match(const struct tp_compare_entries *a,
                                const struct tp_compare_entries *b,
                                const struct tp_compare_match_options *options,
                                struct tp_compare_partner *partners,
                                struct tp_error *err);

#endif
