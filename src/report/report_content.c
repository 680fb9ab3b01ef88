/* SPDX-License-Identifier: MIT */
#include "report/report_content.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/hdf5.h"
#include "report/report_runs.h"
#include "report/report_skipped.h"
#include "report/report_table.h"

/* Names are cut there: a line is to stay a line. */
enum { NAME_BYTES = 120 };

/* "412 of 412 tensors of A found in B: 300 equal, 96 split in 2 in B ..." */
static void add_found(const struct tp_content_rows *rows, struct tp_text *text)
{
    tp_text_add(text, "%zu of %zu tensors of A found in B", rows->found[0],
                rows->all[0]);
    for (size_t i = 0; i < rows->sum_count; i++)
        tp_text_add(text, "%s%zu %s", i ? "; " : ": ", rows->sums[i].count,
                    rows->sums[i].words);
}

static void add_back(const struct tp_content_rows *rows, struct tp_text *text)
{
    tp_text_add(text, "%zu of %zu tensors of B found in A", rows->found[1],
                rows->all[1]);
}

static void add_summary(const struct tp_content_rows *rows,
                        struct tp_text *text)
{
    struct tp_text prose = {0};
    add_found(rows, &prose);
    tp_text_add(&prose, "\n");
    add_back(rows, &prose);
    tp_text_add(&prose, "\n");
    tp_report_prose(tp_text_get(&prose), 2, text);
    text->failed |= prose.failed;
    tp_text_clear(&prose);
}

void tp_report_content_head(const struct tp_content_report *report,
                            bool damaged, struct tp_text *verdict,
                            struct tp_text *sentence)
{
    if (report->findings->count == 0)
        tp_text_add(verdict, "nothing stands out");
    add_found(report->rows, sentence);
    tp_text_add(sentence, "; ");
    add_back(report->rows, sentence);
    tp_report_not_all(damaged, sentence);
}

static void add_matches(const struct tp_content_rows *rows, size_t most,
                        struct tp_text *text)
{
    if (rows->count == 0)
        return;
    tp_text_add(text, "\nWhat A has (left) and where it is in B (%zu)\n",
                rows->count);
    for (size_t i = 0; i < rows->count && (!most || i < most); i++) {
        const struct tp_content_row *row = &rows->rows[i];
        tp_text_add(text, "  ");
        tp_text_printable_cut(text, row->left, NAME_BYTES);
        tp_text_add(text, " = ");
        tp_text_printable_cut(text, row->right, NAME_BYTES);
        tp_text_add(text, ": %s%s%s\n", row->words, row->copy ? ", copy" : "",
                    strcmp(row->verified, "elements") ? ", by digests" : "");
    }
    tp_report_more(rows->count, most, text);
}

static void add_nearest(const struct tp_content_lone_row *row,
                        struct tp_text *text)
{
    if (!*row->nearest)
        return;
    tp_text_add(text, "; nearest: ");
    tp_text_printable_cut(text, row->nearest, NAME_BYTES);
    tp_text_add(text, ", %.3g %% differ, relative error %.3g",
                100 * row->differing_share, row->relative_l2);
}

static void add_alone(const struct tp_content_rows *rows, const char *side,
                      size_t most, struct tp_text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->alone_count; i++) {
        const struct tp_content_lone_row *row = &rows->alone[i];
        if (strcmp(row->side, side) != 0)
            continue;
        if (count++ == 0)
            tp_text_add(text, "\nOnly in %s\n", side);
        if (most && count > most)
            continue;
        tp_text_add(text, "  ");
        tp_text_printable_cut(text, row->name, NAME_BYTES);
        tp_text_add(text, "  %s %s%s%s", row->dtype, row->shape,
                    *row->kind ? ", " : "", row->kind);
        add_nearest(row, text);
        tp_text_add(text, "\n");
    }
    tp_report_more(count, most, text);
}

void tp_report_content_text(const struct tp_content_report *report, size_t most,
                            bool color, struct tp_text *text)
{
    tp_text_add(text, "tprof-analyze %s: comparison by content\n  A  ",
                report->tool_version);
    tp_text_printable(text, report->a);
    tp_text_add(text, "\n  B  ");
    tp_text_printable(text, report->b);
    tp_text_add(text, "\n\n");
    add_summary(report->rows, text);
    tp_report_runs_findings(report->findings, color, text);
    add_matches(report->rows, most, text);
    add_alone(report->rows, "A", most, text);
    add_alone(report->rows, "B", most, text);
    tp_report_skipped(report->skipped->rows, report->skipped->count, most,
                      report->output_dir[0] ? " in compare_report.txt" : "",
                      text);
    tp_report_written(report->output_dir,
                      "compare_report.txt, compare_findings.json, compare.h5",
                      text);
}

void tp_report_content_json(const struct tp_content_report *report,
                            struct tp_text *text)
{
    const struct tp_content_rows *rows = report->rows;
    struct tp_table table;
    tp_text_add(text,
                "{\"schema_version\": %d, \"match\": \"content\",\n"
                "\"tensors_a\": %zu, \"found_a\": %zu, \"tensors_b\": %zu, "
                "\"found_b\": %zu,\n\"relations\": {",
                TP_SCHEMA_VERSION, rows->all[0], rows->found[0], rows->all[1],
                rows->found[1]);
    for (size_t i = 0; i < rows->sum_count; i++) {
        tp_text_add(text, "%s", i ? ", " : "");
        tp_text_json(text, rows->sums[i].words);
        tp_text_add(text, ": %zu", rows->sums[i].count);
    }
    tp_text_add(text, "},\n");
    tp_compare_findings_table(report->findings, &table);
    tp_report_table_json(&table, "findings", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n");
    tp_content_matches_table(rows, &table);
    tp_report_table_json(&table, "content_matches", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n");
    tp_content_alone_table(rows, &table);
    tp_report_table_json(&table, "content_alone", 0, SIZE_MAX, text);
    tp_text_add(text, ",\n");
    tp_report_skipped_json(report->skipped, text);
    tp_text_add(text, "}\n");
}
