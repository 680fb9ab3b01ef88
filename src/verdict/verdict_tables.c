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

/* A verdict in words. */
struct verdict_words {
    const char *verdict, *scenario, *sentence;
    double share;
};

#define VERDICT(member, unit) TP_COLUMN(struct verdict_words, member, unit)

static const struct tp_column verdict_columns[] = {
    VERDICT(verdict, ""),
    VERDICT(scenario, ""),
    VERDICT(share, "1"),
    VERDICT(sentence, ""),
};

static void make_verdicts(const void *rows, size_t first, size_t count,
                          void *made)
{
    const struct tp_trace_verdict *from = rows;
    struct verdict_words *to = made;
    for (size_t i = 0; i < count; i++) {
        const struct tp_trace_verdict *row = &from[first + i];
        const struct tp_trace_verdict_info *info =
            &tp_trace_verdict_table[row->verdict];
        to[i] = (struct verdict_words){info->id, info->scenario, row->sentence,
                                       row->share};
    }
}

/* A finding, and what of it are words. */
struct finding_words {
    const char *severity, *rule;
    struct tp_trace_finding row;
};

#define WORD(member) TP_COLUMN(struct finding_words, member, "")
#define FINDING(member, unit) \
    TP_COLUMN_AS(struct finding_words, #member, row.member, unit)

static const struct tp_column finding_columns[] = {
    WORD(severity),
    WORD(rule),
    FINDING(rank, "1"),
    FINDING(step, "1"),
    FINDING(metric, ""),
    FINDING(window, ""),
    FINDING(value, "metric"),
    FINDING(limit, "metric"),
    FINDING(evidence, ""),
    FINDING(suggestion, ""),
    FINDING(file, ""),
};

static void make_findings(const void *rows, size_t first, size_t count,
                          void *made)
{
    const struct tp_trace_finding *from = rows;
    struct finding_words *to = made;
    for (size_t i = 0; i < count; i++) {
        const struct tp_trace_finding *row = &from[first + i];
        to[i] = (struct finding_words){tp_severity_name(row->level),
                                       row->rule->id, *row};
    }
}

void tp_judged_tables_make(const struct tp_trace_judged *judged,
                           struct tp_table tables[TP_JUDGED_TABLES])
{
    tables[TP_JUDGED_RANKS] = (struct tp_table){
        "ranks",             rank_columns,
        COUNT_OF(rank_columns), judged->ranks.rows,
        judged->ranks.count, sizeof(struct tp_rank_row),
        NULL};
    tables[TP_JUDGED_VERDICTS] = (struct tp_table){
        "verdicts",          verdict_columns,
        COUNT_OF(verdict_columns), judged->verdicts,
        judged->ranks.count, sizeof(struct verdict_words),
        make_verdicts};
    tables[TP_JUDGED_FINDINGS] = (struct tp_table){
        "findings",          finding_columns,
        COUNT_OF(finding_columns), judged->findings.rows,
        judged->findings.count, sizeof(struct finding_words),
        make_findings};
}
