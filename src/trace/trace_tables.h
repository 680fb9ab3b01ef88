/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_TABLES_H
#define TP_TRACE_TRACE_TABLES_H

#include "base/intern.h"
#include "data/table.h"
#include "trace/trace.h"

/*
 * The tables of trace.h5: which columns, in which order, with which unit.
 * Tables about single traces join the rows of all traces; their first column
 * `trace` is the row number in /ranks, which has one row per trace.
 */

enum tp_trace_table {
    /* one list per trace */
    TP_TRACE_OPS,
    TP_TRACE_KERNELS,
    TP_TRACE_OP_KERNELS,
    TP_TRACE_ANNOTATIONS,
    TP_TRACE_STEPS,
    TP_TRACE_IDLE,
    TP_TRACE_BUSY_ROWS,
    TP_TRACE_LAUNCHES,
    TP_TRACE_STREAMS,
    TP_TRACE_COPIES,
    TP_TRACE_SYNCS,
    TP_TRACE_MEMORY,
    TP_TRACE_COLLECTIVES,
    TP_TRACE_PATHS,
    TP_TRACE_LISTS,
    /* of the run */
    TP_TRACE_SKIPPED = TP_TRACE_LISTS,
    TP_TRACE_TABLES
};

/* Which list of which run a joined table reads. */
struct tp_trace_join {
    const struct tp_trace_run *run;
    enum tp_trace_table list;
};

/* Borrows the run; must stay where it is while the tables are used. */
struct tp_trace_tables {
    struct tp_table tables[TP_TRACE_TABLES];
    struct tp_trace_join joins[TP_TRACE_LISTS];
};

/* Sets up every table of the run as it is now. */
void tp_trace_tables_make(const struct tp_trace_run *run,
                          struct tp_trace_tables *tables);

/*
 * Moves the texts of every row of a trace into `arena`, one copy of each, so
 * that its events may go. Texts are cut at TP_LIMIT_NAME_BYTES.
 */
enum tp_status tp_trace_keep_texts(struct tp_trace *trace,
                                   struct tp_intern *set,
                                   struct tp_arena *arena,
                                   struct tp_error *err);

/* One operator over all traces of a run: the sums of its rows. */
struct tp_trace_sums {
    struct tp_op_row *rows;
    size_t count;
};

/* Adds up /ops of the traces by name and device type; rows are released with
 * free(). In the order of the names; of one trace as they are. */
enum tp_status tp_trace_sum_ops(const struct tp_trace *traces, size_t count,
                                struct tp_trace_sums *sums,
                                struct tp_error *err);

#endif
