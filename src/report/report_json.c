/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "report/hdf5.h"
#include "report/report.h"
#include "report/report_dims.h"
#include "report/report_pairs.h"
#include "report/report_table.h"
#include "report/tables.h"

static void add_object(const struct tp_table *table, size_t row,
                       struct tp_text *text)
{
    tp_text_add(text, "{");
    tp_report_row_json(table, row, text);
    tp_text_add(text, "}");
}

/* "name": [rows] */
static void add_table(const struct tp_table *table, struct tp_text *text)
{
    tp_text_add(text, "\"%s\": [", table->name);
    for (size_t i = 0; i < table->row_count; i++) {
        tp_text_add(text, i ? ",\n  " : "\n  ");
        add_object(table, i, text);
    }
    tp_text_add(text, table->row_count ? "\n]" : "]");
}

void tp_report_findings_json(const struct tp_findings *findings,
                             struct tp_text *text)
{
    struct tp_table table;
    tp_findings_table_make(findings, &table);
    tp_text_add(text, "{\"schema_version\": %d,\n", TP_SCHEMA_VERSION);
    add_table(&table, text);
    tp_text_add(text, "}\n");
}

static void add_inputs(const struct tp_report *report, struct tp_text *text)
{
    const struct tp_run *run = report->results.run;
    tp_text_add(text, "\"inputs\": [");
    for (size_t i = 0; i < report->input_count; i++) {
        tp_text_add(text, i ? ", " : "");
        tp_text_json(text, report->inputs[i]);
    }
    tp_text_add(text,
                "],\n\"files_read\": %" PRIu64 ", \"files_ignored\": %" PRIu64
                ", \"bytes_read\": %" PRIu64 ", \"tensors\": %zu,\n",
                run->files_read, run->files_ignored, run->bytes_read,
                run->row_count);
}

static void add_notes(const struct tp_run *run, struct tp_text *text)
{
    tp_text_add(text, "\"notes\": [");
    for (size_t i = 0; i < run->notes.count; i++) {
        tp_text_add(text, i ? ", " : "");
        tp_text_json(text, run->notes.texts[i]);
    }
    tp_text_add(text, "],\n");
}

static void add_figures(const struct tp_report *report, struct tp_text *text)
{
    tp_text_add(text, "\"figures\": [");
    for (size_t i = 0; i < report->figure_count; i++) {
        const struct tp_report_figure *figure = &report->figures[i];
        tp_text_add(text, i ? ",\n  {\"path\": " : "\n  {\"path\": ");
        tp_text_json(text, figure->path);
        tp_text_add(text, ", \"not_drawn\": ");
        if (figure->reason[0])
            tp_text_json(text, figure->reason);
        else
            tp_text_add(text, "null");
        tp_text_add(text, "}");
    }
    tp_text_add(text, "],\n");
}

/* Groups by one label; the finer ones are for summary.h5. */
static void add_groups(const struct tp_table *table, struct tp_text *text)
{
    const struct tp_column *by = tp_table_column(table, "group_by");
    bool first = true;
    tp_text_add(text, "\"groups\": [");
    for (size_t i = 0; i < table->row_count; i++) {
        if (strchr(tp_cell_text(table, i, by), '/'))
            continue;
        tp_text_add(text, first ? "\n  " : ",\n  ");
        add_object(table, i, text);
        first = false;
    }
    tp_text_add(text, "],\n");
}

void tp_report_json(const struct tp_report *report, struct tp_text *text)
{
    struct tp_run_tables tables;
    tp_run_tables_make(&report->results, &tables);
    tp_text_add(
        text, "{\"schema_version\": %d, \"tool_version\": ", TP_SCHEMA_VERSION);
    tp_text_json(text, report->tool_version);
    tp_text_add(text, ", \"output_dir\": ");
    tp_text_json(text, report->output_dir);
    tp_text_add(text, ",\n");
    add_inputs(report, text);
    add_notes(report->results.run, text);
    add_table(&tables.tables[TP_TABLE_SKIPPED], text);
    tp_text_add(text, ",\n");
    add_figures(report, text);
    add_groups(&tables.tables[TP_TABLE_GROUPS], text);
    add_table(&tables.tables[TP_TABLE_RECOMMENDATIONS], text);
    tp_text_add(text, ",\n");
    tp_report_pairs_json(report->results.pairs, text);
    add_table(&tables.tables[TP_TABLE_FINDINGS], text);
    tp_text_add(text, "}\n");
}

void tp_report_tensor_json(const struct tp_row *row, struct tp_text *text)
{
    struct tp_column columns[TP_TABLE_COLUMNS_MAX];
    struct tp_table table;
    tp_tensors_table_make(row, 1, columns, &table);
    tp_text_add(text, "{");
    tp_report_row_json(&table, 0, text);
    tp_text_add(text, ", \"dims\": ");
    tp_report_dims_json(row, text);
    tp_text_add(text, "}");
}
