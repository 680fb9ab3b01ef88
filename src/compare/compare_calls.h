/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_CALLS_H
#define TP_COMPARE_COMPARE_CALLS_H

#include "compare/compare.h"
#include "data/table.h"

/* What the rows of each call say together, and of each call over all ranks. */

struct tp_compare_call {
    const char *name;   /* in A                                              */
    const char *module; /* of tp_dump_call_module                           */
    int64_t step, rank; /* of A; -1: not known                             */
    int64_t order;      /* in its place, from 0                            */
    const char *result; /* the worst of its rows: "pass", ...              */
    uint64_t rows, matched, equal;
    uint64_t arguments; /* of the rows that are matched                    */
    uint64_t arguments_unequal, results_unequal; /* matched, not equal     */
    double error_in, error_out; /* largest relative error of arguments and of
                                   results (tp_compare_error); NaN: unknown */
    const char *worst; /* name of the row that is furthest off; ""        */
    enum tp_compare_result level;
    size_t pair;
    size_t first; /* row of the pair                                       */
    bool adds;    /* all its arguments are equal, a result is not          */
};

/* A call by its name, over the ranks and steps it was compared in. */
struct tp_compare_api {
    const char *name;
    uint64_t places, errors, warnings; /* of steps and ranks              */
    int64_t worst_step, worst_rank;
    double error_in, error_out; /* there                            */
    const char *result;         /* there                            */
    const char *worst;          /* the row                          */
    enum tp_compare_result level;
};

struct tp_compare_calls {
    struct tp_compare_call *rows; /* in the order of pairs, then of A      */
    size_t count;
    struct tp_compare_api *apis; /* worst first                            */
    size_t api_count;
};

/* Sums up; borrows the comparison. `calls` is zeroed by the caller and released
 * with tp_compare_calls_clear, also after a failure: TP_E_MEMORY. */
enum tp_status tp_compare_calls_make(struct tp_comparison *comparison,
                                     struct tp_compare_calls *calls,
                                     struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_compare_calls_clear(struct tp_compare_calls *calls);

/* Whether what stands for a call is a tensor of a file that names none, as in a
 * checkpoint, or a variable: it is no argument and no result. */
bool tp_compare_is_tensor(const struct tp_dump_place *place, size_t call);

/* The tables "calls" and "apis". */
void tp_compare_calls_table(const struct tp_compare_calls *calls,
                            struct tp_table *table);
void tp_compare_apis_table(const struct tp_compare_calls *calls,
                           struct tp_table *table);

#endif
