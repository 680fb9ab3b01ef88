/* SPDX-License-Identifier: MIT */
#include "report/report_trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_wrap.h"
#include "report/report_ops.h"
#include "report/report_parts.h"
#include "report/report_trace_collectives.h"
#include "report/report_trace_path.h"
#include "report/report_trace_peaks.h"
#include "report/report_trace_sections.h"
#include "report/report_trace_what_if.h"
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

static void add_verdict(const struct tp_trace_verdict *verdict, bool color,
                        struct tp_text *text)
{
    const char *on = color ? "\x1b[1m" : "", *off = color ? "\x1b[0m" : "";
    size_t from = text->length;
    tp_text_add(text, "%sVerdict: %s%s: ", on,
                tp_trace_verdict_table[verdict->verdict].id, off);
    tp_text_printable(text, verdict->sentence);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 2, NULL);
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

/* How many steps the means are over, and which they leave out. */
static void add_counts(const struct tp_trace_means *means, struct tp_text *text)
{
    const struct {
        int64_t count;
        const char *words;
    } left[] = {{means->warm_ups, "slow first"},
                {means->cut, "cut by the end of the recording"},
                {means->odd, "off the median by more than half"}};
    const char *before = "; left out: ";
    const size_t from = text->length;
    tp_text_add(text, "  means over %" PRId64 " of %" PRId64 " step%s",
                means->steps, means->all_steps,
                means->all_steps == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i].count == 0)
            continue;
        tp_text_add(text, "%s%" PRId64 " %s", before, left[i].count,
                    left[i].words);
        before = ", ";
    }
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 4, NULL);
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
    char what[96];
    const double batches = tp_trace_batches(run->traces, run->trace_count);
    snprintf(what, sizeof what, "DataLoader.__next__ on the main thread");
    if (batches > 1.5)
        snprintf(what, sizeof what,
                 "DataLoader.__next__ on the main thread, for %.3g batches "
                 "together",
                 batches);
    add_metric(text, "avg_dataloader_wait_s", means.data_wait_s, what,
               "DataLoader was");
    add_metric(text, "avg_profiler_step_s", means.profiler_step_s,
               "ProfilerStep on the host, data wait included", "steps were");
    if (means.warm_ups + means.odd > 0)
        add_metric(text, "avg_all_steps_s", means.all_steps_s,
                   means.cut ? "as avg_step_time_s, of all steps but those cut"
                             : "as avg_step_time_s, of all steps recorded",
                   "");
    add_counts(&means, text);
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

/* How often a rule spoke, up to a finding and in all: the first, worst, one
 * stands for the others. */
static size_t same_before(const struct tp_trace_judged *judged, size_t i,
                          size_t *all)
{
    size_t before = 0;
    const struct tp_trace_finding *rows = judged->findings.rows;
    *all = 0;
    for (size_t j = 0; j < judged->findings.count; j++) {
        if (rows[j].rule != rows[i].rule || rows[j].level != rows[i].level)
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
        if (rows[j].rule != rows[i].rule || rows[j].level != rows[i].level)
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
    const struct tp_trace_finding *finding = &judged->findings.rows[i];
    /* of the run as a whole it is of no trace */
    const bool several = report->run->trace_count > 1 &&
                         (finding->rank >= 0 || *finding->file || also);
    tp_report_level(finding->level, color, text);
    tp_text_add(text, " %s%s", finding->rule->id, several ? "," : "");
    if (several)
        add_ranks_of(judged, i, also, text);
    tp_text_add(text, "\n");
    size_t from = text->length;
    tp_text_add(text, "         ");
    tp_text_printable(text, finding->evidence);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 9, NULL);
    from = text->length;
    tp_text_add(text, "         -> ");
    tp_text_printable(text, finding->suggestion);
    tp_text_add(text, "\n");
    tp_text_wrap(text, from, 12, NULL);
}

static void add_findings(const struct tp_trace_report *report, bool all,
                         bool color, struct tp_text *text)
{
    const struct tp_trace_judged *judged = report->judged;
    size_t counts[TP_SEVERITY_HIGH + 1] = {0};
    struct tp_report_told told = {.count = 0};
    for (size_t i = 0; i < judged->findings.count; i++)
        counts[judged->findings.rows[i].level]++;
    tp_report_finding_counts(counts, text);
    for (size_t i = 0; i < judged->findings.count; i++) {
        size_t same = 1;
        if (!all && same_before(judged, i, &same) > 0)
            continue;
        add_finding(report, i, same - 1, color, text);
        tp_report_guide(&told, judged->findings.rows[i].rule->guide, text);
    }
}

static bool has_window(const struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (run->traces[i].idle.window_us > 0)
            return true;
    }
    return false;
}

static void add_operators(const struct tp_trace_report *report,
                          struct tp_text *text)
{
    const struct tp_trace_run *run = report->run;
    tp_text_add(text, "\nOperators by %s%s\n", report->sort,
                run->trace_count > 1 ? ", sums over all traces" : "");
    tp_trace_report_ops(report, text);
}

/* The paths of all traces, which notes name; the caller frees the list. */
static const char **list_paths(const struct tp_trace_run *run)
{
    const char **paths = calloc(run->trace_count + 1, sizeof *paths);
    for (size_t i = 0; paths && i < run->trace_count; i++)
        paths[i] = run->traces[i].path;
    return paths;
}

static void add_notes(const struct tp_trace_report *report,
                      struct tp_text *text)
{
    const struct tp_notes *read = &report->run->notes;
    const struct tp_notes *judged = &report->judged->notes;
    if (read->count || judged->count)
        tp_text_add(text, "\nNotes\n");
    const char **paths = list_paths(report->run);
    for (size_t i = 0; i < read->count; i++)
        tp_report_note(read->texts[i], paths, text);
    for (size_t i = 0; i < judged->count; i++)
        tp_report_note(judged->texts[i], paths, text);
    free(paths);
}

static void add_skipped(const struct tp_trace_run *run, struct tp_text *text)
{
    if (run->skipped.count)
        tp_text_add(text, "\nDamaged or skipped: %zu\n", run->skipped.count);
    for (size_t i = 0; i < run->skipped.count; i++) {
        const struct tp_trace_skipped *skipped = &run->skipped.rows[i];
        tp_text_add(text, "  ");
        tp_text_printable(text, skipped->file);
        tp_text_add(text, "%s", *skipped->file ? ":" : "");
        size_t from = text->length;
        tp_text_add(text, "%s", *skipped->file ? " " : "");
        tp_text_printable(text, skipped->reason);
        tp_text_add(text, "\n");
        tp_text_wrap(text, from, 4, NULL);
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
        tp_report_idle(run, most, text);
    tp_report_ranks(report, most, text);
    tp_report_collectives(report->judged, most, text);
    tp_report_steps(run, most, text);
    if (device) {
        tp_report_what_if(run, most > 0, text);
        tp_report_straggling(report->judged, most > 0, text);
    }
    add_operators(report, text);
    tp_report_groups(run, report->top, text);
    if (device && most == 0) {
        tp_report_busy(run, text);
        tp_report_paths(run, report->top, text);
        tp_report_device_work(run, report->top, text);
    }
    if (most == 0)
        tp_report_lists(run, device, text);
    if (most == 0)
        tp_report_memory_peaks(run, report->top, text);
    add_notes(report, text);
    add_skipped(run, text);
    add_traces(run, most, text);
    tp_report_figures(report->figures, report->figure_count, text);
    tp_report_written(report->output_dir,
                      "trace.h5 trace_report.txt trace_findings.json", text);
}
