/* SPDX-License-Identifier: MIT */
#include "dump/dump_findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* Rows: the dump is not what was saved; its ranks or steps are not alike; the
 * run went wrong. */
#define DAMAGE(id, help)                        \
    {                                           \
        {id, help, "DAMAGED DUMPS"}, true, true \
    }
#define UNLIKE(id, help)                         \
    {                                            \
        {id, help, "DAMAGED DUMPS"}, false, true \
    }
#define AUDIT(id, help, guide)          \
    {                                   \
        {id, help, guide}, false, false \
    }

const struct tp_dump_check tp_dump_checks[TP_DUMP_CHECKS] = {
    [TP_CHECK_JSON] = DAMAGE("json", "dump.json, debug.json, stack.json or "
                                     "construct.json is absent, empty or cut"),
    [TP_CHECK_MISSING_FILE] =
        DAMAGE("missing_file", "a file that dump.json names is not there"),
    [TP_CHECK_ORPHAN_FILE] =
        DAMAGE("orphan_file", "a file in dump_tensor_data that no call names"),
    [TP_CHECK_DAMAGED_FILE] =
        DAMAGE("damaged_file",
               "a file cannot be read, or its own checksum is another one"),
    [TP_CHECK_RENAMED_FILE] =
        DAMAGE("renamed_file", "a file that was written under another name"),
    [TP_CHECK_DTYPE] =
        DAMAGE("dtype", "a file has another dtype than its entry"),
    [TP_CHECK_SHAPE] =
        DAMAGE("shape", "a file has another shape than its entry"),
    [TP_CHECK_STATISTICS] =
        DAMAGE("statistics",
               "Max, Min, Mean or Norm of a file are not those of its entry"),
    [TP_CHECK_CRC] =
        DAMAGE("crc", "the CRC-32 or xor of a file is not that of its entry"),
    [TP_CHECK_UNFINISHED] =
        DAMAGE("unfinished", "statistics of an entry were never written"),
    [TP_CHECK_TREE] = DAMAGE("tree", "construct.json is no tree"),
    [TP_CHECK_CALL_SET] =
        UNLIKE("call_set", "ranks or steps with other calls than the others"),
    [TP_CHECK_PLACE] = UNLIKE("place", "a rank that has nothing for a step"),
    [TP_CHECK_NONFINITE] =
        AUDIT("nonfinite", "the call that NaN or Inf came from, over all ranks",
              "FIRST ANOMALY"),
    [TP_CHECK_FLOW] = AUDIT(
        "flow", "a tensor is another one when it is used than when it was made",
        "DATA FLOW"),
    [TP_CHECK_REPEATED] =
        AUDIT("repeated",
              "a call gave or used what an earlier one gave, unlike its inputs",
              "DATA FLOW"),
    [TP_CHECK_COPIES] =
        AUDIT("copies", "tensors that are equal on other ranks differ on one",
              "COPIES ON RANKS"),
};

enum tp_status tp_dump_finding_new(struct tp_dump_findings *findings,
                                   const struct tp_dump_rule *rule,
                                   enum tp_severity level,
                                   struct tp_dump_finding **finding,
                                   struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&findings->rows, &findings->capacity, findings->count + 1,
                sizeof *findings->rows, err);
    if (status != TP_OK)
        return status;
    *finding = &findings->rows[findings->count++];
    **finding = (struct tp_dump_finding){.level = level,
                                         .rule = rule,
                                         .step = -1,
                                         .rank = -1,
                                         .order = -1,
                                         .name = "",
                                         .expected = "",
                                         .found = "",
                                         .count = 1,
                                         .item = -1,
                                         .pair = SIZE_MAX,
                                         .row = SIZE_MAX,
                                         .evidence = "",
                                         .suggestion = ""};
    return TP_OK;
}

enum tp_status tp_dump_finding_add(struct tp_dump_findings *findings,
                                   enum tp_dump_check_id check,
                                   enum tp_severity level,
                                   const struct tp_dump_place *place,
                                   struct tp_dump_finding **finding,
                                   struct tp_error *err)
{
    enum tp_status status = tp_dump_finding_new(
        findings, &tp_dump_checks[check].rule, level, finding, err);
    if (status != TP_OK)
        return status;
    (*finding)->step = place->step;
    (*finding)->rank = place->rank;
    (*finding)->directory = place->directory;
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

/* Where NaN came from is what a dump is mostly taken for, and there are few
 * such findings: other checks, with one for each tensor, would hide them. */
static bool is_origin(const struct tp_dump_finding *finding)
{
    return finding->rule == &tp_dump_checks[TP_CHECK_NONFINITE].rule;
}

static int compare(const void *left, const void *right)
{
    const struct tp_dump_finding *a = left, *b = right;
    int result = tp_order_int64(b->level, a->level);
    if (result == 0)
        result = tp_order_int64(is_origin(b), is_origin(a));
    if (result == 0)
        result = (a->rule > b->rule) - (a->rule < b->rule);
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

const struct tp_dump_check *tp_dump_check_of(
    const struct tp_dump_finding *finding)
{
    return (const struct tp_dump_check *)finding->rule; /* its first member */
}

bool tp_dump_findings_damage(const struct tp_dump_findings *findings)
{
    bool damage = false;
    for (size_t i = 0; i < findings->count && !damage; i++)
        damage = tp_dump_check_of(&findings->rows[i])->damage &&
                 findings->rows[i].level > TP_SEVERITY_LOW;
    return damage;
}

const char *tp_dump_finding_level(const void *finding)
{
    return tp_severity_name(((const struct tp_dump_finding *)finding)->level);
}

const char *tp_dump_finding_rule(const void *finding)
{
    return ((const struct tp_dump_finding *)finding)->rule->id;
}

void tp_dump_findings_table(const struct tp_dump_findings *findings,
                            struct tp_table *table)
{
    static const struct tp_column columns[] = {
        TP_DUMP_FINDING_HEAD("check"),
        TP_COLUMN(struct tp_dump_finding, expected, ""),
        TP_COLUMN(struct tp_dump_finding, found, ""), TP_DUMP_FINDING_END};
    *table = TP_TABLE_OF("findings", columns, findings->rows, findings->count);
}

void tp_dump_findings_clear(struct tp_dump_findings *findings)
{
    free(findings->rows);
    tp_arena_clear(&findings->arena);
    memset(findings, 0, sizeof *findings);
}
