/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_TABLES_H
#define TP_DUMP_DUMP_TABLES_H

#include "data/table.h"
#include "dump/dump_findings.h"
#include "dump/dump_integrity.h"

/* A dump and its checks as tables. */

enum tp_dump_table {
    TP_DUMP_TABLE_ENTRIES, /* items, as told and as recomputed             */
    TP_DUMP_TABLE_CALLS,
    TP_DUMP_TABLE_TREE, /* construct.json                                  */
    TP_DUMP_TABLE_PLACES,
    TP_DUMP_TABLE_FINDINGS,
    TP_DUMP_TABLES
};

/* A node of construct.json, with the findings about it and all below it. */
struct tp_dump_tree_row {
    int64_t step, rank;
    const char *name, *parent;
    uint64_t findings; /* low ones, too                                    */
    int64_t worst;     /* enum tp_severity; -1: no finding                 */
};

struct tp_dump_tree {
    struct tp_dump_tree_row *rows; /* nodes of all places, one after another */
    size_t count;
};

/* Makes the tree of all places; findings about calls that it does not have
 * are not counted. Release with free(tree->rows). TP_E_MEMORY. */
enum tp_status tp_dump_tree_make(const struct tp_dump *dump,
                                 const struct tp_dump_findings *findings,
                                 struct tp_dump_tree *tree,
                                 struct tp_error *err);

/* What the tables are made from: borrowed, for as long as they are used. */
struct tp_dump_tables {
    const struct tp_dump *dump;
    const struct tp_dump_integrity *integrity;
    const struct tp_dump_findings *findings;
    const struct tp_dump_tree *tree;
    struct tp_table tables[TP_DUMP_TABLES]; /* [enum tp_dump_table]        */
};

/* Sets up `tables`, whose first four members the caller has set; it has to
 * stay where it is. */
void tp_dump_tables_make(struct tp_dump_tables *tables);

/*
 * The findings about the integrity as the table of dump_integrity.csv. *rows
 * is what it shows; release with free(). TP_E_MEMORY.
 */
enum tp_status tp_dump_integrity_table(const struct tp_dump_findings *findings,
                                       struct tp_dump_finding **rows,
                                       struct tp_table *table,
                                       struct tp_error *err);

#endif
