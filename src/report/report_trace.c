/* SPDX-License-Identifier: MIT */
#include "report/report_trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_trace_path.h"
#include "trace/trace_facts.h"
#include "verdict/trace_rules.h"
#include "verdict/trace_verdict.h"

/* Whether some trace has device events; without, times of devices are left
 * out. */
static bool has_device(const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (run->traces[i].facts.device_events)
            return true;
    }
    return false;
}

void tp_report_trace_label(const struct tp_trace_run *run, size_t i, int width,
                           struct tp_text *text)
{
    const struct tp_trace *trace = &run->traces[i];
    struct tp_text label = {0};
    const char *slash = strrchr(trace->path, '/');
    const bool same_rank =
        (i > 0 && run->traces[i - 1].rank == trace->rank) ||
        (i + 1 < run->trace_count && run->traces[i + 1].rank == trace->rank);
    if (trace->rank >= 0 && !same_rank)
        tp_text_add(&label, "rank %" PRId64, trace->rank);
    else if (!same_rank && *trace->worker)
        tp_text_printable(&label, trace->worker);
    else
        tp_text_printable(&label, slash ? slash + 1 : trace->path);
    const char *shown = tp_text_get(&label);
    const size_t length = strlen(shown);
    if (width && length > (size_t)width) /* the end tells files apart */
        tp_text_add(text, "..%s", shown + length - (size_t)width + 2);
    else
        tp_text_add(text, "%-*s", width, shown);
    tp_text_clear(&label);
}

static void add_verdict(const struct tp_trace_verdict *verdict, bool color,
                        struct tp_text *text)
{
    const char *on = color ? "\x1b[1m" : "", *off = color ? "\x1b[0m" : "";
    tp_text_add(text, "%sVerdict: %s%s: ", on,
                tp_trace_verdict_table[verdict->verdict].id, off);
    tp_text_printable(text, verdict->sentence);
    tp_text_add(text, "\n");
}

/* One of the metrics; NaN is said to be unknown as `missing` is not there. */
static void add_metric(struct tp_text *text, const char *name, double seconds,
                       const char *what, const char *missing)
{
    if (isnan(seconds))
        tp_text_add(text, "  %-22s unknown (no %s recorded)\n", name, missing);
    else
        tp_text_add(text, "  %-22s %.6f  %s\n", name, seconds, what);
}

static void add_metrics(const struct tp_trace_run *run, struct tp_text *text)
{
    const struct tp_trace_means means =
        tp_trace_step_means(run->traces, run->trace_count);
    add_metric(text, "avg_step_time_s", means.step_s,
               "from the end of the data wait to the end of the step's work",
               "steps were");
    if (isnan(means.step_s))
        return;
    add_metric(text, "avg_dataloader_wait_s", means.data_wait_s,
               "DataLoader.__next__ on the main thread", "DataLoader was");
    add_metric(text, "avg_profiler_step_s", means.profiler_step_s,
               "ProfilerStep on the host, data wait included", "steps were");
    tp_text_add(text,
                "  means over %" PRId64 " steady of %" PRId64 " steps%s\n",
                means.steps, means.all_steps,
                means.steps < means.all_steps
                    ? ": without warm-up, cut ends and what is off the median "
                      "by more than half"
                    : "");
}

/* 1234567 -> "1.23 MB" */
static void add_bytes(struct tp_text *text, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    tp_text_add(text, "%.3g %s", bytes, units[unit]);
}

static void add_trace_line(const struct tp_trace *trace, struct tp_text *text)
{
    const struct tp_trace_facts *facts = &trace->facts;
    tp_text_add(text, "  ");
    tp_text_printable(text, trace->path);
    tp_text_add(text, ": ");
    add_bytes(text, (double)trace->events.bytes);
    tp_text_add(text, " of JSON, %" PRIu64 " events", trace->events.seen);
    if (trace->rank >= 0)
        tp_text_add(text, ", rank %" PRId64, trace->rank);
    if (trace->events.world_size > 0)
        tp_text_add(text, " of %" PRId64, trace->events.world_size);
    if (*facts->device_name) {
        tp_text_add(text, ", ");
        tp_text_printable(text, facts->device_name);
    }
    tp_text_add(text, "\n");
}

static void add_traces(const struct tp_trace_run *run, size_t most,
                       struct tp_text *text)
{
    tp_text_add(text, "\nTraces: %zu\n", run->trace_count);
    for (size_t i = 0; i < run->trace_count; i++) {
        if (most && i == most) {
            tp_text_add(text, "  ... and %zu more in /ranks\n",
                        run->trace_count - i);
            return;
        }
        add_trace_line(&run->traces[i], text);
    }
}

static const char *color_of(enum tp_severity level)
{
    return level == TP_SEVERITY_HIGH     ? "\x1b[1;31m"
           : level == TP_SEVERITY_MEDIUM ? "\x1b[33m"
                                         : "\x1b[2m";
}

/* How often a rule spoke, up to a finding and in all: the first, worst, one
 * stands for the others. */
static size_t same_before(const struct tp_trace_judged *judged, size_t i,
                          size_t *all)
{
    size_t before = 0;
    const struct tp_trace_finding *rows = judged->findings.rows;
    *all = 0;
    for (size_t j = 0; j < judged->findings.count; j++) {
        if (rows[j].rule != rows[i].rule ||
            rows[j].level != rows[i].level)
            continue;
        before += j < i;
        ++*all;
    }
    return before;
}

/* Of which traces a finding is: its own, or all of its kind. */
static void add_ranks_of(const struct tp_trace_judged *judged, size_t i,
                         size_t also, struct tp_text *text)
{
    enum { RANKS_SHOWN = 12 };
    const struct tp_trace_finding *rows = judged->findings.rows;
    size_t shown = 0;
    if (rows[i].rank < 0) {
        tp_text_add(text, " ");
        tp_text_printable(text, rows[i].file);
        if (also)
            tp_text_add(text, " and %zu more", also);
        return;
    }
    tp_text_add(text, also ? " ranks" : " rank");
    for (size_t j = i; j < judged->findings.count && shown <= also; j++) {
        if (rows[j].rule != rows[i].rule ||
            rows[j].level != rows[i].level)
            continue;
        if (shown++ == RANKS_SHOWN) {
            tp_text_add(text, " ...");
            break;
        }
        if (rows[j].rank < 0)
            tp_text_add(text, " ?");
        else
            tp_text_add(text, " %" PRId64, rows[j].rank);
    }
    if (also)
        tp_text_add(text, "; of the first:");
}

static void add_finding(const struct tp_trace_report *report, size_t i,
                        size_t also, bool color, struct tp_text *text)
{
    const struct tp_trace_judged *judged = report->judged;
    const bool several = report->run->trace_count > 1;
    const struct tp_trace_finding *finding = &judged->findings.rows[i];
    tp_text_add(text, "  %s%-6s%s %s%s", color ? color_of(finding->level) : "",
                tp_severity_name(finding->level), color ? "\x1b[0m" : "",
                finding->rule->id, several ? "," : "");
    if (several)
        add_ranks_of(judged, i, also, text);
    tp_text_add(text, "\n         ");
    tp_text_printable(text, finding->evidence);
    tp_text_add(text, "\n         -> ");
    tp_text_printable(text, finding->suggestion);
    tp_text_add(text, "\n");
}

static void add_findings(const struct tp_trace_report *report, bool all,
                         bool color, struct tp_text *text)
{
    const struct tp_trace_judged *judged = report->judged;
    size_t counts[4] = {0};
    for (size_t i = 0; i < judged->findings.count; i++)
        counts[judged->findings.rows[i].level]++;
    tp_text_add(text, "\nFindings: %zu high, %zu medium, %zu low\n",
                counts[TP_SEVERITY_HIGH], counts[TP_SEVERITY_MEDIUM],
                counts[TP_SEVERITY_LOW]);
    for (size_t i = 0; i < judged->findings.count; i++) {
        size_t same;
        if (all)
            add_finding(report, i, 0, color, text);
        else if (same_before(judged, i, &same) == 0)
            add_finding(report, i, same - 1, color, text);
    }
}

enum { LABEL = 24 };

/* A column; what is not known is a dash. */
static void add_cell(struct tp_text *text, int width, int digits, double value)
{
    if (isnan(value))
        tp_text_add(text, " %*s", width, "-");
    else
        tp_text_add(text, " %*.*f", width, digits, value);
}

static bool has_window(const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (run->traces[i].idle.window_us > 0)
            return true;
    }
    return false;
}

static void add_idle(const struct tp_trace_run *run, size_t most,
                     struct tp_text *text)
{
    tp_text_add(
        text,
        "\nGPU busy and idle, %% of the window; each idle moment counts "
        "once, for the first cause from the left\n"
        "  %-*s %9s %6s %6s %6s %6s %6s %6s %6s | %7s %8s %6s\n",
        LABEL, "trace", "window ms", "busy", "alloc", "loader", "block",
        "launch", "op", "none", "blocked", "GPU busy", "refill");
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_idle_row *row = &run->traces[i].idle;
        if (most && i == most)
            break;
        if (!(row->window_us > 0)) /* no shares of nothing */
            continue;
        tp_text_add(text, "  ");
        tp_report_trace_label(run, i, LABEL, text);
        tp_text_add(text,
                    " %9.2f %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f | %7.1f "
                    "%8.1f %6.1f\n",
                    row->window_us / 1e3, 100 * row->busy, 100 * row->alloc,
                    100 * row->dataloader, 100 * row->blocking,
                    100 * row->launch, 100 * row->cpu_op, 100 * row->none,
                    100 * row->blocked, 100 * row->blocked_busy,
                    100 * row->refill);
    }
    tp_text_add(text,
                "  window: %s\n  block: calls that wait for the GPU; op: "
                "operators; none: Python, or nothing\n  blocked: time in "
                "blocking calls, and of it with the GPU busy (harmless); "
                "refill: idle after one, included on the left\n",
                run->traces[0].facts.window);
}

static void add_busy(const struct tp_trace_run *run, size_t most,
                     struct tp_text *text)
{
    tp_text_add(text,
                "\nGPU time, ms; unions, so what runs at once counts once\n"
                "  %-*s %-19s %9s %9s %9s %9s %9s %9s %9s %9s %7s\n",
                LABEL, "trace", "of", "total", "busy", "idle", "compute",
                "comm", "exposed", "copies", "exposed", "overlap");
    for (size_t i = 0; i < run->trace_count && !(most && i == most); i++) {
        for (size_t j = 0; j < run->traces[i].busy.count; j++) {
            const struct tp_busy_row *row = &run->traces[i].busy.rows[j];
            if (most && row->span != TP_BUSY_WINDOW)
                continue;
            tp_text_add(text, "  ");
            tp_report_trace_label(run, i, LABEL, text);
            tp_text_add(text,
                        " %-19s %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f "
                        "%9.2f",
                        row->definition, row->total_us / 1e3,
                        row->busy_us / 1e3, row->idle_us / 1e3,
                        row->compute_us / 1e3, row->communication_us / 1e3,
                        row->exposed_communication_us / 1e3,
                        row->memory_us / 1e3, row->exposed_memory_us / 1e3);
            if (row->communication_us > 0)
                tp_text_add(text, " %5.1f %%\n", 100 * row->overlap);
            else
                tp_text_add(text, " %7s\n", "-");
        }
    }
    tp_text_add(text, "  exposed: what no computation hides; overlap: "
                      "communication under computation, of communication\n");
}

static void add_step(const struct tp_trace_run *run, size_t trace,
                     const struct tp_step_row *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_report_trace_label(run, trace, LABEL, text);
    if (row->step >= 0)
        tp_text_add(text, " %8" PRId64, row->step);
    else
        tp_text_add(text, " %8s", "(all)");
    tp_text_add(text,
                " %9.3f %9.3f %9.3f | %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f "
                "%8.3f %8.3f%s\n",
                row->host_us / 1e3, row->data_wait_us / 1e3,
                row->compute_us / 1e3, row->kernel_us / 1e3,
                row->memcpy_us / 1e3, row->memset_us / 1e3,
                row->communication_us / 1e3, row->runtime_us / 1e3,
                row->dataloader_us / 1e3, row->cpu_exec_us / 1e3,
                row->other_us / 1e3, !row->steady    ? "  not steady"
                : !row->typical ? "  not typical"
                                : "");
}

static void add_steps(const struct tp_trace_run *run, size_t most,
                      struct tp_text *text)
{
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        count += run->traces[i].steps.count;
    if (count == 0)
        return;
    tp_text_add(text,
                "\nSteps, ms; costs of a step's window, each moment once, in "
                "this order: kernel .. other\n"
                "  %-*s %8s %9s %9s %9s | %8s %8s %8s %8s %8s %8s %8s %8s\n",
                LABEL, "trace", "step", "Profiler", "data", "without", "kernel",
                "memcpy", "memset", "comm", "runtime", "loader", "cpu",
                "other");
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].steps.count; j++) {
            if (most && shown == most) {
                tp_text_add(text, "  ... and %zu more in /steps\n",
                            count - shown);
                return;
            }
            add_step(run, i, &run->traces[i].steps.rows[j], text);
            shown++;
        }
    }
}

static void add_ranks(const struct tp_trace_report *report, size_t most,
                      struct tp_text *text)
{
    const struct tp_trace_run *run = report->run;
    const struct tp_trace_judged *judged = report->judged;
    if (judged->ranks.count < 2)
        return;
    tp_text_add(text,
                "\nRanks; times in ms, shares in %% of the window of each\n"
                "  %-*s %10s %10s %10s %6s %6s %8s %6s  %s\n",
                LABEL, "trace", "starts", "step", "data wait", "busy", "comm",
                "exposed", "late", "verdict");
    for (size_t i = 0; i < judged->ranks.count; i++) {
        const struct tp_rank_row *row = &judged->ranks.rows[i];
        if (most && i == most) {
            tp_text_add(text, "  ... and %zu more in /ranks\n",
                        judged->ranks.count - i);
            break;
        }
        tp_text_add(text, "  ");
        tp_report_trace_label(run, i, LABEL, text);
        add_cell(text, 10, 3, row->start_us / 1e3);
        add_cell(text, 10, 3, row->step_us / 1e3);
        add_cell(text, 10, 3, row->data_wait_us / 1e3);
        add_cell(text, 6, 1, 100 * row->busy);
        add_cell(text, 6, 1, 100 * row->communication);
        add_cell(text, 8, 1, 100 * row->exposed_communication);
        add_cell(text, 6, 1, 100 * row->late);
        tp_text_add(text, "  %s%s\n",
                    tp_trace_verdict_table[judged->verdicts[i].verdict].id,
                    row->straggler ? ", straggler" : "");
    }
    tp_text_add(text, "  late: starts of collectives after the median rank, "
                      "added up, %% of a step\n");
}

static void add_operators(const struct tp_trace_report *report,
                          struct tp_text *text)
{
    const struct tp_trace_run *run = report->run;
    tp_text_add(text, "\nOperators by %s%s\n", report->sort,
                run->trace_count > 1 ? ", sums over all traces" : "");
    tp_trace_report_ops(report, text);
}

static void add_kernels(const struct tp_trace_run *run, size_t top,
                        struct tp_text *text)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        if (trace->kernels.count == 0)
            continue;
        tp_text_add(text, "\nDevice work of ");
        tp_report_trace_label(run, i, 0, text);
        tp_text_add(text,
                    ", by total time; us\n  %10s %8s %10s %10s %10s "
                    "%7s  name\n",
                    "total", "count", "mean", "min", "max", "share");
        for (size_t j = 0; j < trace->kernels.count && j < top; j++) {
            const struct tp_kernel_row *row = &trace->kernels.rows[j];
            tp_text_add(text,
                        "  %10.1f %8" PRId64 " %10.2f %10.2f %10.2f %5.1f %%  ",
                        row->total_us, row->count, row->mean_us, row->min_us,
                        row->max_us, 100 * row->share);
            tp_text_printable(text, row->name);
            tp_text_add(text, "\n");
        }
    }
}

/* Steps have a table of their own. */
static bool is_shown(const struct tp_annotation_row *row)
{
    return row->is_host && strncmp(row->name, "ProfilerStep#", 13) != 0;
}

static void add_annotations(const struct tp_trace_run *run, size_t top,
                            struct tp_text *text)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        size_t shown = 0;
        for (size_t j = 0; j < trace->annotations.count && shown < top; j++) {
            const struct tp_annotation_row *row = &trace->annotations.rows[j];
            if (!is_shown(row))
                continue;
            if (shown++ == 0) {
                tp_text_add(text, "\nNamed ranges of ");
                tp_report_trace_label(run, i, 0, text);
                tp_text_add(text,
                            ", by time of the device work their threads "
                            "start in them; us\n  %8s %12s %10s %10s %12s "
                            "%12s  name\n",
                            "count", "host", "mean", "kernels", "device",
                            "self");
            }
            tp_text_add(text,
                        "  %8" PRId64 " %12.1f %10.1f %10" PRId64
                        " %12.1f %12.1f  ",
                        row->count, row->total_us, row->mean_us,
                        row->device_events, row->device_us,
                        row->self_device_us);
            tp_text_printable(text, row->name);
            tp_text_add(text, "\n");
        }
    }
}

static void add_op_kernels(const struct tp_trace_run *run, size_t top,
                           struct tp_text *text)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        if (trace->op_kernels.count == 0)
            continue;
        tp_text_add(text, "\nKernels of operators of ");
        tp_report_trace_label(run, i, 0, text);
        tp_text_add(text,
                    ", by total time; us; to launch: from the start of the "
                    "operator to the call, to start: from there to the "
                    "kernel\n  %10s %8s %10s %10s %10s  operator: kernel\n",
                    "total", "count", "mean", "to launch", "to start");
        for (size_t j = 0; j < trace->op_kernels.count && j < top; j++) {
            const struct tp_op_kernel_row *row = &trace->op_kernels.rows[j];
            tp_text_add(text, "  %10.1f %8" PRId64 " %10.2f", row->device_us,
                        row->count, row->mean_us);
            add_cell(text, 10, 2, row->launch_delay_us);
            add_cell(text, 10, 2, row->runtime_delay_us);
            tp_text_add(text, "  ");
            tp_text_printable(text, *row->op ? row->op : "(none)");
            tp_text_add(text, ": ");
            tp_text_printable(text, row->kernel);
            tp_text_add(text, "\n");
        }
    }
}

static void add_copies(const struct tp_trace_run *run, struct tp_text *text)
{
    bool any = false;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].copies.count; j++) {
            const struct tp_copy_row *row = &run->traces[i].copies.rows[j];
            if (!any)
                tp_text_add(text,
                            "\nCopies\n  %-*s %8s %12s %12s %10s %12s  kind\n",
                            LABEL, "trace", "count", "MB", "device us", "GB/s",
                            "host us");
            any = true;
            tp_text_add(text, "  ");
            tp_report_trace_label(run, i, LABEL, text);
            tp_text_add(text, " %8" PRId64 " %12.3f %12.1f", row->count,
                        (double)row->bytes / 1e6, row->total_us);
            add_cell(text, 10, 3, row->bandwidth_gbps);
            tp_text_add(text, " %12.1f  ", row->call_us);
            tp_text_printable(text, row->kind);
            tp_text_add(text, "\n");
        }
    }
}

static void add_syncs(const struct tp_trace_run *run, struct tp_text *text)
{
    bool any = false;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].syncs.count; j++) {
            const struct tp_sync_row *row = &run->traces[i].syncs.rows[j];
            if (!any)
                tp_text_add(text,
                            "\nBlocking calls\n  %-*s %8s %12s %12s  %-10s "
                            "call, operator\n",
                            LABEL, "trace", "count", "us", "GPU idle us",
                            "cause");
            any = true;
            tp_text_add(text, "  ");
            tp_report_trace_label(run, i, LABEL, text);
            tp_text_add(text, " %8" PRId64 " %12.1f %12.1f  %-10s ", row->count,
                        row->total_us, row->idle_us, row->cause);
            tp_text_printable(text, row->call);
            tp_text_add(text, "%s", *row->op ? ", " : "");
            tp_text_printable(text, row->op);
            tp_text_add(text, "\n");
        }
    }
}

static void add_memory(const struct tp_trace_run *run, struct tp_text *text)
{
    bool any = false;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].memory.count; j++) {
            const struct tp_memory_row *row = &run->traces[i].memory.rows[j];
            if (!any)
                tp_text_add(text,
                            "\nMemory\n  %-*s %-8s %10s %12s %12s %12s %12s "
                            "%8s %8s\n",
                            LABEL, "trace", "device", "allocs", "allocs/step",
                            "GB/step", "peak GB", "reserved GB", "turnover",
                            "short %");
            any = true;
            tp_text_add(text, "  ");
            tp_report_trace_label(run, i, LABEL, text);
            tp_text_add(text, " %-8s %10" PRId64, row->device,
                        row->allocations);
            add_cell(text, 12, 1, row->allocations_per_step);
            add_cell(text, 12, 4, row->allocated_per_step_b / 1e9);
            add_cell(text, 12, 4, row->peak_allocated_b / 1e9);
            add_cell(text, 12, 4, row->peak_reserved_b / 1e9);
            add_cell(text, 8, 1, row->turnover);
            add_cell(text, 8, 1, 100 * row->short_lived);
            tp_text_add(text, "\n");
        }
    }
    if (any)
        tp_text_add(text, "  turnover: bytes of a step over the peak; short: "
                          "given back within 1 ms or the same operator\n");
}

static void add_collectives(const struct tp_trace_run *run,
                            struct tp_text *text)
{
    bool any = false;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t j = 0; j < run->traces[i].comms.count; j++) {
            const struct tp_comm_row *row = &run->traces[i].comms.rows[j];
            if (!any)
                tp_text_add(text,
                            "\nCollectives, waiting for other ranks included"
                            "\n  %-*s %8s %12s %12s %12s %10s %8s  what\n",
                            LABEL, "trace", "count", "MB out", "total us",
                            "exposed us", "max us", "bus GB/s");
            any = true;
            tp_text_add(text, "  ");
            tp_report_trace_label(run, i, LABEL, text);
            tp_text_add(text, " %8" PRId64, row->count);
            add_cell(text, 12, 3,
                     row->out_bytes < 0 ? NAN : (double)row->out_bytes / 1e6);
            tp_text_add(text, " %12.1f %12.1f %10.1f", row->total_us,
                        row->exposed_us, row->max_us);
            add_cell(text, 8, 2, row->bus_gbps);
            tp_text_add(text, "  ");
            tp_text_printable(text,
                              *row->collective ? row->collective : row->kernel);
            tp_text_add(text, "%s", *row->dtype ? " " : "");
            tp_text_printable(text, row->dtype);
            tp_text_add(text, "\n");
        }
    }
}

static void add_texts(const struct tp_notes *notes, struct tp_text *text)
{
    for (size_t i = 0; i < notes->count; i++) {
        tp_text_add(text, "  ");
        tp_text_printable(text, notes->texts[i]);
        tp_text_add(text, "\n");
    }
}

static void add_notes(const struct tp_trace_report *report,
                      struct tp_text *text)
{
    const struct tp_notes *read = &report->run->notes;
    const struct tp_notes *judged = &report->judged->notes;
    if (read->count || judged->count)
        tp_text_add(text, "\nNotes\n");
    add_texts(read, text);
    add_texts(judged, text);
}

static void add_skipped(const struct tp_trace_run *run, struct tp_text *text)
{
    if (run->skipped.count)
        tp_text_add(text, "\nDamaged or skipped: %zu\n", run->skipped.count);
    for (size_t i = 0; i < run->skipped.count; i++) {
        const struct tp_trace_skipped *skipped = &run->skipped.rows[i];
        tp_text_add(text, "  ");
        tp_text_printable(text, skipped->file);
        tp_text_add(text, "%s", *skipped->file ? ": " : "");
        tp_text_printable(text, skipped->reason);
        tp_text_add(text, "\n");
    }
}

static void add_figures(const struct tp_trace_report *report,
                        struct tp_text *text)
{
    size_t drawn = 0;
    for (size_t i = 0; i < report->figure_count; i++)
        drawn += !*report->figures[i].reason;
    if (report->figure_count)
        tp_text_add(text, "\nFigures: %zu of %zu drawn\n", drawn,
                    report->figure_count);
    for (size_t i = 0; i < report->figure_count; i++) {
        if (*report->figures[i].reason)
            tp_text_add(text, "  %s: not drawn: %s\n", report->figures[i].path,
                        report->figures[i].reason);
    }
}

void tp_trace_report_text(const struct tp_trace_report *report, size_t most,
                          bool color, struct tp_text *text)
{
    const struct tp_trace_run *run = report->run;
    const bool device = has_device(run);
    add_verdict(&report->judged->verdict, color, text);
    add_metrics(run, text);
    add_findings(report, most == 0, color, text);
    if (device && has_window(run))
        add_idle(run, most, text);
    add_ranks(report, most, text);
    add_steps(run, most, text);
    add_operators(report, text);
    if (device && most == 0) {
        add_busy(run, most, text);
        tp_report_paths(run, report->top, text);
        add_kernels(run, report->top, text);
        add_op_kernels(run, report->top, text);
        add_annotations(run, report->top, text);
        add_copies(run, text);
        add_syncs(run, text);
    }
    if (most == 0) {
        add_memory(run, text);
        add_collectives(run, text);
    }
    add_notes(report, text);
    add_skipped(run, text);
    add_traces(run, most, text);
    add_figures(report, text);
    tp_text_add(text, "\nWritten to ");
    tp_text_printable(text, report->output_dir);
    tp_text_add(text, ": trace.h5 trace_report.txt trace_findings.json\n");
}
