/* SPDX-License-Identifier: MIT */
#include "rules/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* The order of findings.h, then a fixed one. */
static int compare_findings(const void *left, const void *right)
{
    const struct tp_finding *a = left, *b = right;
    if (a->level != b->level)
        return a->level < b->level ? 1 : -1;
    if (a->origin != b->origin)
        return a->origin ? -1 : 1;
    if (a->iteration != b->iteration)
        return tp_order_int64(a->iteration, b->iteration);
    if (a->excess != b->excess)
        return a->excess < b->excess ? 1 : -1;
    int result = tp_order_text(a->rule->id, b->rule->id);
    if (result == 0)
        result = tp_order_text(a->file, b->file);
    return result ? result : tp_order_size(a->number, b->number);
}

enum tp_status tp_finding_add(struct tp_findings *findings,
                              const struct tp_rule *rule,
                              const struct tp_row *row,
                              struct tp_finding **finding, struct tp_error *err)
{
    if (tp_grow(&findings->rows, &findings->capacity, findings->count + 1,
                sizeof *findings->rows, err) != TP_OK)
        return TP_E_MEMORY;
    *finding = &findings->rows[findings->count++];
    **finding = (struct tp_finding){.rule = rule,
                                    .rank = row->label.rank,
                                    .iteration = row->label.iteration,
                                    .layer_idx = row->label.layer_idx,
                                    .layer_type = row->label.layer_type,
                                    .operation = row->label.operation,
                                    .phase = row->label.phase,
                                    .component = row->label.component,
                                    .quant_type = row->label.quant_type,
                                    .tensor_name = row->label.tensor_name,
                                    .ordinal = row->ordinal,
                                    .metric = "",
                                    .value = NAN,
                                    .baseline = NAN,
                                    .spread = NAN,
                                    .deviation = NAN,
                                    .evidence = "",
                                    .suggestion = "",
                                    .file = row->file,
                                    .path = row->path,
                                    .module = row->label.module,
                                    .expert = row->label.expert,
                                    .number = findings->count - 1,
                                    .source = row->source,
                                    .place = row->place};
    return TP_OK;
}

const struct tp_row *tp_finding_row(const struct tp_run *run,
                                    const struct tp_finding *finding)
{
    for (size_t i = 0; i < run->row_count && *finding->file; i++) {
        const struct tp_row *row = &run->rows[i];
        if (row->source == finding->source && row->place == finding->place)
            return row;
    }
    return NULL;
}

const char *tp_finding_text(struct tp_findings *findings, const char *format,
                            ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = tp_arena_text(&findings->arena, text, strlen(text));
    return copy ? copy : "";
}

const char *tp_finding_take(struct tp_findings *findings, struct tp_text *text)
{
    return tp_arena_words(&findings->arena, text);
}

const char *tp_finding_explained(struct tp_findings *findings, uint64_t rows)
{
    if (rows == 0)
        return "";
    return tp_finding_text(findings,
                           "; %" PRIu64 " more that an incident explains %s "
                           "not judged",
                           rows, rows == 1 ? "is" : "are");
}

void tp_finding_where(const struct tp_row *row, struct tp_text *text)
{
    if (row->label.rank >= 0)
        tp_text_add(text, " in rank %" PRId64, row->label.rank);
    if (row->label.iteration >= 0)
        tp_text_add(text, "%s iteration %" PRId64,
                    row->label.rank >= 0 ? "," : " in", row->label.iteration);
}

void tp_findings_sort(struct tp_findings *findings)
{
    if (findings->count)
        qsort(findings->rows, findings->count, sizeof *findings->rows,
              compare_findings);
}

void tp_findings_clear(struct tp_findings *findings)
{
    free(findings->rows);
    tp_arena_clear(&findings->arena);
    memset(findings, 0, sizeof *findings);
}

int tp_findings_worst(const struct tp_findings *findings)
{
    return findings->count ? (int)findings->rows[0].level : 0;
}
