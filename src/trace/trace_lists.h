/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_LISTS_H
#define TP_TRACE_TRACE_LISTS_H

#include "base/intern.h"
#include "data/table.h"
#include "trace/trace.h"

/*
 * Every list of rows that a trace has: where it lies, what makes it, and as
 * which table it is written. Making, joining, keeping texts and releasing all
 * go through tp_trace_lists[], so a new table is a row here, a struct in
 * trace_rows.h and a maker.
 */

enum tp_trace_list {
    /* tables of trace.h5, in the order of the file */
    TP_TRACE_OPS,
    TP_TRACE_KERNELS,
    TP_TRACE_OP_KERNELS,
    TP_TRACE_TREE,
    TP_TRACE_ANNOTATIONS,
    TP_TRACE_STEPS,
    TP_TRACE_IDLE,
    TP_TRACE_BUSY_ROWS,
    TP_TRACE_LAUNCHES,
    TP_TRACE_STREAMS,
    TP_TRACE_COPIES,
    TP_TRACE_SYNCS,
    TP_TRACE_MEMORY_ROWS,
    TP_TRACE_COLLECTIVES,
    TP_TRACE_PATHS,
    TP_TRACE_WHAT_IF,
    TP_TRACE_FRAMES,
    TP_TRACE_MEMORY_PEAKS,
    TP_TRACE_ROOFLINE,
    TP_TRACE_FUSIONS,
    TP_TRACE_OPTIMIZERS,
    TP_TRACE_OP_GROUPS,
    TP_TRACE_JOINED, /* so many tables */
    /* rows of no table */
    TP_TRACE_ARRIVALS = TP_TRACE_JOINED,
    TP_TRACE_SPENT,
    TP_TRACE_SEGMENTS,
    TP_TRACE_LONE_WHAT_IF,
    TP_TRACE_STEP_SPANS,
    TP_TRACE_STRETCHES,
    TP_TRACE_PIECES,
    TP_TRACE_ARROWS,
    TP_TRACE_LEVELS,
    TP_TRACE_UTILISATION,
    TP_TRACE_QUEUE,
    TP_TRACE_ALLOCATED,
    TP_TRACE_RESERVED,
    TP_TRACE_LISTS
};

/* When a list is made, so that threads do not meet in what lists share. */
enum tp_trace_turn {
    TP_MADE_BESIDE, /* beside others, of which it reads nothing            */
    TP_MADE_FIRST,  /* before all others, one after another: they are read by
                       others (steps), or add texts to the events          */
    TP_MADE_WORDED  /* one after another, beside others: their rows are worded
                       in the arena of the events                          */
};

struct tp_trace_list_info {
    const char *name; /* of the table; NULL: rows of no table              */
    /* The first is `trace`, an int64_t behind the row: only joined rows have
     * it. The others are of the row. */
    const struct tp_column *columns;
    size_t column_count;
    size_t offset, row_size; /* in struct tp_trace; of a row               */
    bool single;             /* one row, not a TP_ROWS                     */
    /* NULL: made together with another list */
    enum tp_status (*make)(struct tp_trace *trace, struct tp_error *err);
    enum tp_trace_turn turn;
};

/* The rows, [enum tp_trace_list]. */
extern const struct tp_trace_list_info tp_trace_lists[TP_TRACE_LISTS];

/* The rows of a list of a trace, and how many. */
void *tp_trace_list_rows(const struct tp_trace *trace, enum tp_trace_list list,
                         size_t *count);

/* A list of one trace as a table, without the column `trace`; borrows it. */
struct tp_table tp_trace_list_table(const struct tp_trace *trace,
                                    enum tp_trace_list list);

/* Makes every list from trace->events and trace->index, by the threads of a
 * pool; NULL: by this one. TP_E_MEMORY only. */
enum tp_status tp_trace_lists_make(struct tp_trace *trace, struct tp_pool *pool,
                                   struct tp_error *err);

/*
 * Calls a function with the place of every text that rows of a trace, and what
 * else stays of it, have; some may be NULL. It may put another one there.
 * False: the function returned that, and was not called again.
 */
bool tp_trace_each_text(struct tp_trace *trace,
                        bool (*each)(void *context, const char **text),
                        void *context);

/* Puts other rows in the place of a list, which is not `single` and is not
 * released. */
void tp_trace_list_set(struct tp_trace *trace, enum tp_trace_list list,
                       void *rows, size_t count);

/*
 * Moves the texts of every row of a trace into `arena`, one copy of each, so
 * that its events may go. Texts are cut at TP_LIMIT_NAME_BYTES.
 */
enum tp_status tp_trace_keep_texts(struct tp_trace *trace,
                                   struct tp_intern *set,
                                   struct tp_arena *arena,
                                   struct tp_error *err);

/* Releases everything; empty afterwards. Rows' texts are the arena's. */
void tp_trace_clear(struct tp_trace *trace);

#endif
