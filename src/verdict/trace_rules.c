/* SPDX-License-Identifier: MIT */
#include "verdict/trace_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

const struct tp_trace_rule tp_trace_rules[] = {
    {"dataloader",
     "the GPU idles behind the DataLoader; in a trace without a GPU, steps "
     "wait for it",
     tp_trace_rule_dataloader, NULL},
    {"sync", "the GPU idles behind calls that wait for it, by cause",
     tp_trace_rule_sync, NULL},
    {"launch", "kernels so short that launching them is what takes the time",
     tp_trace_rule_launch, NULL},
    {"host", "the GPU idles behind operators and Python", tp_trace_rule_host,
     NULL},
    {"allocation", "driver allocations or frees in steady steps",
     tp_trace_rule_allocation, NULL},
    {"cold_start", "driver allocations before any steady step",
     tp_trace_rule_cold_start, NULL},
    {"churn",
     "memory taken and given back at a high rate, from the allocator's cache",
     tp_trace_rule_churn, NULL},
    {"memory_full", "reserved memory near the device's, or out of memory",
     tp_trace_rule_memory_full, NULL},
    {"communication", "communication that no computation hides",
     tp_trace_rule_communication, NULL},
    {"straggler", "ranks that the others wait for in collectives", NULL,
     tp_trace_rule_straggler},
    {"copies", "copies through pageable memory, or outside of computation",
     tp_trace_rule_copies, NULL},
    {"incomplete", "a trace cut short, or without what belongs to its events",
     tp_trace_rule_incomplete, NULL},
    {"not_recorded", "notes what the profiler was not asked to record", NULL,
     tp_trace_rule_not_recorded},
    {NULL, NULL, NULL, NULL},
};

enum tp_status tp_trace_finding_add(const struct tp_trace_case *it,
                                    const char *scenario,
                                    struct tp_trace_finding finding,
                                    struct tp_error *err)
{
    struct tp_trace_run *run = it->run;
    if (tp_grow(&run->findings.rows, &run->findings.capacity,
                run->findings.count + 1, sizeof *run->findings.rows,
                err) != TP_OK)
        return TP_E_MEMORY;
    finding.rule = it->rule->id;
    if (it->trace) {
        finding.rank = it->trace->rank;
        finding.file = it->trace->path;
        finding.window = it->trace->facts.window;
        if (tp_trace_verdict_is(it->verdict, scenario))
            finding.level = TP_SEVERITY_HIGH;
    }
    finding.severity = tp_severity_name(finding.level);
    finding.excess = finding.limit > 0 ? finding.value / finding.limit : 1;
    finding.window = finding.window ? finding.window : "";
    finding.file = finding.file ? finding.file : "";
    run->findings.rows[run->findings.count++] = finding;
    return TP_OK;
}

/* Where a rule stands in the table: rules of one cause stay together. */
static size_t place(const char *rule)
{
    size_t i = 0;
    while (tp_trace_rules[i].id && tp_trace_rules[i].id != rule)
        i++;
    return i;
}

static int compare(const void *left, const void *right)
{
    const struct tp_trace_finding *a = left, *b = right;
    int result = tp_order_int64(b->level, a->level);
    if (!result)
        result = tp_order_double(b->excess, a->excess);
    if (!result)
        result = tp_order_size(place(a->rule), place(b->rule));
    if (!result)
        result = tp_order_int64(a->rank, b->rank);
    return result ? result : strcmp(a->file, b->file);
}

static enum tp_status apply(struct tp_trace_run *run,
                            const struct tp_trace_rule *rule,
                            struct tp_error *err)
{
    struct tp_trace_case it = {
        .run = run, .rule = rule, .limits = run->limits.values};
    enum tp_status status = TP_OK;
    for (size_t i = 0; rule->of_trace && i < run->trace_count && !status; i++) {
        if (!(run->traces[i].idle.window_us > 0) &&
            rule->of_trace != tp_trace_rule_incomplete)
            continue; /* no shares of a window without length */
        it.trace = &run->traces[i];
        it.verdict = &run->verdicts[i];
        status = rule->of_trace(&it, err);
    }
    it.trace = NULL;
    it.verdict = &run->verdict;
    if (status == TP_OK && rule->of_run)
        status = rule->of_run(&it, err);
    return status;
}

enum tp_status tp_trace_find(struct tp_trace_run *run, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (const struct tp_trace_rule *rule = tp_trace_rules;
         rule->id && status == TP_OK; rule++)
        status = apply(run, rule, err);
    if (run->findings.count)
        qsort(run->findings.rows, run->findings.count,
              sizeof *run->findings.rows, compare);
    return status;
}

int tp_trace_findings_worst(const struct tp_trace_run *run)
{
    return run->findings.count ? (int)run->findings.rows[0].level : 0;
}
