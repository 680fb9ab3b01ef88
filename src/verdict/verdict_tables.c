/* SPDX-License-Identifier: MIT */
#include "verdict/verdict_tables.h"

#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define RANK(member, unit) TP_COLUMN(struct tp_rank_row, member, unit)

static const struct tp_column rank_columns[] = {
    RANK(rank, "1"),
    RANK(world_size, "1"),
    RANK(file, ""),
    RANK(start_us, "us"),
    RANK(step_us, "us"),
    RANK(data_wait_us, "us"),
    RANK(busy, "1"),
    RANK(communication, "1"),
    RANK(exposed_communication, "1"),
    RANK(late, "1"),
    RANK(straggler, "1"),
    RANK(clock_us, "us"),
    RANK(wait_us, "us"),
    RANK(last, "1"),
    RANK(held_us, "us"),
};

#define MATCHED(member, unit) TP_COLUMN(struct tp_collective_row, member, unit)

static const struct tp_column collective_columns[] = {
    MATCHED(collective, ""),
    MATCHED(group, ""),
    MATCHED(dtype, ""),
    MATCHED(matched_by, ""),
    MATCHED(group_size, "1"),
    MATCHED(ranks, "1"),
    MATCHED(sequence, "1"),
    MATCHED(step, "1"),
    MATCHED(bytes, "byte"),
    MATCHED(start_us, "us"),
    MATCHED(latency_us, "us"),
    MATCHED(skew_us, "us"),
    MATCHED(end_skew_us, "us"),
    MATCHED(wait_us, "us"),
    MATCHED(first_rank, "1"),
    MATCHED(last_rank, "1"),
    MATCHED(held_us, "us"),
    MATCHED(algorithm_gbps, "GB/s"),
    MATCHED(bus_gbps, "GB/s"),
};

#define SIZED(member, unit) \
    TP_COLUMN(struct tp_collective_size_row, member, unit)

static const struct tp_column size_columns[] = {
    SIZED(collective, ""),
    SIZED(group, ""),
    SIZED(dtype, ""),
    SIZED(matched_by, ""),
    SIZED(group_size, "1"),
    SIZED(ranks, "1"),
    SIZED(bytes, "byte"),
    SIZED(count, "1"),
    SIZED(latency_us, "us"),
    SIZED(min_latency_us, "us"),
    SIZED(max_latency_us, "us"),
    SIZED(total_latency_us, "us"),
    SIZED(skew_us, "us"),
    SIZED(max_skew_us, "us"),
    SIZED(end_skew_us, "us"),
    SIZED(wait_us, "us"),
    SIZED(algorithm_gbps, "GB/s"),
    SIZED(bus_gbps, "GB/s"),
};

static const char *verdict_word(const void *row)
{
    const struct tp_trace_verdict *verdict = row;
    return tp_trace_verdict_table[verdict->verdict].id;
}

#define VERDICT(member, unit) TP_COLUMN(struct tp_trace_verdict, member, unit)

static const struct tp_column verdict_columns[] = {
    TP_COLUMN_WORD("verdict", verdict_word),
    VERDICT(scenario, ""),
    VERDICT(share, "1"),
    VERDICT(sentence, ""),
};

static const char *severity_word(const void *row)
{
    return tp_severity_name(((const struct tp_trace_finding *)row)->level);
}

static const char *rule_word(const void *row)
{
    return ((const struct tp_trace_finding *)row)->rule->id;
}

static const char *guide_word(const void *row)
{
    return ((const struct tp_trace_finding *)row)->rule->guide;
}

#define FINDING(member, unit) TP_COLUMN(struct tp_trace_finding, member, unit)

static const struct tp_column finding_columns[] = {
    TP_COLUMN_WORD("severity", severity_word),
    TP_COLUMN_WORD("rule", rule_word),
    FINDING(rank, "1"),
    FINDING(step, "1"),
    FINDING(metric, ""),
    FINDING(window, ""),
    FINDING(value, "metric"),
    FINDING(limit, "metric"),
    FINDING(evidence, ""),
    FINDING(suggestion, ""),
    FINDING(file, ""),
    TP_COLUMN_WORD("guide", guide_word),
};

/* A table of rows that are there. */
#define TABLE(name, columns, rows, count)                                    \
    (struct tp_table)                                                        \
    {                                                                        \
        name, columns, COUNT_OF(columns), rows, count, sizeof *(rows), NULL  \
    }

void tp_judged_tables_make(const struct tp_trace_judged *judged,
                           struct tp_table tables[TP_JUDGED_TABLES])
{
    tables[TP_JUDGED_RANKS] = TABLE("ranks", rank_columns, judged->ranks.rows,
                                    judged->ranks.count);
    tables[TP_JUDGED_VERDICTS] =
        TABLE("verdicts", verdict_columns, judged->verdicts,
              judged->ranks.count);
    tables[TP_JUDGED_FINDINGS] =
        TABLE("findings", finding_columns, judged->findings.rows,
              judged->findings.count);
    tables[TP_JUDGED_COLLECTIVES] =
        TABLE("matched_collectives", collective_columns,
              judged->collectives.rows, judged->collectives.count);
    tables[TP_JUDGED_COLLECTIVE_SIZES] =
        TABLE("collective_sizes", size_columns, judged->collective_sizes.rows,
              judged->collective_sizes.count);
}
