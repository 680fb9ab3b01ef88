/* SPDX-License-Identifier: MIT */
#include "rules/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct tp_rule tp_rules[] = {
    {"onset",
     "a tensor that leaves the baseline of its own iterations: high where "
     "others follow, which are counted in it; medium alone or by drifting; one "
     "less when there are too few iterations to be sure",
     tp_rule_onset},
    {"nonfinite",
     "NaN, or Inf in a series that had none: high; the first place in a rank "
     "is the origin, later ones are its consequences",
     tp_rule_nonfinite},
    {"frozen",
     "a tensor that used to change and is the same in the last 8 iterations or "
     "more: medium",
     tp_rule_frozen},
    {"ranks",
     "copies on several ranks that cease to be equal, and a tensor whose norm "
     "leaves that of the other ranks or is far off it throughout: medium",
     tp_rule_ranks},
    {"overflow",
     "share of elements beyond the largest finite value of the target "
     "format: above 1 % medium, above 0.1 % low; block formats: low, since "
     "their scale bounds what saturation costs",
     tp_rule_overflow},
    {"underflow",
     "share of elements, not zero, that the target format rounds to zero: "
     "above 10 % medium, above 1 % low",
     tp_rule_underflow},
    {"sqnr",
     "signal to quantisation noise of the target format below --min_sqnr: "
     "low, or medium when it is also below 10 dB, or more than 10 dB below "
     "the median of its place",
     tp_rule_sqnr},
    {"dims",
     "most tensors of a place have an axis of HIGH risk, more so than chance "
     "gives: medium; outlier channels or dead ones: low",
     tp_rule_dims},
    {NULL, NULL, NULL},
};

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Labels are interned, so equal texts are mostly one pointer. */
static int order_text(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

/* The order of findings.h, then a fixed one. */
static int compare_findings(const void *left, const void *right)
{
    const struct tp_finding *a = left, *b = right;
    if (a->level != b->level)
        return a->level < b->level ? 1 : -1;
    if (a->origin != b->origin)
        return a->origin ? -1 : 1;
    if (a->iteration != b->iteration)
        return order(a->iteration, b->iteration);
    if (a->excess != b->excess)
        return a->excess < b->excess ? 1 : -1;
    int result = order_text(a->rule, b->rule);
    return result ? result : order_text(a->file, b->file);
}

enum tp_status tp_finding_add(const struct tp_rule_input *input,
                              const struct tp_rule *rule,
                              const struct tp_row *row,
                              struct tp_finding **finding, struct tp_error *err)
{
    struct tp_findings *list = input->findings;
    if (tp_grow(&list->rows, &list->capacity, list->count + 1,
                sizeof *list->rows, err) != TP_OK)
        return TP_E_MEMORY;
    *finding = &list->rows[list->count++];
    **finding = (struct tp_finding){.rule = rule->id,
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
                                    .path = row->path};
    return TP_OK;
}

const char *tp_finding_text(const struct tp_rule_input *input,
                            const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = tp_arena_text(&input->run->arena, text, strlen(text));
    return copy ? copy : "";
}

enum tp_status tp_findings_make(struct tp_run *run,
                                struct tp_findings *findings,
                                struct tp_error *err)
{
    const struct tp_row **made = NULL, *const *rows = run->monitor.series.rows;
    if (!rows)
        rows = made = tp_series_sort(run, NULL);
    if (!rows)
        return tp_fail_memory(err);
    struct tp_rule_input input = {run, rows, findings};
    enum tp_status status = TP_OK;
    for (const struct tp_rule *r = tp_rules; r->id && status == TP_OK; r++)
        status = r->apply(&input, r, err);
    for (size_t i = 0; i < findings->count; i++)
        findings->rows[i].severity = tp_severity_name(findings->rows[i].level);
    if (findings->count)
        qsort(findings->rows, findings->count, sizeof *findings->rows,
              compare_findings);
    free(made);
    return status;
}

void tp_findings_clear(struct tp_findings *findings)
{
    free(findings->rows);
    memset(findings, 0, sizeof *findings);
}

int tp_findings_worst(const struct tp_findings *findings)
{
    return findings->count ? (int)findings->rows[0].level : 0;
}
