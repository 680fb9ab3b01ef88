/* SPDX-License-Identifier: MIT */
/*
 * The rules about traces: one row each, applied to every trace or once to the
 * run, in the order of the table.
 *
 * Findings are sorted at the end: severity, time that could be won, excess over
 * the limit, place of the rule in the table, rank, file; so their order depends
 * on nothing but the traces. Limits differ between causes, so that the excess
 * alone would put a small loss above a large one. What each rule computes is a
 * few comparisons of rows.
 */
#include "verdict/trace_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "verdict/trace_untimed.h"

const struct tp_trace_rule tp_trace_rules[] = {
    {"dataloader",
     "the GPU idles behind the DataLoader; in a trace without a GPU, steps "
     "wait for it",
     "INPUT", tp_trace_rule_dataloader, NULL, false},
    {"queued", "the GPU idles although work was launched for it",
     "QUEUED WORK THAT DOES NOT START", tp_trace_rule_queued, NULL, false},
    {"sync", "the GPU idles behind calls that wait for it, by cause",
     "SYNCHRONISATION", tp_trace_rule_sync, NULL, false},
    {"launch", "kernels so short that launching them is what takes the time",
     "LAUNCH AND HOST OVERHEAD", tp_trace_rule_launch, NULL, false},
    {"first_launch", "launches in which the driver loads code",
     "LAUNCH AND HOST OVERHEAD", tp_trace_rule_first_launch, NULL, false},
    {"host", "the GPU idles behind operators and Python",
     "LAUNCH AND HOST OVERHEAD", tp_trace_rule_host, NULL, false},
    {"cpu_time",
     "without a GPU: what the steps spend their time in: collectives, "
     "operators, Python",
     "TRAINING ON A CPU", tp_trace_rule_cpu_time, NULL, false},
    {"tiny_operators", "without a GPU: operators so short that calling them is "
     "what takes the time",
     "LAUNCH AND HOST OVERHEAD", tp_trace_rule_tiny_operators, NULL, false},
    {"host_churn",
     "without a GPU: large temporary memory, taken from the system anew",
     "MEMORY OF THE HOST", tp_trace_rule_host_churn, NULL, false},
    {"allocation", "driver allocations or frees in steady steps",
     "DEVICE MEMORY", tp_trace_rule_allocation, NULL, false},
    {"cold_start", "driver allocations before any steady step",
     "DEVICE MEMORY", tp_trace_rule_cold_start, NULL, false},
    {"churn",
     "memory taken and given back at a high rate, from the allocator's cache",
     "DEVICE MEMORY", tp_trace_rule_churn, NULL, false},
    {"memory_full", "reserved memory near the device's, or out of memory",
     "DEVICE MEMORY", tp_trace_rule_memory_full, NULL, false},
    {"communication", "communication that no computation hides",
     "COMMUNICATION", tp_trace_rule_communication, NULL, false},
    {"straggler", "ranks that the others wait for in collectives",
     "STRAGGLERS", NULL, tp_trace_rule_straggler, false},
    {"slow_rank", "a rank that begins most collectives last",
     "STRAGGLERS", NULL, tp_trace_rule_slow_rank, false},
    {"slow_link",
     "a process group that communicates slower than groups like it",
     "COMMUNICATION", NULL, tp_trace_rule_slow_link, false},
    {"copies", "copies through pageable memory, or outside of computation",
     "COPIES", tp_trace_rule_copies, NULL, false},
    {"turns", "of several GPUs of a process some wait for others",
     "SEVERAL GPUS IN A PROCESS", tp_trace_rule_turns, NULL, false},
    {"rising_steps", "steps get slower within a recording",
     "SLOWER STEPS", tp_trace_rule_rising_steps, NULL, false},
    {"rising_traces",
     "steps get slower from one recording of a process to the next",
     "SLOWER STEPS", NULL, tp_trace_rule_rising_traces, false},
    {"first_step", "a first step that takes much longer than the others",
     "UNEVEN STEPS", tp_trace_rule_first_step, NULL, false},
    {"uneven_steps", "some steps take much longer than most",
     "UNEVEN STEPS", tp_trace_rule_uneven_steps, NULL, false},
    {"attention", "attention in pieces: its scores go through memory",
     "KERNELS AGAINST THE MACHINE", tp_trace_rule_attention, NULL, false},
    {"tf32", "products of fp32 that tensor cores could do in TF32",
     "KERNELS AGAINST THE MACHINE", tp_trace_rule_tf32, NULL, false},
    {"alignment", "products with sizes that tensor cores cannot load",
     "KERNELS AGAINST THE MACHINE", tp_trace_rule_alignment, NULL, false},
    {"fusion", "chains of light kernels that one kernel could replace",
     "KERNELS AGAINST THE MACHINE", tp_trace_rule_fusion, NULL, false},
    {"optimizer", "an optimizer that takes one parameter after the other",
     "KERNELS AGAINST THE MACHINE", tp_trace_rule_optimizer, NULL, false},
    {"no_roof",
     "notes devices whose roofs are not known, and what is faster than them",
     "KERNELS AGAINST THE MACHINE", tp_trace_rule_no_roof, NULL, false},
    {"incomplete", "a trace cut short, or without what belongs to its events",
     "INCOMPLETE RECORDINGS", tp_trace_rule_incomplete, NULL, true},
    {"not_recorded", "notes what the profiler was not asked to record",
     "INCOMPLETE RECORDINGS", NULL, tp_trace_rule_not_recorded, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};

enum tp_status tp_trace_finding_add(const struct tp_trace_case *it,
                                    enum tp_verdict cause,
                                    struct tp_trace_finding finding,
                                    struct tp_error *err)
{
    struct tp_trace_judged *judged = it->judged;
    if (tp_grow(&judged->findings.rows, &judged->findings.capacity,
                judged->findings.count + 1, sizeof *judged->findings.rows,
                err) != TP_OK)
        return TP_E_MEMORY;
    finding.rule = it->rule;
    if (it->trace) {
        finding.rank = it->trace->rank;
        finding.file = it->trace->path;
        finding.window = it->trace->facts.window;
        if (it->verdict == cause)
            finding.level = TP_SEVERITY_HIGH;
    }
    finding.excess = finding.limit > 0 ? finding.value / finding.limit : 1;
    finding.window = finding.window ? finding.window : "";
    finding.file = finding.file ? finding.file : "";
    judged->findings.rows[judged->findings.count++] = finding;
    return TP_OK;
}

bool tp_trace_is_found(const struct tp_trace_case *it,
                       tp_trace_rule_fn *of_trace)
{
    for (size_t i = 0; i < it->judged->findings.count; i++) {
        const struct tp_trace_finding *row = &it->judged->findings.rows[i];
        if (row->rule->of_trace == of_trace && row->file == it->trace->path)
            return true;
    }
    return false;
}

static int compare(const void *left, const void *right)
{
    const struct tp_trace_finding *a = left, *b = right;
    int result = tp_order_int64(b->level, a->level);
    if (!result)
        result = tp_order_double(b->won, a->won);
    if (!result)
        result = tp_order_double(b->excess, a->excess);
    if (!result) /* rules of one cause stay together */
        result = (a->rule > b->rule) - (a->rule < b->rule);
    if (!result)
        result = tp_order_int64(a->rank, b->rank);
    return result ? result : strcmp(a->file, b->file);
}

static enum tp_status apply(const struct tp_trace_run *run,
                            struct tp_trace_judged *judged,
                            const struct tp_trace_rule *rule,
                            struct tp_error *err)
{
    struct tp_trace_case it = {.run = run,
                               .judged = judged,
                               .rule = rule,
                               .limits = judged->limits.values};
    enum tp_status status = TP_OK;
    for (size_t i = 0; rule->of_trace && i < run->trace_count && !status; i++) {
        if ((!(run->traces[i].idle.window_us > 0) ||
             tp_trace_is_untimed(&run->traces[i])) &&
            !rule->any_window)
            continue; /* no shares of a window, or of work, without length */
        it.trace = &run->traces[i];
        it.verdict = judged->verdicts[i].verdict;
        status = rule->of_trace(&it, err);
    }
    it.trace = NULL;
    it.verdict = judged->verdict.verdict;
    if (status == TP_OK && rule->of_run)
        status = rule->of_run(&it, err);
    return status;
}

/* What limits a trace is its first finding: the cause of a verdict that another
 * one takes over is that no more. */
static void put_first(struct tp_trace_judged *judged)
{
    for (size_t i = 0; i < judged->findings.count; i++) {
        const struct tp_trace_finding *leads = &judged->findings.rows[i];
        for (size_t k = 0; leads->leads && k < judged->findings.count; k++) {
            struct tp_trace_finding *row = &judged->findings.rows[k];
            if (row->file == leads->file && !row->leads &&
                row->level == TP_SEVERITY_HIGH)
                row->level = TP_SEVERITY_MEDIUM;
        }
    }
}

enum tp_status tp_trace_findings_make(const struct tp_trace_run *run,
                                      struct tp_trace_judged *judged,
                                      struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (const struct tp_trace_rule *rule = tp_trace_rules;
         rule->id && status == TP_OK; rule++)
        status = apply(run, judged, rule, err);
    put_first(judged);
    if (judged->findings.count)
        qsort(judged->findings.rows, judged->findings.count,
              sizeof *judged->findings.rows, compare);
    return status;
}
