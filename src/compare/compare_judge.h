/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_JUDGE_H
#define TP_COMPARE_COMPARE_JUDGE_H

#include "base/text.h"
#include "compare/compare_row.h"

/*
 * The verdict of msprobe's comparison: pass, warning or error for each row,
 * from the rows of its call. The rules and their numbers are msprobe 26's.
 */

/* What a rule says; a row may have several, in this order. */
enum tp_compare_message {
    TP_SAYS_NONFINITE,  /* NaN or Inf in A's Max or Min, not in B's     */
    TP_SAYS_NORM,       /* a result's norm is > 50 % off, arguments' not */
    TP_SAYS_THOUSANDTH, /* values off by > 1/1000: > 90 % of a result's,
                           < 10 % of arguments'                         */
    TP_SAYS_GRAD,       /* requires_grad differs                        */
    TP_SAYS_VALUE,      /* an argument that is no tensor differs        */
    TP_SAYS_DTYPE,
    TP_SAYS_SHAPE,
    TP_SAYS_NORM_GROWS, /* results are 10 times as far off as arguments */
    TP_SAYS_COSINE,     /* cosine falls by > 0.1                        */
    TP_SAYS_MD5,        /* checksums differ                             */
    TP_SAYS_MD5_ABSENT, /* one has none                                 */
    TP_COMPARE_MESSAGES
};

/* The texts, as msprobe has them. */
extern const char *const tp_compare_messages[TP_COMPARE_MESSAGES];

/* Sets result and messages of all rows of a pair. */
void tp_compare_judge(struct tp_compare_pair *pair, enum tp_compare_mode mode);

/* Whether the rules look at calls of this name at all: not at those that make
 * no values, or are counted differently in each precision. */
bool tp_compare_is_judged(const char *name);

/* Whether the Max or Min of a row is NaN or Inf. */
bool tp_compare_is_nonfinite(const struct tp_compare_entry *entry);

/* Adds a row's messages as the JSON list that stands in Err_message. */
void tp_compare_messages_text(const struct tp_compare_line *row,
                              struct tp_text *text);

#endif
