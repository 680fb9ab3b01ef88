/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_COMPARE_H
#define TP_TRACE_TRACE_COMPARE_H

#include "data/table.h"
#include "trace/trace.h"

/*
 * Before and after: two runs, each of one trace or many, name by name. A side
 * is the sum over its traces divided by their steps, so that runs of unequal
 * length, or unequal numbers of ranks, compare; without steps it is divided
 * by the number of traces. A change is `test` minus `base`.
 */

/* An operator or a kernel. Times are per step. */
struct tp_compare_row {
    const char *name;
    const char *kind;   /* of operators "CPU", of kernels that of /kernels */
    const char *change; /* of counts per step: "added", "removed", "more",
                           "fewer", "unchanged"                            */
    int64_t base_count, test_count; /* in all                              */
    double base_per_step, test_per_step;
    double base_us, test_us;        /* operators: self CPU; kernels: total */
    double change_us;
    double base_device_us, test_device_us; /* operators: self CUDA         */
    double change_device_us;
    const char *sign; /* of the larger change of time: "+", "-", "="       */
};

/* A mean over steps; NaN where there are no steps. */
struct tp_compare_step_row {
    const char *metric, *unit;
    double base, test, change;
    double ratio; /* test over base; NaN: base is 0                        */
};

/*
 * A place of the tree of modules, ranges and operators, and one thing there:
 * device work, what the host does while the device idles, or a gap. Of what
 * both runs have there the names and inputs are the same; else what was
 * replaced by what. Each moment of a step is in one row, so that changes add up
 * to that of the step. Times and numbers are of a step.
 */
struct tp_why_row {
    int what, how;      /* enum tp_spent, enum tp_why_change               */
    const char *kind;   /* the former in words: "device", "host", ..       */
    const char *change; /* the latter: "slower", "replaced", ..            */
    const char *path;   /* "aten::linear > aten::addmm"; of a gap: what is
                           before it                                       */
    const char *base_name, *test_name; /* kernels, calls; of a gap what is
                                          behind it                        */
    const char *base_inputs, *test_inputs; /* shapes and types             */
    size_t others;      /* further names of its sums, beside those it tells */
    double base_per_step, test_per_step;
    double base_us, test_us, change_us;
};

/* Rows of the table above that are one cause: see tp_trace_compare_causes. */
struct tp_cause_row {
    const struct tp_why_row *largest; /* of its members                     */
    size_t members;
    size_t root;        /* bytes of its path: what only one run has, with all
                           that it calls; 0: no such cause                 */
    double base_per_step, test_per_step;
    double base_us, test_us, change_us;
};

/* The operators that launch a kernel, of those where it changed as it did in
 * all: what the device does for them, and how often they run. */
struct tp_launchers {
    size_t count; /* 0: not known                                          */
    double base_us, test_us, base_spread, test_spread;
    double base_per_step, test_per_step;
};

/* A device event, a call, an operator or a gap, wherever it is in the tree:
 * what both runs spend on it. Times and numbers are of a step. */
struct tp_named_row {
    int what;         /* enum tp_spent; of a call, whether most of it waits
                         in the second run                                 */
    bool base_waits;  /* a call that waits in the first run, too           */
    const char *name; /* an operator: the innermost; a gap: what is behind */
    const char *base_name; /* in the first run, where that is another; ""  */
    const char *before; /* a gap: what is before it; else ""               */
    const char *path; /* the place where the second run spends most on it,
                         or the first, if the second spends nothing        */
    double base_per_step, test_per_step;
    double base_us, test_us, change_us;
    double base_spread, test_spread; /* how it scatters from step to step: an
                           upper bound of the standard deviation, us; NaN of
                           less than two steps                             */
    struct tp_launchers launchers; /* of device events                     */
};

struct tp_trace_comparison {
    int64_t base_steps, test_steps; /* what sums are divided by            */
    const char *per;                /* "step" or "trace"                   */
    TP_ROWS(tp_compare_row) ops;    /* by absolute change of time, largest */
    TP_ROWS(tp_compare_row) kernels; /* first                              */
    TP_ROWS(tp_compare_step_row) steps;
    TP_ROWS(tp_why_row) why;        /* largest change first; of
                                       tp_trace_compare_why                */
    TP_ROWS(tp_cause_row) causes;   /* the same, added up                   */
    TP_ROWS(tp_named_row) named;    /* what got slower first; of
                                       tp_trace_compare_names              */
    const char *why_per;            /* "step": typical ones; or "trace"    */
    double why_base_us, why_test_us; /* of all rows together               */
    double why_base_count, why_test_count; /* steps or traces of the means */
};

/* Fills `comparison` (zeroed by the caller, released with
 * tp_trace_comparison_clear, also after a failure); texts belong to the two
 * runs. TP_E_MEMORY only. */
enum tp_status tp_trace_compare(const struct tp_trace_run *base,
                                const struct tp_trace_run *test,
                                struct tp_trace_comparison *comparison,
                                struct tp_error *err);
void tp_trace_comparison_clear(struct tp_trace_comparison *comparison);

enum tp_compare_table {
    TP_COMPARE_STEPS,
    TP_COMPARE_OPS,
    TP_COMPARE_KERNELS,
    TP_COMPARE_WHY,
    TP_COMPARE_TABLES
};

/* The tables of a comparison; borrow it. */
void tp_trace_compare_tables(const struct tp_trace_comparison *comparison,
                             struct tp_table tables[TP_COMPARE_TABLES]);

#endif
