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
}
