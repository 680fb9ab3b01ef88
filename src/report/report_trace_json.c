/* SPDX-License-Identifier: MIT */
#include "report/report_trace_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/hdf5.h"
#include "report/report_table.h"
#include "trace/trace_facts.h"
#include "trace/trace_op_sums.h"
#include "trace/trace_settings.h"
#include "trace/trace_tables.h"
#include "verdict/trace_verdict.h"
#include "verdict/verdict_tables.h"

/* "name": "text", with what follows. */
static void add_text(struct tp_text *text, const char *name, const char *value,
                     const char *after)
{
    tp_text_add(text, "\"%s\": ", name);
    if (*value)
        tp_text_json(text, value);
    else
        tp_text_add(text, "null");
    tp_text_add(text, "%s", after);
}

static void add_number(struct tp_text *text, const char *name, double value,
                       const char *after)
{
    tp_text_add(text, "\"%s\": ", name);
    tp_text_json_number(text, value);
    tp_text_add(text, "%s", after);
}

static void add_integer(struct tp_text *text, const char *name, int64_t value,
                        const char *after)
{
    if (value < 0)
        tp_text_add(text, "\"%s\": null%s", name, after);
    else
        tp_text_add(text, "\"%s\": %" PRId64 "%s", name, value, after);
}

static void add_setting(const struct tp_setting_info *info,
                        const struct tp_setting *setting, struct tp_text *text)
{
    tp_text_add(text, "\"%s\": ", info->name);
    if (!setting->known)
        tp_text_add(text, "null");
    else if (info->flag)
        tp_text_add(text, setting->value ? "true" : "false");
    else
        tp_text_add(text, "%" PRId64, setting->value);
}

/* How the run was set up, and who says so: "trace" shows it, "metadata" of
 * the profiler or a file has it, null: not known. */
static void add_settings(const struct tp_setting settings[TP_SETTING_COUNT],
                         struct tp_text *text)
{
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        add_setting(&tp_setting_table[i], &settings[i], text);
        tp_text_add(text, ", ");
    }
    tp_text_add(text, "\n \"settings_from\": {");
    for (int i = 0; i < TP_SETTING_COUNT; i++)
        add_text(text, tp_setting_table[i].name,
                 settings[i].known ? settings[i].source : "",
                 i + 1 < TP_SETTING_COUNT ? ", " : "");
    tp_text_add(text, "},\n ");
}

static void add_verdict(const struct tp_trace_verdict *verdict,
                        struct tp_text *text)
{
    const struct tp_trace_verdict_info *info =
        &tp_trace_verdict_table[verdict->verdict];
    add_text(text, "scenario", verdict->scenario, ", ");
    add_text(text, "verdict", info->id, ",\n ");
    add_text(text, "explanation", verdict->sentence, ",\n ");
}

/* What is said of a run and of each of its traces alike. */
static void add_metrics(const struct tp_trace_verdict *verdict,
                        const struct tp_trace *traces, size_t count,
                        struct tp_text *text)
{
    const struct tp_trace_means means = tp_trace_step_means(traces, count);
    add_verdict(verdict, text);
    add_number(text, "share", verdict->share, ", ");
    add_integer(text, "steps", means.all_steps, ", ");
    add_integer(text, "steady_steps", means.steps, ",\n ");
    add_number(text, "avg_step_time_s", means.step_s, ", ");
    add_number(text, "avg_dataloader_wait_s", means.data_wait_s, ", ");
    add_number(text, "avg_profiler_step_s", means.profiler_step_s, ", ");
    add_number(text, "avg_all_steps_s", means.all_steps_s, ",\n ");
}

static int by_self_cuda(const void *left, const void *right)
{
    const struct tp_op_row *a = left, *b = right;
    if (a->self_cuda_us != b->self_cuda_us)
        return a->self_cuda_us < b->self_cuda_us ? 1 : -1;
    if (a->self_cpu_us != b->self_cpu_us)
        return a->self_cpu_us < b->self_cpu_us ? 1 : -1;
    return tp_trace_compare_ops(a, b);
}

/* The operators with most self CUDA time, then self CPU time: the columns of
 * /ops without the number of the trace. */
static void add_ops(const struct tp_trace *traces, size_t count, size_t top,
                    struct tp_text *text)
{
    struct tp_trace_sums sums;
    if (tp_trace_sum_ops(traces, count, &sums, NULL) != TP_OK) {
        text->failed = true;
        return;
    }
    if (sums.count)
        qsort(sums.rows, sums.count, sizeof *sums.rows, by_self_cuda);
    const struct tp_trace sum = {.ops = {sums.rows, sums.count, sums.count}};
    const struct tp_table ops = tp_trace_list_table(&sum, TP_TRACE_OPS);
    tp_report_table_json(&ops, "top_ops", 0, top, text);
    free(sums.rows);
}

/* The row of /idle, which every trace has, without the trace's number. */
static void add_idle(const struct tp_trace *trace, struct tp_text *text)
{
    const struct tp_table idle = tp_trace_list_table(trace, TP_TRACE_IDLE);
    tp_text_add(text, "\"idle\": {");
    tp_report_row_json(&idle, 0, text);
    tp_text_add(text, "},\n ");
}

/* The rows of /roofline with most time. */
static void add_roofline(const struct tp_trace *trace, size_t top,
                         struct tp_text *text)
{
    const struct tp_table roofline =
        tp_trace_list_table(trace, TP_TRACE_ROOFLINE);
    add_text(text, "roofs_of", trace->device.name, ", ");
    tp_report_table_json(&roofline, "roofline", 0, top, text);
    tp_text_add(text, ",\n ");
}

static void add_trace(const struct tp_trace_report *report, size_t i,
                      struct tp_text *text)
{
    const struct tp_trace_run *run = report->run;
    const struct tp_trace *trace = &run->traces[i];
    tp_text_add(text, "{");
    add_integer(text, "rank", trace->rank, ", ");
    add_integer(text, "world_size", trace->events.world_size, ",\n ");
    add_text(text, "trace_path", trace->path, ",\n ");
    add_text(text, "device", trace->facts.device_name, ", ");
    add_text(text, "window", trace->facts.window, ",\n ");
    add_integer(text, "truncated_at_byte", trace->events.truncated_at, ",\n ");
    add_metrics(&report->judged->verdicts[i], trace, 1, text);
    add_settings(trace->settings, text);
    add_idle(trace, text);
    add_roofline(trace, report->top, text);
    add_ops(trace, 1, report->top, text);
    tp_text_add(text, "}");
}

/* Where the traces are, and how the run was set up. */
static void add_run(const struct tp_trace_report *report, struct tp_text *text)
{
    struct tp_setting settings[TP_SETTING_COUNT];
    size_t length;
    const char *folder = tp_trace_run_folder(
        report->run, report->inputs, report->input_count, &length);
    char *trace_dir = folder ? strndup(folder, length) : NULL;
    text->failed |= folder && !trace_dir;
    add_text(text, "trace_dir", trace_dir ? trace_dir : "", ", ");
    free(trace_dir);
    for (int i = 0; i < TP_SETTING_COUNT; i++)
        settings[i] =
            tp_trace_run_setting(report->run, (enum tp_setting_id)i);
    add_settings(settings, text);
}

static void add_paths(const struct tp_trace_run *run, struct tp_text *text)
{
    tp_text_add(text, "\"trace_paths\": [");
    for (size_t i = 0; i < run->trace_count; i++) {
        tp_text_add(text, i ? ", " : "");
        tp_text_json(text, run->traces[i].path);
    }
    tp_text_add(text, "],\n ");
}

static void add_notes(const struct tp_trace_report *report,
                      struct tp_text *text)
{
    const struct tp_notes *lists[] = {&report->run->notes,
                                      &report->judged->notes};
    size_t count = 0;
    tp_text_add(text, "\"notes\": [");
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            tp_text_add(text, count++ ? ",\n  " : "\n  ");
            tp_text_json(text, lists[l]->texts[i]);
        }
    }
    tp_text_add(text, "]");
}

static void add_judged(const struct tp_trace_report *report,
                       enum tp_judged_table table, const char *name,
                       struct tp_text *text)
{
    struct tp_table tables[TP_JUDGED_TABLES];
    tp_judged_tables_make(report->judged, tables);
    tp_report_table_json(&tables[table], name, 0, SIZE_MAX, text);
}

void tp_trace_report_json(const struct tp_trace_report *report,
                          struct tp_text *text)
{
    const struct tp_trace_run *run = report->run;
    struct tp_trace_tables tables;
    tp_trace_tables_make(run, &tables);
    tp_text_add(
        text, "{\"schema_version\": %d, \"tool_version\": ", TP_SCHEMA_VERSION);
    tp_text_json(text, report->tool_version);
    tp_text_add(text, ",\n ");
    add_metrics(&report->judged->verdict, run->traces, run->trace_count, text);
    add_run(report, text);
    add_paths(run, text);
    add_ops(run->traces, run->trace_count, report->top, text);
    tp_text_add(text, ",\n \"ranks\": [");
    for (size_t i = 0; i < run->trace_count; i++) {
        tp_text_add(text, i ? ",\n" : "\n");
        add_trace(report, i, text);
    }
    tp_text_add(text, "],\n ");
    add_judged(report, TP_JUDGED_FINDINGS, "findings", text);
    tp_text_add(text, ",\n ");
    add_judged(report, TP_JUDGED_COLLECTIVE_SIZES, "collective_sizes", text);
    tp_text_add(text, ",\n ");
    tp_report_table_json(&tables.tables[TP_TRACE_SKIPPED], "skipped", 0,
                         SIZE_MAX, text);
    tp_text_add(text, ",\n ");
    add_notes(report, text);
    tp_text_add(text, "}\n");
}

void tp_trace_findings_json(const struct tp_trace_report *report,
                            struct tp_text *text)
{
    tp_text_add(text, "{\"schema_version\": %d,\n ", TP_SCHEMA_VERSION);
    add_verdict(&report->judged->verdict, text);
    add_judged(report, TP_JUDGED_FINDINGS, "findings", text);
    tp_text_add(text, ",\n ");
    add_notes(report, text);
    tp_text_add(text, "}\n");
}
