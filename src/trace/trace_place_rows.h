/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PLACE_ROWS_H
#define TP_TRACE_TRACE_PLACE_ROWS_H

#include <stdint.h>

#include "base/error.h"

struct tp_trace;

/* Rows of a table as those of trace_rows.h. */

/* What a place of the tree is. */
enum tp_tree_kind {
    TP_TREE_MODULE,          /* nn.Module, of a trace with stacks          */
    TP_TREE_RANGE,           /* record_function, Optimizer.step, ..        */
    TP_TREE_OPERATOR,
    TP_TREE_KERNEL,
    TP_TREE_MOVE,            /* copies and sets                            */
    TP_TREE_COMMUNICATION,
    TP_TREE_KINDS
};

/* /tree: modules, ranges and operators as they are inside each other, and the
 * device work that each place starts, over the whole trace. A place comes
 * before what is inside. trace_tree_rows.c */
struct tp_tree_row {
    int64_t place;           /* its number, from 0 in the order of rows    */
    int64_t around;          /* that of the place around; -1: none         */
    int64_t depth;           /* 1: nothing is around. No place is deeper
                                than 32: the rest is part of that          */
    const char *kind;        /* enum tp_tree_kind in words                 */
    const char *name;
    int64_t count;           /* events                                     */
    double host_us;          /* of them, with those inside; NaN: device    */
    double self_host_us;     /* without those inside                       */
    int64_t device_events;   /* that this place starts, or one inside      */
    double device_us;        /* the same, summed up                        */
};

/* trace->tree: of places in one longest device time first, then host time.
 * Empty in a comparison, which does not show it. */
enum tp_status tp_trace_tree_rows(struct tp_trace *trace,
                                  struct tp_error *err);

#endif
