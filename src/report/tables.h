/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_TABLES_H
#define TP_REPORT_TABLES_H

#include "data/table.h"
#include "incidents/incidents.h"
#include "quant/quant_groups.h"
#include "rules/finding_bins.h"
#include "rules/finding_series.h"
#include "rules/findings.h"
#include "series/monitor.h"
#include "tensors/group.h"
#include "tensors/pairs.h"
#include "tensors/run.h"

/*
 * The tables of a run as writers see them: which columns there are, in which
 * order and with which unit.
 */

enum { TP_TABLE_COLUMNS_MAX = 80 };

enum tp_run_table {
    TP_TABLE_TENSORS,
    TP_TABLE_GROUPS,
    TP_TABLE_HISTOGRAMS,
    TP_TABLE_SKIPPED,
    TP_TABLE_FINDINGS,
    TP_TABLE_FINDING_BINS,
    TP_TABLE_FINDING_SERIES,
    TP_TABLE_QUANT_WORST, /* before what may take the room of a page   */
    TP_TABLE_QUANTIZATION,
    TP_TABLE_QUANT_GROUPS,
    TP_TABLE_RECOMMENDATIONS,
    TP_TABLE_DIMS,
    TP_TABLE_SERIES,
    TP_TABLE_BASELINES,
    TP_TABLE_PAIRS,
    TP_TABLE_QUANTISED,
    TP_TABLE_CODE_USE,
    TP_RUN_TABLES
};

/* What all stages made of a dump, borrowed. A stage that was left out is
 * zeroed, never NULL. */
struct tp_results {
    const struct tp_run *run;
    const struct tp_groups *groups;
    const struct tp_quant *quant;
    const struct tp_pairs *pairs;
    const struct tp_monitor *monitor;
    const struct tp_incidents *incidents;
    const struct tp_findings *findings;
    const struct tp_finding_bins *finding_bins;
    const struct tp_finding_series *finding_series;
};

/* The tables, and the columns they point to. */
struct tp_run_tables {
    struct tp_table tables[TP_RUN_TABLES]; /* [enum tp_run_table] */
    struct tp_column tensors[TP_TABLE_COLUMNS_MAX];
    struct tp_column groups[TP_TABLE_COLUMNS_MAX];
};

/* Sets up the tables; `tables` must stay where it is while they are used. */
void tp_run_tables_make(const struct tp_results *results,
                        struct tp_run_tables *tables);

/* The table of rows alone; `columns` has room for TP_TABLE_COLUMNS_MAX. */
void tp_tensors_table_make(const struct tp_row *rows, size_t count,
                           struct tp_column *columns, struct tp_table *table);

/* The table of findings alone. */
void tp_findings_table_make(const struct tp_findings *findings,
                            struct tp_table *table);

#endif
