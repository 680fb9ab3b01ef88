/* SPDX-License-Identifier: MIT */
#include "dump/dump_findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

const struct tp_dump_check tp_dump_checks[TP_DUMP_CHECKS] = {
    [TP_CHECK_JSON] = {"json",
                       "dump.json, debug.json, stack.json or construct.json is "
                       "absent, empty or cut",
                       "DAMAGED DUMPS", true},
    [TP_CHECK_NONFINITE] = {"nonfinite",
                            "the call that NaN or Inf came from, over all "
                            "ranks",
                            "FIRST ANOMALY", false},
    [TP_CHECK_FLOW] = {"flow",
                       "a tensor is another one when it is used than when it "
                       "was made",
                       "DATA FLOW", false},
    [TP_CHECK_REPEATED] = {"repeated",
                           "a call gave or used what an earlier one gave, "
                           "unlike its inputs",
                           "DATA FLOW", false},
    [TP_CHECK_COPIES] = {"copies",
                         "tensors that are equal on other ranks differ on one",
                         "COPIES ON RANKS", false},
};

enum tp_status tp_dump_finding_add(struct tp_dump_findings *findings,
                                   enum tp_dump_check_id check,
                                   enum tp_severity level,
                                   const struct tp_dump_place *place,
                                   struct tp_dump_finding **finding,
                                   struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&findings->rows, &findings->capacity, findings->count + 1,
                sizeof *findings->rows, err);
    if (status != TP_OK)
        return status;
    *finding = &findings->rows[findings->count++];
    **finding = (struct tp_dump_finding){
        level, check, place->step, place->rank, -1, "", "", "", "", ""};
    return TP_OK;
}

const char *tp_dump_finding_text(struct tp_dump_findings *findings,
                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = tp_arena_vformat(&findings->arena, format, args);
    va_end(args);
    return text;
}

static int compare(const void *left, const void *right)
{
    const struct tp_dump_finding *a = left, *b = right;
    int result = tp_order_int64(b->level, a->level);
    if (result == 0)
        result = tp_order_int64(a->check, b->check);
    if (result == 0)
        result = tp_order_int64(a->step, b->step);
    if (result == 0)
        result = tp_order_int64(a->rank, b->rank);
    if (result == 0)
        result = tp_order_int64(a->order, b->order);
    return result ? result : strcmp(a->name, b->name);
}

void tp_dump_findings_sort(struct tp_dump_findings *findings)
{
    if (findings->count)
        qsort(findings->rows, findings->count, sizeof *findings->rows, compare);
}

int tp_dump_findings_worst(const struct tp_dump_findings *findings)
{
    int worst = 0;
    for (size_t i = 0; i < findings->count; i++)
        if ((int)findings->rows[i].level > worst)
            worst = (int)findings->rows[i].level;
    return worst;
}

bool tp_dump_findings_damage(const struct tp_dump_findings *findings)
{
    bool damage = false;
    for (size_t i = 0; i < findings->count && !damage; i++)
        damage = tp_dump_checks[findings->rows[i].check].damage &&
                 findings->rows[i].level > TP_SEVERITY_LOW;
    return damage;
}

static const char *level_word(const void *row)
{
    return tp_severity_words[((const struct tp_dump_finding *)row)->level];
}

static const char *check_word(const void *row)
{
    return tp_dump_checks[((const struct tp_dump_finding *)row)->check].id;
}

static const struct tp_column columns[] = {
    TP_COLUMN_WORD("severity", level_word),
    TP_COLUMN_WORD("check", check_word),
    TP_COLUMN(struct tp_dump_finding, step, "1"),
    TP_COLUMN(struct tp_dump_finding, rank, "1"),
    TP_COLUMN(struct tp_dump_finding, order, "1"),
    TP_COLUMN(struct tp_dump_finding, name, ""),
    TP_COLUMN(struct tp_dump_finding, expected, ""),
    TP_COLUMN(struct tp_dump_finding, found, ""),
    TP_COLUMN(struct tp_dump_finding, evidence, ""),
    TP_COLUMN(struct tp_dump_finding, suggestion, ""),
};

void tp_dump_findings_table(const struct tp_dump_findings *findings,
                            struct tp_table *table)
{
    *table = (struct tp_table){.name = "findings",
                               .columns = columns,
                               .column_count = sizeof columns / sizeof *columns,
                               .rows = findings->rows,
                               .row_count = findings->count,
                               .row_size = sizeof *findings->rows};
}

void tp_dump_findings_clear(struct tp_dump_findings *findings)
{
    free(findings->rows);
    tp_arena_clear(&findings->arena);
    memset(findings, 0, sizeof *findings);
}
