/* SPDX-License-Identifier: MIT */
#include "stats/stats.h"

#include <assert.h>
#include <string.h>

#define COUNT(member, text)                                                  \
    {                                                                        \
        #member, "1", text, TP_STAT_INTEGER,                                 \
            offsetof(struct tp_counts, member)                               \
    }
#define REAL(member, unit, text)                                             \
    {                                                                        \
        #member, unit, text, TP_STAT_REAL,                                   \
            offsetof(struct tp_numbers, member)                              \
    }
#define QUANTILE(name, index, text)                                          \
    {                                                                        \
        name, "value", text, TP_STAT_REAL,                                   \
            offsetof(struct tp_numbers, quantile) + (index) * sizeof(double) \
    }

const struct tp_stat tp_stats[] = {
    COUNT(numel, "elements"),
    COUNT(nan, "values that are not a number"),
    COUNT(pos_inf, "values that are plus infinity"),
    COUNT(neg_inf, "values that are minus infinity"),
    COUNT(zero, "values that are zero, of either sign"),
    COUNT(negative, "finite values below zero"),
    REAL(min, "value", "smallest finite value"),
    REAL(max, "value", "largest finite value"),
    REAL(mean, "value", "mean of the finite values"),
    REAL(std, "value", "unbiased standard deviation (n - 1)"),
    REAL(abs_max, "value", "largest finite magnitude"),
    REAL(abs_min_nonzero, "value", "smallest nonzero magnitude"),
    REAL(l1_norm, "value", "sum of magnitudes"),
    REAL(l2_norm, "value", "root of the sum of squares"),
    REAL(skewness, "1", "third standardised moment"),
    REAL(kurtosis, "1", "fourth standardised moment less 3 (excess)"),
    QUANTILE("q01", 0, "0.01 quantile, linear between order statistics"),
    QUANTILE("q05", 1, "0.05 quantile"),
    QUANTILE("q25", 2, "0.25 quantile, the lower quartile"),
    QUANTILE("q50", 3, "0.50 quantile, the median"),
    QUANTILE("q75", 4, "0.75 quantile, the upper quartile"),
    QUANTILE("q95", 5, "0.95 quantile"),
    QUANTILE("q99", 6, "0.99 quantile"),
    REAL(upper_overflow_ratio, "1", "share that is +Inf or above the range"),
    REAL(lower_overflow_ratio, "1", "share that is -Inf or below the range"),
    REAL(total_overflow_ratio, "1", "upper and lower overflow together"),
    REAL(underflow_ratio, "1", "share that is nonzero and rounds to zero"),
    REAL(subnormal_ratio, "1",
         "share that is nonzero and rounds below the smallest normal"),
    {NULL, NULL, NULL, TP_STAT_INTEGER, 0}};

const struct tp_stat *tp_stat_by_name(const char *name)
{
    for (const struct tp_stat *stat = tp_stats; stat->name; stat++)
        if (strcmp(stat->name, name) == 0)
            return stat;
    return NULL;
}

int64_t tp_stat_integer(const struct tp_stat *stat,
                        const struct tp_counts *counts)
{
    assert(stat->type == TP_STAT_INTEGER);
    uint64_t value;
    memcpy(&value, (const char *)counts + stat->offset, sizeof value);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

double tp_stat_real(const struct tp_stat *stat, const struct tp_counts *counts,
                    const struct tp_numbers *numbers)
{
    if (stat->type == TP_STAT_INTEGER)
        return (double)tp_stat_integer(stat, counts);
    double value;
    memcpy(&value, (const char *)numbers + stat->offset, sizeof value);
    return value;
}
