/* SPDX-License-Identifier: MIT */
#include "verdict/trace_judge.h"

#include "verdict/trace_ranks.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_straggling.h"
#include "verdict/trace_verdict.h"

/* Whether churn is all that costs a trace time, or the run (NULL): the only
 * finding above low. */
static bool only_churns(const struct tp_trace_judged *judged,
                        const struct tp_trace *trace)
{
    size_t churn = 0, others = 0;
    for (size_t i = 0; i < judged->findings.count; i++) {
        const struct tp_trace_finding *finding = &judged->findings.rows[i];
        if (finding->level == TP_SEVERITY_LOW ||
            (trace && finding->file != trace->path))
            continue;
        if (finding->rule->of_trace == tp_trace_rule_churn ||
            finding->rule->of_trace == tp_trace_rule_host_churn)
            churn++;
        else
            others++;
    }
    return churn && !others;
}

/* Churn is no verdict: the device need not wait for it. Programs are told of
 * it all the same where nothing else was found. */
static void name_scenarios(const struct tp_trace_run *run,
                           struct tp_trace_judged *judged)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (only_churns(judged, &run->traces[i]))
            judged->verdicts[i].scenario = TP_SCENARIO_CHURN;
    }
    if (only_churns(judged, NULL))
        judged->verdict.scenario = TP_SCENARIO_CHURN;
}

/* What memory costs a CPU is in no event, so that it is part of what operators
 * are said to take. */
static void add_churn(struct tp_trace_judged *judged,
                      const struct tp_trace_finding *finding, size_t trace)
{
    struct tp_trace_verdict *verdict = &judged->verdicts[trace];
    verdict->sentence = tp_judge_text(
        judged,
        "%s; part of that may be memory, of which %.3g GB/s are taken anew "
        "(%s)",
        verdict->sentence, finding->value, finding->rule->id);
}

static bool is_work(enum tp_verdict verdict)
{
    return verdict == TP_VERDICT_CPU_BOUND || verdict == TP_VERDICT_CPU_ONLY ||
           verdict == TP_VERDICT_TINY_OPERATORS;
}

static bool is_churn(const struct tp_trace_finding *finding)
{
    return finding->rule->of_trace == tp_trace_rule_host_churn;
}

/* The verdict on a trace whose slow steps are most of what is lost. */
static void put_first(struct tp_trace_judged *judged,
                      const struct tp_trace_finding *finding, size_t trace)
{
    struct tp_trace_verdict *verdict = &judged->verdicts[trace];
    const struct tp_trace_verdict_info *info =
        &tp_trace_verdict_table[TP_VERDICT_UNEVEN];
    const char *before = tp_trace_verdict_table[verdict->verdict].id;
    *verdict = (struct tp_trace_verdict){
        .verdict = TP_VERDICT_UNEVEN,
        .sentence = tp_judge_text(judged, "%s; over all steps (%s): %s",
                                  finding->evidence, before,
                                  verdict->sentence),
        .scenario = info->scenario,
        .share = finding->value / 100};
}

/* Where nothing is lost by the verdict, what could be won all the same. */
static void add_largest(struct tp_trace_judged *judged,
                        const struct tp_trace_finding *finding, size_t trace)
{
    struct tp_trace_verdict *verdict = &judged->verdicts[trace];
    verdict->sentence =
        tp_judge_text(judged, "%s; largest finding: %s, up to %.1f %%",
                      verdict->sentence, finding->rule->id, finding->won);
}

/* Whether a finding, of those sorted, is the first of its trace and tells a
 * verdict that all is well of a loss. */
static bool is_largest(const struct tp_trace_judged *judged, size_t i,
                       enum tp_verdict verdict)
{
    const struct tp_trace_finding *rows = judged->findings.rows;
    if ((verdict != TP_VERDICT_GPU_BOUND && verdict != TP_VERDICT_NO_LIMIT) ||
        rows[i].level != TP_SEVERITY_MEDIUM || !(rows[i].won > 0) ||
        rows[i].rule->of_trace == tp_trace_rule_uneven_steps)
        return false;
    for (size_t k = 0; k < i; k++) {
        if (rows[k].file == rows[i].file && rows[k].level >= rows[i].level)
            return false;
    }
    return true;
}

/* Findings that verdicts speak of, too. Returns whether some does. */
static bool tell_findings(const struct tp_trace_run *run,
                          struct tp_trace_judged *judged)
{
    bool any = false;
    for (size_t i = 0; i < judged->findings.count; i++) {
        const struct tp_trace_finding *row = &judged->findings.rows[i];
        for (size_t k = 0; k < run->trace_count; k++) {
            if (row->file != run->traces[k].path)
                continue;
            if (row->leads)
                put_first(judged, row, k);
            else if (is_churn(row) && is_work(judged->verdicts[k].verdict))
                add_churn(judged, row, k);
            else if (is_largest(judged, i, judged->verdicts[k].verdict))
                add_largest(judged, row, k);
            else
                continue;
            any = true;
        }
    }
    return any;
}

/* The headline is about every step; where some lose as much, it says so. */
static void name_uneven_steps(struct tp_trace_judged *judged)
{
    const struct tp_trace_finding *found = NULL;
    for (size_t i = 0; i < judged->findings.count && !found; i++) {
        const struct tp_trace_finding *row = &judged->findings.rows[i];
        if (row->level == TP_SEVERITY_HIGH &&
            row->rule->of_trace == tp_trace_rule_uneven_steps)
            found = row;
    }
    if (found && judged->verdict.verdict != TP_VERDICT_UNEVEN)
        judged->verdict.sentence = tp_judge_text(
            judged,
            "%s; some steps take much longer: %.1f %% of the steps' time (%s)",
            judged->verdict.sentence, found->value, found->rule->id);
}

enum tp_status tp_trace_judge(const struct tp_trace_run *run,
                              const struct tp_trace_limits *limits,
                              struct tp_trace_judged *judged,
                              struct tp_error *err)
{
    judged->limits = *limits;
    enum tp_status status = tp_trace_ranks_make(run, judged, err);
    if (status == TP_OK)
        status = tp_trace_straggling_make(run, judged, err);
    if (status == TP_OK)
        status = tp_trace_verdicts_make(run, judged, err);
    if (status == TP_OK)
        status = tp_trace_findings_make(run, judged, err);
    if (status == TP_OK) {
        if (tell_findings(run, judged)) /* or the run's as it was */
            tp_trace_verdict_of_run(run, judged);
        name_uneven_steps(judged);
        name_scenarios(run, judged);
    }
    return status;
}
