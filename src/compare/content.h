/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_H
#define TP_COMPARE_CONTENT_H

#include "compare/content_check.h"

/* Which tensors of A and of B hold the same, whatever they are called. */

enum tp_content_relation {
    TP_CONTENT_EQUAL,
    TP_CONTENT_RESHAPED,      /* the same order, another shape              */
    TP_CONTENT_TRANSPOSED,    /* axes in another order                      */
    TP_CONTENT_SPLIT,         /* one side has shards of the other           */
    TP_CONTENT_FUSED,         /* one side has several tensors in one        */
    TP_CONTENT_RESHARDED,     /* several of one side make several of the
                                 other                                      */
    TP_CONTENT_SAME_ELEMENTS, /* one tensor each, another order of rows or
                                 elements                                   */
    TP_CONTENT_RELATIONS
};

/* "equal", "reshaped", ... */
extern const char *const tp_content_relation_words[TP_CONTENT_RELATIONS];

struct tp_content_match {
    size_t *items[2]; /* tensors of A and of B, in the order that was found */
    size_t counts[2];
    enum tp_content_relation relation;
    enum tp_dtype dtype; /* in which they are the same                      */
    bool cast;           /* one side rounded to that                        */
    bool constant;       /* all elements are one value: which is which is
                            known by names only                             */
    bool copy; /* one of them is in another match, too: tied or replicated  */
    /* how == TP_CONTENT_DIFFER: not compared element by element; numbers of
     * elements and 128 bits of digests are equal. */
    struct tp_content_proof proof;
};

/* What is most like a tensor that was not found, of its shape. */
struct tp_content_near {
    size_t item; /* of the other side; SIZE_MAX: none was looked at         */
    struct tp_content_distance distance;
};

struct tp_content {
    struct tp_content_side sides[2];
    struct tp_content_match *matches; /* by the first tensor of A           */
    size_t count, capacity;
    size_t *match_of[2]; /* of each tensor; SIZE_MAX: not found             */
    struct tp_content_near *near[2]; /* of each tensor                      */
    struct tp_arena arena;
};

/* Releases everything; empty afterwards. */
void tp_content_clear(struct tp_content *content);

/* Whether a text of it was lost for want of memory. */
bool tp_content_lost(const struct tp_content *content);

#endif
