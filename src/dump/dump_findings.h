/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_FINDINGS_H
#define TP_DUMP_DUMP_FINDINGS_H

#include "data/severity.h"
#include "data/table.h"
#include "dump/dump.h"

/*
 * What is wrong with a dump. Severities: high = data that cannot be trusted, or
 * the origin of a NaN or Inf; medium = what follows from one, or may be meant;
 * low = a note.
 */

/* A check: one row of the table in dump_findings.c. */
struct tp_dump_check {
    const char *id;
    const char *help;  /* one line: what it says                           */
    const char *guide; /* its section of man/tprof-guide.7                 */
    bool damage;       /* the dump is not what was saved: exit status 3    */
    bool integrity;    /* a row of dump_integrity.csv                      */
};

/* The rows. */
enum tp_dump_check_id {
    TP_CHECK_JSON, /* a json file that is absent, empty or cut */
    TP_CHECK_MISSING_FILE,
    TP_CHECK_ORPHAN_FILE,
    TP_CHECK_DAMAGED_FILE,
    TP_CHECK_RENAMED_FILE,
    TP_CHECK_DTYPE,
    TP_CHECK_SHAPE,
    TP_CHECK_STATISTICS,
    TP_CHECK_CRC,
    TP_CHECK_UNFINISHED,
    TP_CHECK_TREE,
    TP_CHECK_CALL_SET,
    TP_CHECK_PLACE,
    TP_CHECK_NONFINITE, /* where NaN or Inf came from */
    TP_CHECK_FLOW,      /* memory that changed between two calls */
    TP_CHECK_REPEATED,  /* contents of another step or call */
    TP_CHECK_COPIES,    /* ranks whose copies differ */
    TP_DUMP_CHECKS
};
extern const struct tp_dump_check tp_dump_checks[TP_DUMP_CHECKS];

/* Texts are the findings' or constant, and never NULL. */
struct tp_dump_finding {
    enum tp_severity level;
    enum tp_dump_check_id check;
    int64_t step, rank; /* -1: not known                                   */
    int64_t order;      /* of the call in its place; -1: of no call        */
    const char *name;   /* of a call, an item or a file                    */
    const char *expected, *found;
    const char *evidence, *suggestion; /* sentences                        */
};

/* All-zero bytes are none. */
struct tp_dump_findings {
    struct tp_dump_finding *rows;
    size_t count, capacity;
    struct tp_arena arena; /* owns the texts                               */
};

/* Appends a finding about a place, texts still "". */
enum tp_status tp_dump_finding_add(struct tp_dump_findings *findings,
                                   enum tp_dump_check_id check,
                                   enum tp_severity level,
                                   const struct tp_dump_place *place,
                                   struct tp_dump_finding **finding,
                                   struct tp_error *err);

/* A text of the findings' arena, worded as printf does; "" without memory. */
const char *tp_dump_finding_text(struct tp_dump_findings *findings,
                                 const char *format, ...) TP_PRINTF(2, 3);

/* Sorts by severity, origins of NaN and Inf first, then check, step, rank,
 * order, name. */
void tp_dump_findings_sort(struct tp_dump_findings *findings);

/* The worst severity; 0: there is none. */
int tp_dump_findings_worst(const struct tp_dump_findings *findings);

/* Whether one of them is damage. */
bool tp_dump_findings_damage(const struct tp_dump_findings *findings);

/* The table of findings. */
void tp_dump_findings_table(const struct tp_dump_findings *findings,
                            struct tp_table *table);

/* Releases everything; empty afterwards. */
void tp_dump_findings_clear(struct tp_dump_findings *findings);

#endif
