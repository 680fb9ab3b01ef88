/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_TABLE_H
#define TP_COMPARE_CONTENT_TABLE_H

#include "compare/content.h"
#include "data/table.h"

/* What was found by content, as rows. */

/* A row of /content_matches. */
struct tp_content_row {
    const char *left, *right; /* names, joined by ", "                     */
    int64_t left_count, right_count;
    const char *relation;    /* of tp_content_relation_words                  */
    const char *words;       /* the same with what is known of it             */
    const char *dtype;       /* in which they are the same                    */
    int64_t axis;            /* along which they are cut; -1                  */
    const char *permutation; /* "1, 0": axis i of the right is axis
                                permutation[i] of the left; ""             */
    int64_t row_block; /* rows that stay together; -1                      */
    int64_t cast, constant, copy; /* 1 or 0                                */
    const char *verified;         /* "elements", "digests"                 */
};

/* A row of /content_alone: a tensor that was not found on the other side. */
struct tp_content_lone_row {
    const char *side; /* "A", "B"                                          */
    const char *name, *dtype, *shape;
    const char *kind; /* "", "constant", "empty", "not read"                */
    double amax;
    const char *nearest; /* of equal shape; "": none                      */
    double differing_share, relative_l2; /* from that; NaN                 */
};

/* How many tensors of A are what. */
struct tp_content_sum_row {
    const char *words;
    size_t count;
};

struct tp_content_rows {
    struct tp_content_row *rows;
    size_t count;
    struct tp_content_lone_row *alone; /* of A, then of B                  */
    size_t alone_count;
    struct tp_content_sum_row *sums; /* most first                         */
    size_t sum_count;
    size_t all[2], found[2]; /* tensors of a side that hold something      */
    size_t lost[2];          /* of the others those that are no constants  */
    struct tp_arena arena;
};

/* Words what was found; borrows `content`. Release with tp_content_rows_clear,
 * also after a failure: TP_E_MEMORY. `rows` is zeroed by the caller. */
enum tp_status tp_content_rows_make(const struct tp_content *content,
                                    struct tp_content_rows *rows,
                                    struct tp_error *err);
void tp_content_rows_clear(struct tp_content_rows *rows);

/* The tables "content_matches" and "content_alone". */
void tp_content_matches_table(const struct tp_content_rows *rows,
                              struct tp_table *table);
void tp_content_alone_table(const struct tp_content_rows *rows,
                            struct tp_table *table);

#endif
