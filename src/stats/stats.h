/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_STATS_H
#define TP_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "stats/summary.h"

/*
 * The statistics table: one row per number that users see of a tensor or of
 * a group of tensors, in the order of the columns of /tensors and /groups.
 * Writers and reports iterate over it and name no statistic themselves.
 */

/* How a column is stored: TP_STAT_INTEGER as int64, TP_STAT_REAL as double. */
enum tp_stat_type { TP_STAT_INTEGER, TP_STAT_REAL };

struct tp_stat {
    const char *name; /* column name: "numel", "q01"                      */
    const char *unit; /* "1", or "value": the unit of the tensor's values */
    const char *help; /* one line for `list stats`                        */
    enum tp_stat_type type;
    size_t offset;    /* INTEGER: of a uint64_t in struct tp_counts;
                         REAL: of a double in struct tp_numbers           */
};

/* The rows, ended by a row whose name is NULL. */
extern const struct tp_stat tp_stats[];

/* The row with this column name, or NULL. */
const struct tp_stat *tp_stat_by_name(const char *name);

/*
 * The value of a statistic. tp_stat_integer is for rows of type INTEGER (more
 * than INT64_MAX elements read as INT64_MAX), tp_stat_real for any row.
 */
int64_t tp_stat_integer(const struct tp_stat *stat,
                        const struct tp_counts *counts);
double tp_stat_real(const struct tp_stat *stat, const struct tp_counts *counts,
                    const struct tp_numbers *numbers);

#endif
