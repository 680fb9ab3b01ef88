/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_TABLES_H
#define TP_TRACE_TRACE_TABLES_H

#include "trace/trace_lists.h"

/*
 * The tables of trace.h5 about the rows of a run. Those about single traces
 * join the rows of all of them; their first column `trace` is the row number
 * in /ranks, which has one row per trace.
 */

enum {
    TP_TRACE_SKIPPED = TP_TRACE_JOINED, /* files, not of a trace */
    TP_TRACE_TABLES
};

/* Which list of which run a joined table reads. */
struct tp_trace_join {
    const struct tp_trace_run *run;
    enum tp_trace_list list;
};

/* Borrows the run; must stay where it is while the tables are used. */
struct tp_trace_tables {
    struct tp_table tables[TP_TRACE_TABLES]; /* [enum tp_trace_list], skipped */
    struct tp_trace_join joins[TP_TRACE_JOINED];
};

/* Sets up every table of the run as it is now. */
void tp_trace_tables_make(const struct tp_trace_run *run,
                          struct tp_trace_tables *tables);

#endif
