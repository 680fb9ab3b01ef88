/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_NUMBER_SET_H
#define TP_BASE_NUMBER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A set of numbers that a user names: "0,2,8-11". All-zero bytes are the set
 * of all numbers, which is what somebody means who names none. */

struct tp_number_range {
    int64_t first, last;
};

struct tp_number_set {
    struct tp_number_range *ranges;
    size_t count, capacity;
};

/* Adds the numbers of a text to the set; fails with TP_E_USAGE and a message
 * that tells the form. */
enum tp_status tp_number_set_parse(struct tp_number_set *set, const char *text,
                                   struct tp_error *err);
bool tp_number_set_has(const struct tp_number_set *set, int64_t number);
/* Releases it; it is the set of all numbers afterwards. */
void tp_number_set_clear(struct tp_number_set *set);

#endif
