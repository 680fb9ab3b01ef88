/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_MATCH_H
#define TP_COMPARE_CONTENT_MATCH_H

#include "compare/content.h"

/* Finds the tensors of A in B, and those of B in A, by what they hold. */

struct tp_content_options {
    const char *a, *b;
    const struct tp_number_set *steps, *ranks;
    struct tp_content_reading reading;
};

/*
 * Lists, reads and matches. `content` is zeroed by the caller and released with
 * tp_content_clear, also after a failure: those of tp_content_list and
 * tp_content_read. The result does not depend on the pool.
 */
enum tp_status tp_content_compare(const struct tp_content_options *options,
                                  struct tp_content *content,
                                  struct tp_error *err);

#endif
