/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_FINDINGS_H
#define TP_DUMP_DUMP_FINDINGS_H

#include "data/severity.h"
#include "data/table.h"
#include "dump/dump.h"

/*
 * Findings about dumps: what is wrong with one, and what its replay and the
 * comparison of two find. Severities of the first: high = data that cannot be
 * trusted, or the origin of a NaN or Inf; medium = what follows from one, or
 * may be meant; low = a note.
 */

/* What finds: a row of the table of a command. */
struct tp_dump_rule {
    const char *id;
    const char *help;  /* one line: what it says                           */
    const char *guide; /* its section of man/tprof-guide.7                 */
};

/* A check of a dump: one row of the table in dump_findings.c. */
struct tp_dump_check {
    struct tp_dump_rule rule;
    bool damage;    /* the dump is not what was saved: exit status 3       */
    bool integrity; /* a row of dump_integrity.csv                         */
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

/* Texts are the findings', the dump's or constant, and never NULL. */
struct tp_dump_finding {
    enum tp_severity level;
    const struct tp_dump_rule *rule;
    int64_t step, rank, order;    /* order: of the call in its place; -1: not
                                     known, or of no call                 */
    const char *directory;        /* of its place, the dump's; NULL: none */
    int64_t item;                 /* of its call; -1: not told            */
    const char *name;             /* of a call, an item or a file         */
    const char *expected, *found; /* of a comparison: what B has, and A   */
    uint64_t count;               /* rows or calls that it stands for     */
    double excess;                /* over the limit of its rule; sorts    */
    size_t pair, row;             /* of a comparison: the pair of steps and
                                     ranks and the row in it that it is
                                     about; SIZE_MAX: none                */
    const char *evidence, *suggestion; /* sentences                        */
};

/* All-zero bytes are none. */
struct tp_dump_findings {
    struct tp_dump_finding *rows;
    size_t count, capacity;
    struct tp_arena arena; /* owns the texts                               */
};

/* Appends a finding about no call, texts still "" and a count of 1. */
enum tp_status tp_dump_finding_new(struct tp_dump_findings *findings,
                                   const struct tp_dump_rule *rule,
                                   enum tp_severity level,
                                   struct tp_dump_finding **finding,
                                   struct tp_error *err);

/* Appends a finding of a check about a place. */
enum tp_status tp_dump_finding_add(struct tp_dump_findings *findings,
                                   enum tp_dump_check_id check,
                                   enum tp_severity level,
                                   const struct tp_dump_place *place,
                                   struct tp_dump_finding **finding,
                                   struct tp_error *err);

/* A text of the findings' arena, worded as printf does; "" without memory. */
const char *tp_dump_finding_text(struct tp_dump_findings *findings,
                                 const char *format, ...) TP_PRINTF(2, 3);

/* Sorts by severity, origins of NaN and Inf first, then rule, step, rank,
 * order, name. */
void tp_dump_findings_sort(struct tp_dump_findings *findings);

/* The worst severity; 0: there is none. */
int tp_dump_findings_worst(const struct tp_dump_findings *findings);

/* The check that a finding of a dump is of. */
const struct tp_dump_check *tp_dump_check_of(
    const struct tp_dump_finding *finding);

/* Whether one of them, all of a dump, is damage. */
bool tp_dump_findings_damage(const struct tp_dump_findings *findings);

/* Their words, for columns. */
const char *tp_dump_finding_level(const void *finding);
const char *tp_dump_finding_rule(const void *finding);

/* The first and the last columns of all tables of findings, as initialisers;
 * `rule` heads the second. */
#define TP_DUMP_FINDING_HEAD(rule)                     \
    TP_COLUMN_WORD("severity", tp_dump_finding_level), \
        TP_COLUMN_WORD(rule, tp_dump_finding_rule),    \
        TP_COLUMN(struct tp_dump_finding, step, "1"),  \
        TP_COLUMN(struct tp_dump_finding, rank, "1"),  \
        TP_COLUMN(struct tp_dump_finding, order, "1"), \
        TP_COLUMN(struct tp_dump_finding, name, "")
#define TP_DUMP_FINDING_END                          \
    TP_COLUMN(struct tp_dump_finding, evidence, ""), \
        TP_COLUMN(struct tp_dump_finding, suggestion, "")

/* The table "findings" of a dump. */
void tp_dump_findings_table(const struct tp_dump_findings *findings,
                            struct tp_table *table);

/* Releases everything; empty afterwards. */
void tp_dump_findings_clear(struct tp_dump_findings *findings);

#endif
