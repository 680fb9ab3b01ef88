/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_GROUP_H
#define TP_TENSORS_GROUP_H

#include "tensors/run.h"

/*
 * Groups of tensors: "all layers of rank 3", "every query of a quant type".
 * A group's numbers come from merging its tensors' summaries in row order;
 * its quantiles come from the summary's bins (within 2^-3 relative).
 */

/* A way to group: one row of the table in group.c. */
struct tp_grouping {
    const char *name;      /* label names joined by '/'; "all"            */
    const char *labels[4]; /* the names, ended by NULL                    */
};

/* The rows, ended by one whose name is NULL. */
extern const struct tp_grouping tp_groupings[];

/* One group. Texts are owned by the run's arena. */
struct tp_group {
    const char *group_by; /* name of the grouping                        */
    const char *key;      /* values joined by '/'; '-' where absent      */
    uint64_t tensors;
    struct tp_counts counts;
    struct tp_numbers numbers;
};

/* One occupied bin of a group's histogram; zeros have lower = upper = 0. */
struct tp_group_bin {
    uint64_t group;      /* row number of the group                     */
    double lower, upper; /* of the values; the edge nearer 0 belongs to it */
    uint64_t count;
};

struct tp_groups {
    struct tp_group *rows; /* by grouping, then by key                    */
    size_t count, capacity;
    struct tp_group_bin *bins; /* by group, then by value; of groupings by
                                  at most two labels, which bounds them   */
    size_t bin_count, bin_capacity;
};

/*
 * Makes the groups of all groupings whose labels occur in the run at all.
 * `groups` is zeroed by the caller and released with tp_groups_clear, also
 * after a failure (TP_E_MEMORY).
 */
enum tp_status tp_groups_make(struct tp_run *run, struct tp_groups *groups,
                              struct tp_error *err);
void tp_groups_clear(struct tp_groups *groups);

#endif
