/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_CLAIM_H
#define TP_COMPARE_CONTENT_CLAIM_H

#include "compare/content.h"
#include "compare/content_sum.h"
#include "compare/content_unit.h"

/* What digests say, before and after it was compared element by element. */

/* Why two sides are compared. */
enum tp_content_kind {
    TP_CONTENT_BY_ORDER,  /* digests of the order are equal: two tensors    */
    TP_CONTENT_BY_BAG,    /* those of bags are: two tensors                 */
    TP_CONTENT_BY_FAMILY, /* the same, with a family on one side or both    */
    TP_CONTENT_BY_SUM     /* several units of a side sum up to one          */
};

/* What is said of some tensors of either side. */
struct tp_content_claim {
    struct tp_content_match match;
    size_t parts[TP_CONTENT_PARTS]; /* lengths of the pieces of the side that
                                       may stand in another order          */
    size_t part_count, part_side;
    enum tp_content_kind kind;
    bool family; /* one side is a family                                   */
    bool unread; /* a tensor of it could not be read to be compared        */
};

/* What the rounds of matching share. */
struct tp_content_matcher {
    struct tp_content *content;
    const struct tp_content_reading *reading;
    struct tp_content_units units[2];
    bool *taken[2]; /* tensors that are claimed or matched                 */
    struct tp_content_claim *claims;
    size_t claim_count, claim_capacity;
    struct tp_content_checker **checkers; /* [workers]                     */
    struct tp_error *errors;              /* [workers]                     */
};

/* A tensor of a side. */
const struct tp_content_tensor *tp_content_tensor_at(
    const struct tp_content_matcher *m, size_t side, size_t item);

/* Whether no tensor of a unit is taken, or empty. */
bool tp_content_is_free(const struct tp_content_matcher *m, size_t side,
                        const struct tp_content_unit *unit);

/* Whether two tensors have one shape. */
bool tp_content_same_shape(const struct tp_content_tensor *a,
                           const struct tp_content_tensor *b);

/*
 * Adds a claim, whose tensors are taken from then on. units[side] are those of
 * a side, counts[side] of them; more than one on one side at most.
 * TP_E_MEMORY.
 */
struct tp_content_sides {
    const struct tp_content_unit *units[2][TP_CONTENT_PARTS];
    size_t counts[2];
    enum tp_dtype dtype;
    enum tp_content_kind kind;
    bool copy;
};
enum tp_status tp_content_claim_add(struct tp_content_matcher *m,
                                    const struct tp_content_sides *sides,
                                    struct tp_error *err);

/* What the threads of a round failed with: TP_E_MEMORY, TP_E_INTERRUPTED. */
enum tp_status tp_content_round_end(const struct tp_content_matcher *m,
                                    struct tp_error *err);

/* Compares what was claimed; keeps what is true, and frees the tensors of the
 * rest. TP_E_MEMORY, TP_E_INTERRUPTED. */
enum tp_status tp_content_settle(struct tp_content_matcher *m,
                                 struct tp_error *err);

#endif
