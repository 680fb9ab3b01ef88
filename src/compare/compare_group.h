/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_GROUP_H
#define TP_COMPARE_COMPARE_GROUP_H

#include <stddef.h>

#include "base/error.h"

/*
 * Numbers texts so that equal ones have equal numbers, from 0, in the order in
 * which they come: groups[count]. *group_count is how many there are.
 * TP_E_MEMORY.
 */
enum tp_status tp_compare_group(const char *const *texts, size_t count,
                                size_t *groups, size_t *group_count,
                                struct tp_error *err);

#endif
