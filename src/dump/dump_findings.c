/* SPDX-License-Identifier: MIT */
#include "dump/dump_findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

const struct tp_dump_check tp_dump_checks[TP_DUMP_CHECKS] = {
    [TP_CHECK_JSON] = {"json",
                       "dump.json, debug.json, stack.json or construct.json is "
                       "absent, empty or cut",
                       "DAMAGED DUMPS", true, true},
    [TP_CHECK_MISSING_FILE] = {"missing_file",
                               "a file that dump.json names is not there",
                               "DAMAGED DUMPS", true, true},
    [TP_CHECK_ORPHAN_FILE] = {"orphan_file",
                              "a file in dump_tensor_data that no call names",
                              "DAMAGED DUMPS", true, true},
    [TP_CHECK_DAMAGED_FILE] = {"damaged_file",
                               "a file cannot be read, or its own checksum is "
                               "another one",
                               "DAMAGED DUMPS", true, true},
    [TP_CHECK_RENAMED_FILE] = {"renamed_file",
                               "a file that was written under another name",
                               "DAMAGED DUMPS", true, true},
    [TP_CHECK_DTYPE] = {"dtype", "a file has another dtype than its entry",
                        "DAMAGED DUMPS", true, true},
    [TP_CHECK_SHAPE] = {"shape", "a file has another shape than its entry",
                        "DAMAGED DUMPS", true, true},
    [TP_CHECK_STATISTICS] = {"statistics",
                             "Max, Min, Mean or Norm of a file are not those "
                             "of its entry",
                             "DAMAGED DUMPS", true, true},
    [TP_CHECK_CRC] = {"crc",
                      "the CRC-32 or xor of a file is not that of its entry",
                      "DAMAGED DUMPS", true, true},
    [TP_CHECK_UNFINISHED] = {"unfinished",
                             "statistics of an entry were never written",
                             "DAMAGED DUMPS", true, true},
    [TP_CHECK_TREE] = {"tree", "construct.json is no tree", "DAMAGED DUMPS",
                       true, true},
    [TP_CHECK_CALL_SET] = {"call_set",
                           "ranks or steps with other calls than the others",
                           "DAMAGED DUMPS", false, true},
    [TP_CHECK_PLACE] = {"place", "a rank that has nothing for a step",
                        "DAMAGED DUMPS", false, true},
    [TP_CHECK_NONFINITE] = {"nonfinite",
                            "the call that NaN or Inf came from, over all "
                            "ranks",
                            "FIRST ANOMALY", false, false},
    [TP_CHECK_FLOW] = {"flow",
                       "a tensor is another one when it is used than when it "
                       "was made",
                       "DATA FLOW", false, false},
    [TP_CHECK_REPEATED] = {"repeated",
                           "a call gave or used what an earlier one gave, "
                           "unlike its inputs",
                           "DATA FLOW", false, false},
    [TP_CHECK_COPIES] = {"copies",
                         "tensors that are equal on other ranks differ on one",
                         "COPIES ON RANKS", false, false},
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

/* Where NaN came from is what a dump is mostly taken for, and there are few
 * such findings: other checks, with one for each tensor, would hide them. */
static bool is_origin(const struct tp_dump_finding *finding)
{
    return finding->check == TP_CHECK_NONFINITE;
}

static int compare(const void *left, const void *right)
{
    const struct tp_dump_finding *a = left, *b = right;
    int result = tp_order_int64(b->level, a->level);
    if (result == 0)
        result = tp_order_int64(is_origin(b), is_origin(a));
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
    *table = TP_TABLE_OF("findings", columns, findings->rows, findings->count);
}

void tp_dump_findings_clear(struct tp_dump_findings *findings)
{
    free(findings->rows);
    tp_arena_clear(&findings->arena);
    memset(findings, 0, sizeof *findings);
}
